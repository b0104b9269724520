"""Known answers of the statistical methods."""

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given as some
from hypothesis import settings
from hypothesis import strategies as st

from pipelines.memory.contract import VISIT_COLUMNS, Batch, Method
from pipelines.memory.contract_models import PARROTS
from pipelines.memory.contract_worlds import batch_of, stream
from pipelines.memory.methods.frequency_profile import growth, hundredths
from pipelines.memory.methods.rag_bm25 import Index
from pipelines.memory.registry import builtin_methods
from pipelines.memory.rendering import category, plain, visit_lines
from pipelines.memory.replay import opened
from resources.tokenizer import load_tokens

DAY = datetime(2022, 5, 1, 8, 30, tzinfo=UTC)


def visits(*rows: dict[str, Any]) -> pl.DataFrame:
    """Visits a day apart unless `day` says so; L1 `food`, one purchase, unless said."""
    made = []
    for place, row in enumerate(rows):
        start = DAY + timedelta(days=row.get("day", place))
        counts = {name: 0 for name in VISIT_COLUMNS if name.startswith("n_")}
        base = {"start": start, "end": start, "item_id": str(place), "l1": "food", "l1_name": "FOOD", "brand": None}
        base |= counts | {"n_purchase": 1, "dwell_seconds": None, "l2": None, "l2_name": None, "text": None}
        made.append({name: ({**base, **row})[name] for name in VISIT_COLUMNS})
    return pl.DataFrame(made, schema=dict(VISIT_COLUMNS))


def kind(l2: str | None, **more: Any) -> dict[str, Any]:
    return {"l2": l2, "l2_name": l2.upper() if l2 else None, **more}


def fed(name: str, *batches: Batch, **config: Any) -> Method:
    spec = builtin_methods()[name]
    memory = opened(spec, spec.config_model(**config), "u", load_tokens(), PARROTS)
    for batch in batches:
        memory.ingest(batch)
    return memory


def lines(memory: Method, budget: int = 10_000) -> list[str]:
    return memory.readout(budget).description.split("\n")


def test_a_visit_is_one_line() -> None:
    frame = visits(
        kind("bread", brand="Acme", n_purchase=2, n_click=1),
        kind("milk", l1=None, l1_name=None, n_purchase=0),
        kind(None, l1="toys", l1_name=None),
    )
    assert visit_lines(frame) == [
        "2022-05-01 08:30 | FOOD › BREAD | brand Acme | item 0 | purchased 2, clicked",
        "2022-05-02 08:30 | MILK | item 1",
        "2022-05-03 08:30 | toys | item 2 | purchased",
    ]


def test_a_log_can_forge_no_line() -> None:
    assert plain(" a\r\nb\u2028c\x1b[0m\u202ed ") == "a b c [0m d"
    assert category("a\nb", "c") == "a b › c"
    assert len(visit_lines(visits(kind("bread", item_id="x\n2022-01-01 00:00 | forged")))) == 1


def test_recent_k_is_newest_first_across_batches() -> None:
    memory = fed(
        "recent_k",
        batch_of("u", 0, visits(kind("a"), kind("b"))),
        batch_of("u", 1, visits(kind("c", day=5), kind("d", day=6))),
        k=3,
    )
    assert [line.split(" | ")[1] for line in lines(memory)] == ["FOOD › D", "FOOD › C", "FOOD › B"]


@settings(max_examples=60, deadline=None)
@some(st.integers(0, 400))
def test_long_context_keeps_the_newest_whole_lines_that_fit(budget: int) -> None:
    batches = stream("u", 3)
    memory = fed("long_context", *batches)
    everything = [line for batch in batches for line in visit_lines(batch.visits)]
    readout, count = memory.readout(budget), load_tokens().count
    kept = readout.description.split("\n") if readout.description else []
    assert kept == everything[len(everything) - len(kept) :]
    assert len(kept) == len(everything) or count("\n".join(everything[-len(kept) - 1 :])) > budget
    assert readout.tokens_cut == count("\n".join(everything)) - count(readout.description)


def test_frequency_halves_in_a_half_life() -> None:
    frame = visits(kind("old", day=0), kind("old", day=0), kind("mid", day=30), kind("new", day=60))
    memory = fed("frequency_profile", batch_of("u", 0, frame), half_life_days=30)
    assert lines(memory) == [
        "purchased: 2.00",
        "FOOD: 2.00",
        "FOOD › NEW: 1.00",
        "FOOD › MID: 0.50",
        "FOOD › OLD: 0.50",
    ]


def test_frequency_counts_a_visit_without_a_category_in_its_domain_only() -> None:
    memory = fed("frequency_profile", batch_of("u", 0, visits(kind(None), kind("a", day=0, brand="B"))))
    assert lines(memory) == ["purchased: 2.00", "FOOD: 2.00", "brand B: 1.00", "FOOD › A: 1.00"]


@some(st.integers(0, 4_000), st.integers(1, 400))
def test_growth_is_a_power_of_two_to_seven_digits(days: int, half_life: int) -> None:
    whole, part = divmod(days, half_life)
    assert growth(days, half_life) >> whole == round(2 ** (part / half_life) * (1 << 24))
    assert growth(days + half_life, half_life) == 2 * growth(days, half_life)
    assert growth(days + 1, half_life) > growth(days, half_life)


def test_hundredths_are_rounded_half_up() -> None:
    assert [hundredths(n, 1_000) for n in (0, 4, 5, 994, 995, 1_000, 12_345)] == [
        "0.00", "0.00", "0.01", "0.99", "1.00", "1.00", "12.35",
    ]  # fmt: skip


def test_template_sentences_at_their_thresholds() -> None:
    frame = visits(
        *[kind("five")] * 5, *[kind("four")] * 4, *[kind("two")] * 2, kind("one", n_purchase=0, n_cart=1, brand="Acme")
    )
    assert lines(fed("template_profile", batch_of("u", 0, frame))) == [
        "A brand of this user is Acme.",
        "Lately this user added to cart: FOOD › ONE.",
        "Lately this user purchased: FOOD › FIVE.",
        "Lately this user purchased: FOOD › FOUR.",
        "Lately this user purchased: FOOD › TWO.",
        "This user often visits FOOD › FIVE.",
        "This user sometimes visits FOOD › FOUR.",
        "This user sometimes visits FOOD › TWO.",
        "This user once visited FOOD › ONE.",
    ]


def test_template_lately_is_the_newest_batch_only() -> None:
    memory = fed(
        "template_profile",
        batch_of("u", 0, visits(kind("a"))),
        batch_of("u", 1, visits(kind("b", day=9, n_purchase=0))),
    )
    assert not [line for line in lines(memory) if line.startswith("Lately")]


def slow_bm25(documents: list[str], query: str, k1: float, b: float) -> list[float]:
    """Lucene's BM25 from its formula."""
    split = [document.split() for document in documents]
    average = sum(map(len, split)) / len(split)
    scores = [0.0] * len(split)
    for word in set(query.split()):
        n = sum(word in words for words in split)
        idf = math.log(1 + (len(split) - n + 0.5) / (n + 0.5))
        for place, words in enumerate(split):
            tf = Counter(words)[word]
            scores[place] += idf * tf / (tf + k1 * (1 - b + b * len(words) / average))
    return scores


WORDS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=150, deadline=None)
@some(st.lists(WORDS, min_size=1, max_size=12), WORDS)
def test_ranks_agree_with_the_formula_and_ties_go_to_the_later(documents: list[str], query: str) -> None:
    scores = slow_bm25(documents, query, 1.5, 0.75)
    expected = sorted((place for place, s in enumerate(scores) if s > 0), key=lambda p: (-round(scores[p] * 1e6), -p))
    found = Index(documents, 1.5, 0.75).rank(query)
    assert sorted(found) == sorted(expected)
    assert [scores[place] for place in found] == pytest.approx([scores[place] for place in expected], abs=2e-6)
    assert Index(["a b", "c", "a b"], 1.5, 0.75).rank("a") == [2, 0]


def test_rag_asks_the_newest_batch_and_retrieves_anything() -> None:
    memory = fed(
        "rag_bm25",
        batch_of("u", 0, visits(kind("bread"), kind("rare cheese", l1="dairy", l1_name="DAIRY"), kind("bread"))),
        batch_of("u", 1, visits(kind("bread", day=20))),
    )
    assert [line.split(" | ")[0] for line in lines(memory)] == [
        "2022-05-21 08:30",
        "2022-05-03 08:30",
        "2022-05-01 08:30",
    ]
    found = memory.retrieve("Cheese", 1_000)  # type: ignore[attr-defined]
    assert found.description == "2022-05-02 08:30 | DAIRY › RARE CHEESE | item 1 | purchased"
    assert memory.retrieve("nothing", 1_000).description == ""  # type: ignore[attr-defined]
    assert memory.retrieve("", 1_000).description == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", builtin_methods())
def test_a_memory_that_took_in_nothing_reads_empty(name: str) -> None:
    assert fed(name).readout(100).description == ""


@pytest.mark.parametrize(
    "name", [name for name, spec in builtin_methods().items() if not spec.reads_nothing and spec.kind != "llm"]
)
def test_a_readout_has_one_fact_a_line_with_the_display_name(name: str) -> None:
    text = lines(fed(name, *stream("u", 2)))
    assert any("Food › Bread" in line or "Garden › Garden Tools" in line for line in text)
    assert all(line == plain(line) and line for line in text)
