"""Comparators: known answers of every type, both sides of every tolerance, and what is no value at all."""

from contextlib import suppress
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.evaluation.judging import comparators as by
from pipelines.evaluation.judging.comparators import BadGold, Comparator, compare


def agreement(comparator: Comparator, gold: Any, answer: Any) -> float:
    kind = pl.List(pl.String) if isinstance(gold, list) else pl.String
    frame = pl.DataFrame({"expected": [gold], "given": [answer]}, schema={"expected": kind, "given": kind})
    return compare(frame, comparator)[0]


CASES: list[tuple[Comparator, Any, Any, float]] = [
    (by.exact(), "Tea ", "Tea ", 1), (by.exact(), "Tea", "tea", 0), (by.exact(), "", "", 1), (by.exact(), "a", None, 0),
    (by.entity(), "The Green-Leaf Café", "green leaf CAFÉ!", 1), (by.entity(), "Straße", "STRASSE", 1),
    (by.entity(), "ﬁne art", "fine art", 1), (by.entity(), "Cafe\u0301", "café", 1), (by.entity(), "C++", "C#", 0),
    (by.entity(), "Brooks", "Brooks Ghost 15", 0), (by.entity(), "a", "the a", 1), (by.entity(), "tea", "!!", 0),
    (by.entity(), "correct", "incorrect", 0),
    (by.number(), "1,234.50", "1234.5", 1), (by.number(), "60", "60%", 0), (by.number(), "60", "about 60", 0),
    (by.number(), "-0.5", "-.5", 1), (by.number(), "1e3", "1000", 1), (by.number(), "5", "1,2", 0),
    (by.number(), "5", "NaN", 0), (by.number(), "5", "inf", 0), (by.number(), "5", "1e999", 0),
    (by.number(), "5", "", 0), (by.number(), "5", "9 and 1", 0), (by.number(), "12", "1,2", 0),
    (by.number(absolute=0.2), "0.1", "0.3", 1), (by.number(absolute=0.2), "0.1", "0.3001", 0),
    (by.number(relative=0.1), "-200", "-220", 1), (by.number(relative=0.1), "-200", "-220.01", 0),
    (by.number(absolute=30, relative=0.1), "200", "230", 1),
    (by.time_of_day(), "19:30", "7:30 PM", 1), (by.time_of_day(), "00:05", "12:05 am", 1),
    (by.time_of_day(), "12:00", "12 p.m.", 1), (by.time_of_day(), "07:00", "7", 0),
    (by.time_of_day(), "07:00", "25:00", 0), (by.time_of_day(), "07:00", "07:60", 0),
    (by.time_of_day(), "07:00", "13:00 pm", 0), (by.time_of_day(), "00:00", "0 am", 0),
    (by.time_of_day(), "07:00", "at 07:00", 0),
    (by.time_of_day(5), "08:30", "08:35", 1), (by.time_of_day(5), "08:30", "08:35:01", 0),
    (by.time_of_day(5), "23:58", "00:03", 1), (by.time_of_day(5), "00:03", "23:57:59", 0),
    (by.date(), "2024-02-29", "2024-02-29T07:05:00+00:00", 1), (by.date(), "2024-02-28", "2024-02-29", 0),
    (by.date(1), "2024-02-28", "2024-03-01", 0), (by.date(1), "2024-03-01", "2024-02-29", 1),
    (by.date(), "2024-02-28", "2024-02-30", 0), (by.date(), "2024-02-28", "28.02.2024", 0),
    (by.set_f1(), ["Tea", "Milk"], ["the tea", "MILK", "tea"], 1), (by.set_f1(), ["tea", "milk"], ["tea"], 2 / 3),
    (by.set_f1(), ["tea"], ["tea", "milk", "soap"], 0.5), (by.set_f1(), [], [], 1), (by.set_f1(), ["tea"], [], 0),
    (by.set_f1(), [], ["tea"], 0), (by.set_f1(), ["tea"], None, 0), (by.set_f1(), [], None, 0),
    (by.weekdays(), ["0", "2", "4"], ["Mon", "wednesday", "Fridays"], 1), (by.weekdays(), ["5", "6"], ["weekend"], 1),
    (by.weekdays(), ["0", "1", "2", "3", "4", "5", "6"], ["daily"], 1), (by.weekdays(), ["1", "3"], ["Tues"], 2 / 3),
    (by.weekdays(), ["1"], ["1", "someday soon"], 2 / 3), (by.weekdays(), ["1"], ["7"], 0),
    (by.weekdays(), ["1"], None, 0), (by.weekdays(), ["every day"], ["weekdays", "Sat", "6"], 1),
    (by.category_path(), "Food › Dairy › Milk", "food > DAIRY > milk", 1),
    (by.category_path(), "Food › Dairy › Milk", "Food › Dairy › Cheese", 2 / 3),
    (by.category_path(), "Food › Dairy", "Food", 0.5), (by.category_path(), "Food", "Food › Dairy", 0.5),
    (by.category_path(), "Food › Dairy", "Toys › Dairy", 0), (by.category_path(), "Food", None, 0),
    (by.category_path(), "Food", "Food › › Milk", 0),
]  # fmt: skip


@pytest.mark.parametrize(("comparator", "gold", "answer", "expected"), CASES, ids=lambda x: getattr(x, "name", str(x)))
def test_known_answers(comparator: Comparator, gold: Any, answer: Any, expected: float) -> None:
    assert agreement(comparator, gold, answer) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("comparator", "gold"),
    [
        (by.exact(), None), (by.entity(), "?!"), (by.number(), "sixty"), (by.number(), None), (by.time_of_day(), "7"),
        (by.date(), "2023-02-29"), (by.weekdays(), ["1", "payday"]), (by.category_path(), "Food ›"),
        (by.category_path(), " › ".join("abcdefghi")),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)  # fmt: skip
def test_a_gold_that_is_none_raises_and_says_which(comparator: Comparator, gold: Any) -> None:
    with pytest.raises(BadGold, match=f"1 gold values are no {comparator.name}"):
        agreement(comparator, gold, gold)


def test_a_column_is_compared_row_by_row() -> None:
    frame = pl.DataFrame({"g": ["1", "2", "3"], "a": ["1", None, "3.0"]})
    compared = compare(frame, by.number(), "g", "a")
    assert compared.to_list() == [1.0, 0.0, 1.0] and compared.name == "number"
    assert compare(frame.clear(), by.number(), "g", "a").to_list() == []


NAMES = st.lists(st.sampled_from(["tea", "Milk", "soap", "rye bread", "The Tea"]), max_size=6)


@given(gold=NAMES, answer=NAMES)
def test_set_f1_is_the_textbook_one(gold: list[str], answer: list[str]) -> None:
    def norm(names: list[str]) -> set[str]:
        return {name.casefold().removeprefix("the ") for name in names}

    shared, sizes = len(norm(gold) & norm(answer)), (len(norm(gold)), len(norm(answer)))
    if not any(sizes):
        expected = 1.0
    elif not shared:
        expected = 0.0
    else:
        precision, recall = shared / sizes[1], shared / sizes[0]
        expected = 2 * precision * recall / (precision + recall)
    assert agreement(by.set_f1(), gold, answer) == pytest.approx(expected)


@given(gold=st.integers(0, 1439), answer=st.integers(0, 1439), minutes=st.integers(0, 90))
def test_time_of_day_is_the_shorter_way_round(gold: int, answer: int, minutes: int) -> None:
    def clock(n: int) -> str:
        return f"{n // 60:02}:{n % 60:02}"

    apart = min((gold - answer) % 1440, (answer - gold) % 1440)
    assert agreement(by.time_of_day(minutes), clock(gold), clock(answer)) == (apart <= minutes)


@given(text=st.text(max_size=12))
def test_any_text_is_a_value_or_none_and_a_gold_agrees_with_itself(text: str) -> None:
    for comparator in (by.entity(), by.number(), by.time_of_day(), by.date(), by.category_path()):
        frame = pl.DataFrame({"expected": [text], "given": [text]})
        with suppress(BadGold):
            assert compare(frame, comparator).to_list() == [1.0]
