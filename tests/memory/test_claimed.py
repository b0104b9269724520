"""Table `claims`: what a memory claims at every transition and by which visits, as its state has it."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scripted_models import by_batch

from pipelines.memory.behaviormem.method import SPEC
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.claimed import Claimed
from pipelines.memory.contract import Claimant
from pipelines.memory.registry import builtin_methods
from pipelines.memory.replay import Served, replay
from pipelines.memory.timeline import Histories
from pipelines.schema import TABLES
from resources.tokenizer import load_tokens

REPLIES: dict[str, Any] = {
    "patterns": {"patterns": [{"text": "buys flour", "evidence": ["v1", "v3"]}]},
    "themes": {"themes": [{"kind": "interests", "text": "bakes", "confidence": 70, "evidence": ["p1"]}]},
    "placement": {
        "placements": [{"claim": "t1", "path": "", "domain": "food", "attribute": "baking", "scope": "stage"}]
    },
    "maintenance": {"verdicts": []},
}


def claims_of(given: Histories, replies: dict[int, Any], threads: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    claimed = Claimed()
    served = Served(builder=by_batch(replies))
    made = replay(SPEC, BehaviorMemConfig(), given, 400, load_tokens(), served=served, claimed=claimed, threads=threads)
    return made, claimed.table()


def test_claims_are_told_at_every_transition_with_their_evidence(given: Histories) -> None:
    made, claims = claims_of(given, {0: REPLIES, 1: REPLIES})
    assert claims.schema == TABLES["claims"].schema
    own = claims.filter(user_id="u2").select("transition_index", "claim", "state", "confidence", "visits").rows()
    # Batch 0 holds visits 0 to 6, batch 1 visits 7 to 13; the same words again are support.
    assert own[:3] == [
        (0, "c1", "active", 70, [0, 2]),
        (1, "c1", "active", 70, [0, 2, 7, 9]),
        (2, "c1", "active", 70, [0, 2, 7, 9]),
    ]
    first = claims.row(0, named=True)
    assert first["formed"] == given.batches[first["user_id"]][0][4]
    said = claims.join(made, on=["user_id", "transition_index"])
    assert said.height == claims.height and all(one["line"] in one["tree"] for one in said.to_dicts())


def test_threads_change_no_claim(given: Histories) -> None:
    assert_frame_equal(claims_of(given, {0: REPLIES})[1], claims_of(given, {0: REPLIES}, threads=3)[1])


@pytest.mark.parametrize("name", ["empty", "recent_k", "frequency_profile"])
def test_a_memory_that_holds_no_claims_tells_none(name: str, given: Histories) -> None:
    claimed, spec = Claimed(), builtin_methods()[name]
    assert not isinstance(spec.factory(load_tokens()), Claimant)
    replay(spec, spec.config_model(), given, 100, load_tokens(), claimed=claimed)
    assert claimed.table().is_empty()
