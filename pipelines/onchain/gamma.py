"""Reading market descriptions as Gamma gives them: JSON objects, arrays of them, or one a line (reference C)."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import polars as pl

from pipelines.tables import TIME

_RAW_LIMIT = 500
_MOST_OUTCOMES = 256
NO_JSON = (ValueError, RecursionError)
"""What reading JSON may raise; the second where it is nested too deep."""

GAMMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "condition_id": pl.Binary,
    "question": pl.String,
    "outcomes": pl.List(pl.String),
    "outcome_prices": pl.List(pl.String),
    "source_token_ids": pl.List(pl.Binary),
    "category": pl.String,
    "start": TIME,
    "end": TIME,
    "neg_risk": pl.Boolean,
    "closed": pl.Boolean,
    "resolution_status": pl.String,
    "updated": TIME,
}
"""Columns of a reading. `outcome_prices`, `closed` and `resolution_status` tell the future: no context shows them."""


class Refused(NamedTuple):
    """A market that could not be read: line (text) or element (array) from 1, why, and its text, cut."""

    line: int
    reason: str
    raw: str


def read_markets(text: str) -> tuple[pl.DataFrame, list[Refused]]:
    """Markets of one file, columns `GAMMA` in the order of the file, and what was refused.

    A file is one JSON object, an array of objects, or one object a line. outcomes, outcomePrices and
    clobTokenIds are JSON-encoded strings (lists are taken as well); negRisk, category, dates and resolution
    status may be absent. A market without a condition id, without two or more distinct named outcomes, or
    whose lists differ in length is refused, as are more than 256 outcomes and a token id that is no 256-bit number.
    """
    rows: list[dict[str, Any]] = []
    refused: list[Refused] = []
    for line, value, raw in _objects(text):
        try:
            if not isinstance(value, dict):
                raise ValueError(
                    "not a JSON object" if value is None else f"a market must be an object, not {value!r:.40}"
                )
            rows.append(_market(value))
        except ValueError as error:
            refused.append(Refused(line, _whole(str(error)), _whole(raw[:_RAW_LIMIT])))
    return pl.DataFrame(rows, schema=GAMMA, orient="row"), refused


def _objects(text: str) -> Iterator[tuple[int, Any, str]]:
    text = text.removeprefix("\ufeff")
    try:
        whole = json.loads(text)
    except NO_JSON:
        # Only a line feed ends a line: a question may hold any other separator.
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    value = json.loads(line)
                except NO_JSON:
                    value = None
                yield number, value, line
        return
    for number, value in enumerate(whole if isinstance(whole, list) else [whole], 1):
        yield number, value, json.dumps(value, ensure_ascii=False)


def _market(value: dict[str, Any]) -> dict[str, Any]:
    outcomes = _texts(value, "outcomes")
    if outcomes is None or len(outcomes) < 2 or len(set(outcomes)) < len(outcomes) or not all(outcomes):
        raise ValueError("outcomes must be two or more different names")
    if len(outcomes) > _MOST_OUTCOMES:
        raise ValueError(f"{len(outcomes)} outcomes; a condition has at most {_MOST_OUTCOMES}")
    tokens, prices = _texts(value, "clobTokenIds"), _texts(value, "outcomePrices")
    for name, items in (("clobTokenIds", tokens), ("outcomePrices", prices)):
        if items and len(items) != len(outcomes):
            raise ValueError(f"{name} has {len(items)} entries for {len(outcomes)} outcomes")
    return {
        "condition_id": _condition(value.get("conditionId")),
        "question": _text(value, "question"),
        "outcomes": outcomes,
        "outcome_prices": prices or None,
        "source_token_ids": [_token(item) for item in tokens] if tokens else None,
        "category": _text(value, "category"),
        "start": _instant(value, "startDate"),
        "end": _instant(value, "endDate"),
        "neg_risk": value["negRisk"] if isinstance(value.get("negRisk"), bool) else None,
        "closed": value["closed"] if isinstance(value.get("closed"), bool) else None,
        "resolution_status": _text(value, "umaResolutionStatus"),
        "updated": _instant(value, "updatedAt"),
    }


def _texts(value: dict[str, Any], name: str) -> list[str] | None:
    items = value.get(name)
    if isinstance(items, str):
        if not items.strip():
            return None
        try:
            items = json.loads(items)
        except NO_JSON:
            raise ValueError(f"{name} is no JSON list") from None
    if items is None:
        return None
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError(f"{name} must be a list of texts (a number would have lost digits)")
    return [_whole(item) for item in items]


def _text(value: dict[str, Any], name: str) -> str | None:
    return _whole(value[name]) if isinstance(value.get(name), str) and value[name] else None


def _whole(text: str) -> str:
    """Text with a replacement for halves of characters, which JSON can escape and no table can hold."""
    return text.encode("utf-8", "replace").decode()


def _condition(text: object) -> bytes:
    try:
        data = bytes.fromhex(str(text).removeprefix("0x")) if isinstance(text, str) else b""
    except ValueError:
        data = b""
    if len(data) != 32:
        raise ValueError(f"conditionId {text!r:.80} is not 32 bytes of hex")
    return data


def _token(text: str) -> bytes:
    if not (text.isascii() and text.isdigit() and len(text) <= 78) or int(text) >= 1 << 256:
        raise ValueError(f"token id {text!r:.90} is no 256-bit number")
    return int(text).to_bytes(32, "big")


def _instant(value: dict[str, Any], name: str) -> datetime | None:
    """ISO instants with Z, or a space and a short offset (`2026-03-19 23:20:15+00`); without an offset UTC."""
    text = _text(value, name)
    if text is None:
        return None
    try:
        instant = datetime.fromisoformat(text)
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} {text!r:.40} is no instant") from None
