"""Core and detail by rule: names, statements of preference, sets of names; every border from both sides."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.evaluation.judging.comparators import BadGold, Comparator, compare
from pipelines.evaluation.judging.partial import is_preference, name, preference, set_of_names
from pipelines.evaluation.judging.stems import content, stem


def agreement(comparator: Comparator, gold: str, answer: str | None) -> float:
    frame = pl.DataFrame({"expected": [gold], "given": [answer]}, schema={"expected": pl.String, "given": pl.String})
    return compare(frame, comparator)[0]


@pytest.mark.parametrize(
    ("gold", "answer", "share"),
    [
        ("Alda Hybrid, bought used", "Alda Hybrid, bought used", 1.0),
        ("Alda Hybrid, bought used", "the ALDA hybrid (bought, used)", 1.0),
        ("Alda Hybrid, bought used", "Alda Hybrid", 0.8),
        ("Alda Hybrid, bought used", "Alda Hybrid – used", 0.8 + 0.2 * 2 / 3),
        ("Alda Hybrid, bought used", "Alda Hybrid, leased new", 0.8),
        ("Alda Hybrid, bought used", "Corvo Kombi, bought used", 0.0),
        ("Iron Works", "The Iron-Works", 1.0),
        ("Iron Works", "Iron Works Downtown", 0.8),
        ("Iron Works", "Iron", 0.8),
        ("Iron Works", "Iron Workshop", 0.0),
        ("10,000 steps a day, on workdays", "10,000 steps a day", 0.8),
        ("parish hall trust", "I sit in the parish hall trust", 0.8),
        # Two of four content words are enough, two of five are none.
        ("Barre Hour at Rose Yard", "Barre Hour", 0.8),
        ("Barre Hour at Old Rose Yard", "Barre Hour", 0.0),
        ("Barre Hour", "my Barre Hour near Rose Yard today", 0.0),
        ("correct", "incorrect", 0.0),
        ("C++", "C#", 0.0),
        (", x", ", x", 1.0),
        ("Iron Works", None, 0.0),
        ("Iron Works", "!!", 0.0),
    ],
)
def test_names(gold: str, answer: str | None, share: float) -> None:
    assert agreement(name(), gold, answer) == pytest.approx(share)


SEA = "Leans towards the sea over the mountains, off season"
GYM = "Usually prefers training indoors over training in the open, when alone"


@pytest.mark.parametrize(
    ("gold", "answer", "share"),
    [
        (SEA, SEA, 1.0),
        (SEA, "Leans towards the sea rather than the mountains, off season", 1.0),
        (SEA, "Leans towards the sea, off season", 1.0),
        (SEA, "Prefers the sea over the mountains", 0.8),
        (SEA, "Leans towards the sea over the mountains", 0.8 + 0.2 * 2 / 4),
        (SEA, "the sea", 0.8),
        (SEA, "the sea, not so much the mountains, off season", 0.8 + 0.2 * 4 / 5),
        (SEA, "Leans towards the mountains over the sea, off season", 0.0),
        (SEA, "the sea and the mountains", 0.0),
        (SEA, "Leans towards the lake over the mountains, off season", 0.0),
        (SEA, "Avoids the sea", 0.0),
        (SEA, None, 0.0),
        (GYM, "indoor training", 0.8),
        (GYM, "training", 0.0),
        (GYM, "training in the open", 0.0),
        # Half of what tells the sides apart is enough, less is none.
        ("Prefers quiet acoustic music over loud electric music", "acoustic music", 1.0),
        ("Prefers slow quiet acoustic music over loud music", "acoustic music", 0.0),
        # A third of what is said to be preferred is enough, less is none.
        ("Prefers tea over milk", "tea cake biscuits", 1.0),
        ("Prefers tea over milk", "tea cake biscuits honey", 0.0),
        ("Prefers quiet cafes", "the quiet cafe", 1.0),
        ("Avoids crowds", "Dislikes crowds", 1.0),
        ("Avoids crowds", "crowds", 0.0),
    ],
)
def test_preferences(gold: str, answer: str | None, share: float) -> None:
    assert agreement(preference(), gold, answer) == pytest.approx(share)


def test_what_states_a_preference() -> None:
    stated = (
        "Prefers tea",
        "The user strongly prefers a",
        SEA,
        GYM,
        "avoids crowds",
        "Favours small rounds over big ones",
    )
    assert all(map(is_preference, stated))
    assert not any(map(is_preference, ("Bridge over Troubled Water", "Lean Kitchen", "tea", "", "the Preference Club")))


@pytest.mark.parametrize(
    ("gold", "answer", "share"),
    [
        (["mat, blue", "shoes"], ["the shoes", "Mat"], 2 * 1.8 / 4),
        (["mat", "shoes"], ["shoes", "bike"], 0.5),
        (["mat"], ["mat", "MAT", "the mat"], 1.0),
        (["mat"], ["mat", "mat new"], 2 / 3),
        # Nothing is matched twice, and a second best is what the best leaves.
        (["mat", "mat new"], ["mat old", "mat new"], 2 * 1.8 / 4),
        ([], [], 1.0),
        (["mat"], [], 0.0),
        (["mat"], None, 0.0),
        (["mat"], ["!!"], 0.0),
    ],
)
def test_sets(gold: list[str], answer: list[str] | None, share: float) -> None:
    schema = {"expected": pl.List(pl.String), "given": pl.List(pl.String)}
    frame = pl.DataFrame({"expected": [["other"], gold], "given": [["other"], answer]}, schema=schema)
    assert set_of_names(frame).to_list() == [1.0, pytest.approx(share)]


def test_a_gold_that_is_no_name_raises() -> None:
    with pytest.raises(BadGold, match="1 gold values are no entity"):
        agreement(name(), "?!", "x")


def test_stems() -> None:
    alike = ("plan planning planned plans", "run runs running", "study studies studying", "class classes",
             "write writing writes", "budget budgets budgeting", "review reviewed", "cycle cycling")  # fmt: skip
    assert all(len({stem(word) for word in words.split()}) == 1 for words in alike)
    apart = ("read ready", "sing sting", "bus bush", "new newt", "walk wall")
    assert all(len({stem(word) for word in words.split()}) == 2 for words in apart)
    assert all(stem(word) == word for word in ("this", "bus", "sing", "yes", "run", "us"))
    frame = pl.DataFrame({"words": [["the", "plans"], ["the"], []]}, schema={"words": pl.List(pl.String)})
    assert frame.select(content(pl.col("words"))).to_series().to_list() == [["plan"], ["the"], []]


TEXT = st.lists(
    st.sampled_from(["Alda", "the", "over", "sea,", "(used)", "runs", "-", "not", "prefers", "é"]), max_size=6
)


@settings(deadline=None, max_examples=60)
@given(TEXT, TEXT)
def test_a_value_agrees_with_itself_and_any_share_is_one(left: list[str], right: list[str]) -> None:
    gold, answer = " ".join(left), " ".join(right)
    for comparator in (name(), preference()):
        frame = pl.DataFrame({"expected": [gold, gold], "given": [gold, answer]})
        try:
            same, other = compare(frame, comparator)
        except BadGold:
            continue
        assert same == 1.0 and 0.0 <= other <= 1.0


def shares(rows: Any) -> list[float]:
    return set_of_names(
        pl.DataFrame(rows, schema={"expected": pl.List(pl.String), "given": pl.List(pl.String)})
    ).to_list()


@settings(deadline=None, max_examples=40)
@given(st.lists(TEXT.map(" ".join), max_size=4), st.lists(TEXT.map(" ".join), max_size=4))
def test_sets_do_not_depend_on_order_or_other_rows(gold: list[str], answer: list[str]) -> None:
    [share] = shares({"expected": [gold], "given": [answer]})
    assert 0.0 <= share <= 1.0
    again = shares({"expected": [gold[::-1], gold, gold], "given": [answer, answer, gold]})
    assert again[1] == share and again[2] == 1.0
