"""Which model answers in which role, behind which endpoint, and the rules of calling it.

Read from `TRAILBENCH_MODEL_*` and, below it, from the YAML file that
`TRAILBENCH_MODEL_FILE` names. A key goes only to the endpoint that it was given with.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    YamlConfigSettingsSource,
)

from pipelines.models import ROLES
from pipelines.yaml_text import BadYaml, place_of, read_values
from resources.models.prices import Price

Part = Literal["builder", "reader", "judge", "profile", "embedding"]
"""A role, or the embeddings beside them."""
PARTS: tuple[Part, ...] = (*ROLES, "embedding")
OPENAI_URL = "https://api.openai.com/v1"


class ModelSettingsError(ValueError):
    """Settings that name no usable endpoint; says which variable to set."""


def checked_url(url: str) -> str:
    """An endpoint's base URL in one spelling.

    Raises `ValueError`, which does not repeat the URL, when it is none or holds a secret.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the base URL is no URL; expected http(s)://host[:port]/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("the base URL is no URL; expected http(s)://host[:port]/v1")
    if "@" in parts.netloc:
        raise ValueError("the base URL holds credentials; give the key by TRAILBENCH_MODEL_API_KEY instead")
    if parts.query or parts.fragment:
        raise ValueError("the base URL holds a query or fragment; give the key by TRAILBENCH_MODEL_API_KEY instead")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def _sendable(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if not (text.isascii() and text.isprintable()) or text != text.strip():
        raise ValueError("the key holds a character that no header can carry, or space around it; set it again")
    return key


Key = Annotated[SecretStr, AfterValidator(_sendable)]
"""A key that a header can carry; its errors do not repeat it."""


def _no_truth(model: type[BaseModel], value: Any, info: ValidationInfo) -> Any:
    """Refuses true and false where a number or a text is wanted: 1 is meant by neither."""
    wanted = model.model_fields[str(info.field_name)].annotation
    if isinstance(value, bool) and wanted not in (bool, bool | None):
        raise ValueError("true and false are no value here; write a number or a text")
    return value


class Endpoint(BaseModel):
    """One model behind one OpenAI-compatible endpoint."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    base_url: str
    model: str
    api_key: Key | None = None
    weak: bool = False
    """Every table must label its results as those of a weak model."""
    alias: str = ""
    """Stands for the URL in keys and tables, for a server whose port changes; by default the URL."""
    concurrency: int | None = Field(default=None, ge=1)
    """Calls in flight at once; by default that of the rules."""

    @field_validator("base_url")
    @classmethod
    def _one_spelling(cls, url: str) -> str:
        return checked_url(url)

    @property
    def identity(self) -> str:
        """What the endpoint is called in cache keys and tables; holds no secret."""
        return self.alias or self.base_url


class PartSettings(BaseModel):
    """What one role has of its own; what it leaves out is as for all."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: str | None = None
    name: str | None = None
    api_key: Key | None = None
    weak: bool | None = None
    concurrency: int | None = Field(default=None, ge=1)
    _truth = field_validator("*", mode="before")(classmethod(_no_truth))

    @field_validator("base_url")
    @classmethod
    def _one_spelling(cls, url: str | None) -> str | None:
        return checked_url(url) if url else None


class CallRules(BaseModel):
    """How endpoints are called; of these only `seed` enters a cache key."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    mode: Literal["live", "record", "replay"] = Field(
        default="live", description="replay answers from the cache alone; live and record also call and keep"
    )
    seed: int = Field(default=0, description="seed that is sent with every call, beside temperature 0")
    concurrency: int = Field(default=8, ge=1, le=1024, description="calls in flight at once, an endpoint")
    timeout_seconds: float = Field(default=120.0, gt=0, description="longest wait for one reply")
    retries: int = Field(default=5, ge=0, description="further tries of a call after 408, 409, 429, 5xx or no reply")
    backoff_seconds: float = Field(default=0.5, ge=0, description="wait before the first retry; doubles each time")
    longest_wait_seconds: float = Field(default=60.0, ge=0, description="longest wait, whatever Retry-After says")
    circuit_failures: int = Field(default=8, ge=1, description="calls in a row that fail before the endpoint is left")
    max_calls: int | None = Field(default=None, ge=0, description="budget: calls made by one engine")
    max_tokens: int | None = Field(default=None, ge=0, description="budget: prompt and reply tokens")
    max_cost: float | None = Field(default=None, ge=0, description="budget: USD by the price table")
    prices: dict[str, Price] = Field(default_factory=dict, description="USD for a million tokens, by model name")
    context_tokens: int = Field(
        default=32_768, ge=256, description="context of the readers' and judges' models, by the counter of the readouts"
    )
    prompt_rate: float = Field(default=2000.0, gt=0, description="prompt tokens a second of one call, for estimates")
    reply_rate: float = Field(default=50.0, gt=0, description="reply tokens a second of one call, for estimates")
    _truth = field_validator("*", mode="before")(classmethod(_no_truth))


class ModelSettings(CallRules, BaseSettings):
    """Endpoints and rules from `TRAILBENCH_MODEL_*`; a role's own by `TRAILBENCH_MODEL_READER_NAME` and so on.

    The environment beats the file. `OPENAI_API_KEY` and `OPENAI_BASE_URL` complete a
    setting but are none: nothing is called before a model or base URL is set here.
    """

    model_config = SettingsConfigDict(
        env_prefix="TRAILBENCH_MODEL_",
        env_nested_delimiter="_",
        env_nested_max_split=1,
        env_ignore_empty=True,
        extra="ignore",
        populate_by_name=True,
    )

    file: Path | None = Field(default=None, description="YAML file with any of these settings")
    base_url: str | None = Field(default=None, description="base URL of an OpenAI-compatible endpoint")
    name: str | None = Field(default=None, description="model name, as the endpoint knows it")
    api_key: Key | None = Field(default=None, description="key of the endpoint")
    weak: bool = Field(default=False, description="label every result as that of a weak model")
    builder: PartSettings = Field(default=PartSettings(), description="settings of the builder's own")
    reader: PartSettings = Field(default=PartSettings(), description="settings of the reader's own")
    judge: PartSettings = Field(default=PartSettings(), description="settings of the judge's own")
    profile: PartSettings = Field(default=PartSettings(), description="settings of the profile writer's own")
    embedding: PartSettings = Field(default=PartSettings(), description="settings of the embeddings; none by default")
    openai_base_url: str | None = Field(
        default=None, validation_alias="OPENAI_BASE_URL", description="completes a model set here"
    )
    openai_api_key: Key | None = Field(
        default=None, validation_alias="OPENAI_API_KEY", description="completes a model set here"
    )

    @field_validator("base_url", "openai_base_url")
    @classmethod
    def _one_spelling(cls, url: str | None) -> str | None:
        return checked_url(url) if url else None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then environment, then the YAML file."""
        return init_settings, env_settings, _ModelFile(settings_cls, init_settings, env_settings)

    def is_set(self, part: Part) -> bool:
        """Whether an endpoint is set for a role; where none is, the embedded model is meant."""
        own: PartSettings = getattr(self, part)
        return bool(own.name or own.base_url or (part != "embedding" and (self.name or self.base_url)))

    def endpoint(self, part: Part, named: str = "") -> Endpoint | None:
        """The endpoint of a role, with the model `named` there instead of its own; None where none is set.

        Raises `ModelSettingsError` when a base URL is set and no model.
        """
        if not self.is_set(part):
            return None
        own: PartSettings = getattr(self, part)
        name = named or own.name or (self.name if part != "embedding" else None)
        general = self.base_url or self.openai_base_url or OPENAI_URL
        if not name:
            raise ModelSettingsError(
                f"an endpoint is set for role {part} but no model; "
                f"set TRAILBENCH_MODEL_{'EMBEDDING_' if part == 'embedding' else ''}NAME"
            )
        url = own.base_url or general
        shared = self.api_key or self.openai_api_key
        return Endpoint(
            base_url=url,
            model=name,
            api_key=own.api_key or (shared if _host(url) == _host(general) else None),
            weak=self.weak if own.weak is None else own.weak,
            concurrency=own.concurrency,
        )

    def endpoints(self, embedded: Endpoint | None = None) -> dict[Part, Endpoint]:
        """Every part that has an endpoint; `embedded` answers in the roles that have none."""
        found = {part: self.endpoint(part) or (embedded if part != "embedding" else None) for part in PARTS}
        return {part: endpoint for part, endpoint in found.items() if endpoint}


def model_settings() -> ModelSettings:
    """The settings of this process. Raises `ModelSettingsError`, which names what is wrong but repeats no value."""
    try:
        return ModelSettings()
    except ValidationError as error:
        wrong = (f"{_where(one['loc'])}: {one['msg'].removeprefix('Value error, ')}" for one in error.errors())
        raise ModelSettingsError(f"settings of the models: {'; '.join(wrong)}") from None
    except SettingsError as error:
        raise ModelSettingsError(f"settings of the models: {error}") from None


def _where(place: tuple[int | str, ...]) -> str:
    """The variable that is wrong, or the line of the file: of a file no word is repeated that is no name of ours."""
    set_here = {name.upper(): value for name, value in os.environ.items()}
    file = set_here.get("TRAILBENCH_MODEL_FILE")
    # A role may have one variable for all that it has of its own.
    variables = [_variable(place[:steps]) for steps in range(len(place), 0, -1)]
    found = next((variable for variable in variables if variable in set_here), None)
    if found or not file:
        return found or variables[0]
    at, _ = place_of(Path(file).read_text(encoding="utf-8-sig"), file, place)
    ours = {*ModelSettings.model_fields, *PartSettings.model_fields, *Price.model_fields}
    return ": ".join(filter(None, [at, ".".join(str(part) for part in place if part in ours)]))


def _variable(place: tuple[int | str, ...]) -> str:
    name = "_".join(str(part).upper() for part in place)
    return name if name.startswith(("OPENAI_", "TRAILBENCH_")) else f"TRAILBENCH_MODEL_{name}"


class _ModelFile(YamlConfigSettingsSource):
    def __init__(self, settings_cls: type[BaseSettings], *higher: PydanticBaseSettingsSource) -> None:
        named: Any = next((found["file"] for source in higher if (found := source()).get("file")), None)
        if named and not Path(named).is_file():
            raise ModelSettingsError(f"TRAILBENCH_MODEL_FILE: {named} is not there")
        super().__init__(settings_cls, yaml_file=named)

    def _read_file(self, file_path: Any) -> dict[str, Any]:
        try:
            read = read_values(file_path)
        except BadYaml as error:
            # What it says after the place may repeat a key of the API.
            what = "cannot be read as YAML in UTF-8, settings by name; put a bare yes, 010 or 1:30 in quotes"
            raise ModelSettingsError(f"{error.where}: {what}") from None
        settings = [name for name in ModelSettings.model_fields if name != "file"]
        for name in read:
            if name not in settings:
                # Not repeated: a key of the API may stand there for want of a space.
                at, _ = place_of(file_path.read_text(encoding="utf-8-sig"), str(file_path), (str(name), "[key]"))
                raise ModelSettingsError(f"{at}: no such setting; settings are {', '.join(settings)}")
        return read


def _host(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
