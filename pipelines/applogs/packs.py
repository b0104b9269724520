"""A published task pack, split at once into what is asked and what is true (reference 1.4).

The question side is a projection by allow-list: every field of it is named here. All
else goes to the gold side, known fields as tables and every field as it was.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.applogs.clock import wall_clock
from pipelines.applogs.gold_parts import service_parts, state_parts
from pipelines.applogs.json_text import JsonObject, canonical, dump, load
from pipelines.applogs.pack_fields import Checked
from pipelines.applogs.state_values import flat_states, normalised
from pipelines.applogs.tables import APPLOG_TABLES, SERVICES, table_of
from pipelines.hashing import digest
from pipelines.tables import TIME

ANCHORS: dict[str, pl.DataType | type[pl.DataType]] = {
    "user_id": pl.String,
    "checkpoint_id": pl.String,
    "log_index": pl.Int64,
    "app_log_id": pl.String,
    "as_of": TIME,
}
"""Where a pack says that its checkpoints lie; the harness resolves them (`checkpoints.cut`)."""
SERVICE_OF_FAMILY = {"habit": SERVICES[0], "preference": SERVICES[1], "attribute": SERVICES[2]}
_LARGEST = 2**31 - 1
"""Largest place in a log."""
STATE, SERVICE = "state_completion_pack", "rq3_apply_service_qa"


@dataclass(frozen=True)
class Gold:
    """The gold side: tables `gold_items`, `gold_parts`, `gold_states`, `gold_records`."""

    items: pl.DataFrame
    parts: pl.DataFrame
    states: pl.DataFrame
    records: pl.DataFrame


@dataclass(frozen=True)
class Pack:
    """A pack behind the wall: table `tasks`, where the checkpoints lie (`ANCHORS`), and the gold side."""

    questions: pl.DataFrame
    anchors: pl.DataFrame
    gold: Gold


class _Reader:
    def __init__(self, file: str, user_id: str) -> None:
        self.user, self.at = user_id, Checked(file)
        self.questions: list[JsonObject] = []
        self.anchors: list[JsonObject] = []
        self.items: list[JsonObject] = []
        self.parts: list[JsonObject] = []
        self.states: list[JsonObject] = []
        self.records: list[JsonObject] = []

    def checkpoint(self, one: JsonObject, path: str) -> None:
        checkpoint_id = self.at.text(one, "checkpoint_id", path, needed=True)
        as_of = self.at.object(one, "as_of", path)
        index = as_of.get("log_index")
        if index is not None and (isinstance(index, bool) or not isinstance(index, int) or abs(index) > _LARGEST):
            raise self.at.fail(f"{path}.as_of.log_index", f"is no whole number of {_LARGEST} at most")
        place = {"user_id": self.user, "checkpoint_id": checkpoint_id}
        place["as_of"] = self.at.text(as_of, "timestamp", f"{path}.as_of", needed=True)
        self.anchors.append(
            {**place, "log_index": index, "app_log_id": self.at.text(as_of, "app_log_id", f"{path}.as_of")}
        )
        states, seen = self.true_states(one, path)
        for key, item in self.keys(one, STATE, path):
            self.state_item(place, key, item, states.get(key), seen.get(key, []), f"{path}.{STATE}.keys[{key!r}]")
        for key, holder in self.keys(one, SERVICE, path):
            where = f"{path}.{SERVICE}.keys[{key!r}].items"
            listed = holder.get("items") or []
            if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
                raise self.at.fail(where, "is no list of objects")
            # The published protocol asks the first item of a key and no other.
            for item in listed[:1]:
                self.service_item(place, key, item, f"{where}[0]")
        for key, value in states.items():
            self.states.append(
                {**self.truth(place), "state_key": key, "family": self.at.family(key, path), "expectation": "value"}
                | {"value": canonical(value), "evidence": seen.get(key, [])}
            )
        for field, value in one.items():
            self.records.append(
                {"user_id": self.user, "checkpoint_id": checkpoint_id, "field": field, "record": dump(value)}
            )

    def true_states(self, one: JsonObject, path: str) -> tuple[JsonObject, dict[str, list[str]]]:
        try:
            values = flat_states(self.at.object(one, "validated_snapshot_state", path))
            shown = flat_states(self.at.object(one, "state_observability", path))
        except ValueError as error:
            raise self.at.fail(path, f"cannot be read: {error}") from None
        seen = {}
        for key, record in shown.items():
            where = f"{path}.state_observability[{key!r}]"
            if not isinstance(record, dict):
                raise self.at.fail(where, "is no object")
            last = self.at.text(record, "last_app_log_id", where)
            seen[key] = self.at.ids(record, "evidence_app_log_ids", where) or ([last] if last else [])
        asked = {key: normalised(value) for key, value in values.items()}
        return {key: value for key, value in asked.items() if value is not None}, seen

    def keys(self, one: JsonObject, pack: str, path: str) -> list[tuple[str, JsonObject]]:
        held = self.at.object(self.at.object(one, pack, path), "keys", f"{path}.{pack}")
        for key, value in held.items():
            if not isinstance(value, dict):
                raise self.at.fail(f"{path}.{pack}.keys[{key!r}]", "is no object")
        return sorted(held.items())

    def truth(self, place: JsonObject) -> JsonObject:
        named = {name: place[name] for name in ("user_id", "checkpoint_id")}
        return {**named, "truth": "published", "evidence_previous": None, "distractors": None}

    def state_item(
        self, place: JsonObject, key: str, asked: JsonObject, value: Any, evidence: list[str], path: str
    ) -> None:
        family = self.at.family(key, path)
        if value is None:
            return  # As published: a key without a right answer is not asked for.
        item = state_item_id(self.user, place["checkpoint_id"], key)
        text = self.at.text(asked, "question_text", path, needed=True)
        self.questions.append(
            {
                **place,
                "item": item,
                "task": "state_completion",
                "state_key": key,
                "question_text": text,
                "retrieval_query": self.at.text(asked, "retrieval_query", path) or text,
                "answer_template": self.at.blanks(asked, "answer_template", path),
            }
        )
        self.items.append(
            {**self.truth(place), "item": item, "task": "state_completion", "state_key": key, "family": family}
            | {"expectation": "value", "reference": canonical(value), "evidence": evidence}
        )
        points = self.at.points(asked.get("scoring_points") or [], f"{path}.scoring_points")
        self.add_parts(state_parts(self.user, item, value, points), path)

    def service_item(self, place: JsonObject, key: str, asked: JsonObject, path: str) -> None:
        family = self.at.family(key, path)
        service = asked.get("service_family") or SERVICE_OF_FAMILY[family]
        if service not in SERVICES:
            raise self.at.fail(f"{path}.service_family", f"is none of {', '.join(SERVICES)}")
        qa_id = self.at.text(asked, "qa_id", path, needed=True) or ""
        item = service_item_id(self.user, place["checkpoint_id"], key, qa_id)
        scenario = self.at.text(asked, "scenario", path, needed=True)
        instruction = self.at.text(asked, "task_instruction", path, needed=True)
        self.questions.append(
            {
                **place,
                "item": item,
                "task": "personalised_service",
                "service_family": service,
                "retrieval_query": self.at.text(asked, "retrieval_query", path) or f"{scenario}\n{instruction}",
                "scenario": scenario,
                "instruction": instruction,
                "output_template": self.at.blanks(asked, "output_template", path),
            }
        )
        reference = asked.get("reference_output", asked.get("reference_answer"))
        self.items.append(
            {
                **self.truth(place),
                "item": item,
                "task": "personalised_service",
                "state_key": key,
                "family": family,
                "service_family": service,
                "qa_id": qa_id,
                "expectation": "value",
                "reference": None if reference is None else canonical(reference),
                "evidence": self.at.ids(asked, "gold_memory_evidence_app_log_ids", path),
            }
        )
        points = self.at.points(asked.get("answer_scoring_points") or [], f"{path}.answer_scoring_points")
        rows = service_parts(self.user, item, key, service, reference, points)
        if not rows:
            raise self.at.fail(path, "has neither a reference output nor scoring points")
        self.add_parts(rows, path)

    def add_parts(self, rows: list[JsonObject], path: str) -> None:
        if len({row["part"] for row in rows}) < len(rows):
            raise self.at.fail(path, "names a point like a field")
        self.parts += rows


def read_pack(data: bytes, file: str, user_id: str) -> Pack:
    """The two sides of a user's task pack from the bytes of `file` (an object, or a list of one).

    Only ids, as-of times, questions and templates are needed; every other field may be absent.
    Raises `SourceError` naming the field, also for a template that tells a value.
    """
    value = load(data, file)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    reader = _Reader(file, user_id)
    if not isinstance(value, dict):
        raise reader.at.fail("the file", "is no task pack", "Give the object of task_packs.json")
    if value.get("user_id", user_id) != user_id:
        raise reader.at.fail("user_id", f"is {value['user_id']!r}, not {user_id!r}", "Put each user's files together")
    checkpoints = value.get("checkpoints")
    if not isinstance(checkpoints, list) or not checkpoints:
        raise reader.at.fail("checkpoints", "is no list with a checkpoint in it")
    for index, one in enumerate(checkpoints):
        if not isinstance(one, dict):
            raise reader.at.fail(f"checkpoints[{index}]", "is no object")
        reader.checkpoint(one, f"checkpoints[{index}]")
    for field in value.keys() - {"checkpoints"}:
        reader.records.append({"user_id": user_id, "checkpoint_id": "", "field": field, "record": dump(value[field])})
    return _tables(reader)


def state_item_id(user_id: str, checkpoint_id: str, key: str) -> str:
    """Name of the question for a state."""
    return f"{user_id}/{checkpoint_id}/state/{key}"


def service_item_id(user_id: str, checkpoint_id: str, key: str, qa_id: str) -> str:
    """Name of a service question: the state that it is about is its answer, so a hash stands for it."""
    return f"{user_id}/{checkpoint_id}/service/{digest(user_id, checkpoint_id, key, qa_id, size=8)}"


def _tables(reader: _Reader) -> Pack:
    anchors = _timed(reader, pl.DataFrame(reader.anchors, schema={**ANCHORS, "as_of": pl.String}))
    if twice := anchors.height - anchors["checkpoint_id"].n_unique():
        raise reader.at.fail("checkpoints", f"name {twice} ids twice", "Give each checkpoint its own id")
    place = ["user_id", "checkpoint_id"]
    rows = [{name: value for name, value in row.items() if name != "as_of"} for row in reader.questions]
    questions = table_of("tasks", rows).drop("as_of").join(anchors.select(*place, "as_of"), on=place, how="left")
    table = APPLOG_TABLES["tasks"]
    return Pack(
        questions.select(table.schema.names()).sort(table.sort_by),
        anchors.select(ANCHORS.keys()).sort("checkpoint_id"),
        Gold(
            table_of("gold_items", reader.items),
            table_of("gold_parts", reader.parts),
            table_of("gold_states", reader.states),
            table_of("gold_records", reader.records),
        ),
    )


def _timed(reader: _Reader, anchors: pl.DataFrame) -> pl.DataFrame:
    timed = anchors.with_columns(wall_clock(anchors["as_of"]), text=pl.col("as_of")).with_row_index("index")
    bad = timed.filter(pl.col("as_of").is_null())
    if bad.height:
        first = bad.row(0, named=True)
        place = f"checkpoints[{first['index']}].as_of.timestamp"
        raise reader.at.fail(place, f"{first['text']!r} cannot be read as a time", "Write it as 2023-12-31 19:30:00")
    return timed
