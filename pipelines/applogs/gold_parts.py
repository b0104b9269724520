"""Table `gold_parts`: the fields and points of right answers (reference 3.4, 5.3, 5.4)."""

import re
from typing import Any

from pipelines.applogs.json_text import JsonObject, canonical
from pipelines.applogs.state_values import ROOT, fields, humanised
from pipelines.evaluation.judging.comparators import WEEKDAY_WORDS

GATE = "identity_gate"
_CLOCK = re.compile(r"^([01]?\d|2[0-3]):[0-5]\d$")
_DATE = re.compile(r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$")
_NAMED = re.compile(r"[^\W_]")
_TIMES = frozenset({"time", "start_time", "end_time"})
_DAYS = frozenset({"day_of_week", "days_of_week", "weekday", "weekdays"})
_NUMBER_SETS = frozenset({"days_of_month", "day_of_month"})


def kind_of(path: str, value: Any) -> str:
    """Type that a field is compared as by rule: by its name where its value is of that type, else by its JSON type."""
    name = path.rpartition(".")[2]
    if name in _TIMES and isinstance(value, str) and _CLOCK.match(value):
        return "time of day"
    if name in _DAYS and all(str(day).lower() in WEEKDAY_WORDS for day in _members(value)):
        return "weekdays"
    if name.endswith("_date") and isinstance(value, str) and _DATE.match(value):
        return "date"
    if name == "frequency_type" and isinstance(value, str) and _NAMED.search(value):
        return "frequency"
    if isinstance(value, list) or name in _NUMBER_SETS:
        return "set"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return "entity" if isinstance(value, str) and _NAMED.search(value) else "exact"


def _members(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def state_parts(user_id: str, item: str, value: Any, points: list[JsonObject] | None = None) -> list[JsonObject]:
    """Parts of a state's right value: its judged fields, and `points` where a pack has them."""
    rows = [_field(user_id, item, path, right) for path, right, _ in fields(value)]
    return _placed(rows + [_point(user_id, item, point, judged=False) for point in points or []])


def service_parts(
    user_id: str, item: str, state_key: str, service: str, reference: Any, points: list[JsonObject]
) -> list[JsonObject]:
    """Parts of a service's right answer.

    A message is judged by its points, the identity gate first; a structured output by the fields of the reference
    output, its points counting in the point score alone. Where no reference is published the points are judged.
    """
    message = service == "user_communication" or not isinstance(reference, dict)
    rows = [] if message else [_field(user_id, item, path, right) for path, right, _ in fields(reference)]
    rows += [_point(user_id, item, point, judged=message, identity=humanised(state_key)) for point in points]
    return _placed(rows)


def _field(user_id: str, item: str, path: str, right: Any) -> JsonObject:
    return {
        "user_id": user_id,
        "item": item,
        "part": path,
        "gate": False,
        "judged": True,
        "point": False,
        "criterion": None,
        "path": path,
        "expected": canonical(right),
        "kind": kind_of(path, right),
    }


def _point(user_id: str, item: str, point: JsonObject, *, judged: bool, identity: str = "") -> JsonObject:
    gate = point.get("point_role") == GATE
    path = point.get("source_field_path") or point.get("output_field_path") or point.get("target_path")
    if not judged:
        path = point.get("output_field_path") or point.get("target_path") or path
    right = point.get("reference_value")
    return {
        "user_id": user_id,
        "item": item,
        "part": point["point_id"],
        "gate": gate,
        "judged": judged,
        "point": True,
        "criterion": point.get("point_text"),
        "path": None if gate else str(path or ROOT),
        # The gate's own words: the name of the routine, which a message must be about.
        "expected": canonical(identity) if gate else None if right is None else canonical(right),
        "kind": "identity" if gate else kind_of(str(path or ROOT), right),
    }


def _placed(rows: list[JsonObject]) -> list[JsonObject]:
    return [{**row, "place": place} for place, row in enumerate(rows)]
