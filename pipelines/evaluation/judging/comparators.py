"""Typed comparison by rule, beside every judge: an answer's value against the gold's, no model asked (ours).

A comparator reads both values as its type and scores their agreement from 0 to 1. An
answer that is absent or is no value of the type scores 0; a gold that is none is an
error of the data and raises. Nothing is searched for inside a longer text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

DAY = 24 * 60 * 60
MAX_LEVELS = 8
SLACK = 1e-9
"""So that 0.3 is within 0.2 of 0.1."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ALL, _WORK, _END = "0 1 2 3 4 5 6", "0 1 2 3 4", "5 6"
WEEKDAY_WORDS = {
    **{str(n): str(n) for n in range(7)},
    **{form: str(n) for n, day in enumerate(_DAYS) for form in (day, day[:3], f"{day}s")},
    **{"tues": "1", "thur": "3", "thurs": "3"},
    **dict.fromkeys(("daily", "every day", "everyday"), _ALL),
    **dict.fromkeys(("weekday", "weekdays"), _WORK),
    **dict.fromkeys(("weekend", "weekends"), _END),
}
"""Word → days, 0 = Monday."""


class BadGold(ValueError):
    """A gold value that is none of the type it is compared as."""


def _is_there(value: pl.Expr) -> pl.Expr:
    return value.is_not_null()


@dataclass(frozen=True)
class Comparator:
    """One type of value: how a text (or list of texts) is read, and how two values agree, 0 to 1."""

    name: str
    read: Callable[[pl.Expr], pl.Expr]
    """Text → value; null for none."""
    agreement: Callable[[pl.Expr, pl.Expr], pl.Expr]
    """(gold, answer) → share; both are there."""
    is_gold: Callable[[pl.Expr], pl.Expr] = _is_there
    """Whether a value may stand in the gold."""


def compare(frame: pl.DataFrame, comparator: Comparator, gold: str = "expected", answer: str = "given") -> pl.Series:
    """Agreement of two columns row by row, Float64 in [0, 1], named after the comparator. Raises `BadGold`."""
    read = frame.select(comparator.read(pl.col(gold)).alias("gold"), comparator.read(pl.col(answer)).alias("answer"))
    bad = frame[gold].filter(~read.select(comparator.is_gold(pl.col("gold")).fill_null(False)).to_series())
    if len(bad):
        shown = ", ".join(repr(value) for value in bad.head(3).to_list())
        raise BadGold(f"{len(bad)} gold values are no {comparator.name} ({shown}); compare them as another type")
    agreed = comparator.agreement(pl.col("gold"), pl.col("answer")).cast(pl.Float64).fill_null(0.0)
    return read.select(agreed.alias(comparator.name)).to_series()


def exact() -> Comparator:
    """The same text, character by character."""
    return Comparator("exact", lambda text: text, lambda gold, answer: gold == answer)


def entity() -> Comparator:
    """The same name: letter case, punctuation, blanks, composition of characters and a leading article aside."""
    return Comparator("entity", _entity, lambda gold, answer: gold == answer)


def number(absolute: float = 0.0, relative: float = 0.0) -> Comparator:
    """Within the larger of `absolute` and `relative` · |gold|; thousands may be grouped by commas.

    A number with a unit, a currency or a per cent sign is none: 60 % is not 60, so strip on both sides or on neither.
    """

    def near(gold: pl.Expr, answer: pl.Expr) -> pl.Expr:
        room = pl.max_horizontal(pl.lit(absolute), gold.abs() * relative)
        return (gold - answer).abs() <= room + SLACK

    return Comparator("number", _number, near)


def time_of_day(minutes: float = 0.0) -> Comparator:
    """Within `minutes` on the clock's circle: `7:05`, `07:05:30`, `7 pm`; an hour alone is no time."""

    def near(gold: pl.Expr, answer: pl.Expr) -> pl.Expr:
        apart = (gold - answer).abs()
        return pl.min_horizontal(apart, DAY - apart) <= minutes * 60

    return Comparator("time of day", _time, near)


def date(days: int = 0) -> Comparator:
    """Within `days`: ISO dates, a time of day after them aside."""
    return Comparator("date", _date, lambda gold, answer: (gold - answer).dt.total_days().abs() <= days)


def set_f1() -> Comparator:
    """F1 of two sets of names (lists of texts, compared as `entity`); both empty is 1."""
    return Comparator("set", lambda texts: texts.list.eval(_entity(pl.element())).list.drop_nulls().list.unique(), _f1)


def weekdays() -> Comparator:
    """F1 of two sets of days: lists of 0–6 (0 = Monday), English names, `daily`, `weekdays`, `weekend`.

    A word of an answer that is no day counts as a wrong one.
    """
    only_days = pl.element().is_in([str(n) for n in range(7)]).all()
    return Comparator("weekdays", _weekdays, _f1, lambda days: days.list.eval(only_days).list.first().fill_null(True))


def category_path() -> Comparator:
    """Levels that agree from the top, as a share of the longer path: `Food › Dairy › Milk`, also written with `>`."""
    return Comparator("category path", _path, _common_opening)


def _entity(text: pl.Expr) -> pl.Expr:
    # Upper case first, so that ß and ss, ς and σ fall together.
    folded = text.str.normalize("NFKC").str.to_uppercase().str.to_lowercase()
    spaced = folded.str.replace_all(r"[^\p{L}\p{M}\p{N}+#]+", " ").str.strip_chars()
    name = spaced.str.replace(r"^(?:the|an?) ", "")
    return pl.when(name != "").then(name)


def _number(text: pl.Expr) -> pl.Expr:
    bare = text.str.strip_chars()
    form = r"^[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d+)?$"
    value = bare.str.replace_all(",", "").cast(pl.Float64, strict=False)
    return pl.when(bare.str.contains(form) & bare.str.contains(r"\d") & value.is_finite()).then(value)


def _time(text: pl.Expr) -> pl.Expr:
    form = r"^(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s*(?:([ap])\.?m\.?)?$"
    parts = text.str.strip_chars().str.to_lowercase().str.extract_groups(form)
    hour, minute, second = (parts.struct.field(str(n)).cast(pl.Int32, strict=False) for n in (1, 2, 3))
    half = parts.struct.field("4")
    told = minute.is_not_null() | half.is_not_null()
    minute, second = minute.fill_null(0), second.fill_null(0)
    in_range = pl.when(half.is_null()).then(hour <= 23).otherwise((hour >= 1) & (hour <= 12))
    full = pl.when(half.is_null()).then(hour).otherwise(hour % 12 + pl.when(half == "p").then(12).otherwise(0))
    good = told & in_range & (minute <= 59) & (second <= 59)
    return pl.when(good).then(full * 3600 + minute * 60 + second)


def _date(text: pl.Expr) -> pl.Expr:
    form = r"^(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?$"
    return text.str.strip_chars().str.extract(form, 1).str.to_date("%Y-%m-%d", strict=False)


def _weekdays(texts: pl.Expr) -> pl.Expr:
    word = pl.element().str.to_lowercase().str.strip_chars()
    known = word.replace_strict(WEEKDAY_WORDS, default=pl.lit("?") + word.str.replace_all(" ", "_"))
    return texts.list.eval(known.str.split(" ").explode()).list.drop_nulls().list.unique()


def _path(text: pl.Expr) -> pl.Expr:
    levels = text.str.replace_all(">", "›", literal=True).str.split("›").list.eval(_entity(pl.element()))
    whole = levels.list.eval(pl.element().is_not_null().all()).list.first()
    return pl.when(whole & (levels.list.len() <= MAX_LEVELS)).then(levels)


def _common_opening(gold: pl.Expr, answer: pl.Expr) -> pl.Expr:
    same: Sequence[pl.Expr] = [
        gold.list.get(level, null_on_oob=True) == answer.list.get(level, null_on_oob=True)
        for level in range(MAX_LEVELS)
    ]
    opening = [pl.all_horizontal(*same[: level + 1]).fill_null(False).cast(pl.Int32) for level in range(MAX_LEVELS)]
    longer = pl.max_horizontal(gold.list.len(), answer.list.len())
    return pl.when(answer.is_not_null()).then(pl.sum_horizontal(opening) / longer)


def _f1(gold: pl.Expr, answer: pl.Expr) -> pl.Expr:
    size = gold.list.len() + answer.list.len()
    shared = gold.list.set_intersection(answer).list.len()
    return pl.when(size == 0).then(1.0).otherwise(2 * shared / size)
