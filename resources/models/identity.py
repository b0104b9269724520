"""What makes two calls the same, and the body that is sent for one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.hashing import digest
from pipelines.models import Request, prompt_hash
from resources.models.settings import Endpoint, Part

KEY_VERSION = "1"
"""Raised when the same request would be sent in other words."""
_ONLY_JSON = "Reply with one JSON value and nothing else. It must fit this JSON schema:"


@dataclass(frozen=True)
class CallKey:
    """`key` names the call in cache and accounting, `prompt` its messages alone."""

    key: str
    prompt: str


def fingerprint(part: Part, endpoint: Endpoint, seed: int) -> str:
    """Hash of role, endpoint identity, model and decoding."""
    return digest(KEY_VERSION, part, endpoint.identity, endpoint.model, "0", str(seed))


def call_keys(model: str, requests: Sequence[Request]) -> list[CallKey]:
    """The keys of requests to the model with fingerprint `model`."""
    # A batch asks with one schema object many times: hash it once. The requests keep it alive, so its id is its own.
    schemas = {id(request.schema): request.schema for request in requests}
    # As it is sent: the order of the fields is the order in which they are answered.
    hashed = {at: "" if schema is None else digest(_text(schema)) for at, schema in schemas.items()}
    keys = []
    for request in requests:
        prompt = prompt_hash(request.messages)
        limits = f"{request.schema_name} {request.max_tokens} {request.attempt}"
        keys.append(CallKey(digest(model, prompt, hashed[id(request.schema)], limits), prompt))
    return keys


def body(request: Request, model: str, seed: int, conceded: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The JSON body of a chat call, without what the endpoint has said that it does not know."""
    messages = [{"role": one.speaker, "content": one.text} for one in request.messages]
    limit = "max_completion_tokens" if "max_tokens" in conceded else "max_tokens"
    sent: dict[str, Any] = {"model": model, "messages": messages, "temperature": 0, limit: request.max_tokens}
    if "seed" not in conceded:
        sent["seed"] = seed
    if request.schema is not None:
        if "response_format" in conceded:
            messages[-1]["content"] += f"\n\n{_ONLY_JSON}\n{_text(request.schema)}"
        else:
            sent["response_format"] = _response_format(request.schema_name, request.schema)
    return sent


def _response_format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema), "strict": True}}


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps(dict(schema), ensure_ascii=False)
