"""Perturbing the future moves no readout of ours, and finds methods whose readouts know it."""

from dataclasses import replace
from typing import ClassVar

import polars as pl
import pytest
from memory_streams import tables
from polars.testing import assert_frame_equal

from pipelines.memory.audit import future_sensitivity, perturbed
from pipelines.memory.contract import Batch, MethodSpec, Readout
from pipelines.memory.methods.recent_k import SPEC, RecentK
from pipelines.memory.registry import builtin_methods
from pipelines.memory.rendering import visit_lines
from resources.tokenizer import load_tokens

FRAMES = tables(n_users=8, n_batches=5, n_visits=7)


def violations(spec: MethodSpec) -> pl.DataFrame:
    return future_sensitivity(spec, spec.config_model(), **FRAMES, budget=400, tokens=load_tokens())


@pytest.mark.parametrize("name", builtin_methods())
def test_no_future_reaches_a_method_of_ours(name: str) -> None:
    assert violations(builtin_methods()[name]).height == 0


class KeepsOtherRuns(RecentK):
    """Keeps the batches of earlier replays in the class, so that a second replay knows what comes."""

    kept: ClassVar[dict[str, str]] = {}

    def take(self, batch: Batch) -> None:
        super().take(batch)
        self.kept[batch.batch_id] = visit_lines(batch.visits)[-1]

    def readout(self, budget: int) -> Readout:
        following = f"{self.journal.user}:{len(self.journal.batches)}"
        return Readout(super().readout(budget).description, self.kept.get(following, ""))


def test_a_method_that_keeps_the_future_of_another_replay_is_found() -> None:
    found = violations(replace(SPEC, factory=KeepsOtherRuns))
    assert found.height > 0 and {"tree"} <= set(found["column"].unique())


def test_the_past_is_untouched_and_all_of_the_future_moves_but_its_first_start() -> None:
    last = {f"u{u}": u % (1 + u % 5) for u in range(8)}
    visits, batches, transitions = perturbed(**FRAMES, last=last)
    key = ["user_id", "visit_index"]
    both = FRAMES["visits"].join(visits, on=key, suffix="_now")
    for user, t in last.items():
        border = (t + 1) * 7
        rows = both.filter(user_id=user)
        past, future = rows.filter(pl.col("visit_index") < border), rows.filter(pl.col("visit_index") >= border)
        for name in FRAMES["visits"].columns[2:]:
            assert past[name].equals(past[f"{name}_now"], null_equal=True), name
        assert future["start"][0] == future["start_now"][0]
        assert (future["start"][1:] != future["start_now"][1:]).all()
        for name in ("end", "item_id", "brand", "n_purchase", "dwell_seconds"):
            assert future[name].ne_missing(future[f"{name}_now"]).all(), name
        assert visits.filter(user_id=user)["start"].is_sorted()
        old = FRAMES["batches"].filter(pl.col("batch_index") <= t, user_id=user)
        assert_frame_equal(batches.filter(pl.col("batch_index") <= t, user_id=user), old)
    gone = FRAMES["batches"].filter(pl.col("user_id").is_in(list(last))).height - batches.height
    assert gone > 0
    assert transitions.height == batches.height - len(last)
