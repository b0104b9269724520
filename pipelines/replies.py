"""A model's text → a typed value, or the reason why it is none (ours).

Strict where a guess could become an answer: one JSON value, no key twice, no NaN,
nothing beyond the schema. Lenient only about the wrapping that models add: blanks
and one code fence. Half of a character, which JSON can escape and nothing can keep,
is read as `?`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from pipelines.models import Reply

T = TypeVar("T", bound=BaseModel)
ParseStatus = Literal["ok", "empty", "truncated", "refused", "failed", "not_json", "wrong_schema"]
_FENCE = re.compile(r"\A```[A-Za-z]*\s*\n(.*?)\n?```\Z", re.DOTALL)


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """`value` is there exactly when `status` is `ok`; `reason` says what was wrong, without the model's text."""

    status: ParseStatus
    value: T | None = None
    reason: str = ""


def parse(reply: Reply, model: type[T]) -> Parsed[T]:
    """The reply as `model`. A reply that is not whole keeps its own status and is never read."""
    if reply.status != "ok":
        return Parsed(reply.status, reason=reply.error)
    text = reply.text.strip()
    if fenced := _FENCE.match(text):
        text = fenced.group(1)
    try:
        raw = _whole(json.loads(text, object_pairs_hook=_once, parse_constant=_refuse))
    except (ValueError, RecursionError) as error:
        return Parsed("not_json", reason=str(error).partition(":")[0] or "not JSON")
    try:
        return Parsed("ok", model.model_validate(raw))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, _place(one)))}: {one['type']}" for one in error.errors()[:5])
        return Parsed("wrong_schema", reason=wrong)


@cache
def schema_of(model: type[BaseModel]) -> Mapping[str, Any]:
    """JSON schema of a reply, as `Request.schema` wants it: every object closed, every field required."""
    schema: dict[str, Any] = _closed(model.model_json_schema())
    return schema


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    out = {name: _closed(value) for name, value in node.items() if name not in ("title", "default")}
    if node.get("type") == "object" and "properties" in node:
        out["properties"] = {name: _closed(value) for name, value in node["properties"].items()}
        out["required"] = list(node["properties"])
        out["additionalProperties"] = False
    return out


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key is given twice")
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return _once([(_whole(name), _whole(one)) for name, one in value.items()]) if isinstance(value, dict) else value


def _place(error: Any) -> tuple[int | str, ...]:
    """Where the error is; the name of a field that there is not would be the model's own text."""
    place: tuple[int | str, ...] = error["loc"]
    return place[:-1] if error["type"] == "extra_forbidden" else place


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number")
