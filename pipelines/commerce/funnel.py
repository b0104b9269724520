"""`funnel`: what went in, stayed and left at every step; in = kept + dropped, or it is an error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from pipelines.commerce.settings import CommerceSettings
from pipelines.schema import TABLES


class FunnelError(AssertionError):
    """Units were lost or made up between two steps."""


@dataclass(frozen=True)
class Step:
    """One step: how many `unit`s entered, how many were kept, and how many left for which reason."""

    step: str
    unit: str
    entered: int
    kept: int
    dropped: Mapping[str, int] = field(default_factory=dict)


def funnel(steps: Iterable[Step]) -> pl.DataFrame:
    """Table `funnel`, step by step: a row of those kept (empty reason) and one a reason with at least one unit.

    Raises `FunnelError` naming the step where in ≠ kept + dropped.
    """
    table = TABLES["funnel"]
    rows = []
    for step in steps:
        if step.entered != step.kept + sum(step.dropped.values()):
            raise FunnelError(
                f"{step.step}: {step.entered} {step.unit} in, {step.kept} kept, "
                f"dropped {dict(step.dropped)}; the difference is unexplained"
            )
        rows.append((step.step, step.unit, "", step.kept))
        rows += [(step.step, step.unit, reason, n) for reason, n in sorted(step.dropped.items()) if n]
    return pl.DataFrame([(place, *row) for place, row in enumerate(rows)], schema=table.schema, orient="row")


def read_step(rows_in: int, events: int, duplicates_within: int, rejects: Mapping[str, int]) -> Step:
    """Rows of the drops → events: rejects by reason, and duplicates that the source's policy drops."""
    return Step("read", "rows", rows_in, events, {**rejects, "duplicate within the drop": duplicates_within})


def merge_step(events_of_drops: int, events: int) -> Step:
    """Events of all drops → events of the release: what another drop already held."""
    return Step("drops", "events", events_of_drops, events, {"duplicate across drops": events_of_drops - events})


def release_steps(
    *,
    events: pl.LazyFrame,
    visits: pl.LazyFrame,
    cohort: pl.LazyFrame,
    batches: pl.LazyFrame,
    transitions: pl.LazyFrame,
    positives: pl.LazyFrame,
    pool_counts: pl.LazyFrame,
    settings: CommerceSettings,
) -> list[Step]:
    """Steps from the events of a release to its pools, each side counted in its own table.

    events → events in visits (cancel and refund left); visits with and without a
    category; users by cohort reason; batches → transitions (a user's first batch is
    history only); categories asked (cut, unconnected); pools (empty); distractors
    wanted (short).
    """
    actions = dict(events.group_by("action").len().collect(engine="streaming").iter_rows())
    counters = ("n_click", "n_browse", "n_favourite", "n_cart", "n_purchase")
    seen = _row(
        visits.select(
            pl.sum_horizontal(pl.col(name).sum().cast(pl.Int64) for name in counters).alias("events"),
            pl.len().alias("visits"),
            pl.col("l2").is_not_null().sum().alias("valid"),
            pl.col("l2").is_null().sum().alias("invalid"),
        )
    )
    users = dict(cohort.group_by("reason").len().collect(engine="streaming").iter_rows())
    kept_users = cohort.filter(pl.col("reason") == "").select("user_id")
    batched = _row(
        batches.join(kept_users, on="user_id", how="semi").select(
            pl.len().alias("batches"), pl.col("user_id").n_unique().alias("users")
        )
    )
    asked = _row(
        positives.select(
            pl.len().alias("all"),
            pl.col("kept").sum(),
            pl.col("pool").is_null().sum().alias("unconnected"),
            (pl.col("pool").is_not_null() & ~pl.col("kept")).sum().alias("cut"),
        )
    )
    counts = _row(
        pool_counts.select(
            pl.len().alias("pools"),
            (pl.col("n_positives") > 0).sum().alias("asked"),
            pl.col("n_positives").sum().cast(pl.Int64),
            *(
                ((pl.col("n_positives") == 0) & (pl.col("pool") == pool)).sum().alias(pool)
                for pool in ("remember", "infer")
            ),
            *(pl.col(name).sum().cast(pl.Int64) for name in ("n_matched", "n_history", "n_random", "n_short")),
        )
    )
    found = counts["n_matched"] + counts["n_history"] + counts["n_random"]
    n_users = _row(cohort.select(pl.len().alias("n")))["n"]
    return [
        Step(
            "visits",
            "events",
            sum(actions.values()),
            seen["events"],
            {action: actions.get(action, 0) for action in ("cancel", "refund")},
        ),
        Step("visits", "visits", seen["visits"], seen["valid"], {"without a category": seen["invalid"]}),
        Step("cohort", "users", n_users, users.pop("", 0), users),
        Step(
            "transitions",
            "batches",
            batched["batches"],
            _row(transitions.select(pl.len().alias("n")))["n"],
            {"first batch of a user, history only": batched["users"]},
        ),
        Step(
            "labels",
            "categories",
            asked["all"],
            asked["kept"],
            {"unconnected": asked["unconnected"], "cut by the limit": asked["cut"]},
        ),
        Step(
            "pools",
            "pools",
            counts["pools"],
            counts["asked"],
            {"empty: remember": counts["remember"], "empty: infer": counts["infer"]},
        ),
        Step(
            "pools",
            "distractors",
            counts["n_positives"] * settings.distractors_per_positive,
            found,
            {"not found": counts["n_short"]},
        ),
    ]


def _row(frame: pl.LazyFrame) -> dict[str, int]:
    return frame.collect(engine="streaming").row(0, named=True)
