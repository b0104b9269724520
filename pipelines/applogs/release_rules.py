"""What must hold of a whole release of app logs: one function a rule, each giving the rows that break it."""

import json
import re

import polars as pl

from pipelines.applogs.app_logs import BODIES, FIELDS, TEXTS, gold_names
from pipelines.applogs.question_forms import NO_KEY, WEEKDAY_NOTE

VIOLATIONS = pl.Schema({"rule": pl.String, "detail": pl.String})
SHORT = 4
"""Texts of fewer characters are found in any sentence, and prove nothing."""
_NOTED = re.findall(r"\w+", WEEKDAY_NOTE.lower())
_LOG = ["user_id", "app_log_id"]
_PLACE = ["user_id", "checkpoint_id"]
_ITEM = ["user_id", "item"]
_SHOWN = ("question_text", "retrieval_query", "answer_template", "scenario", "instruction", "output_template")


def conserved(brought: pl.DataFrame, logs: pl.DataFrame) -> pl.DataFrame:
    """The logs of a release are those of its drops (user_id, app_log_id, record of all), each once."""
    columns = [*_LOG, "record"]
    drops = brought.select(columns).unique()
    lost = drops.join(logs, on=columns, how="anti")
    made_up = logs.join(drops, on=columns, how="anti")
    twice = logs.filter(pl.struct(_LOG).is_duplicated())
    named = pl.format("{} of {}", "app_log_id", "user_id")
    return pl.concat([
        _rows("a log of a drop is not in the release", lost, named),
        _rows("a log of the release is in no drop", made_up, named),
        _rows("a log is there twice", twice, named),
    ])  # fmt: skip


def whitelisted(logs: pl.DataFrame) -> pl.DataFrame:
    """A record holds the six fields of a log, as its row says, and no record of a generator at any depth."""
    found = []
    for user, log_id, app, api, record in logs.select(*_LOG, "app", "api", "record").iter_rows():
        log = json.loads(record)
        leaked = [name for name in log if name not in FIELDS]
        leaked += [path for body in BODIES for path in gold_names(log.get(body, {}), body)]
        if leaked or [log[name] for name in TEXTS if name != "timestamp"] != [log_id, app, api]:
            found.append(("record", f"{log_id} of {user}: {', '.join(leaked) or 'another log than its row says'}"))
    return pl.DataFrame(found, schema=VIOLATIONS, orient="row")


def cut_right(checkpoints: pl.DataFrame, logs: pl.DataFrame) -> pl.DataFrame:
    """The last visible log is the one named, nothing visible is later than the moment, later checkpoints show more."""
    at = logs.select("user_id", (pl.col("position") + 1).alias("n_visible"), "time", pl.col("app_log_id").alias("at"))
    cut = checkpoints.join(at, on=["user_id", "n_visible"], how="left")
    latest = checkpoints.join(logs.select("user_id", "position", "time"), on="user_id").filter(
        (pl.col("position") < pl.col("n_visible")) & (pl.col("time") > pl.col("as_of"))
    )
    shrinks = checkpoints.sort("user_id", "checkpoint_index").filter(
        pl.col("n_visible") < pl.col("n_visible").shift().over("user_id")
    )
    named = pl.format("{} of {}", "checkpoint_id", "user_id")
    return pl.concat([
        _rows("its last log is another", cut.filter(pl.col("at").ne_missing(pl.col("last_log_id"))), named),
        _rows("shows a log later than its moment", latest.unique(_PLACE), named),
        _rows("shows less than the one before", shrinks, named),
    ])  # fmt: skip


def one_answer(tasks: pl.DataFrame, items: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Every question has one right answer of its kind and place, and every right value has parts."""
    place = [*_ITEM, "checkpoint_id", "task", "service_family"]
    value = items.filter(pl.col("expectation").cast(pl.String) == "value")
    asked, told = (rows.select(place).unique() for rows in (tasks, items))
    unasked, untold = (
        one.join(other, on=place, how="anti", nulls_equal=True) for one, other in ((told, asked), (asked, told))
    )
    of_key = tasks.filter(pl.col("state_key").is_not_null()).join(items, on=[*_ITEM, "state_key"], how="anti")
    return pl.concat([
        _rows("a question without its right answer", untold, pl.col("item")),
        _rows("a right answer without its question", unasked, pl.col("item")),
        _rows("a question put twice", tasks.filter(pl.struct(_ITEM).is_duplicated()), pl.col("item")),
        _rows("a question of another state than its answer", of_key, pl.col("item")),
        _rows("a right value without parts", value.join(parts, on=_ITEM, how="anti"), pl.col("item")),
        _rows("parts of nothing", parts.join(items, on=_ITEM, how="anti"), pl.col("item")),
    ])  # fmt: skip


def names_no_value(tasks: pl.DataFrame, items: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """No question shows a text of its right answer, nor a service the name of its state.

    Texts that the name of the state holds anyway, and those shorter than `SHORT`, are passed over. A question for a
    list is put in the same words to everybody.
    """
    told = _told(tasks, items, parts)
    what = pl.format("{} shows {}", "item", "expected")
    lists = tasks.filter(of_list())
    words = pl.concat_str("question_text", "retrieval_query", "answer_template", separator=" ")
    other = lists.filter(words != words.sort_by("user_id", "item").first().over("asked_family"))
    return pl.concat([
        _rows("a question names its answer", told.filter(~of_publisher()), what),
        _rows("a question for a list in words of its own", other, pl.col("item")),
    ])  # fmt: skip


def told_by_publisher(tasks: pl.DataFrame, items: pl.DataFrame, parts: pl.DataFrame) -> int:
    """Published services that show a text of their answer: they are asked as published, and counted."""
    return _told(tasks, items, parts).filter(of_publisher())["item"].n_unique()


def of_publisher() -> pl.Expr:
    """Whether the words of a question are a publisher's own; those on states follow one fixed sentence."""
    return (pl.col("truth").cast(pl.String) == "published") & (pl.col("task").cast(pl.String) == "personalised_service")


def of_list() -> pl.Expr:
    """Whether a question asks for all of a family."""
    return pl.col("task").cast(pl.String) == NO_KEY


def _told(tasks: pl.DataFrame, items: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    shown = tasks.filter(~of_list()).select(
        *_ITEM, "task", pl.concat_str(*_SHOWN, separator=" ", ignore_nulls=True).str.to_lowercase().alias("shown")
    )
    texts = parts.filter(pl.col("kind").cast(pl.String).is_in(["entity", "exact", "identity"])).select(
        *_ITEM, pl.col("expected").str.strip_chars('"').str.to_lowercase().alias("expected")
    )
    key = pl.col("state_key").str.split(":").list.last().str.replace_all("_", " ", literal=True).str.to_lowercase()
    both = texts.join(items.select(*_ITEM, "state_key", "truth"), on=_ITEM).join(shown, on=_ITEM)
    named = (pl.col("task").cast(pl.String) != "personalised_service") & key.str.contains(
        pl.col("expected"), literal=True
    )
    return both.filter(
        (pl.col("expected").str.len_chars() >= SHORT)
        & ~pl.col("expected").is_in(_NOTED)
        & ~named
        & pl.col("shown").str.contains(pl.col("expected"), literal=True)
    ).unique([*_ITEM, "expected"])


def shown_by_then(
    items: pl.DataFrame, states: pl.DataFrame, checkpoints: pl.DataFrame, logs: pl.DataFrame
) -> pl.DataFrame:
    """Every log of the evidence is visible at the checkpoint; only a publisher may name logs that are not there."""
    place = checkpoints.select(*_PLACE, "n_visible")
    at = logs.select("user_id", pl.col("app_log_id").alias("log"), "position")
    found = []
    for what, rows in (("item", items), ("state_key", states)):
        for column in ("evidence", "evidence_previous", "distractors"):
            named = rows.select(*_PLACE, "truth", what, pl.col(column).alias("log")).explode("log", empty_as_null=False)
            seen = named.filter(pl.col("log").is_not_null()).join(at, on=["user_id", "log"], how="left")
            seen = seen.join(place, on=_PLACE, how="left")
            unknown = pl.col("position").is_null() & (pl.col("truth").cast(pl.String) != "published")
            late = seen.filter(unknown | (pl.col("position") >= pl.col("n_visible")))
            found.append(_rows(f"{column} beyond the cut", late, pl.format("{}: {} of {}", "log", what, "user_id")))
    return pl.concat(found)


def _rows(rule: str, rows: pl.DataFrame, detail: pl.Expr) -> pl.DataFrame:
    return rows.select(pl.lit(rule).alias("rule"), detail.cast(pl.String).alias("detail")).sort("detail")
