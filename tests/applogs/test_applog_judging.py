"""Answers that are judged: which they are, and what of the tables belongs to them."""

import pytest
from applog_worlds import USER, answers, gold_item

from pipelines.applogs.answers import BadAnswers
from pipelines.applogs.judging import judged_answers
from pipelines.applogs.tables import table_of

ITEMS = table_of("gold_items", [gold_item(name) for name in ("a", "b", "c")])
PARTS = table_of(
    "gold_parts",
    [
        {"user_id": USER, "item": item, "part": part, "place": 0, "gate": False, "judged": True, "point": True,
         "criterion": "says so", "expected": '"x"', "kind": "exact"}
        for item, part in (("a", "p1"), ("a", "p2"), ("b", "p1"), ("c", "p1"))
    ],
)  # fmt: skip


def test_of_the_tables_only_what_is_judged_is_left_and_what_was_not_answered_is_missing() -> None:
    judged = judged_answers([(USER, "a"), (USER, "c"), ("another user", "b")], ITEMS, PARTS, answers(a="y", b="z"))
    assert judged.items["item"].to_list() == ["a", "c"]
    assert judged.stand.select("item", "status", "answer").rows() == [("a", "ok", '"y"'), ("c", "missing", None)]
    assert judged.parts.select("item", "part").rows() == [("a", "p1"), ("a", "p2"), ("c", "p1")]


def test_an_answer_to_no_question_is_refused_where_it_is_judged() -> None:
    with pytest.raises(BadAnswers, match="1 answers name no question"):
        judged_answers([(USER, "d")], ITEMS, PARTS, answers(a="y", d="z"))
    assert judged_answers([], ITEMS, PARTS, answers(a="y", d="z")).stand.is_empty()
