"""The life of claims in BehaviorMem: formed, strengthened, rested, woken, replaced and retired, each with its cause."""

from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from scripted_models import DAY_0, Scripted, by_batch, day_batch

from pipelines.memory.behaviormem.claims import LIFE, life
from pipelines.memory.behaviormem.method import SPEC, BehaviorMem
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.contract import Batch
from resources.tokenizer import load_tokens

BAKES = "bakes bread at home every week"


def opened(llm: Scripted | None, **config: Any) -> BehaviorMem:
    memory = SPEC.factory(load_tokens())
    memory.open("u", BehaviorMemConfig(**config), llm, None)
    assert isinstance(memory, BehaviorMem)
    return memory


def fed(llm: Scripted, *batches: Batch, **config: Any) -> BehaviorMem:
    memory = opened(llm, **config)
    for batch in batches:
        memory.ingest(batch)
    return memory


def theme(text: str, kind: str = "interests", confidence: int = 70, evidence: tuple[str, ...] = ("p1",)) -> dict:
    return {"kind": kind, "text": text, "confidence": confidence, "evidence": list(evidence)}


def pattern(text: str = "buys flour", evidence: tuple[str, ...] = ("v1", "v2")) -> dict:
    return {"text": text, "evidence": list(evidence)}


def placed(claim: str = "t1", path: str = "", domain: str = "cooking", attribute: str = "baking", scope: str = "stage"):
    return {"claim": claim, "path": path, "domain": domain, "attribute": attribute, "scope": scope}


def verdict(relation: str, new: str = "t1", known: str = "c1", reason: str = "as seen") -> dict:
    return {"new": new, "known": known, "relation": relation, "reason": reason}


def open_batch(*themes: dict, placements: list | None = None, verdicts: list | None = None) -> dict[str, Any]:
    """Replies of a batch whose one pattern leads to themes of open kinds."""
    marks = [placed(f"t{number}") for number in range(1, len(themes) + 1)]
    return {
        "patterns": {"patterns": [pattern()]},
        "themes": {"themes": list(themes)},
        "placement": {"placements": marks if placements is None else placements},
        "maintenance": {"verdicts": verdicts or []},
    }


def slot_batch(value: str, confidence: int, slot: str = "demographics/person/gender", **more: Any) -> dict[str, Any]:
    """Replies of a batch that leads to a value of a closed slot."""
    item = {"slot": slot, "value": value, "confidence": confidence, "evidence": ["t1"], **more}
    return {
        "patterns": {"patterns": [pattern()]},
        "themes": {"themes": [theme("shops for one sex", slot.split("/")[0])]},
        "characteristics": {"characteristics": [item]},
    }


def events(memory: BehaviorMem, *columns: str) -> list[tuple]:
    return life(memory.state).select(columns or ("batch", "claim", "event", "before", "after")).rows()


def test_the_whole_life_of_a_claim() -> None:
    llm = by_batch(
        {
            0: open_batch(theme(BAKES, confidence=60)),
            1: open_batch(theme("bakes even more", confidence=80), verdicts=[verdict("supports")]),
            3: open_batch(theme("bakes again", confidence=50), verdicts=[verdict("supports")]),
            4: open_batch(theme("no longer bakes"), verdicts=[verdict("contradicts", reason="buys bread\nonly")]),
        }
    )
    memory = opened(llm)
    trees = []
    for index, day in enumerate((0, 10, 191, 192, 193)):
        memory.ingest(day_batch(index, day))
        trees.append(memory.readout(1_000).tree)
    path = "interests / cooking / baking: "
    assert trees == [
        f"{path}{BAKES} (60%, stage-specific)",
        f"{path}{BAKES} (80%, stage-specific)",
        "",
        f"{path}{BAKES} (80%, stage-specific)",
        f"{path}no longer bakes (70%, stage-specific)",
    ]
    assert events(memory) == [
        (0, "c1", "formed", None, "active"),
        (1, "c1", "strengthened", "active", "active"),
        (2, "c1", "dormant", "active", "dormant"),
        (3, "c1", "reactivated", "dormant", "active"),
        (4, "c1", "retired", "active", "retired"),
        (4, "c2", "formed", None, "active"),
    ]
    # Evidence is kept through all of it, as numbers of the user's visits.
    claim = memory.state["claims"][0]
    assert (claim["visits"], claim["state"], claim["confidence"]) == ([0, 1, 3, 4, 9, 10], "retired", 80)
    table = life(memory.state)
    assert table.schema == pl.Schema(LIFE)
    assert table["time"][2] == DAY_0 + timedelta(days=191)
    assert table["cause"].to_list() == [
        "first at its path",
        "supported by 'bakes even more': as seen",
        "no support for 181 days; the limit is 180",
        "supported by 'bakes again': as seen",
        "contradicted by 'no longer bakes': buys bread only",
        "first at its path",
    ]
    assert table["visits"].to_list() == [[0, 1], [3, 4], [], [9, 10], [12, 13], [12, 13]]
    assert table["because"].to_list()[0] == ["buys flour"]
    assert memory.stats()["claims_active"] == 1 and memory.stats()["claims_retired"] == 1


@pytest.mark.parametrize(("over", "state"), [(0, "active"), (1, "dormant")])
def test_a_stage_claim_rests_once_the_period_is_over_and_not_before(over: int, state: str) -> None:
    memory = fed(by_batch({0: open_batch(theme(BAKES))}), day_batch(0, 0))
    memory.ingest(day_batch(1, 180, n=1, end=DAY_0 + timedelta(days=180, microseconds=over)))
    assert memory.state["claims"][0]["state"] == state


def test_a_continuous_path_never_rests_and_absence_is_no_contradiction() -> None:
    llm = by_batch({0: open_batch(theme(BAKES), placements=[placed(scope="continuous")])})
    memory = fed(llm, day_batch(0, 0), day_batch(1, 500), day_batch(2, 5_000))
    assert memory.readout(1_000).tree == f"interests / cooking / baking: {BAKES} (70%, stable)"
    assert len(events(memory)) == 1


def test_a_situational_state_is_of_a_stage_whatever_the_model_says() -> None:
    moves = theme("is moving house", "situational state")
    llm = by_batch({0: open_batch(moves, placements=[placed(scope="continuous")])})
    memory = fed(llm, day_batch(0, 0), day_batch(1, 500))
    assert memory.state["paths"] == [{"path": "situational state/cooking/baking", "scope": "stage"}]
    assert memory.state["claims"][0]["state"] == "dormant"


@pytest.mark.parametrize(
    ("confidence", "held", "event"),
    [(59, "female", "challenged"), (60, "female", "challenged"), (61, "male", "replaced")],
)
def test_a_slot_gives_way_only_to_strictly_higher_confidence(confidence: int, held: str, event: str) -> None:
    llm = by_batch({0: slot_batch("female", 60), 1: slot_batch("male", confidence)})
    memory = fed(llm, day_batch(0, 0), day_batch(1, 10))
    active = [claim["text"] for claim in memory.state["claims"] if claim["state"] == "active"]
    assert active == [held] and events(memory, "event")[1] == (event,)
    assert f"{confidence}" in life(memory.state)["cause"][1]
    assert memory.readout(500).tree == (
        f"demographics / person / gender: {held} ({max(60, confidence) if held == 'male' else 60}%, stable)"
    )


def test_the_same_value_again_strengthens_and_never_weakens() -> None:
    llm = by_batch({0: slot_batch("female", 60), 1: slot_batch("female", 40), 2: slot_batch("female", 90)})
    memory = fed(llm, *(day_batch(index, index) for index in range(3)))
    assert [claim["confidence"] for claim in memory.state["claims"]] == [90]
    assert events(memory, "event", "confidence") == [("formed", 60), ("strengthened", 60), ("strengthened", 90)]


def test_a_resting_slot_still_gives_way_only_to_the_stronger_and_wakes_by_its_own_value() -> None:
    slot = "social relations/home/pet"
    llm = by_batch({0: slot_batch("dog", 60, slot), 2: slot_batch("cat", 60, slot), 3: slot_batch("dog", 30, slot)})
    memory = fed(llm, day_batch(0, 0), day_batch(1, 200), day_batch(2, 201), day_batch(3, 202))
    assert events(memory, "event", "after") == [
        ("formed", "active"), ("dormant", "dormant"), ("challenged", "dormant"), ("reactivated", "active"),
    ]  # fmt: skip


def test_of_two_values_in_one_batch_the_stronger_holds_whatever_the_order() -> None:
    def both(*order: int) -> BehaviorMem:
        items = [slot_batch("female", 50), slot_batch("male", 55)]
        said = [items[place]["characteristics"]["characteristics"][0] for place in order]
        return fed(by_batch({0: {**items[0], "characteristics": {"characteristics": said}}}), day_batch(0, 0))

    assert both(0, 1).state_hash() == both(1, 0).state_hash()
    assert [claim["text"] for claim in both(0, 1).state["claims"]] == ["male"]


@pytest.mark.parametrize("verdicts", [[], [verdict("unclear")], [verdict("supports"), verdict("contradicts")]])
def test_doubt_and_silence_keep_both_claims_active(verdicts: list) -> None:
    llm = by_batch({0: open_batch(theme(BAKES)), 1: open_batch(theme("buys cakes"), verdicts=verdicts)})
    memory = fed(llm, day_batch(0, 0), day_batch(1, 1))
    assert [(claim["text"], claim["state"]) for claim in memory.state["claims"]] == [
        (BAKES, "active"),
        ("buys cakes", "active"),
    ]
    assert ("doubted" in [event for (event,) in events(memory, "event")]) == (len(verdicts) == 2)


def test_supported_by_one_and_contradicted_by_another_theme_is_doubt() -> None:
    themes = (theme("bakes more"), theme("stopped baking"))
    verdicts = [verdict("supports", "t1"), verdict("contradicts", "t2")]
    llm = by_batch({0: open_batch(theme(BAKES)), 1: open_batch(*themes, verdicts=verdicts)})
    memory = fed(llm, day_batch(0, 0), day_batch(1, 1))
    assert [claim["state"] for claim in memory.state["claims"]] == ["active"] * 3
    assert events(memory, "event") == [("formed",), ("doubted",), ("formed",), ("formed",)]


def test_the_same_words_at_the_same_path_are_support_without_asking() -> None:
    llm = by_batch({0: open_batch(theme(BAKES)), 1: open_batch(theme(BAKES.upper(), confidence=90))})
    memory = fed(llm, day_batch(0, 0), day_batch(1, 1))
    assert [(claim["text"], claim["confidence"]) for claim in memory.state["claims"]] == [(BAKES, 90)]


def test_only_claims_of_the_same_kind_and_domain_are_compared() -> None:
    llm = by_batch(
        {
            0: open_batch(theme(BAKES), theme("hikes"), placements=[placed(), placed("t2", domain="outdoors")]),
            1: open_batch(theme("bakes cakes", "situational state"), placements=[placed()]),
            2: open_batch(theme("bakes rye"), verdicts=[verdict("contradicts", known="c2")]),
        }
    )
    memory = fed(llm, *(day_batch(index, index) for index in range(3)))
    assert llm.data("maintenance") == [
        "New claims:\nt1 | interests/cooking/baking | bakes rye\n\nKnown claims:\n"
        f"c1 | interests/cooking/baking | {BAKES}"
    ]
    assert memory.stats()["rejected:maintenance:unknown_claim"] == 1
    assert all(claim["state"] == "active" for claim in memory.state["claims"])


def test_a_path_holds_a_declared_number_of_claims() -> None:
    llm = by_batch({index: open_batch(theme(f"bakes {index}")) for index in range(4)})
    memory = fed(llm, *(day_batch(index, index) for index in range(4)), max_claims_a_path=2)
    assert [claim["text"] for claim in memory.state["claims"]] == ["bakes 0", "bakes 1"]
    assert memory.stats()["rejected:maintenance:path_full"] == 2


def test_a_notion_keeps_its_path() -> None:
    llm = by_batch(
        {
            0: open_batch(theme(BAKES)),
            1: open_batch(theme("bakes rye"), placements=[placed(domain=" COOKING ", attribute="Baking_")]),
            2: open_batch(theme("bakes cakes"), placements=[placed(path="r1", domain="", attribute="")]),
        }
    )
    memory = fed(llm, *(day_batch(index, index) for index in range(3)))
    assert {claim["path"] for claim in memory.state["claims"]} == {"interests/cooking/baking"}
    assert llm.data("placement")[0] == f"Paths in use:\n(none)\n\nNew claims:\nt1 | interests | {BAKES}"
    assert llm.data("placement")[1].startswith("Paths in use:\nr1 | interests/cooking/baking\n\nNew claims:\nt1 | ")


@pytest.mark.parametrize(
    ("placements", "reason"),
    [
        ([placed(path="r9")], "unknown_path"),
        ([placed(path="r0")], "unknown_path"),
        ([placed(path="../etc")], "unknown_path"),
        ([placed(path="r2")], "path_of_another_kind"),
        ([placed(domain="")], "no_path_name"),
        ([placed(attribute="!!!")], "no_path_name"),
        ([placed(attribute="word " * 40)], "no_path_name"),
        ([placed(domain="new", scope="forever")], "unknown_scope"),
        ([placed(domain="new")], "registry_full"),
        ([placed("t7")], "unknown_claim"),
        ([], "not_placed"),
    ],
)
def test_a_claim_without_a_path_is_rejected_by_reason(placements: list, reason: str) -> None:
    needs = theme("needs flour", "situational state")
    first = open_batch(theme(BAKES), needs)
    llm = by_batch({0: first, 1: open_batch(theme("hikes"), placements=placements)})
    memory = fed(llm, day_batch(0, 0), day_batch(1, 1), max_paths=2 if reason == "registry_full" else 9)
    assert [claim["text"] for claim in memory.state["claims"]] == [BAKES, "needs flour"]
    counts = {name: n for name, n in memory.stats().items() if name.startswith("rejected:")}
    assert counts.pop(f"rejected:placement:{reason}") == 1
    # A placement of an unknown claim leaves the claim itself without one.
    assert counts == ({"rejected:placement:not_placed": 1} if reason == "unknown_claim" else {})


def test_without_maintenance_nothing_is_replaced_retired_or_rested() -> None:
    llm = by_batch(
        {
            0: {**open_batch(theme(BAKES)), **{k: v for k, v in slot_batch("female", 20).items() if k[0] == "c"}},
            1: slot_batch("female", 20),
            2: slot_batch("male", 90),
            3: open_batch(theme("stopped baking"), verdicts=[verdict("contradicts")]),
        }
    )
    memory = fed(llm, *(day_batch(index, 200 * index) for index in range(4)), maintenance=False)
    assert "maintenance" not in llm.steps()
    assert [(claim["text"], claim["state"]) for claim in memory.state["claims"]] == [
        (BAKES, "active"), ("female", "active"), ("male", "active"), ("stopped baking", "active"),
    ]  # fmt: skip


def test_the_life_of_an_empty_memory_is_an_empty_table() -> None:
    assert life({}).schema == pl.Schema(LIFE) and life({}).height == 0
