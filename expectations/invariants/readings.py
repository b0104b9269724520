"""Invariants of `readouts`, `readings`, `units` and `funnel`."""

from collections.abc import Mapping

import polars as pl

from expectations.invariants.labels import PER_POOL, PER_TRANSITION
from expectations.invariants.rules import Frames, among, lacking, never, no_rows, not_checked, ordered, starts
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.tables import FAMILIARITIES
from pipelines.findings import Finding

GROUPS = FAMILIARITIES[:-1]


def readouts(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Total order; every readout is of a transition (companion `transitions`)."""
    frame = frames["readouts"]
    if missing := lacking(frames, "transitions"):
        return [ordered("readouts", frame), not_checked("of_a_transition", *missing)]
    return [
        ordered("readouts", frame),
        among("of_a_transition", "every readout is of a transition", frame, frames["transitions"], PER_TRANSITION),
    ]


def claims(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Total order; a claim has evidence, each visit once; nobody supports it before it is formed."""
    frame = frames["claims"]
    visits = pl.col("visits").list
    unfounded = (visits.len() == 0) | (visits.n_unique() != visits.len()) | (visits.min() < 0)
    return [
        ordered("claims", frame),
        never("founded", "every claim has evidence, each visit once", frame, unfounded),
        never("in_time", "a claim is formed no later than supported", frame, pl.col("formed") > pl.col("supported")),
    ]


def readings(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Total order, pools that exist; choices that can be (companion `pools`).

    A choice outside the pool, or not as many as the status says, is the reader's
    fault: scoring counts it, so here it is a warning.
    """
    frame = frames["readings"]
    findings = [
        ordered("readings", frame),
        never(
            "chosen_once",
            "no candidate is chosen twice",
            frame,
            pl.col("chosen").list.n_unique() != pl.col("chosen").list.len(),
            "warning",
        ),
        never(
            "reason",
            "a reading that is not ok says why, one that is does not",
            frame,
            (pl.col("status") == "ok") != (pl.col("reason") == ""),
            "warning",
        ),
    ]
    if missing := lacking(frames, "pools"):
        return [*findings, *(not_checked(name, *missing) for name in ("of_a_pool", "candidates", "status"))]
    sizes = frames["pools"].group_by(PER_POOL).agg(pl.len().alias("n"), pl.col("n_choose").first())
    sized = frame.join(sizes, on=PER_POOL, how="inner", maintain_order="left")
    chosen, wanted = pl.col("chosen").list.len(), pl.col("n_choose")
    status = pl.col("status")
    return [
        *findings,
        among("of_a_pool", "every reading is of a pool", frame, sizes, PER_POOL),
        never(
            "candidates",
            "chosen places are places of the pool, and scores none or one a candidate",
            sized,
            (pl.col("chosen").list.min() < 0)
            | (pl.col("chosen").list.max() >= pl.col("n"))
            | ((pl.col("scores").list.len() != 0) & (pl.col("scores").list.len() != pl.col("n"))),
            "warning",
        ),
        never(
            "status",
            "ok chooses as many as asked, short fewer, over no fewer",
            sized,
            ((status == "ok") & (chosen != wanted))
            | ((status == "short") & (chosen >= wanted))
            | ((status == "over") & (chosen < wanted)),
            "warning",
        ),
    ]


def units(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Counts that can be: no more choices than were asked, none from a reading that failed."""
    frame = frames["units"]
    lost = pl.col("status").is_in(["invalid", "failed", "missing"])
    pool_facts = ["n_positives", "n_candidates", "n_eligible", *(f"n_{group}" for group in GROUPS)]
    facts = frame.group_by(PER_POOL).agg(pl.col(pool_facts).n_unique())
    chosen = pl.col("n_hit") + pl.col("n_exposed")
    return [
        ordered("units", frame),
        never("choices", "hits and exposures are no more than asked", frame, chosen > pl.col("n_positives")),
        never(
            "parts",
            "positives and eligible distractors are candidates",
            frame,
            pl.col("n_positives") + pl.col("n_eligible") > pl.col("n_candidates"),
        ),
        never(
            "groups",
            "positives and hits of the familiarity groups add up to all",
            frame,
            (pl.sum_horizontal(f"n_{group}" for group in GROUPS) != pl.col("n_positives"))
            | (pl.sum_horizontal(f"hit_{group}" for group in GROUPS) != pl.col("n_hit")),
        ),
        never("lost_is_zero", "an invalid, failed or missing reading hits nothing", frame, lost & (chosen > 0)),
        no_rows(
            "one_pool",
            "all methods are asked the same pools",
            facts.filter(pl.any_horizontal(pl.col(name) > 1 for name in pool_facts)),
        ),
    ]


def funnel(frames: Frames, settings: CommerceSettings) -> list[Finding]:
    """Rows are numbered; each step and unit says first, and once, what stayed."""
    frame = frames["funnel"]
    kept = frame.group_by("step", "unit").agg((pl.col("reason") == "").sum().alias("kept_rows"))
    return [
        ordered("funnel", frame),
        never(
            "steps",
            "rows count from 0 without a gap, and what left follows what stayed",
            frame,
            (pl.col("place") != pl.int_range(pl.len())) | (starts("step", "unit") & (pl.col("reason") != "")),
        ),
        no_rows("one_kept", "each step and unit has one row of those kept", kept.filter(pl.col("kept_rows") != 1)),
    ]


def funnel_adds_up(frame: pl.LazyFrame, went_in: Mapping[str, int]) -> Finding:
    """In = kept + dropped; `went_in` says how many went in, by `step/unit`."""
    expected = pl.LazyFrame(list(went_in.items()), schema={"step": pl.String, "n_in": pl.Int64}, orient="row")
    summed = frame.group_by(pl.col("step") + "/" + pl.col("unit")).agg(pl.col("n").sum())
    both = expected.join(summed, on="step", how="left")
    return no_rows("adds_up", "in = kept + dropped, step by step", both.filter(pl.col("n").ne_missing(pl.col("n_in"))))
