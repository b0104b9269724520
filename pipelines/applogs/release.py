"""The release of app logs: what names it, its statistics beside the paper's, and what its card says."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from pipelines import release
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.release_rules import told_by_publisher
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.step_tables import HASHED
from pipelines.applogs.tables import FAMILIES, TASKS
from pipelines.applogs.truth import truth_differences
from pipelines.thresholds import settings_stated

Tables = Mapping[str, pl.DataFrame]
PAPER: dict[str, float] = {"users": 10, "logs": 17_715, "logs a user": 1_772, "apps": 16, "checkpoints a user": 5}
"""Numbers of the published set, by the name of the statistic."""
FACTS = (
    "Times are the wall clock of the log; a checkpoint shows the logs up to its last one, inclusive.",
    "Users with a task pack are asked what it asks, with its own right answers; of others the questions are made.",
    "A service is named by a hash: its state would tell the answer.",
    "A question without a key says a family and the most entries of a list, the same to everybody.",
    "Finished-chain truth lags behind what the logs show; both truths are in gold_states.",
    "Which states never were true of a user is known of its whole timeline.",
)
"""What a reader of results must know about the construction, whatever the logs."""


def manifest(tables: Mapping[str, release.TableEntry], settings: AppLogSettings) -> dict[str, Any]:
    """`manifest.json` of a release of app logs."""
    return release.manifest("applogs", settings, tables, HASHED)


def statistics(tables: Tables, packed: int) -> list[dict[str, Any]]:
    """Rows (name, value, paper) of a release over its `app_logs`, `checkpoints`, `gold_items` and `gold_states`."""
    logs, checkpoints, items, states = (
        tables[name] for name in ("app_logs", "checkpoints", "gold_items", "gold_states")
    )
    users = logs["user_id"].n_unique()
    values: dict[str, Any] = {
        "users": users,
        "users with a task pack": packed,
        "logs": logs.height,
        "logs a user": logs.height / users if users else None,
        "apps": logs["app"].n_unique(),
        "APIs": logs.select("app", "api").n_unique(),
        "checkpoints a user": checkpoints.height / users if users else None,
    }
    kinds = items.with_columns(pl.col("task", "family", "expectation").cast(pl.String))
    for task in TASKS:
        own = kinds.filter(pl.col("task") == task)
        values[task.replace("_", " ")] = own.height
        values |= {f"{task.replace('_', ' ')}: {one}": (own["family"] == one).sum() for one in FAMILIES if own.height}
    values["right answers that are none"] = (kinds["expectation"] != "value").sum()
    shown = kinds.filter((pl.col("expectation") == "value") & (pl.col("task") != NO_KEY))["evidence"].list.len()
    values["logs that show a right value"] = shown.mean()
    timed = states.filter(pl.col("truth").cast(pl.String) != "published")
    true = timed.filter(pl.col("expectation").cast(pl.String) == "value")
    both = true.select("user_id", "checkpoint_id", "state_key").n_unique()
    values["states that either truth holds"] = both
    values["of these, both truths differ, share"] = truth_differences(timed).height / both if both else None
    return [{"name": name, "value": value, "paper": PAPER.get(name)} for name, value in values.items()]


def refusals(tables: Tables) -> dict[str, str]:
    """What a release cannot support, by name, with the reason and the remedy: `instances` when nothing is asked."""
    if tables["tasks"].height:
        return {}
    return {
        "instances": "nothing is told of any user, so there is nothing to ask; add USER/task_packs.json as published, "
        "or gold/USER/state_intervals.jsonl"
    }


def warnings(tables: Tables, settings: AppLogSettings) -> list[str]:
    """What is odd about a release, in words: what the funnel left out, and what a publisher got wrong."""
    funnel, checkpoints, items = tables["applog_funnel"], tables["checkpoints"], tables["gold_items"]
    left = funnel.filter((pl.col("unit") == "users") & (pl.col("reason") != ""))
    counted = {
        f"users left at {step}: {reason}": n for step, reason, n in left.select("step", "reason", "n").iter_rows()
    }
    cut_by = checkpoints["cut_by"].cast(pl.String)
    counted["checkpoints whose index is another log's: cut at the named log"] = (cut_by == "id").sum()
    counted["checkpoints without an index inside the log: cut by time"] = (cut_by == "time").sum()
    named = items.select("user_id", pl.col("evidence").alias("app_log_id")).explode("app_log_id", empty_as_null=False)
    absent = named.unique().join(tables["app_logs"], on=["user_id", "app_log_id"], how="anti")
    counted["logs that show a right answer but are not there"] = absent.height
    counted["published services that show a text of their answer"] = told_by_publisher(
        tables["tasks"], items, tables["gold_parts"]
    )
    if settings.truth == "finished_chain":
        quiet = tables["state_intervals"].join(tables["state_changes"], on="user_id", how="anti")["user_id"].n_unique()
        counted["users with a timeline but no chains, of whom nothing is asked"] = quiet
    return [f"{count} {what}" for what, count in counted.items() if count]


def card(
    *,
    name: str,
    settings: AppLogSettings,
    statistics: Sequence[Mapping[str, Any]],
    funnel: pl.DataFrame,
    refusals: Mapping[str, str],
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """The release card: settings with origin, statistics beside the paper's, funnel, facts, warnings."""
    return {
        "release": name,
        "track": "applogs",
        "settings": settings_stated(settings),
        "statistics": [dict(row) for row in statistics],
        "funnel": funnel.to_dicts(),
        "facts": list(FACTS),
        "refusals": dict(refusals),
        "warnings": list(warnings),
    }
