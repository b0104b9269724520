"""Spelling of units, near ones in errors, who gets a page, and the names of pages."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.evaluation.drilldown.choosing import chosen, recall_by_user
from pipelines.evaluation.drilldown.pages import file_name
from pipelines.evaluation.drilldown.units import UnitName, UnknownUnit, unit_named

KNOWN = [
    UnitName(who, place, pool) for who in ("a", "a:b", "K010") for place in (0, 1, 7) for pool in ("infer", "remember")
]
NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)


@given(st.lists(st.tuples(NAMES, st.integers(0, 99), st.sampled_from(("infer", "remember"))), min_size=1, max_size=8))
def test_every_unit_is_found_by_its_spelling_whatever_the_user_is_called(rows: list) -> None:
    known = [UnitName(*row) for row in rows]
    for one in known:
        assert str(unit_named(str(one), known)) == str(one)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a:6:infer", "a:7:infer"),
        ("a:1:other", "a:1:infer"),
        ("a", "a:0:infer"),
        ("a:b:7", "a:b:7:infer"),
        ("a:b:2:remember", "a:b:1:remember"),
        ("K010:", "K010:0:infer"),
        ("K01", "K010:0:infer"),
        ("K011:7:infer", "K010:0:infer"),
        ("k010:0:infer", "K010:0:infer"),
    ],
)
def test_an_unknown_unit_is_answered_with_near_ones(text: str, first: str) -> None:
    with pytest.raises(UnknownUnit) as error:
        unit_named(text, KNOWN)
    says = str(error.value)
    assert says.startswith(
        f"no unit {text!r} in this experiment; a unit is spelt user:transition:pool, and near ones are"
    )
    assert says.partition("near ones are ")[2].split(", ")[0] == first
    assert says.count(":infer") + says.count(":remember") - text.count(":infer") - text.count(":remember") <= 6


@pytest.mark.parametrize("text", ["", "zzzzzz", "::", "zz:1:infer"])
def test_a_unit_like_none_says_so(text: str) -> None:
    with pytest.raises(UnknownUnit, match="there is none like it"):
        unit_named(text, KNOWN)


def scores(values: dict[str, float]) -> pl.DataFrame:
    return pl.DataFrame([{"user": user, "n_units": 2, "value": value} for user, value in values.items()])


def test_half_the_pages_go_to_the_lowest_and_half_are_drawn() -> None:
    values = {f"u{number}": (number * 7 % 40) / 40 for number in range(40)}
    picked = chosen(scores(values), 9, 5)
    assert picked["user"].to_list() == sorted(picked["user"].to_list()) and picked.height == 9
    lowest = picked.filter(why="lowest")["user"].to_list()
    assert sorted(lowest) == sorted(sorted(values, key=lambda user: values[user])[:5])
    drawn = set(picked.filter(why="drawn")["user"])
    assert len(drawn) == 4 and not drawn & set(lowest)
    assert drawn != set(chosen(scores(values), 9, 6).filter(why="drawn")["user"])


@given(st.permutations([f"u{number}" for number in range(12)]), st.integers(0, 14))
def test_who_gets_a_page_is_independent_of_the_order_of_rows(order: list[str], pages: int) -> None:
    values = {user: int(user[1:]) % 3 / 3 for user in order}
    picked = chosen(scores(values), pages, 1)
    assert picked.equals(chosen(scores(dict(sorted(values.items()))), pages, 1))
    assert picked.height == min(pages, 12) == picked["user"].n_unique()


def test_recall_of_a_user_is_over_all_memories_together() -> None:
    rows = [("u", 0, "infer", 1, 2), ("u", 0, "infer", 0, 2), ("u", 1, "infer", 3, 4), ("v", 0, "infer", 0, 1)]
    columns = ["user_id", "transition_index", "pool", "n_hit", "n_positives"]
    found = recall_by_user(pl.DataFrame(rows, schema=columns, orient="row")).sort("user")
    assert found.rows() == [("u", 2, 0.5), ("v", 1, 0.0)]


@given(st.lists(NAMES, unique=True, max_size=30))
def test_pages_have_safe_names_that_differ_even_without_case(users: list[str]) -> None:
    names = [file_name(user, page) for user in users for page in (1, 2)]
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert (
            name.isascii()
            and len(name) < 60
            and not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
        )
        assert name.count(".") == 1 and name.endswith(".html") and not name.startswith(("-", "."))


def test_hostile_users_leave_no_path() -> None:
    for user in ("../../etc/passwd", "a/b\\c", "con", "", ".", "javascript:alert(1)", "<script>", "ü\u202e", "x" * 400):
        name = file_name(user)
        assert "/" not in name and "\\" not in name and ":" not in name and ".." not in name and len(name) < 60
    assert file_name("K003") == file_name("K003") and file_name("K003").startswith("K003-")
