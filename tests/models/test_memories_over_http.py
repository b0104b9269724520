"""Memories that ask a model, through the engine and a real endpoint: faults, resume for free, many users at once."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import Answer, Call, malformed_body, model_server, rate_limited, refused, server_error, too_long
from polars.testing import assert_frame_equal

from pipelines.memory.behaviormem.claims import life
from pipelines.memory.behaviormem.method import SPEC as BEHAVIORMEM
from pipelines.memory.contract import Method
from pipelines.memory.contract_worlds import stream
from pipelines.memory.methods.profile_gen import SPEC as PROFILE_GEN
from pipelines.memory.replay import Served, opened
from pipelines.models import ModelFailed, ModelStopped
from resources.models.engine import ModelEngine
from resources.models.settings import CallRules, Endpoint
from resources.tokenizer import load_tokens

BATCHES = stream("u", 4)


def talk(call: Call) -> str:
    """A reply of the schema that was asked for, out of what stands in the prompt."""
    name = call.body["response_format"]["json_schema"]["name"]
    marks = re.findall(r"^([vptc][0-9]+) \| ", call.text, re.MULTILINE)
    of = {letter: [mark for mark in marks if mark[0] == letter] for letter in "vptc"}
    gender = {"slot": "demographics/person/gender", "value": "female", "confidence": 55, "evidence": of["t"][:1]}
    themes = [
        {"kind": kind, "text": f"is a {kind} user", "confidence": 60, "evidence": of["p"]}
        for kind in ("demographics", "interests")
    ]
    place = {"path": "", "domain": "shop", "attribute": "bread", "scope": "stage"}
    verdict = {"relation": "supports", "reason": "again"}
    return json.dumps(
        {
            "patterns": {"patterns": [{"text": f"visits {len(of['v'])} times", "evidence": of["v"]}]},
            "themes": {"themes": themes},
            "characteristics": {"characteristics": [gender]},
            "placement": {"placements": [{"claim": mark, **place} for mark in of["t"]]},
            "maintenance": {"verdicts": [{"new": of["t"][:1][0], "known": mark, **verdict} for mark in of["c"]]},
            "profile": {
                "summary": f"{call.text.count(' | purchased')} purchases",
                **{name: [] for name in ("interests", "habits", "preferences", "current_needs", "circumstances")},
            },
        }[name]
    )


@pytest.fixture
def served_by(tmp_path: Path) -> Callable[..., ModelEngine]:
    def make(url: str, file: str = "calls.sqlite", **rules: Any) -> ModelEngine:
        endpoint = Endpoint(base_url=url, model="m", alias="scripted")
        rules = {"backoff_seconds": 0.001, "retries": 2, "timeout_seconds": 20, **rules}
        return ModelEngine({"builder": endpoint, "profile": endpoint}, tmp_path / file, CallRules(**rules))

    return make


def memory_of(engine: ModelEngine, spec: Any = BEHAVIORMEM) -> Method:
    served = Served(builder=engine.model("builder"), profile=engine.model("profile"))
    return opened(spec, spec.config_model(), "u", load_tokens(), served)


def test_claims_are_made_through_a_real_endpoint_and_a_second_run_costs_nothing(served_by: Any) -> None:
    with model_server(talk) as server:
        with served_by(server.base_url) as engine:
            memory = memory_of(engine)
            for batch in BATCHES:
                memory.ingest(batch)
        made = server.count
        with served_by(server.base_url) as engine:
            again = memory_of(engine)
            for batch in BATCHES:
                again.ingest(batch)
        # Equal prompts are asked once, and each counts in the memory: a resumed run has the same state.
        assert server.count == made == 9 and memory.stats()["calls"] == 4 * 4 + 3
    assert again.state_hash() == memory.state_hash()
    assert memory.readout(1_000).tree.split("\n") == [
        "interests / shop / bread: is a interests user (60%, stage-specific)",
        "demographics / person / gender: female (55%, stable)",
    ]
    assert life(memory.state)["event"].to_list() == ["formed"] * 2 + ["strengthened"] * 6  # type: ignore[attr-defined]
    assert memory.stats()["tokens_in"] == 11 * (4 * 4 + 3)
    assert_frame_equal(life(memory.state), life(again.state))  # type: ignore[attr-defined]


def test_passing_faults_of_the_endpoint_change_nothing(served_by: Any) -> None:
    def faulty(call: Call) -> str | Answer:
        faults = (rate_limited(), server_error(503), malformed_body())
        return faults[call.number // 2 % 3] if call.number % 2 == 0 else talk(call)

    states = []
    for file, script in (("calm.sqlite", talk), ("faulty.sqlite", faulty)):
        with model_server(script) as server, served_by(server.base_url, file) as engine:
            memory = memory_of(engine)
            for batch in BATCHES:
                memory.ingest(batch)
            states.append(memory.state_hash())
    assert states[0] == states[1]


@pytest.mark.parametrize("spec", [BEHAVIORMEM, PROFILE_GEN], ids=lambda spec: spec.name)
def test_an_endpoint_that_stays_broken_raises_and_the_batch_is_taken_in_later(served_by: Any, spec: Any) -> None:
    broken = {"now": False}
    with (
        model_server(lambda call: server_error() if broken["now"] else talk(call)) as server,
        served_by(server.base_url) as engine,
    ):
        memory = memory_of(engine, spec)
        memory.ingest(BATCHES[0])
        before = memory.state_hash()
        broken["now"] = True
        with pytest.raises((ModelFailed, ModelStopped)):
            memory.ingest(BATCHES[1])
        assert memory.state_hash() == before
        broken["now"] = False
        memory.ingest(BATCHES[1])
        assert memory.stats()["lost_steps"] == 0 and memory.stats()["batches"] == 2


@pytest.mark.parametrize(
    ("answer", "status"),
    [(refused(), "refused"), (too_long('{"patterns": ['), "truncated"), (Answer("no"), "not_json")],
)
def test_useless_replies_are_asked_for_again_and_counted(served_by: Any, answer: Answer, status: str) -> None:
    with model_server(lambda call: answer) as server, served_by(server.base_url) as engine:
        memory = memory_of(engine)
        memory.ingest(BATCHES[0])
    stats = memory.stats()
    assert (stats["calls"], stats[f"parse_failures:{status}"], stats["lost_steps:patterns"]) == (3, 3, 1)
    assert memory.readout(1_000).tree == "" and memory.readout(1_000).description


def test_a_spent_budget_stops_between_batches_of_a_whole_memory(served_by: Any, tmp_path: Path) -> None:
    with model_server(talk) as server:
        with served_by(server.base_url, max_calls=6) as engine:
            memory = memory_of(engine)
            memory.ingest(BATCHES[0])
            memory.snapshot(tmp_path / "kept")
            with pytest.raises(ModelStopped):
                memory.ingest(BATCHES[1])
            assert memory.stats()["batches"] == 1
        with served_by(server.base_url) as engine:
            resumed, whole = memory_of(engine), memory_of(engine)
            resumed.restore(tmp_path / "kept")
            for batch in BATCHES:
                resumed.ingest(batch)
                whole.ingest(batch)
        assert resumed.state_hash() == whole.state_hash()
