"""The reader and the judge that ask a model, over a real endpoint: what it gets, its faults, budgets and the cache."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from model_server import Answer, Call, content_filtered, empty, model_server, schema_unsupported, server_error, too_long

from pipelines.evaluation.judging import PARTS
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.judging.rubric import RubricJudge
from pipelines.evaluation.readers.llm import LlmReader
from pipelines.models import ModelStopped
from resources.models.engine import ModelEngine
from resources.tokenizer import load_tokens

sys.path.insert(0, str(Path(__file__).parents[1] / "evaluation"))
from evaluation_world import public, random_gold, readouts, taxonomy

EngineOf = Callable[..., ModelEngine]
TOKENS = load_tokens()
GOLD = random_gold(users=4, transitions=2)
POOLS, NAMES = public(GOLD), taxonomy()
READOUTS = readouts(
    {(u, t): f"{u} drinks tea {t}" for u, t in GOLD.select("user_id", "transition_index").unique().rows()}
)
UNITS = POOLS.select("user_id", "transition_index", "pool").n_unique()


def first_of(call: Call) -> str:
    """The first labels that the schema allows, as many as it asks for."""
    chosen = call.schema["properties"]["chosen"]
    return json.dumps({"chosen": chosen["items"]["enum"][: chosen["minItems"]]})


def test_every_pool_is_asked_once_ever(engine_of: EngineOf) -> None:
    with model_server(first_of) as server:
        with engine_of(server.base_url) as engine:
            reader = LlmReader(engine.model("reader", "arm"), TOKENS)
            readings = reader.read(READOUTS, POOLS, NAMES)
            assert set(readings["status"]) == {"ok"} and readings.height == UNITS == len(server.chats)
            calls = engine.calls("arm")
        with engine_of(server.base_url) as engine:
            again = LlmReader(engine.model("reader", "other"), TOKENS)
            assert again.read(READOUTS.reverse(), POOLS.reverse(), NAMES).equals(readings)
            assert again.fingerprint == reader.fingerprint and engine.spent.calls == 0
        assert len(server.chats) == UNITS
    assert sorted(readings["call"]) == sorted(calls["key"])
    unit = pl.concat_str("user_id", "transition_index", pl.col("pool").cast(pl.String), separator="/").alias("unit")
    named = readings.select(unit, "call").join(calls.select("unit", "key"), on="unit")
    assert named.height == UNITS and named["call"].equals(named["key"])
    # What a drill-down shows is what went over the wire.
    wire = {(call.system, call.text) for call in server.chats}
    assert set(reader.prompts_for(READOUTS, POOLS, NAMES).select("system", "user").rows()) == wire


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        (server_error, "failed", "reply_failed"),
        (empty, "invalid", "reply_empty"),
        (too_long, "invalid", "reply_truncated"),
        (content_filtered, "invalid", "reply_refused"),
        (lambda: Answer('{"chosen": ["c99"]}'), "invalid", "unknown_label"),
    ],
)
def test_a_fault_of_the_endpoint_is_one_units_status(
    engine_of: EngineOf, fault: Callable[[], Answer], status: str, reason: str
) -> None:
    def script(call: Call) -> str | Answer:
        return fault() if "u0 drinks" in call.text else first_of(call)

    with model_server(script) as server, engine_of(server.base_url, retries=1) as engine:
        readings = LlmReader(engine.model("reader"), TOKENS).read(READOUTS, POOLS, NAMES)
    hit = pl.col("user_id") == "u0"
    assert readings.filter(hit).select("status", "reason").unique().rows() == [(status, reason)]
    assert readings.filter(~hit)["status"].unique().to_list() == ["ok"]


def test_an_endpoint_without_schemas_is_read_all_the_same(engine_of: EngineOf) -> None:
    def script(call: Call) -> str | Answer:
        if call.schema is not None:
            return schema_unsupported()
        n = int(re.search(r"Choose exactly (\d+) of", call.text)[1])
        return json.dumps({"chosen": re.findall(r"^(c\d+): ", call.text, re.MULTILINE)[:n]})

    with model_server(script) as server, engine_of(server.base_url) as engine:
        readings = LlmReader(engine.model("reader"), TOKENS).read(READOUTS, POOLS, NAMES)
    assert set(readings["status"]) == {"ok"}


def test_a_spent_budget_stops_the_reader_and_the_next_run_goes_on(engine_of: EngineOf) -> None:
    with model_server(first_of) as server:
        with engine_of(server.base_url, max_calls=3) as engine, pytest.raises(ModelStopped):
            LlmReader(engine.model("reader"), TOKENS).read(READOUTS, POOLS, NAMES)
        assert len(server.chats) == 3
        with engine_of(server.base_url) as engine:
            readings = LlmReader(engine.model("reader"), TOKENS).read(READOUTS, POOLS, NAMES)
        assert set(readings["status"]) == {"ok"} and len(server.chats) == UNITS


def parts() -> pl.DataFrame:
    rows = [
        {"user_id": f"u{n % 3}", "item": f"i{n}", "part": part, "gate": False, "question": "What?", "reference": "tea",
         "answer": f"answer {n}", "expected": "tea", "given": "green"}
        for n in range(6) for part in ("a", "b")
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=dict(PARTS))


def judged(call: Call) -> str | Answer:
    said = [
        {"part": label, "analysis": "-", "core_correct": label == "p01", "detail_quality": 1}
        for label in ("p01", "p02")
    ]
    if "answer 3" in call.text:
        return "Yes, correct!"
    return json.dumps({"judgments": said[:1] if "answer 4" in call.text else said})


def test_a_judge_over_a_real_endpoint(engine_of: EngineOf) -> None:
    with model_server(judged) as server:
        with engine_of(server.base_url) as engine:
            verdicts = RubricJudge(engine.model("judge", "arm"), CORE_DETAIL, TOKENS).verdicts(parts())
            # Two items could not be read whole and were asked once more, as calls of their own.
            assert len(server.chats) == 8 and engine.calls("arm").height == 8
        with engine_of(server.base_url) as engine:
            assert RubricJudge(engine.model("judge"), CORE_DETAIL, TOKENS).verdicts(parts()).equals(verdicts)
        assert len(server.chats) == 8
    ok = verdicts.filter(pl.col("status") == "ok")
    assert ok.height == 9 and ok.filter(pl.col("core_correct") != (pl.col("part") == "a")).is_empty()
    assert verdicts.filter(pl.col("status") != "ok").select("item", "part", "reason", "core_correct").rows() == [
        ("i3", "a", "reply_not_json", None), ("i3", "b", "reply_not_json", None), ("i4", "b", "part_left_out", None),
    ]  # fmt: skip
