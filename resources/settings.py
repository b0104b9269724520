"""Where a home folder keeps its things, and how to reach them; read once from the environment."""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class HomeSettings(BaseSettings):
    """Settings of one home folder, from `TRAILBENCH_*`; object-store access also from the usual `AWS_*`.

    None of them changes what a release contains.
    """

    model_config = SettingsConfigDict(env_prefix="TRAILBENCH_", frozen=True, extra="ignore", populate_by_name=True)

    home: Path = Field(
        default=Path(".trailbench"), description="home folder; store, gold and inbox lie in it by default"
    )
    store: str = Field(default="", description="folder or URL of what a method may read; default <home>/store")
    gold: str = Field(default="", description="folder or URL of what only scoring may read; default <home>/gold")
    expectations: Literal["gx", "auto", "polars"] = Field(
        default="gx",
        description="engine of the suites: Great Expectations on every table, only where its start pays, or never",
    )
    shards: int = Field(default=4, ge=1, le=256, description="shards of users; fixed for a home folder")
    s3_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("TRAILBENCH_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
        description="endpoint of an S3-compatible server; none for the public service",
    )
    s3_region: str | None = Field(
        default=None,
        validation_alias=AliasChoices("TRAILBENCH_S3_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"),
        description="region of the object store",
    )
    s3_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("TRAILBENCH_S3_KEY", "AWS_ACCESS_KEY_ID"), description="access key"
    )
    s3_secret: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("TRAILBENCH_S3_SECRET", "AWS_SECRET_ACCESS_KEY"),
        description="secret key",
    )
    s3_token: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("TRAILBENCH_S3_TOKEN", "AWS_SESSION_TOKEN"),
        description="session token",
    )

    @property
    def store_root(self) -> str:
        """Root of the store."""
        return self.store or str(self.home.absolute() / "store")

    @property
    def gold_root(self) -> str:
        """Root of the gold store."""
        return self.gold or str(self.home.absolute() / "gold")

    @property
    def inbox(self) -> Path:
        """Folder that the drop sensor watches."""
        return self.home.absolute() / "inbox"

    def storage_options(self) -> dict[str, str] | None:
        """Options for `Store`, secrets in the clear; None when nothing is set. Never to be printed."""
        secrets = {
            "aws_access_key_id": self.s3_key,
            "aws_secret_access_key": self.s3_secret,
            "aws_session_token": self.s3_token,
        }
        plain = {"aws_endpoint_url": self.s3_endpoint, "aws_region": self.s3_region}
        options = {name: value.get_secret_value() for name, value in secrets.items() if value}
        options |= {name: value for name, value in plain.items() if value}
        return options or None


@lru_cache(maxsize=1)
def home_settings() -> HomeSettings:
    """The settings of this process, read once."""
    return HomeSettings()
