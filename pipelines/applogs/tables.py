"""Every table of the app-log track once: column, type, unit, meaning, and the side of the wall it lies on.

Times are the wall clock of the log written as UTC: the published logs carry no zone, and none is invented.
"""

from collections.abc import Iterable
from typing import Any

import polars as pl

from pipelines.tables import TIME, Column, Table

TASKS = ("state_completion", "personalised_service", "free_form", "no_key")
TASK = pl.Enum(TASKS)
FAMILIES = ("attribute", "habit", "preference")
FAMILY = pl.Enum(FAMILIES)
SERVICES = ("user_communication", "information_request_construction", "action_configuration")
SERVICE = pl.Enum(SERVICES)
ANSWER_STATUSES = ("ok", "abstained", "transport_error", "parse_error")
ANSWER_STATUS = pl.Enum(ANSWER_STATUSES)
UNIT_STATUSES = (*ANSWER_STATUSES, "missing")
UNIT_STATUS = pl.Enum(UNIT_STATUSES)
TRUTHS = ("published", "as_of", "finished_chain")
TRUTH = pl.Enum(TRUTHS)
EXPECTATIONS = ("value", "no_longer", "never")
EXPECTATION = pl.Enum(EXPECTATIONS)
CUTS = ("index", "id", "time")
CUT = pl.Enum(CUTS)
KINDS = ("entity", "exact", "number", "time of day", "date", "weekdays", "set", "frequency", "identity")
KIND = pl.Enum(KINDS)
EVIDENCE_ROLES = ("supports", "cause", "distractor")
EVIDENCE_ROLE = pl.Enum(EVIDENCE_ROLES)
HISTORIES = ("first", "retained", "updated", "changed_earlier", "new")
HISTORY = pl.Enum(HISTORIES)
FAILURES = ("irrelevant", "identity_miss", "detail_miss", "conflated", "all_clear")
LABELS = (*FAILURES, "untold")
LABEL = pl.Enum(LABELS)

_USER = Column(pl.String, "user, text exactly as in the log")
_CHECKPOINT = Column(pl.String, "checkpoint, text as published")
_ITEM = Column(pl.String, "one question at one checkpoint; says nothing of its answer")
_KEY = Column(pl.String, "state, `category:name`")
_KEY_IF_ONE = Column(pl.String, "state, `category:name`; null where all of a family are asked for", nullable=True)
_IDS = pl.List(pl.String)


def _text(meaning: str) -> Column:
    return Column(pl.String, meaning, nullable=True)


def _share(meaning: str) -> Column:
    return Column(pl.Float64, meaning, "share", nullable=True)


_ANSWERED = {
    "user_id": _USER,
    "item": _ITEM,
    "status": Column(ANSWER_STATUS, " | ".join(ANSWER_STATUSES)),
    "answer": _text("JSON text of the answer (a message is a JSON string); null unless ok"),
    "evidence": Column(_IDS, "ids of logs that the answer cites, in its order"),
    "retrieved": Column(_IDS, "ids of logs that the memory delivered; null where it tells none", nullable=True),
    "reason": _text("what was wrong, without words of the model; null unless an error"),
    "call": _text("key of the model call that was answered last; null where no model was asked"),
}

APPLOG_TABLES: dict[str, Table] = {
    "app_logs": Table(
        "One row a log, in the order of time and id: all that a memory may ever be made from.",
        {
            "user_id": _USER,
            "position": Column(pl.Int32, "place in the user's order, from 0"),
            "app_log_id": Column(pl.String, "id, text as published"),
            "time": Column(TIME, "when it began, by the log's own clock", "µs"),
            "app": Column(pl.String, "app name as logged"),
            "api": Column(pl.String, "API name as logged; unique within its app only"),
            "object": Column(pl.String, "what was acted on, by the declared rendering (`objects`)"),
            "record": Column(pl.String, "the whole log as JSON on one line, nothing added or left out"),
        },
        key=("user_id", "position"),
    ),
    "checkpoints": Table(
        "How much of a user's log may be known at each checkpoint.",
        {
            "user_id": _USER,
            "checkpoint_index": Column(pl.Int32, "place in time, from 0"),
            "checkpoint_id": _CHECKPOINT,
            "as_of": Column(TIME, "moment that questions are about", "µs"),
            "n_visible": Column(pl.Int32, "the first so many logs are visible", "logs"),
            "last_log_id": Column(pl.String, "last visible log"),
            "cut_by": Column(CUT, "index (id asserted) | id (the index named another log) | time (no usable index)"),
        },
        key=("user_id", "checkpoint_index"),
    ),
    "tasks": Table(
        "What is asked at a checkpoint, and nothing else that the pack says.",
        {
            "user_id": _USER,
            "item": _ITEM,
            "checkpoint_id": _CHECKPOINT,
            "as_of": Column(TIME, "moment that the question is about", "µs"),
            "task": Column(TASK, " | ".join(TASKS)),
            "state_key": _text("state asked for; null in services, where it would give the answer away, and in lists"),
            "asked_family": Column(FAMILY, "family of which all is asked for; null in other tasks", nullable=True),
            "service_family": Column(SERVICE, "kind of service; null in other tasks", nullable=True),
            "question_text": _text("the question as put; null in services"),
            "retrieval_query": _text("text to search the memory with"),
            "answer_template": _text("JSON of the answer's shape with blanks; null in services"),
            "scenario": _text("the moment a service is due; null in other tasks"),
            "instruction": _text("what to do in it; null in other tasks"),
            "output_template": _text("JSON of the output's shape with blanks; null where a message is asked for"),
        },
        key=("user_id", "item"),
    ),
    "contexts": Table(
        "What a memory, frozen at a checkpoint, delivers to whoever answers.",
        {
            "user_id": _USER,
            "checkpoint_id": _CHECKPOINT,
            "item": Column(pl.String, "question that it was searched for; empty: the same for all of the checkpoint"),
            "text": Column(pl.String, "what is delivered; a log is its JSON on one line"),
            "tokens": Column(pl.Int32, "tokens of the text", "tokens"),
            "tokens_cut": Column(pl.Int32, "tokens left out to fit the budget", "tokens"),
            "retrieved": Column(
                _IDS, "ids of visible logs in the text, in its order; null: other words", nullable=True
            ),
            "state_hash": Column(pl.String, "hash of the memory, equal before and after asking; empty without one"),
        },
        key=("user_id", "checkpoint_id", "item"),
        may_be_empty="rules and the oracle ask no memory",
    ),
    "answers": Table(
        "One row a question answered or tried.",
        _ANSWERED,
        key=("user_id", "item"),
        may_be_empty="an arm may not have reached a checkpoint",
    ),
    "oracle_answers": Table(
        "Answers of a reader that was shown the logs which prove the right one: what a memory could do for it at best.",
        _ANSWERED,
        key=("user_id", "item"),
        wall="gold",
        may_be_empty="only an arm of the oracle has such answers",
    ),
    "gold_items": Table(
        "What is true of each question.",
        {
            "user_id": _USER,
            "item": _ITEM,
            "checkpoint_id": _CHECKPOINT,
            "task": Column(TASK, " | ".join(TASKS)),
            "truth": Column(TRUTH, "published | as_of (true at the moment) | finished_chain (the peer's lag)"),
            "state_key": _KEY_IF_ONE,
            "family": Column(FAMILY, "family of the state, or of all that are asked for"),
            "service_family": Column(SERVICE, "kind of service; null in other tasks", nullable=True),
            "qa_id": _text("published id of a service item"),
            "expectation": Column(EXPECTATION, "value | no_longer (was true before) | never (never true): abstain"),
            "reference": _text("JSON of the right answer; null where the right answer is none or is not published"),
            "evidence": Column(_IDS, "logs that show the current value (published: every log of the state so far)"),
            "evidence_previous": Column(_IDS, "logs that show earlier values; null where not told", nullable=True),
            "distractors": Column(_IDS, "logs that imitate the state; null where not told", nullable=True),
        },
        key=("user_id", "item"),
        wall="gold",
    ),
    "gold_parts": Table(
        "One row a field or point of a right answer.",
        {
            "user_id": _USER,
            "item": _ITEM,
            "part": Column(pl.String, "dotted path of the field, or id of the point"),
            "of_state": _text("state whose field it is, where all of a family are asked for; null elsewhere"),
            "place": Column(pl.Int32, "order within the item, from 0"),
            "gate": Column(pl.Boolean, "identity gate: wrong makes the item worth nothing"),
            "judged": Column(pl.Boolean, "part of Core+Detail"),
            "point": Column(pl.Boolean, "part of the point score"),
            "criterion": _text("the point in words"),
            "path": _text("field that the part is about; null for a gate"),
            "expected": _text("JSON of the right value; null for a gate"),
            "kind": Column(KIND, "type it is compared as by rule"),
        },
        key=("user_id", "item", "part"),
        order=("user_id", "item", "place"),
        wall="gold",
        may_be_empty="a pack may ask only what the right answer to is none",
    ),
    "gold_records": Table(
        "Every field of a published pack that is no question, kept as it was.",
        {
            "user_id": _USER,
            "checkpoint_id": Column(pl.String, "checkpoint; empty for the head of the pack"),
            "field": Column(pl.String, "path in the pack"),
            "record": Column(pl.String, "its JSON"),
        },
        key=("user_id", "checkpoint_id", "field"),
        wall="gold",
    ),
    "state_intervals": Table(
        "When each value of a state was true.",
        {
            "user_id": _USER,
            "state_key": _KEY,
            "value_id": Column(pl.String, "one value in one interval"),
            "member": _text("element of a set-valued state; null where the state has one value"),
            "value": Column(pl.String, "JSON of the value, or of the element"),
            "valid_from": Column(TIME, "from when, inclusive", "µs"),
            "valid_to": Column(TIME, "until when, exclusive; null while it lasts", "µs", nullable=True),
        },
        key=("user_id", "state_key", "value_id"),
        wall="gold",
    ),
    "state_changes": Table(
        "What each finished event chain says of a state, as the published generator replays it.",
        {
            "user_id": _USER,
            "state_key": _KEY,
            "chain_id": Column(pl.String, "chain of events"),
            "place": Column(pl.Int32, "order within the chain"),
            "end_position": Column(pl.Int32, "position of the chain's last log; nothing counts before it"),
            "change_type": Column(pl.String, "drop, remove and deleted take the state away; others set it"),
            "value": _text("JSON of the new value; null leaves it as it is"),
            "evidence": Column(_IDS, "logs of the chain that touch the state"),
            "valid": Column(pl.Boolean, "whether the chain shows all that it must (gate G0)"),
        },
        key=("user_id", "state_key", "chain_id", "place"),
        wall="gold",
    ),
    "state_evidence": Table(
        "What each log shows of a state: minimal, by value.",
        {
            "user_id": _USER,
            "state_key": _KEY,
            "value_id": Column(pl.String, "value shown, caused, or imitated (empty: the state as such)"),
            "app_log_id": Column(pl.String, "log"),
            "position": Column(pl.Int32, "place of the log in the user's order"),
            "role": Column(EVIDENCE_ROLE, "supports | cause | distractor (imitates the state)"),
            "fields": Column(_IDS, "paths of the value that it shows; empty for the whole"),
        },
        key=("user_id", "state_key", "value_id", "app_log_id", "role"),
        wall="gold",
    ),
    "gold_states": Table(
        "What is true at each checkpoint, by either definition.",
        {
            "user_id": _USER,
            "checkpoint_id": _CHECKPOINT,
            "truth": Column(TRUTH, "as_of | finished_chain | published"),
            "state_key": _KEY,
            "family": Column(FAMILY, "family of the state"),
            "expectation": Column(EXPECTATION, "value | no_longer | never"),
            "value": _text("JSON of the value, normalised as the peer does; null where none is true"),
            "evidence": Column(_IDS, "logs that show the current value (finished_chain: every log of the state)"),
            "evidence_previous": Column(_IDS, "logs that show earlier values; null where not told", nullable=True),
            "distractors": Column(_IDS, "logs that imitate the state; null where not told", nullable=True),
        },
        key=("user_id", "checkpoint_id", "truth", "state_key"),
        wall="gold",
    ),
    "applog_units": Table(
        "One row a question of the frozen set, scored; what was not answered counts 0 and is named by its status.",
        {
            "user_id": _USER,
            "item": _ITEM,
            "checkpoint_id": _CHECKPOINT,
            "task": Column(TASK, " | ".join(TASKS)),
            "state_key": _KEY_IF_ONE,
            "family": Column(FAMILY, "family of the state, or of all that are asked for"),
            "expectation": Column(EXPECTATION, "value | no_longer | never"),
            "status": Column(UNIT_STATUS, " | ".join(UNIT_STATUSES)),
            "n_fields": Column(
                pl.Int32, "judged fields beside gates, states of a list: the weight in means over fields"
            ),
            "score": _share("Core+Detail, detail counting only where the core is right; null without a judge"),
            "compat_score": _share("Core+Detail as published; null without a judge"),
            "score_bound": _share("`score`, were every field without a verdict right"),
            "points": _share("point score with its gate; null without verdicts on points"),
            "mechanical": _share("mean agreement of its fields by rule, of a list `list_f1`; a right abstention is 1"),
            "list_precision": _share("agreement of matched entries / entries of the list; null in other tasks"),
            "list_recall": _share("agreement of matched entries / states that are true; null in other tasks"),
            "evidence_precision": Column(pl.Float64, "cited logs that are gold / cited", "share"),
            "evidence_recall": Column(pl.Float64, "gold logs that are cited / gold", "share"),
            "evidence_f1": Column(pl.Float64, "harmonic mean of both", "share"),
            "evidence_exact": Column(pl.Boolean, "the very same logs"),
            "stale_evidence": _share("cited logs that show only an earlier value / cited; null where not told"),
            "n_judge_errors": Column(pl.Int32, "parts that the judge failed on; they count 0"),
        },
        key=("user_id", "item"),
        wall="gold",
    ),
}
"""Table by name."""


def table_of(name: str, rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Rows as the table of this name, in its order; what a row does not hold is null."""
    table = APPLOG_TABLES[name]
    schema = table.schema
    filled = [{column: row.get(column) for column in schema} for row in rows]
    return pl.DataFrame(filled, schema=schema).sort(table.sort_by)
