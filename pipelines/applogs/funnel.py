"""`applog_funnel`: users, logs and states from the drops to the questions, each side counted in its own table."""

from collections.abc import Mapping

import polars as pl

from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.questions import tellable
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.tables import TASKS
from pipelines.commerce.funnel import Step

Tables = Mapping[str, pl.DataFrame]
_AT = ["user_id", "checkpoint_id"]
NO_PACK_ITEM = "the task pack asks nothing of it"
NOT_WANTED = "no task of this release"
UNTOLD = "no visible log tells it"
NO_TIME = "no time of day to be reminded at"
NO_MOMENT = "no moment that it would serve"


def steps(brought: Mapping[str, int], users: pl.Series, tables: Tables, settings: AppLogSettings) -> list[Step]:
    """Steps of `commerce.funnel.funnel`.

    `brought` counts the rows of logs of all drops, `users` names everybody of whom a drop holds anything, `tables`
    are `app_logs`, `checkpoints`, `gold_items`, `gold_parts`, `gold_states`, `state_intervals`, `state_evidence` and
    `anchors`.
    """
    logs, checkpoints, states = tables["app_logs"], tables["checkpoints"], tables["gold_states"]
    logged, packed = logs["user_id"].unique(), tables["anchors"]["user_id"].unique()
    known = states.filter(pl.col("user_id").is_in(logged.implode()))["user_id"].n_unique()
    told = tellable(states, tables, logs, checkpoints, settings)
    asked = checkpoints.join(tables["gold_items"], on=_AT, how="semi").height
    return [
        _step("drops", "users", users.n_unique(), logged.len(), "no log of them in any drop"),
        _step("drops", "logs", brought["app_logs"], logs.height, "in another drop as well"),
        _step("gold", "users", logged.len(), known, "nothing is told of them"),
        _step("checkpoints", "checkpoints", checkpoints.height, asked, "nothing is true and asked there"),
        *(_of_task(task, states, told, _asked_for(task, tables), packed, settings) for task in TASKS),
    ]


def _step(step: str, unit: str, entered: int, kept: int, reason: str) -> Step:
    return Step(step, unit, entered, kept, {reason: entered - kept})


def _asked_for(task: str, tables: Tables) -> pl.DataFrame:
    """user_id, checkpoint_id, state_key of every state that a task asks for; a list asks for several."""
    own = tables["gold_items"].filter(pl.col("task").cast(pl.String) == task)
    if task != NO_KEY:
        return own.select(*_AT, "state_key")
    parts = tables["gold_parts"].select("user_id", "item", state_key="of_state").unique()
    return own.drop("state_key").join(parts, on=["user_id", "item"]).select(*_AT, "state_key")


def _of_task(
    task: str,
    states: pl.DataFrame,
    told: pl.DataFrame,
    own: pl.DataFrame,
    packed: pl.Series,
    settings: AppLogSettings,
) -> Step:
    """States that a task could ask for, and why it asks for some of them not."""
    of_pack = pl.col("user_id").is_in(packed.implode())
    truth = pl.when(of_pack).then(pl.lit("published")).otherwise(pl.lit(settings.truth))
    open_to = states.filter(pl.col("truth").cast(pl.String) == truth)
    if task in ("free_form", NO_KEY):
        open_to = open_to.filter(~of_pack)
    if task != "free_form":
        open_to = open_to.filter(pl.col("expectation").cast(pl.String) == "value")
    left = open_to.join(own, on=[*_AT, "state_key"], how="anti").join(
        told.select(*_AT, "truth", "state_key", pl.lit(True).alias("told")),
        on=[*_AT, "truth", "state_key"],
        how="left",
    )
    habit = pl.col("family").cast(pl.String) == "habit"
    reason = (
        pl.when(of_pack).then(pl.lit(NO_PACK_ITEM))
        .when(pl.lit(task not in settings.tasks)).then(pl.lit(NOT_WANTED))
        .when(pl.col("told").is_null()).then(pl.lit(UNTOLD))
        .when(habit).then(pl.lit(NO_TIME)).otherwise(pl.lit(NO_MOMENT))
    )  # fmt: skip
    dropped = dict(left.group_by(reason.alias("reason")).len().iter_rows())
    return Step(task, "states at checkpoints", open_to.height, own.height, dropped)
