"""Invariants of the tables of the app-log track, from a drop to the questions of a release.

Tables of arms and boards of the track get functions of their own kind in files of their own, and their entries in
`expectations.invariants.INVARIANTS`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from expectations.invariants import readings
from expectations.invariants.rules import (
    Frames,
    among,
    lacking,
    never,
    no_rows,
    not_checked,
    numbered,
    ordered,
    same_rows,
)
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.step_tables import DROP_TABLES
from pipelines.findings import Finding
from pipelines.hashing import bucket_column

_CHECKPOINT = ["user_id", "checkpoint_id"]
_ITEM = ["user_id", "item"]


def of_drop(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """Total order, buckets that are the user's hash."""
    frame = frames[table]
    users = frame.select("user_id", "bucket").unique().sort("user_id", "bucket").collect()
    expected = bucket_column(users["user_id"]).rename("expected")
    wrong = users.with_columns(expected).lazy().filter(pl.col("bucket") != pl.col("expected"))
    return [ordered(table, frame), no_rows("bucket", "bucket is the keyed hash of the user", wrong)]


def app_logs(frames: Frames, settings: Any) -> list[Finding]:
    """Numbered from 0 in the strict order of time and id; a record is the log that its columns say."""
    frame = frames["app_logs"]
    same = pl.col("user_id") == pl.col("user_id").shift()
    later = (pl.col("time") > pl.col("time").shift()) | (
        (pl.col("time") == pl.col("time").shift()) & (pl.col("app_log_id") > pl.col("app_log_id").shift())
    )
    said = [
        pl.col("record").str.json_path_match(f"$.{field}") != pl.col(name)
        for name, field in (("app_log_id", "app_log_id"), ("app", "app_name"), ("api", "api_name"))
    ]
    return [
        ordered("app_logs", frame),
        numbered(frame, "position", ["user_id"]),
        never("in_time", "each log stands after the one before by time, then id", frame, same & ~later),
        never("record", "a record names the id, app and API of its row", frame, pl.any_horizontal(said)),
    ]


def checkpoints(frames: Frames, settings: Any) -> list[Finding]:
    """Numbered in time, never showing less later; companion `app_logs`: the last visible log is the named one."""
    frame = frames["checkpoints"]
    same = pl.col("user_id") == pl.col("user_id").shift()
    findings = [
        ordered("checkpoints", frame),
        numbered(frame, "checkpoint_index", ["user_id"]),
        never(
            "grows",
            "a later checkpoint shows no less",
            frame,
            same & (pl.col("n_visible") < pl.col("n_visible").shift()),
        ),
    ]
    if missing := lacking(frames, "app_logs"):
        return [*findings, not_checked("last_log", *missing), not_checked("in_the_past", *missing)]
    at = frames["app_logs"].select(
        "user_id", (pl.col("position") + 1).alias("n_visible"), "time", pl.col("app_log_id").alias("there")
    )
    cut = frame.join(at, on=["user_id", "n_visible"], how="left")
    return [
        *findings,
        no_rows(
            "last_log",
            "the last visible log is the one named",
            cut.filter(pl.col("there").ne_missing(pl.col("last_log_id"))),
        ),
        no_rows("in_the_past", "no visible log is later than the moment", cut.filter(pl.col("time") > pl.col("as_of"))),
    ]


def tasks(frames: Frames, settings: Any) -> list[Finding]:
    """A question or a scenario each, templates of blanks; companions `checkpoints`, `gold_items`."""
    frame = frames["tasks"]
    task = pl.col("task").cast(pl.String)
    service, of_list = task == "personalised_service", task == NO_KEY
    told = pl.concat_str("answer_template", "output_template", ignore_nulls=True)
    leaves = told.str.extract_all(r'"[^"]*"(?:\s*:)?|-?\d[\d.eE+-]*|true|false')
    blank = pl.element().str.contains(r":$") | pl.element().is_in(['"<fill the blank>"', '"<fill>"', '""'])
    findings = [
        ordered("tasks", frame),
        never(
            "put",
            "a service has a scenario and names no state, a list words and a family, all else words and a state",
            frame,
            pl.any_horizontal(
                pl.col("scenario").is_null() == service,
                pl.col("instruction").is_null() == service,
                pl.col("question_text").is_null() != service,
                pl.col("state_key").is_null() != (service | of_list),
                pl.col("asked_family").is_not_null() != of_list,
                pl.col("service_family").is_null() == service,
            ),
        ),
        never("blank", "a template holds nothing but blanks", frame, ~leaves.list.eval(blank).list.all()),
    ]
    if missing := lacking(frames, "checkpoints"):
        findings.append(not_checked("at_a_checkpoint", *missing))
    else:
        place = [*_CHECKPOINT, "as_of"]
        text = "every question is put at a checkpoint of its user"
        findings.append(among("at_a_checkpoint", text, frame, frames["checkpoints"], place))
    if missing := lacking(frames, "gold_items"):
        return [*findings, not_checked("one_answer", *missing)]
    columns = [*_ITEM, "checkpoint_id", "task"]
    text = "every question has one right answer, and every right answer one question"
    return [*findings, same_rows("one_answer", text, frame, frames["gold_items"], columns)]


def gold_items(frames: Frames, settings: Any) -> list[Finding]:
    """Abstention is right exactly where nothing is true; companion `gold_parts`: what is true has parts."""
    frame = frames["gold_items"]
    value = pl.col("expectation").cast(pl.String) == "value"
    made = pl.col("truth").cast(pl.String) != "published"
    findings = [
        ordered("gold_items", frame),
        never("reference", "only a value has a reference", frame, ~value & pl.col("reference").is_not_null()),
        never("known", "a made question has a reference or a message", frame,
              made & value & pl.col("reference").is_null() & pl.col("service_family").is_null()),
        never("nothing_shows_nothing", "what is not true is shown by no log", frame,
              ~value & (pl.col("evidence").list.len() > 0)),
        never("one_state", "only a list is of no one state", frame,
              pl.col("state_key").is_null() != (pl.col("task").cast(pl.String) == NO_KEY)),
    ]  # fmt: skip
    if missing := lacking(frames, "gold_parts"):
        return [*findings, not_checked("has_parts", *missing)]
    bare = frame.filter(value).join(frames["gold_parts"], on=_ITEM, how="anti")
    return [*findings, no_rows("has_parts", "every right value has fields or points", bare)]


def gold_parts(frames: Frames, settings: Any) -> list[Finding]:
    """Numbered within an item; companion `gold_items`: every part is of a right value."""
    frame = frames["gold_parts"]
    gate = pl.col("gate")
    findings = [
        ordered("gold_parts", frame),
        numbered(frame, "place", _ITEM),
        never("gate", "a gate is of kind identity and no field", frame,
              (gate != (pl.col("kind").cast(pl.String) == "identity")) | (gate & pl.col("path").is_not_null())),
        never("counts", "a part counts in a list, or else in one mark at least", frame,
              pl.col("of_state").is_null() != (pl.col("judged") | pl.col("point"))),
    ]  # fmt: skip
    if missing := lacking(frames, "gold_items"):
        return [*findings, not_checked("of_an_item", *missing)]
    value = frames["gold_items"].filter(pl.col("expectation").cast(pl.String) == "value")
    return [*findings, among("of_an_item", "every part is of a right value", frame, value, _ITEM)]


def gold_states(frames: Frames, settings: Any) -> list[Finding]:
    """A value exactly where one is true; companion `checkpoints`: of a checkpoint each."""
    frame = frames["gold_states"]
    value = pl.col("expectation").cast(pl.String) == "value"
    findings = [
        ordered("gold_states", frame),
        never("value", "a value is told exactly where one is true", frame, value != pl.col("value").is_not_null()),
        never("shown", "what is not true is shown by no log", frame, ~value & (pl.col("evidence").list.len() > 0)),
    ]
    if missing := lacking(frames, "checkpoints"):
        return [*findings, not_checked("at_a_checkpoint", *missing)]
    text = "every state is told at a checkpoint of its user"
    return [*findings, among("at_a_checkpoint", text, frame, frames["checkpoints"], _CHECKPOINT)]


def state_intervals(frames: Frames, settings: Any) -> list[Finding]:
    """Intervals end after they begin, and those of one value or member follow each other."""
    frame = frames["state_intervals"]
    one = ["user_id", "state_key", "member"]
    until = pl.col("valid_to").shift().over(one, order_by="valid_from")
    late = pl.int_range(pl.len()).over(one, order_by="valid_from") > 0
    return [
        ordered("state_intervals", frame),
        never("forwards", "an interval ends after it begins", frame, pl.col("valid_to") <= pl.col("valid_from")),
        never("apart", "one value at a time", frame, late & (until.is_null() | (until > pl.col("valid_from")))),
    ]


def of_logs(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """Total order; companion `app_logs`: positions are those of the logs that are named."""
    frame = frames[table]
    findings = [ordered(table, frame)]
    if missing := lacking(frames, "app_logs"):
        return [*findings, not_checked("of_a_log", *missing)]
    logs = frames["app_logs"].select("user_id", "app_log_id", "position")
    if table == "state_evidence":
        text = "a log that shows something is there, at the position that is told"
        return [*findings, among("of_a_log", text, frame, logs, logs.collect_schema().names())]
    ends = logs.rename({"position": "end_position"})
    text = "a chain ends at a log of its user, and none of its logs is later"
    last = frame.explode("evidence", empty_as_null=True).join(
        logs, left_on=["user_id", "evidence"], right_on=["user_id", "app_log_id"], how="left"
    )
    lost = pl.col("evidence").is_not_null() & pl.col("position").is_null()
    return [
        *findings,
        among("of_a_log", text, frame, ends, ["user_id", "end_position"]),
        no_rows("ended", text, last.filter(lost | (pl.col("position") > pl.col("end_position")))),
    ]


def plain(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """Total order."""
    return [ordered(table, frames[table])]


def funnel(frames: Frames, settings: Any) -> list[Finding]:
    """As the funnel of every track."""
    return readings.funnel({"funnel": frames["applog_funnel"]}, settings)


APPLOGS: dict[str, Callable[[Frames, Any], list[Finding]]] = {
    **{table: partial(of_drop, table) for table in DROP_TABLES},
    "app_logs": app_logs,
    "checkpoints": checkpoints,
    "tasks": tasks,
    "gold_items": gold_items,
    "gold_parts": gold_parts,
    "gold_states": gold_states,
    "state_intervals": state_intervals,
    **{table: partial(of_logs, table) for table in ("state_changes", "state_evidence")},
    **{table: partial(plain, table) for table in ("gold_records", "state_moments", "state_keys")},
    "applog_funnel": funnel,
}
"""By table."""
