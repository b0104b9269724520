"""What a message says, found by rule: times, days, how often, names (ours).

A message is free text, so these rules look for a value inside it; they know English.
"""

import re

import polars as pl

from pipelines.evaluation.judging.comparators import WEEKDAY_WORDS, entity, time_of_day, weekdays
from pipelines.evaluation.judging.partial import CORE, head_and_rest
from pipelines.evaluation.judging.stems import STOP, content, stem, stemmed

_TIME = r"(?i)\b\d{1,2}:\d{2}(?:\s*[ap]\.?m\b\.?)?|\b\d{1,2}\s*[ap]\.?m\b\.?"
_DAY = (
    "(?i)\\b(?:" + "|".join(sorted((w for w in WEEKDAY_WORDS if not w.isdigit()), key=lambda w: (-len(w), w))) + ")\\b"
)
_NAMED_DAY = r"(?:mon|tues?|wednes|thurs?|fri|satur|sun)day"
HOW_OFTEN = {
    "daily": r"\b(?:daily|(?:every|each) ?(?:day|morning|afternoon|evening|night))\b",
    "weekly": rf"(?:^|[^\w-])(?:weekly|(?:every|each) (?:week\b|weekend|weekday|{_NAMED_DAY})|{_NAMED_DAY}s)\b",
    "biweekly": r"\b(?:bi-?weekly|fortnight(?:ly)?|every (?:other|second|two|2) weeks?)\b",
    "monthly_by_date": r"\b(?:monthly|(?:every|each) month|of (?:the|every|each) month)\b",
    "monthly_nth_weekday": r"\b(?:monthly|(?:every|each) month|of (?:the|every|each) month)\b",
}
"""Frequency → what says so."""
_GENERAL_WORDS = """
activity block break bit catch check daily day early evening every fortnightly habit hour late lunchtime midday monthly
morning night noon occasional practice quick regular review ritual round routine session short slot time visit week
weekday weekend weekly work yearly monday tuesday wednesday thursday friday saturday sunday afternoon
"""
GENERAL = frozenset(_GENERAL_WORDS.split())
"""Words of a routine's name that many routines share: when it is, and that it is some occasion."""
_GENERAL = frozenset(map(stem, GENERAL))


def mentioned(expected: pl.Series, messages: pl.Series, kind: str, minutes: float) -> pl.Series:
    """How far each message says the right value, 0 to 1; 0 for no message.

    time of day: some time within `minutes`. weekdays: F1 of the days it names. frequency: whether it says how often.
    identity: every word of the name that is not `GENERAL`, endings aside. set: share of the members named. Others: the
    value as a name, `partial.CORE` for its head and the rest for its other words.
    `expected` holds texts (lists of them for weekdays and sets).
    """
    frame = pl.DataFrame({"right": expected, "message": messages.fill_null("")})
    if kind == "time of day":
        return _times(frame, minutes)
    if kind == "weekdays":
        days = weekdays()
        named = pl.col("message").str.extract_all(_DAY)
        agreed = days.agreement(days.read(pl.col("right")), days.read(named))
        return frame.select(agreed.alias("agreement")).to_series()
    if kind == "frequency":
        names = {right: " ".join(right.lower().split()) for right in _values(frame)}
        return _searched(frame, {right: HOW_OFTEN.get(name, re.escape(name)) for right, name in names.items()})
    if kind == "identity":
        return _identities(frame)
    if kind == "set":
        return _members(frame)
    return _names(frame)


def _values(frame: pl.DataFrame) -> list[str]:
    return frame["right"].unique().sort().to_list()


def _times(frame: pl.DataFrame, minutes: float) -> pl.Series:
    clock = time_of_day(minutes)
    rows = frame.with_row_index("row")
    said = rows.with_columns(pl.col("message").str.extract_all(_TIME)).explode("message")
    near = clock.agreement(clock.read(pl.col("right")), clock.read(pl.col("message").str.replace_all(r"\s+", " ")))
    best = said.select("row", near.cast(pl.Float64).fill_null(0.0).alias("agreement")).group_by("row").max()
    return rows.join(best, on="row", how="left", maintain_order="left")["agreement"].fill_null(0.0)


def _searched(frame: pl.DataFrame, patterns: dict[str, str]) -> pl.Series:
    pattern = pl.col("right").replace_strict(patterns, return_dtype=pl.String)
    found = pl.concat_str(pl.lit(" "), pl.col("message").str.to_lowercase()).str.contains(pattern)
    return frame.select(found.cast(pl.Float64).alias("agreement")).to_series()


def _identities(frame: pl.DataFrame) -> pl.Series:
    names = {right: _telling(right) for right in _values(frame)}
    told = pl.DataFrame(
        {"right": list(names), "telling": list(names.values())},
        schema={"right": pl.String, "telling": pl.List(pl.String)},
    )
    rows = frame.join(told, on="right", how="left", maintain_order="left")
    said = stemmed(pl.col("message").str.to_lowercase().str.extract_all(r"\w+"))
    missing = pl.col("telling").list.set_difference(said).list.len()
    return rows.select((missing == 0).cast(pl.Float64).alias("agreement")).to_series()


def _telling(name: str) -> list[str]:
    """The words by which a message is known to be about a routine: those of its name that are not `GENERAL`.

    All of them must be said. Of a name of general words alone, all of these are telling.
    """
    words = [stem(word) for word in re.findall(r"\w+", name.lower())]
    content = [word for word in words if word not in STOP] or words
    return [word for word in content if word not in _GENERAL] or content


def _names(frame: pl.DataFrame) -> pl.Series:
    """A name is said by its head; its other words are the detail."""
    said = pl.concat_str(pl.lit(" "), entity().read(pl.col("message")), pl.lit(" "))
    head, rest = head_and_rest(pl.col("right"))
    found = said.str.contains(pl.concat_str(pl.lit(" "), head, pl.lit(" ")), literal=True)
    words = content(said.str.split(" "))
    share = rest.list.set_intersection(words).list.len() / rest.list.len()
    detail = pl.when(rest.list.len() > 0).then(share).otherwise(1.0)
    agreed = pl.when(found).then(CORE + (1 - CORE) * detail).otherwise(0.0)
    return frame.select(agreed.fill_null(0.0).alias("agreement")).to_series()


def _members(frame: pl.DataFrame) -> pl.Series:
    rows = frame.with_row_index("row")
    each = rows.explode("right")
    named = each.select("row", _names(each.select("right", "message")).alias("agreement"))
    share = named.group_by("row").agg(pl.col("agreement").mean())
    return rows.join(share, on="row", how="left", maintain_order="left")["agreement"].fill_null(0.0)
