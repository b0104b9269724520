"""BehaviorMem's ledger, its readout under a budget, and the rules of the contract in every configuration."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given as some
from hypothesis import settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scripted_models import DAY_0, Scripted, by_batch, day_batch
from test_behaviormem_claims import BAKES, fed, open_batch, opened, placed, slot_batch, theme

from pipelines.memory.behaviormem.claims import SLOTS
from pipelines.memory.behaviormem.method import SPEC
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.contract_models import HashedWords, Parrot
from pipelines.memory.contract_tests import check_method
from pipelines.memory.contract_worlds import batch_of, stream
from pipelines.memory.methods import rag_dense
from pipelines.memory.replay import Served, replay
from pipelines.memory.timeline import Histories
from pipelines.models import Message, Request
from resources.memories import KeptMemories
from resources.tokenizer import load_tokens


def facts(memory: Any, budget: int = 5_000) -> list[str]:
    return memory.readout(budget).description.split("\n")


def test_facts_halve_in_a_half_life_and_say_what_was_done() -> None:
    memory = opened(None, implicit=False, half_life_days=30)
    memory.ingest(day_batch(0, 0, n=2, l2_name="Old", n_click=[3, 0], n_purchase=[0, 1]))
    memory.ingest(day_batch(1, 30, n=1, l2_name="New", brand="Zeta"))
    assert facts(memory) == [
        "purchased: 1.50",
        "clicked: 0.50",
        "Food: 2.00",
        "Food › New: 1.00 (purchased 1.00)",
        "Food › Old: 1.00 (purchased 0.50, clicked 0.50)",
        "brand Acme: 1.00",
        "brand Zeta: 1.00",
        "active in the morning (6–12 h UTC): 2.00",
        "active on weekdays: 2.00",
        "recent: 2022-02-02 10:00 | Food › New | brand Zeta | item i1-0 | purchased",
        "recent: 2022-01-03 10:00 | Food › Old | brand Acme | item i0-1 | purchased",
        "recent: 2022-01-03 09:00 | Food › Old | brand Acme | item i0-0 | clicked 3",
    ]


@pytest.mark.parametrize(
    ("hours", "lines"),
    [
        (-10, ["at night (0–6 h UTC)", "on weekdays"]),
        (-11 - 24, ["in the evening (18–24 h UTC)", "at the weekend"]),
        (-11, ["in the evening (18–24 h UTC)", "at the weekend"]),
        (24 * 4 + 2, ["in the afternoon (12–18 h UTC)", "on weekdays"]),
        (2, ["in the afternoon (12–18 h UTC)", "on weekdays"]),
        (24 * 5 - 10, ["at night (0–6 h UTC)", "at the weekend"]),
    ],
)
def test_parts_of_day_and_week_begin_on_the_hour(hours: int, lines: list[str]) -> None:
    # 2022-01-03, day 0, is a Monday.
    memory = opened(None, implicit=False)
    moment = DAY_0 + timedelta(hours=hours)
    memory.ingest(day_batch(0, 0, n=1, start=moment, end=moment))
    assert sorted(line for line in facts(memory) if line.startswith("active")) == sorted(
        f"active {line}: 1.00" for line in lines
    )


def test_recent_items_are_the_last_distinct_ones_newest_first() -> None:
    memory = opened(None, implicit=False, max_recent=2)
    memory.ingest(day_batch(0, 0, n=4, item_id=["a", "b", "a", "c"]))
    memory.ingest(day_batch(1, 1, n=1, item_id="a"))
    recent = [line for line in facts(memory) if line.startswith("recent")]
    assert [line.split("item ")[1] for line in recent] == ["a | purchased | met 3 times", "c | purchased"]
    assert [visit[4] for visit in memory.state["ledger"]["visits"]] == ["a", "b", "a", "c", "a"]


def test_facts_do_not_depend_on_how_the_stream_was_cut() -> None:
    whole, parts = opened(None, implicit=False), opened(None, implicit=False)
    visits = day_batch(0, 0, n=9, l2_name=[f"C{place % 4}" for place in range(9)]).visits
    whole.ingest(batch_of("u", 0, visits))
    for index in range(3):
        parts.ingest(batch_of("u", index, visits.slice(3 * index, 3)))
    assert whole.readout(5_000) == parts.readout(5_000)


def test_categories_beyond_the_first_follow_the_recent_items() -> None:
    memory = opened(None, implicit=False, max_categories=1)
    memory.ingest(day_batch(0, 0, n=3, l2_name=["Flour", "Milk", "Flour"]))
    kinds = [line.split(":")[0] for line in facts(memory)]
    assert kinds.index("Food › Flour") < kinds.index("recent") < kinds.index("Food › Milk")


def two_sided(**config: Any) -> Any:
    """A memory with three claims and the facts of six visits."""
    themes = [theme(f"{BAKES} {number}", confidence=confidence) for number, confidence in enumerate((40, 90, 65))]
    llm = by_batch({0: open_batch(*themes)})
    return fed(llm, day_batch(0, 0, n=6, brand=list("abcdef")), **config)


@settings(max_examples=60, deadline=None)
@some(budget=st.integers(0, 700), share=st.integers(0, 100))
def test_the_readout_keeps_the_budget_and_counts_what_it_cut(budget: int, share: int) -> None:
    tokens, memory = load_tokens(), two_sided(tree_share=share)
    full, readout = memory.readout(10_000), memory.readout(budget)
    used = tokens.count(readout.description) + tokens.count(readout.tree)
    assert used == readout.tokens <= budget
    assert readout.tokens + readout.tokens_cut == full.tokens and full.tokens_cut == 0
    assert full.tree.startswith(readout.tree) and full.description.startswith(readout.description)
    if budget >= full.tokens:
        assert readout == full


def test_claims_get_their_share_or_what_facts_leave() -> None:
    full = two_sided().readout(10_000)
    tree, description = load_tokens().count(full.tree), load_tokens().count(full.description)
    assert two_sided(tree_share=0).readout(description).tree == ""
    assert two_sided(tree_share=0).readout(description + tree) == full
    half = two_sided(tree_share=50).readout(2 * tree)
    assert half.tree == full.tree and half.description != full.description != ""
    assert [line.split("(")[1] for line in full.tree.split("\n")] == [
        "90%, stage-specific)", "65%, stage-specific)", "40%, stage-specific)",
    ]  # fmt: skip


def talker(request: Request) -> Any:
    """Finds something in everything, claims of all kinds, by nothing but the request."""
    lines = request.messages[-1].text.split("\n")
    marks = [line.split(" | ")[0] for line in lines if " | " in line]
    draw = sum(map(ord, request.messages[-1].text))
    slots = sorted(SLOTS)
    slot = slots[draw % len(slots)]
    value = SLOTS[slot].values[draw % len(SLOTS[slot].values)]
    words = lines[draw % len(lines)][:60] or "nothing"
    if request.schema_name == "patterns":
        return {"patterns": [{"text": f"sees {mark}: {words}", "evidence": [mark]} for mark in marks[:3]]}
    if request.schema_name == "themes":
        kinds = ("demographics", "social relations", "interests", "situational state")
        return {"themes": [theme(f"is {words}", kind, draw % 101, tuple(marks[:2])) for kind in kinds]}
    if request.schema_name == "characteristics":
        item = {"slot": slot, "value": value, "confidence": draw % 101, "evidence": marks}
        return {"characteristics": [item]}
    if request.schema_name == "one_step":
        items = [{**theme(words, "interests", draw % 101, (mark,)), "slot": ""} for mark in marks[:2]]
        return {"claims": [*items, {**theme(value, slot.split("/")[0], draw % 101, tuple(marks)), "slot": slot}]}
    new = [mark for mark in marks if mark[0] == "t"]
    if request.schema_name == "placement":
        return {"placements": [placed(mark, domain="life", attribute=f"part {draw % 3}") for mark in new]}
    known = [mark for mark in marks if mark[0] == "c"]
    relation = ("supports", "contradicts", "unclear")[draw % 3]
    return {"verdicts": [{"new": new[0], "known": known[-1], "relation": relation, "reason": words}]}


CONFIGS: list[dict[str, Any]] = [
    {},
    {"ladder": False},
    {"maintenance": False},
    {"explicit": False},
    {"implicit": False},
    {"closed_kinds": False},
    {"open_kinds": False},
    {"dormant_after_days": 20, "max_paths": 4, "context_tokens": 2_000, "reply_tokens": 800},
]


@pytest.mark.parametrize("config", CONFIGS, ids=[json.dumps(config) for config in CONFIGS])
def test_the_contract_is_kept_in_every_configuration(config: dict[str, Any]) -> None:
    served = Served(builder=Scripted(talker))
    assert check_method(SPEC, load_tokens(), BehaviorMemConfig(**config), served) == []


def test_the_contract_run_exercises_claims_of_all_kinds_and_every_event() -> None:
    memory = opened(Scripted(talker), dormant_after_days=20)
    for batch in stream("u", 40):
        memory.ingest(batch)
    assert {claim["kind"] for claim in memory.state["claims"]} == {
        "demographics", "social relations", "interests", "situational state",
    }  # fmt: skip
    assert {event["event"] for event in memory.state["life"]} >= {
        "formed", "strengthened", "challenged", "replaced", "retired", "dormant", "reactivated",
    }  # fmt: skip


def test_hidden_claims_are_not_read() -> None:
    memory = fed(by_batch({0: slot_batch("female", 60), 1: slot_batch("male", 70)}), day_batch(0, 0), day_batch(1, 1))
    assert "female" not in memory.readout(500).tree and len(memory.state["claims"]) == 2


def test_a_parrot_says_the_same_to_the_same_and_else_something_else() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 3, "maximum": 5},
            "word": {"type": "string", "enum": ["a", "b"]},
            "ids": {"type": "array", "items": {"type": "string", "pattern": "^v[0-9]+$"}},
        },
    }
    said = set()
    for number in range(20):
        lines = f"v1 | flour {number}\nv2 | milk"
        request = Request((Message("system", "x"), Message("user", lines)), schema)
        text = Parrot().ask(request).text
        assert text == Parrot().ask(request).text
        value = json.loads(text)
        assert 3 <= value["n"] <= 5 and value["word"] in "ab" and set(value["ids"]) <= {"v1", "v2"} and value["ids"]
        said.add(text)
    assert len(said) > 10
    free = Request((Message("user", "v1 | flour"),))
    assert set(Parrot().ask_all([free])[0].text.split("\n")) <= {"v1", "flour"}


def test_hashed_words_make_texts_alike_that_share_words() -> None:
    bread, loaf, other, empty = HashedWords().embed(["rye bread", "Bread rye!", "garden hose", "…"])
    assert bread @ loaf == pytest.approx(1, abs=1e-6) and abs(float(bread @ other)) < 0.1 and not empty.any()
    assert check_method(rag_dense.SPEC, load_tokens()) == []


def test_users_side_by_side_read_like_one_after_the_other_and_a_kept_memory_costs_nothing(
    given: Histories, tmp_path: Path
) -> None:
    def run(llm: Scripted, threads: int, **more: Any) -> pl.DataFrame:
        served = Served(builder=llm)
        return replay(SPEC, BehaviorMemConfig(), given, 800, load_tokens(), served=served, threads=threads, **more)

    one, many, kept = Scripted(talker), Scripted(talker), KeptMemories(tmp_path)
    expected = run(one, 1)
    assert_frame_equal(run(many, 4, checkpoints=kept), expected)
    assert len(many.asked) == len(one.asked) > 0
    again = Scripted(talker)
    assert_frame_equal(run(again, 2, checkpoints=kept), expected)
    assert again.asked == []
