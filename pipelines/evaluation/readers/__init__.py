"""Task readers: a frozen reader sees a pool and a readout, and chooses exactly as many candidates as asked.

A reader is given readouts, public pools and display names: never a method's
name, a label or a role. Readers that rank give every candidate a score; the
choice is the `n_choose` best by (score descending, position), where position is
the pool's own keyed order and so independent of the labels.
"""

from typing import Protocol

import numpy as np
import polars as pl

from pipelines.rounding import unsigned_zero
from pipelines.schema import conform

UNIT = ["user_id", "transition_index", "pool"]
STATE = ["user_id", "transition_index"]
PLACEHOLDER = "(unused)"
"""Stands in a prompt for a slot that a method does not use; readers without a prompt take it as no line."""
SCORE_DECIMALS = 6
"""Scores are rounded to this, so that equal means equal on every machine."""


class Reader(Protocol):
    """Chooses from pools, given readouts.

    `fingerprint` changes whenever the reader could read differently (its
    version, weights, prompt or settings).
    """

    @property
    def name(self) -> str:
        """Name in tables and arm keys."""

    @property
    def version(self) -> str:
        """Version of the rule."""

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides a reading besides its inputs."""

    def read(self, readouts: pl.DataFrame, pools: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
        """Table `readings`: one row for every pool whose (user, transition) has a readout.

        `readouts`, `pools` and `names` are the tables `readouts`, `pools` and `taxonomy`.
        """


def candidates(pools: pl.DataFrame, readouts: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Candidates of the pools that have a readout, in the order (user, transition, pool, position).

    Columns: the unit, `position`, `n_choose`, `text` ("L1 › L2" by display
    names, keys where the taxonomy has none) and `state`, the row of the readout
    in (user, transition) order.
    """
    states = readouts.select(STATE).sort(STATE).with_row_index("state")
    return (
        pools.join(states, on=STATE, how="inner")
        .join(names, on=["l1", "l2"], how="left", nulls_equal=True)
        .with_columns(pl.coalesce("l1_name", "l1").alias("__l1"), pl.coalesce("l2_name", "l2").alias("__l2"))
        .select(
            *UNIT,
            "position",
            "n_choose",
            "state",
            _shown("__l1", "__l2").alias("text"),
        )
        .sort(*UNIT, "position")
    )


def lines(readouts: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Distinct lines of each readout, both slots, as `words`: columns `state` (as in `candidates`) and `text`, sorted.

    Numbers that are part of no category's name are dropped: counts and prices say nothing of a category, but in
    some logs a category is a number. Lines without a word, and a slot that holds only the placeholder, give none.
    """
    said = (
        readouts.sort(STATE)
        .with_row_index("state")
        .select("state", pl.concat_list(pl.col("description", "tree").fill_null("").str.split("\n")).alias("text"))
        .explode("text", empty_as_null=False, keep_nulls=False)
        .with_columns(pl.col("text").str.strip_chars())
        .filter(~pl.col("text").is_in(["", PLACEHOLDER]))
    )
    texts = said.select(pl.col("text").unique())
    tokens = words(pl.col("text")).str.split(" ")
    word = pl.element()
    kept = word.is_in(_numbers(names).to_list()) | ~word.str.contains(r"^\p{N}+$")
    spoken = texts.with_columns(tokens.list.filter(kept).list.join(" ").alias("spoken"))
    return (
        said.join(spoken, on="text", how="left")
        .select("state", pl.col("spoken").alias("text"))
        .filter(pl.col("text") != "")
        .unique()
        .sort("state", "text")
    )


def words(text: pl.Expr) -> pl.Expr:
    """Lower-case words of a text (letters, marks, digits), one space between them."""
    return text.str.to_lowercase().str.replace_all(r"[^\p{L}\p{M}\p{N}]+", " ").str.strip_chars()


def shown(names: pl.DataFrame) -> pl.Series:
    """Candidate text of every category of the taxonomy."""
    return names.select(_shown("l1_name", "l2_name").alias("text"))["text"]


def _shown(l1: str, l2: str) -> pl.Expr:
    return pl.concat_str(l1, l2, separator=" › ", ignore_nulls=True)


def _numbers(names: pl.DataFrame) -> pl.Series:
    tokens = shown(names).to_frame().select(words(pl.col("text")).str.split(" ").explode().unique().alias("word"))
    return tokens.filter(pl.col("word").str.contains(r"^\p{N}+$"))["word"]


def readings_from_scores(scored: pl.DataFrame) -> pl.DataFrame:
    """Table `readings` from one row a candidate: the unit, `position`, `n_choose`, `score`.

    Raises `ValueError` when a score is not finite.
    """
    if not scored["score"].is_finite().all():
        raise ValueError("a reader gave a score that is not finite; scores must be real numbers")
    ranked = scored.with_columns(unsigned_zero(pl.col("score").round(SCORE_DECIMALS)))
    chosen = (
        ranked.sort([*UNIT, "score", "position"], descending=[False, False, False, True, False])
        .group_by(UNIT, maintain_order=True)
        .agg(pl.col("position").head(pl.col("n_choose").first()).alias("chosen"), pl.col("n_choose").first())
    )
    scores = ranked.sort(*UNIT, "position").group_by(UNIT, maintain_order=True).agg(pl.col("score").alias("scores"))
    short = pl.col("chosen").list.len() < pl.col("n_choose")
    frame = chosen.join(scores, on=UNIT, how="left").with_columns(
        pl.when(short).then(pl.lit("short")).otherwise(pl.lit("ok")).alias("status"),
        pl.when(short).then(pl.lit("too_few")).otherwise(pl.lit("")).alias("reason"),
        pl.lit("").alias("call"),
    )
    return conform(frame.lazy(), "readings").collect()


def offsets(states: pl.Series, n: int) -> "np.typing.NDArray[np.int64]":
    """Where each state's rows begin in a frame sorted by `state`; length n + 1."""
    return np.searchsorted(states.to_numpy(), np.arange(n + 1)).astype(np.int64)
