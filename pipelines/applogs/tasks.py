"""Questions for what is true at checkpoints, with their right answers (reference 3.2; the free-form track is ours).

State completion asks one question a key with a template of the value's shape. The free
form asks the same in one fixed shape for every key, which tells nothing of the value,
and also asks for what is true no longer or never was.
"""

import json
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.applogs.gold_parts import state_parts
from pipelines.applogs.json_text import JsonObject, canonical, dump
from pipelines.applogs.packs import state_item_id
from pipelines.applogs.question_forms import FREE_FORM, WEEKDAY_NOTE
from pipelines.applogs.state_values import fields, humanised, template
from pipelines.applogs.tables import table_of


@dataclass(frozen=True)
class Asked:
    """Questions and, on the other side of the wall, their right answers: three tables of the same names."""

    questions: pl.DataFrame
    gold_items: pl.DataFrame
    gold_parts: pl.DataFrame


def state_completion(states: pl.DataFrame, checkpoints: pl.DataFrame, truth: str) -> Asked:
    """One question for every state that is true at a checkpoint by this `truth` (rows of `gold_states`).

    A question's name does not depend on the truth, so the answers to one set can be held against the other.
    """
    rows = []
    for state in true_states(states, checkpoints, truth, expectations=("value",)):
        key, value = state["state_key"], json.loads(state["value"])
        shape = template(value)
        note = WEEKDAY_NOTE if state["family"] == "habit" else ""
        text = (
            f"What is the user's current state of {state['family']} {humanised(key)} ({key})? "
            f"Fill this template: {canonical({key: shape})}.{note}"
        )
        item = state_item_id(state["user_id"], state["checkpoint_id"], key)
        parts = state_parts(state["user_id"], item, value)
        rows.append(_Row(state, item, "state_completion", text, dump(shape), value, parts))
    return _asked(rows)


def free_form(states: pl.DataFrame, checkpoints: pl.DataFrame, truth: str) -> Asked:
    """One question a state in the shape `FREE_FORM`, also for states `no_longer` and `never` true (answer: nothing)."""
    rows = []
    for state in true_states(states, checkpoints, truth, expectations=("value", "no_longer", "never")):
        key = state["state_key"]
        text = (
            f"What is currently true of the user's {humanised(key)} ({key})? It may be true no longer, or never have "
            "been: then leave everything null. "
            f"Fill what applies of this template: {canonical(FREE_FORM)}.{WEEKDAY_NOTE}"
        )
        item = f"{state['user_id']}/{state['checkpoint_id']}/free/{key}"
        value = None if state["value"] is None else in_free_form(json.loads(state["value"]))
        parts = [] if value is None else state_parts(state["user_id"], item, value)
        rows.append(_Row(state, item, "free_form", text, dump(FREE_FORM), value, parts))
    return _asked(rows)


def in_free_form(value: Any) -> JsonObject:
    """A value in the names of `FREE_FORM`: fields of those names as they are, all others together as `value`."""
    named: JsonObject = {}
    others: list[Any] = []
    for path, right, _ in fields(value):
        name = path.rpartition(".")[2]
        if name in FREE_FORM and name not in named and name != "value":
            named[name] = right
        else:
            others += right if isinstance(right, list) else [right]
    if others:
        named["value"] = others[0] if len(others) == 1 and not isinstance(value, list) else others
    return named


@dataclass(frozen=True)
class _Row:
    state: JsonObject
    item: str
    task: str
    text: str
    shape: str
    reference: Any
    parts: list[JsonObject]


def true_states(
    states: pl.DataFrame, checkpoints: pl.DataFrame, truth: str, expectations: tuple[str, ...]
) -> list[JsonObject]:
    """Rows of `gold_states` by this `truth` with these expectations and the `as_of` of their checkpoint, in order."""
    chosen = states.with_columns(pl.col("truth", "expectation", "family").cast(pl.String)).filter(
        (pl.col("truth") == truth) & pl.col("expectation").is_in(expectations)
    )
    placed = chosen.join(checkpoints.select("user_id", "checkpoint_id", "as_of"), on=["user_id", "checkpoint_id"])
    return placed.sort("user_id", "checkpoint_id", "state_key").to_dicts()


def _asked(rows: list[_Row]) -> Asked:
    questions = [
        {
            **{name: row.state[name] for name in ("user_id", "checkpoint_id", "as_of", "state_key")},
            "item": row.item,
            "task": row.task,
            "question_text": row.text,
            "retrieval_query": row.text,
            "answer_template": row.shape,
        }
        for row in rows
    ]
    items = [
        {
            **row.state,
            "item": row.item,
            "task": row.task,
            "reference": None if row.reference is None else canonical(row.reference),
        }
        for row in rows
    ]
    return Asked(
        table_of("tasks", questions),
        table_of("gold_items", items),
        table_of("gold_parts", (part for row in rows for part in row.parts)),
    )
