"""Personalised service: one item a state in the published form, made without a model (reference 3.3, 3.4).

A habit is due at the moment of the scenario, or was just missed: a message is asked
for. A preference fills the filters of a search, an attribute the fields of a form;
what these are called and when they are wanted must be given, for the names of a state
would tell it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

import polars as pl

from pipelines.applogs.gold_parts import GATE, service_parts
from pipelines.applogs.json_text import JsonObject, canonical, dump
from pipelines.applogs.packs import SERVICE_OF_FAMILY, service_item_id
from pipelines.applogs.schedules import WEEKDAYS, BadSchedule, next_day
from pipelines.applogs.state_values import FILL, fields, humanised, template
from pipelines.applogs.tables import table_of
from pipelines.applogs.tasks import Asked
from pipelines.hashing import key64

INSTRUCTIONS = {
    "user_communication": "Write a specific reminder message to the user for this moment.",
    "information_request_construction": "Fill the search filters that should be applied now.",
    "action_configuration": "Fill the fields of the form that should be set now.",
}
OFFSETS = (-30, -15, -5, 20)
"""Minutes from the start of a routine to the moment of its scenario; above 0 it was just missed."""
_STOP = """
a an and are as at be by for from has have in is it its just near of on or over that the their this to under user users
was when where which who with
"""
STOP_WORDS = frozenset(_STOP.split())
"""Words that tell nothing."""


class BadMoment(ValueError):
    """A service that cannot be made of its state: a slot whose field the value has not, a start that is no time."""


class Leak(ValueError):
    """A scenario, instruction or template that shares a word with the answer or with the name of the state."""


@dataclass(frozen=True)
class Moment:
    """When a structured service is wanted, and what it fills: a name of the service → the value's field (its path)."""

    scenario: str
    slots: Mapping[str, str]


def moments_by_state(rows: pl.DataFrame) -> dict[tuple[str, str], Moment]:
    """Rows of table `state_moments` by (user_id, state_key)."""
    return {
        (row["user_id"], row["state_key"]): Moment(row["scenario"], json.loads(row["slots"])) for row in rows.to_dicts()
    }


def services(
    states: pl.DataFrame, checkpoints: pl.DataFrame, truth: str, moments: Mapping[tuple[str, str], Moment]
) -> Asked:
    """One service for every state that is true at a checkpoint by this `truth` and can be served.

    A habit needs a start time; preferences and attributes need their moment, by (user_id, state_key). Raises `Leak`,
    `BadSchedule`, `BadMoment`.
    """
    chosen = states.with_columns(pl.col("truth", "expectation", "family").cast(pl.String)).filter(
        (pl.col("truth") == truth) & (pl.col("expectation") == "value")
    )
    placed = chosen.join(checkpoints.select("user_id", "checkpoint_id", "as_of"), on=["user_id", "checkpoint_id"])
    made = [_service(state, moments) for state in placed.sort("user_id", "checkpoint_id", "state_key").to_dicts()]
    kept = [one for one in made if one is not None]
    return Asked(
        table_of("tasks", [question for question, _, _ in kept]),
        table_of("gold_items", [item for _, item, _ in kept]),
        table_of("gold_parts", (part for _, _, parts in kept for part in parts)),
    )


def _service(
    state: JsonObject, moments: Mapping[tuple[str, str], Moment]
) -> tuple[JsonObject, JsonObject, list[JsonObject]] | None:
    user, key, value = state["user_id"], state["state_key"], json.loads(state["value"])
    family = SERVICE_OF_FAMILY[state["family"]]
    item, qa_id = service_item_id(user, state["checkpoint_id"], key, "q1"), "q1"
    reference: JsonObject | None = None
    if family == "user_communication":
        if not _timed(value):
            return None
        scenario = habit_scenario(value, state["as_of"], f"{user}/{key}")
        points = habit_points(key, value, qa_id)
        _refuse_leak(item, (scenario,), telling_words(humanised(key)))
    elif (moment := moments.get((user, key))) is None:
        return None
    else:
        leaves = {path: right for path, right, _ in fields(value)}
        if lost := sorted(path for path in moment.slots.values() if path not in leaves):
            raise BadMoment(
                f"the service of {key} of {user} fills {', '.join(map(repr, lost))}, which its value at "
                f"{state['checkpoint_id']} has not (fields: {', '.join(leaves)}); correct state_moments or the value"
            )
        reference = {slot: leaves[path] for slot, path in moment.slots.items()}
        scenario, points = moment.scenario, output_points(key, reference, leaves, qa_id)
        hidden = telling_words(humanised(key), *(_text(right) for right in leaves.values()))
        _refuse_leak(item, (scenario, *reference), hidden)
    instruction = INSTRUCTIONS[family]
    shape = None if reference is None else dump(template(reference, FILL))
    body = f"[Scenario] {scenario} [Task Instruction] {instruction}"
    question = {
        **{name: state[name] for name in ("user_id", "checkpoint_id", "as_of")},
        "item": item,
        "task": "personalised_service",
        "service_family": family,
        "scenario": scenario,
        "instruction": instruction,
        "output_template": shape,
        "retrieval_query": body if shape is None else f"{body} [Output Template] {shape}",
    }
    gold = {
        **state,
        "item": item,
        "task": "personalised_service",
        "service_family": family,
        "qa_id": qa_id,
        "reference": None if reference is None else canonical(reference),
    }
    return question, gold, service_parts(user, item, key, family, reference, points)


def _timed(value: Any) -> bool:
    """Whether a habit says when it is due."""
    if not isinstance(value, dict):
        return False
    timing, schedule = value.get("timing"), value.get("schedule")
    return isinstance(timing, dict) and isinstance(schedule, dict) and "start_time" in timing


def habit_scenario(value: JsonObject, as_of: datetime, name: str) -> str:
    """A moment near the next occurrence after `as_of`; which of `OFFSETS` it is follows from `name`.

    Raises `BadMoment` and `BadSchedule`.
    """
    told = value["timing"]["start_time"]
    try:
        start = time.fromisoformat(told)
    except (TypeError, ValueError):
        raise BadMoment(f"the habit {name} begins at {told!r}, which is no time of day; write it as 06:30") from None
    try:
        day = next_day(value["schedule"], as_of.date())
    except BadSchedule as error:
        raise BadSchedule(f"the habit {name}: {error}") from None
    moment = datetime.combine(day, start) + timedelta(minutes=OFFSETS[key64(name, "moment") % len(OFFSETS)])
    return f"It is {WEEKDAYS[moment.weekday()]} at {moment:%H:%M}."


def habit_points(key: str, value: Any, qa_id: str) -> list[JsonObject]:
    """The published points on a message: the identity gate, then one a field (a list is one field)."""
    stem = f"aqp_{key.replace(':', '_')}_{qa_id}"
    gate = {
        "point_id": f"{stem}_identity",
        "point_role": GATE,
        "point_text": f"The message is about the {humanised(key)} itself and about no other routine or task.",
    }
    return [gate] + [
        {
            "point_id": f"{stem}_p{place}",
            "point_text": f"The message agrees with {path} = {_rendered(path, right)}.",
            "source_field_path": path,
            "reference_value": right,
        }
        for place, (path, right, _) in enumerate(fields(value), start=1)
    ]


def output_points(key: str, reference: JsonObject, leaves: Mapping[str, Any], qa_id: str) -> list[JsonObject]:
    """One point a scalar leaf of an output; its source is named when exactly one leaf of the state equals it."""
    points = []
    for place, (path, right, _) in enumerate(fields(reference, lists=True), start=1):
        sources = [source for source, leaf in leaves.items() if leaf == right]
        points.append(
            {
                "point_id": f"aqp_{key.replace(':', '_')}_{qa_id}_p{place}",
                "point_text": f"The output has {path} = {_text(right)}.",
                "output_field_path": path,
                "target_path": path,
                "reference_value": right,
                **({"source_field_path": sources[0]} if len(sources) == 1 else {}),
            }
        )
    return points


def _rendered(path: str, right: Any) -> str:
    days = right if isinstance(right, list) else [right]
    if path.rpartition(".")[2] in ("days_of_week", "day_of_week") and all(day in range(7) for day in days):
        named = ", ".join(f"{day} ({WEEKDAYS[day]})" for day in days)
        return f"[{named}]" if isinstance(right, list) else named
    return canonical(right)


def _refuse_leak(item: str, shown: Iterable[str], hidden: set[str]) -> None:
    if told := sorted(telling_words(*shown) & hidden):
        raise Leak(f"{item} tells {', '.join(map(repr, told))}; word the scenario and its fields otherwise")


def telling_words(*texts: str) -> set[str]:
    """Words of the texts that tell something: in lower case, without stop words and single letters."""
    found = {word for text in texts for word in re.findall(r"[^\W_]+", text.lower())}
    return {word for word in found if word not in STOP_WORDS and len(word) > 1}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dump(value)
