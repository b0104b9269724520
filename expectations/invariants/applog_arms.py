"""Invariants of `contexts`, `answers`, `oracle_answers` and `applog_units`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from expectations.invariants.rules import Frames, among, lacking, never, no_rows, not_checked, ordered, same_rows
from pipelines.findings import Finding

_ITEM = ["user_id", "item"]
_PLACE = ["user_id", "checkpoint_id"]
ERRORS = ("transport_error", "parse_error")


def contexts(frames: Frames, settings: Any) -> list[Finding]:
    """One for a whole checkpoint or one a question; companions `tasks`, `app_logs`, `checkpoints`: nothing to come."""
    frame = frames["contexts"]
    whole = pl.col("item") == ""
    findings = [
        ordered("contexts", frame),
        never(
            "one_way",
            "a checkpoint is delivered whole or question by question",
            frame,
            whole & (pl.len().over(_PLACE) > 1),
        ),
    ]
    if missing := lacking(frames, "tasks"):
        findings.append(not_checked("asked", *missing))
    else:
        of_items = frame.filter(~whole)
        asked = frames["tasks"]
        findings.append(among("asked", "a context is of a question at its checkpoint", of_items, asked,
                              [*_PLACE, "item"]))  # fmt: skip
    if missing := lacking(frames, "app_logs", "checkpoints"):
        return [*findings, not_checked("visible", *missing)]
    told = frame.select(*_PLACE, pl.col("retrieved").alias("app_log_id")).explode(
        "app_log_id", empty_as_null=False, keep_nulls=False
    )
    seen = frames["checkpoints"].join(
        frames["app_logs"].select("user_id", "app_log_id", "position"), on="user_id"
    ).filter(pl.col("position") < pl.col("n_visible"))  # fmt: skip
    text = "every log that is delivered was there at the checkpoint"
    return [*findings, among("visible", text, told.unique(), seen, [*_PLACE, "app_log_id"])]


def answered(table: str, frames: Frames, settings: Any) -> list[Finding]:
    """An answer exactly where one is claimed, a reason exactly where one is due; companion `tasks`: the questions."""
    frame = frames[table]
    status = pl.col("status").cast(pl.String)
    findings = [
        ordered(table, frame),
        never("answered", "an answer exactly where the status is ok", frame,
              pl.col("answer").is_not_null() != (status == "ok")),
        never("cited", "only an answer cites logs", frame, (status != "ok") & (pl.col("evidence").list.len() > 0)),
        never("reason", "a reason exactly where something went wrong", frame,
              pl.col("reason").is_not_null() != status.is_in(ERRORS)),
    ]  # fmt: skip
    if missing := lacking(frames, "tasks"):
        return [*findings, not_checked("of_a_question", *missing)]
    return [*findings, among("of_a_question", "every answer is to a question", frame, frames["tasks"], _ITEM)]


def applog_units(frames: Frames, settings: Any) -> list[Finding]:
    """A right abstention is worth 1; companions `gold_items`, `answers`: one unit a question, with its standing."""
    frame = frames["applog_units"]
    abstain = pl.col("expectation").cast(pl.String) != "value"
    status = pl.col("status").cast(pl.String)
    findings = [
        ordered("applog_units", frame),
        never("abstained", "where nothing is true, an abstention is worth 1 and all else 0", frame,
              abstain & (pl.col("mechanical") != (status == "abstained").cast(pl.Float64))),
        never("nothing_for_nothing", "what was not answered agrees with no value", frame,
              ~abstain & (status != "ok") & (pl.col("mechanical") > 0)),
    ]  # fmt: skip
    if missing := lacking(frames, "gold_items"):
        findings.append(not_checked("every_question", *missing))
    else:
        text = "every question that is asked is one unit"
        findings.append(same_rows("every_question", text, frame, frames["gold_items"], _ITEM))
    if missing := lacking(frames, "answers"):
        return [*findings, not_checked("missing", *missing)]
    unanswered = frame.join(frames["answers"], on=_ITEM, how="anti").filter(status != "missing")
    return [*findings, no_rows("missing", "what has no answer is missing", unanswered)]


APPLOG_ARMS: dict[str, Callable[[Frames, Any], list[Finding]]] = {
    "contexts": contexts,
    **{table: partial(answered, table) for table in ("answers", "oracle_answers")},
    "applog_units": applog_units,
}
"""By table."""
