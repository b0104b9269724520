"""How the live chain is reached; read from `TRAILBENCH_RPC_*`."""

import re
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, NonNegativeInt, PositiveInt, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

POLYGON = 137
"""Chain id of Polygon."""
FALLBACK_DEPTH = 256
"""Blocks behind the head that count as final where a node knows no `finalized` (design step 1; ours)."""
_SHORTEST_SECRET = 6
"""Parts of a URL shorter than this (`v2`, `rpc`) are no keys."""


class ChainError(ValueError):
    """The chain cannot be read as asked; says which blocks, why and the remedy, never the key of the endpoint."""


class ChainSettings(BaseSettings):
    """Endpoint and manners of the live source. None of them changes the rows of a range, only whether it is reached.

    `first_block` and `range_blocks` lay the grid of ranges and so name the drops.
    """

    model_config = SettingsConfigDict(
        env_prefix="TRAILBENCH_RPC_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    url: SecretStr = Field(
        default=SecretStr(""), description="JSON-RPC endpoint of a Polygon node; the key it holds is never shown"
    )
    first_block: NonNegativeInt = Field(
        default=33_605_403, description="first block of the first range: that of the V1 exchange (pools are older)"
    )
    range_blocks: PositiveInt = Field(default=10_000, description="blocks of one range, which becomes one drop")
    request_blocks: PositiveInt = Field(
        default=2_000, description="blocks asked for at once, at most; halved as soon as a node refuses"
    )
    finality: Literal["finalized"] | Annotated[int, Field(ge=0)] = Field(
        default="finalized",
        description=f"`finalized` (where a node knows none: {FALLBACK_DEPTH} blocks behind its head), or that depth",
    )
    concurrency: int = Field(default=4, ge=1, le=64, description="requests at the same time")
    timeout: float = Field(default=60.0, gt=0, description="seconds that one answer may take")
    patience: float = Field(
        default=120.0, gt=0, description="seconds without any answer (refused, rate limit) before a fetch gives up"
    )

    @field_validator("url")
    @classmethod
    def _is_http(cls, value: SecretStr) -> SecretStr:
        # The value may hold a key and stays out of the message, and so do the parser's words.
        if not _is_url(value.get_secret_value()):
            raise ValueError("TRAILBENCH_RPC_URL is no http(s) URL")
        return value

    @property
    def endpoint(self) -> str:
        """Scheme, host and port of the URL: what may be shown of it."""
        parts = urlsplit(self.url.get_secret_value())
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}" if parts.hostname else "(no endpoint)"

    def redacted(self, text: Any) -> str:
        """`text` without any part of the URL that could be a key, whoever repeats it."""
        url = self.url.get_secret_value()
        parts = urlsplit(url)
        found = re.split(r"[/&=?@:#]", f"{parts.path}?{parts.query}#{parts.fragment}@{parts.netloc.rpartition('@')[0]}")
        found += [unquote(part) for part in found]
        secrets = sorted({part for part in found if len(part) >= _SHORTEST_SECRET}, key=lambda part: (-len(part), part))
        shown = str(text).replace(url, self.endpoint) if url else str(text)
        for secret in secrets:
            shown = shown.replace(secret, "…")
        return shown


def _is_url(text: str) -> bool:
    """Whether this is the URL of a web server, or empty."""
    try:
        parts = urlsplit(text)
        return not text or (parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0)
    except ValueError:
        return False
