"""One try of a call: what is sent to an endpoint, and what its answer means.

Nothing that an endpoint says leaves this module but a reply's own text and short error
codes: an error message may repeat the key that it complains about.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines.models import ModelStopped, ReplyStatus
from resources.models.settings import Endpoint
from resources.models.waits import asked_wait

if TYPE_CHECKING:
    import openai

CUT = "the reply stopped at its token limit"
_MOST_TOKENS = 1_000_000_000
"""More in one call is no count: it would pass for a budget spent, or be beyond what the account can hold."""
_NO_PROXY = (
    "a proxy of the environment cannot be used: HTTP_PROXY, HTTPS_PROXY and ALL_PROXY take http://host:port; "
    "correct or unset them"
)
_AGAIN = frozenset({408, 409, 429})
_OWN_FAULT = frozenset({400, 413, 422})
"""Statuses about one request, which say nothing about the endpoint."""
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")
_REMEDIES = {
    401: "the key is not accepted; set TRAILBENCH_MODEL_API_KEY",
    403: "the key may not use this model; set TRAILBENCH_MODEL_API_KEY",
    404: "no such path or model; check TRAILBENCH_MODEL_BASE_URL and TRAILBENCH_MODEL_NAME",
    429: "rate limit or quota reached",
}
# At level DEBUG they print headers, and with them the key.
for _name in ("httpcore2", "httpx2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(frozen=True)
class Outcome:
    """What one try came to. `concede` names a parameter that the endpoint does not know."""

    status: ReplyStatus
    text: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    error: str = ""
    """Class of the error, for the account."""
    reason: str = ""
    """The error in words, without anything the endpoint said."""
    again: bool = False
    wait: float | None = None
    endpoint_fault: bool = False
    concede: str = ""
    vectors: tuple[tuple[float, ...], ...] = ()


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = Field(default=0, ge=0, le=_MOST_TOKENS)
    completion_tokens: int = Field(default=0, ge=0, le=_MOST_TOKENS)


class _Completion(BaseModel):
    choices: list[_Choice]
    usage: _Usage | None = None


class _Vector(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)
    index: int
    embedding: tuple[float, ...] = Field(min_length=1)


class _Vectors(BaseModel):
    data: list[_Vector]
    usage: _Usage | None = None


class EndpointClient:
    """The SDK's client of one endpoint, without its retries; used in one event loop.

    Raises `ModelStopped` when the environment names a proxy that cannot be used.
    """

    def __init__(self, endpoint: Endpoint, connections: int, timeout_seconds: float) -> None:
        # It takes most of a second, and few commands ask a model.
        import openai

        self._timeout = timeout_seconds
        self._key = endpoint.api_key.get_secret_value() if endpoint.api_key else ""
        # One with an alias is a server of our own, at a port that nobody set.
        remedy = "its server has ended" if endpoint.alias else "check TRAILBENCH_MODEL_BASE_URL"
        self._unreachable = f"no connection; {remedy}"
        host = urlsplit(endpoint.base_url).hostname or ""
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        try:
            http_client = openai.DefaultAsyncHttpxClient(
                limits=limits,
                # A redirect would carry prompts to a host that nobody named; a proxy cannot reach this machine.
                follow_redirects=False,
                trust_env=host not in ("localhost", "127.0.0.1", "::1"),
            )
        except (ImportError, ValueError):
            raise ModelStopped(_NO_PROXY) from None
        self._sdk = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            # The SDK wants one; servers that need none ignore it.
            api_key=self._key or "none",
            max_retries=0,
            timeout=timeout_seconds,
            http_client=http_client,
        )

    async def chat(self, body: Mapping[str, Any]) -> Outcome:
        """One try of a chat call."""
        raw: Any = self._sdk.chat.completions.with_raw_response
        return await self._try(raw.create(**body), _chat_outcome)

    async def embed(self, model: str, texts: list[str]) -> Outcome:
        """One try of an embeddings call."""
        raw: Any = self._sdk.embeddings.with_raw_response
        call = raw.create(model=model, input=texts, encoding_format="float")
        return await self._try(call, partial(_vectors_outcome, len(texts)))

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    async def _try(self, call: Any, read: Any) -> Outcome:
        import openai

        try:
            # The SDK's limit is one for every read; a body that drips would pass it for ever.
            async with asyncio.timeout(self._timeout):
                response = await call
            return read(response.http_response.content)  # type: ignore[no-any-return]
        except (openai.APITimeoutError, TimeoutError):
            reason = f"no reply within {self._timeout:g} s"
            return Outcome("failed", error="Timeout", reason=reason, again=True, endpoint_fault=True)
        except openai.APIConnectionError:
            reason = self._unreachable
            return Outcome("failed", error="ConnectionError", reason=reason, again=True, endpoint_fault=True)
        except openai.APIStatusError as error:
            return _status_outcome(error, self._key)


def _status_outcome(error: "openai.APIStatusError", key: str) -> Outcome:
    status = error.status_code
    words = (word for word in (error.code, error.type) if isinstance(word, str) and _CODE.fullmatch(word))
    code = next((word for word in words if word not in key and not (key and key in word)), "")
    known = _REMEDIES.get(status, "redirected elsewhere, which is not followed" if 300 <= status < 400 else "")
    again = status in _AGAIN or status >= 500
    return Outcome(
        "failed",
        error=f"HTTP {status}" + (f" {code}" if code else ""),
        reason=f"HTTP {status}" + "".join(f" {word}" for word in (code, known and f"({known})") if word),
        again=again and code != "insufficient_quota",
        wait=asked_wait(error.response.headers, datetime.now(UTC)) if again else None,
        endpoint_fault=status not in _OWN_FAULT,
        concede=_unknown_parameter(error) if status in (400, 422) else "",
    )


def _unknown_parameter(error: "openai.APIStatusError") -> str:
    said = error.response.text.lower()
    if "invalid schema" in said:
        return ""
    if "response_format" in said or "json_schema" in said:
        return "response_format"
    if "max_completion_tokens" in said:
        return "max_tokens"
    return "seed" if re.search(r"\bseed\b", said) else ""


def _chat_outcome(body: bytes) -> Outcome:
    try:
        read = _Completion.model_validate_json(body)
    except ValidationError:
        return _malformed("the reply is no chat completion")
    usage = read.usage or _Usage()
    outcome = partial(Outcome, tokens_in=usage.prompt_tokens, tokens_out=usage.completion_tokens)
    if len(read.choices) != 1:
        reason = f"the reply holds {len(read.choices)} choices, not one"
        return outcome("failed", error="Choices", reason=reason)
    (choice,) = read.choices
    text = choice.message.content or ""
    if choice.finish_reason == "content_filter" or choice.message.refusal:
        return outcome("refused", error="Refused", reason="the endpoint declined")
    if not text.strip():
        return outcome("empty", error="Empty", reason="the reply has no text")
    if choice.finish_reason == "length":
        return outcome("truncated", text, reason=CUT)
    return outcome("ok", text)


def _vectors_outcome(wanted: int, body: bytes) -> Outcome:
    try:
        read = _Vectors.model_validate_json(body)
    except ValidationError:
        return _malformed("the reply is no list of vectors")
    outcome = partial(Outcome, tokens_in=(read.usage or _Usage()).prompt_tokens)
    ordered = sorted(read.data, key=lambda one: one.index)
    lengths = {len(one.embedding) for one in ordered}
    if [one.index for one in ordered] != list(range(wanted)) or len(lengths) != 1:
        return outcome("failed", error="Vectors", reason="the reply has not one vector of one length a text")
    return outcome("ok", vectors=tuple(one.embedding for one in ordered))


def _malformed(reason: str) -> Outcome:
    return Outcome("failed", error="MalformedReply", reason=reason, again=True, endpoint_fault=True)
