"""From what is true of users to what they are asked: `tasks` and the gold side of a release.

Users with a task pack are asked what it asks. Of users with a timeline alone the
questions are made at the checkpoints of the calendar.
"""

from collections.abc import Mapping

import polars as pl

from pipelines.applogs.askable import askable
from pipelines.applogs.no_key import no_key
from pipelines.applogs.services import moments_by_state, services
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.state_values import family_of
from pipelines.applogs.step_tables import BROUGHT, PUBLISHED
from pipelines.applogs.tasks import Asked, free_form, state_completion
from pipelines.applogs.truth import as_of_truth, finished_chain_truth, never_true
from pipelines.hashing import key64_column, mix64

Tables = Mapping[str, pl.DataFrame]
ASKED = ("tasks", "gold_items", "gold_parts", "gold_states", "gold_records", "state_intervals", "state_changes",
         "state_evidence", "state_moments")  # fmt: skip
"""What `questions` makes."""
_STATE = ["user_id", "state_key"]


def questions(
    brought: Tables, logs: pl.DataFrame, checkpoints: pl.DataFrame, keys: pl.DataFrame, settings: AppLogSettings
) -> dict[str, pl.DataFrame]:
    """Tables `ASKED` of the users of `checkpoints`.

    `brought` holds merged tables of `BROUGHT`, `logs` the table `app_logs`, `keys` the table `state_keys` of all users
    of the release. Raises `truth.BadTimeline`, `services.Leak`, `schedules.BadSchedule`.
    """
    known = checkpoints.select("user_id").unique()
    mine = {name: rows.join(known, on="user_id", how="semi") for name, rows in brought.items() if name in ASKED}
    packed = brought["anchors"].select("user_id").unique()
    told = _told(mine, checkpoints, keys, settings)
    made = tellable(told, mine, logs, checkpoints, settings).join(packed, on="user_id", how="anti")
    asked = _asked(made, checkpoints, mine["state_moments"], settings)
    parts = {
        "tasks": [mine["tasks"], *(one.questions for one in asked)],
        "gold_items": [mine["gold_items"], *(one.gold_items for one in asked)],
        "gold_parts": [mine["gold_parts"], *(one.gold_parts for one in asked)],
        "gold_states": [mine["gold_states"], told],
    }
    whole = {**mine, **{name: pl.concat(frames) for name, frames in parts.items()}}
    return {name: _in_order(name, whole[name]) for name in ASKED}


def tellable(
    states: pl.DataFrame, gold: Tables, logs: pl.DataFrame, checkpoints: pl.DataFrame, settings: AppLogSettings
) -> pl.DataFrame:
    """Rows of `gold_states` that may be asked for: of those true at the moment, where wanted, what visible logs tell.

    A chain that has finished told its state. `gold` holds `state_intervals` and `state_evidence`.
    """
    now = pl.col("truth").cast(pl.String) == "as_of"
    if not settings.only_told:
        return states
    told = askable(states.filter(now), gold["state_intervals"], gold["state_evidence"], logs, checkpoints)
    return pl.concat([told, states.filter(~now)])


def state_keys(intervals: pl.DataFrame) -> pl.DataFrame:
    """Table `state_keys` of the intervals of all users."""
    counts = intervals.select(_STATE).unique().group_by("state_key").agg(pl.len().alias("n_users"))
    families = [family_of(key) for key in counts["state_key"].to_list()]
    return _in_order("state_keys", counts.with_columns(pl.Series("family", families, dtype=pl.String)))


def never_keys(
    intervals: pl.DataFrame, evidence: pl.DataFrame, keys: pl.DataFrame, settings: AppLogSettings
) -> pl.DataFrame:
    """(user_id, state_key): for each user of `intervals` up to `never_keys` states that are never true of it.

    First those that distractors in its logs imitate, then those of others, both in the order of a keyed hash.
    """
    users = intervals.select("user_id").unique()
    imitated = evidence.filter(pl.col("role").cast(pl.String) == "distractor").select(_STATE).unique()
    others = users.join(keys.select("state_key"), how="cross")
    asked = pl.concat([others, imitated.join(users, on="user_id", how="semi")]).unique()
    asked = asked.join(intervals.select(_STATE).unique(), on=_STATE, how="anti").join(
        imitated.with_columns(pl.lit(False).alias("plain")), on=_STATE, how="left"
    )
    draw = mix64(settings.seed, *(key64_column(asked[name], name).to_numpy() for name in _STATE))
    ordered = asked.with_columns(pl.col("plain").fill_null(True), pl.Series("draw", draw)).sort(
        "user_id", "plain", "draw", "state_key"
    )
    return ordered.filter(pl.int_range(pl.len()).over("user_id") < settings.never_keys).select(_STATE)


def _told(mine: Tables, checkpoints: pl.DataFrame, keys: pl.DataFrame, settings: AppLogSettings) -> pl.DataFrame:
    """Rows of `gold_states` by both definitions of truth, of users with a timeline."""
    intervals, evidence = mine["state_intervals"], mine["state_evidence"]
    timed = checkpoints.join(intervals.select("user_id").unique(), on="user_id", how="semi")
    states = pl.concat([
        as_of_truth(intervals, evidence, timed),
        finished_chain_truth(mine["state_changes"], timed),
    ])  # fmt: skip
    never = never_keys(intervals, evidence, keys, settings)
    return pl.concat([states, *(never_true(states, never, timed, truth) for truth in ("as_of", "finished_chain"))])


def _asked(
    states: pl.DataFrame, checkpoints: pl.DataFrame, moments: pl.DataFrame, settings: AppLogSettings
) -> list[Asked]:
    when = moments_by_state(moments)
    makers = {
        "state_completion": lambda: state_completion(states, checkpoints, settings.truth),
        "personalised_service": lambda: services(states, checkpoints, settings.truth, when),
        "free_form": lambda: free_form(states, checkpoints, settings.truth),
        "no_key": lambda: no_key(states, checkpoints, settings.truth, settings.most_listed),
    }
    return [makers[task]() for task in settings.tasks]


def _in_order(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    spec = PUBLISHED.get(name) or BROUGHT[name]
    return rows.select(pl.col(column).cast(dtype) for column, dtype in spec.schema.items()).sort(spec.sort_by)
