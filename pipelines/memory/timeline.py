"""Time as data: what a user did, what is asked, and only later what came of it (ours; after river's `simulate_qa`).

Everything that feeds a method, audits it or scores it goes through `timeline`, so
that an outcome cannot arrive before its question.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from pipelines.memory.contract import VISIT_COLUMNS, Batch, batch_id


@dataclass(frozen=True)
class Histories:
    """The streams of some users, laid out so that a batch is a slice."""

    values: pl.DataFrame
    """All visits in user and time order; columns `VISIT_COLUMNS`."""
    batches: dict[str, list[tuple[int, int, int, datetime, datetime]]]
    """User → (index, first row, rows, start, end) of each batch, in order."""
    outcomes: dict[str, dict[int, tuple[datetime, datetime, datetime]]]
    """User → transition → (history end, target start, target end)."""

    def batch(self, user: str, position: int) -> Batch:
        """A user's batch, as a method sees it."""
        index, row, n, start, end = self.batches[user][position]
        return Batch(batch_id(user, index), user, index, start, end, self.values.slice(row, n))

    @property
    def users(self) -> list[str]:
        """Users in text order."""
        return sorted(self.batches)


@dataclass(frozen=True)
class Arrived:
    """A batch is over and may be ingested."""

    batch: Batch


@dataclass(frozen=True)
class Question:
    """What will the user do next, given every batch that arrived so far?"""

    user_id: str
    transition_index: int
    now: datetime
    """End of the newest batch."""


@dataclass(frozen=True)
class Outcome:
    """The answer's place in time, told once its question was asked."""

    user_id: str
    transition_index: int
    target_start: datetime
    target_end: datetime


def histories(
    visits: pl.DataFrame, batches: pl.DataFrame, transitions: pl.DataFrame, taxonomy: pl.DataFrame
) -> Histories:
    """Lay out the tables of the same name (`pipelines.schema`); only users with a transition are kept.

    Raises `ValueError` when the visits do not cover a batch.
    """
    users = transitions.select("user_id").unique()
    values = (
        visits.join(users, on="user_id", how="semi")
        .sort("user_id", "visit_index")
        .join(taxonomy, on=["l1", "l2"], how="left", nulls_equal=True, maintain_order="left")
    )
    first = (
        values.with_row_index("row")
        .group_by("user_id")
        .agg((pl.col("row").cast(pl.Int64) - pl.col("visit_index")).min(), rows=pl.len().cast(pl.Int64))
    )
    placed = (
        batches.join(users, on="user_id", how="semi")
        .join(first, on="user_id", how="left")
        .sort("user_id", "batch_index")
    )
    beyond = placed.filter(pl.col("row").is_null() | (pl.col("first_visit") + pl.col("n_visits") > pl.col("rows")))
    if beyond.height:
        user, index = beyond.row(0, named=True)["user_id"], beyond.row(0, named=True)["batch_index"]
        raise ValueError(f"batch {index} of user {user!r} reaches beyond the visits given: visits and batches differ")
    by_user: dict[str, list[tuple[int, int, int, datetime, datetime]]] = {}
    for user, index, row, n, start, end in placed.select(
        "user_id", "batch_index", pl.col("row") + pl.col("first_visit"), "n_visits", "start", "end"
    ).iter_rows():
        by_user.setdefault(user, []).append((index, row, n, start, end))
    outcomes: dict[str, dict[int, tuple[datetime, datetime, datetime]]] = {}
    for user, index, *times in transitions.select(
        "user_id", "transition_index", "history_end", "target_start", "target_end"
    ).iter_rows():
        outcomes.setdefault(user, {})[index] = (times[0], times[1], times[2])
    return Histories(
        values.with_columns(text=pl.lit(None, pl.String))
        .select(pl.col(name).cast(dtype) for name, dtype in VISIT_COLUMNS.items())
        .rechunk(),
        by_user,
        outcomes,
    )


def timeline(given: Histories, users: Iterable[str]) -> Iterator[Arrived | Question | Outcome]:
    """User after user: batch t, the question asked after it, then its outcome, then batch t+1."""
    for user in users:
        outcomes = given.outcomes.get(user, {})
        for position, (index, _, _, _, end) in enumerate(given.batches[user]):
            yield Arrived(given.batch(user, position))
            if (outcome := outcomes.get(index)) is not None:
                yield Question(user, index, end)
                yield Outcome(user, index, outcome[1], outcome[2])
