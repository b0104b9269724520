"""Fields of answers held against the truth by rule: typed, without a judge, nothing partial for a wrong type (ours).

A field of a structured answer is compared as its type (`judging.comparators`), names,
statements of preference and sets of names by core and detail (`judging.partial`); a
point on a message is looked for in the message (`mentions`).
"""

import json
from collections.abc import Callable
from typing import Any

import polars as pl

from pipelines.applogs.answers import ITEM, abstaining
from pipelines.applogs.json_text import canonical, dump
from pipelines.applogs.matching import given_fields, list_scores, matched
from pipelines.applogs.mentions import mentioned
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.state_values import ROOT
from pipelines.evaluation.judging.comparators import (
    Comparator,
    compare,
    date,
    entity,
    exact,
    number,
    time_of_day,
    weekdays,
)
from pipelines.evaluation.judging.partial import is_preference, name, preference, set_of_names

MINUTES = 5.0
"""Tolerance of times, after the judge's guidance on the core of a time (reference 5.8)."""
FREQUENCIES = {
    **dict.fromkeys(("every day", "everyday", "each day"), "daily"),
    **dict.fromkeys(("every week", "each week", "once a week"), "weekly"),
    **dict.fromkeys(("bi weekly", "fortnightly", "every two weeks", "every other week", "every 2 weeks"), "biweekly"),
    "monthly on a date": "monthly by date",
}
"""Other names of frequencies, as `entity` reads them."""


def frequency() -> Comparator:
    """The same frequency, by any of its usual names."""
    return Comparator(
        "frequency", lambda text: entity().read(text).replace(FREQUENCIES), lambda gold, answer: gold == answer
    )


def _comparators(minutes: float) -> dict[str, Callable[[], Comparator]]:
    return {
        "entity": name,
        PREFERENCE: preference,
        "exact": exact,
        "number": number,
        "time of day": lambda: time_of_day(minutes),
        "date": date,
        "weekdays": weekdays,
        "frequency": frequency,
        "identity": exact,
    }


SETS = ("weekdays", "set")
PREFERENCE = "preference"
"""Kind, ours, of the entities that state a preference: told by their words, for a free form has one name for all."""


def agreements(parts: pl.DataFrame, standing: pl.DataFrame, minutes: float = MINUTES) -> pl.DataFrame:
    """`gold_parts` with `given` (JSON or null), `agreement` in [0, 1] (null where no right value is told).

    `standing` as of `answers.standing`; an answer that is not ok agrees with nothing. Times agree within `minutes`.
    Parts of a list are held against the entry that tells their state (`matching`). Sorted by user, item and place.
    Raises `BadGold` when a right value is none of its type.
    """
    told = standing.select(*ITEM, "answer", message=pl.col("service_family").cast(pl.String) == "user_communication")
    asked = parts.join(told, on=ITEM, how="inner").with_columns(
        pl.col("kind").cast(pl.String), pl.col("message").fill_null(False)
    )
    one, several = (asked.filter(pl.col("of_state").is_null() == single) for single in (True, False))
    fields = given_fields(several.select(*ITEM, "answer").unique(maintain_order=True))
    agreed = _compared(
        pl.concat([one.with_columns(_values_at(one)), several.join(fields, on=[*ITEM, "path"])], how="diagonal"),
        minutes,
    )
    mine = agreed.filter(pl.col("of_state").is_not_null())
    kept = mine.join(matched(several, mine), on=[*ITEM, "of_state", "entry"], how="semi")
    lists = several.join(kept.select(*ITEM, "part", "given", "agreement"), on=[*ITEM, "part"], how="left")
    return (
        pl.concat(
            [agreed.filter(pl.col("of_state").is_null()), lists.with_columns(pl.col("agreement").fill_null(0.0))],
            how="diagonal",
        )
        .select(*parts.columns, "given", "agreement")
        .with_columns(pl.col("kind").cast(parts.schema["kind"]))
        .sort(*ITEM, "place")
    )


def _compared(asked: pl.DataFrame, minutes: float) -> pl.DataFrame:
    """The rows with `agreement` of `given` (of a message: the answer) with `expected`."""
    asked = asked.with_columns(_typed(asked)).with_row_index("row")
    compared = []
    for (kind, message), rows in asked.filter(pl.col("expected").is_not_null()).group_by("type", "message"):
        shown = ["expected", "answer" if message else "given"]
        # Each pair of values is compared once: many users and checkpoints share theirs.
        pairs = rows.select(shown).unique(maintain_order=True)
        agreed = pairs.with_columns(_agreement(pairs, str(kind), bool(message), minutes).alias("agreement"))
        told = rows.select("row", *shown).join(agreed, on=shown, nulls_equal=True)
        compared.append(told.select("row", "agreement"))
    empty = pl.DataFrame(schema={"row": pl.UInt32, "agreement": pl.Float64})
    return asked.join(pl.concat([empty, *compared]), on="row", how="left").drop("row", "type")


def _agreement(pairs: pl.DataFrame, kind: str, message: bool, minutes: float) -> pl.Series:
    expected = _texts(pairs["expected"], kind)
    if message:
        return mentioned(expected, _texts(pairs["answer"], "exact"), kind, minutes)
    frame = pl.DataFrame({"expected": expected, "given": _texts(pairs["given"], kind)})
    return set_of_names(frame) if kind == "set" else compare(frame, _comparators(minutes)[kind]())


def item_agreements(agreed: pl.DataFrame) -> pl.DataFrame:
    """One row an item: `mechanical`, the mean agreement of its judged fields, 0 unless its gate agrees in full.

    Null where no field can be compared by rule. Sorted by user and item.
    """
    gate, agreement = pl.col("gate"), pl.col("agreement")
    passed = (agreement.filter(gate).fill_null(1.0) == 1.0).all()
    rest = agreement.filter(~gate & pl.col("judged")).mean()
    return agreed.group_by(ITEM).agg(pl.when(passed).then(rest).otherwise(0.0).alias("mechanical")).sort(ITEM)


def scores_by_rule(standing: pl.DataFrame, agreed: pl.DataFrame) -> pl.DataFrame:
    """`mechanical` of every row of `standing`: `item_agreements`, or `answers.abstaining` where nothing is true.

    Of lists it is the F1 of what was matched, beside `list_precision` and `list_recall`; `n_states` are the states of a
    list. These three are null in other tasks, `n_states` also where nothing is true.
    """
    rows = (
        standing.select(*ITEM, "task", abstaining().alias("abstained"))
        .join(item_agreements(agreed), on=ITEM, how="left")
        .join(list_scores(standing, agreed), on=ITEM, how="left")
    )
    nothing = pl.when(pl.col("task").cast(pl.String) == NO_KEY).then(pl.col("abstained"))
    return rows.select(
        *ITEM,
        pl.coalesce("abstained", "list_f1", "mechanical").alias("mechanical"),
        *(pl.coalesce(nothing, name).alias(name) for name in ("list_precision", "list_recall")),
        "n_states",
    )


def _typed(rows: pl.DataFrame) -> pl.Expr:
    texts = rows.filter(pl.col("kind") == "entity")["expected"].unique().drop_nulls().to_list()
    stated = [text for text in texts if is_preference(str(json.loads(text)))]
    preferred = (pl.col("kind") == "entity") & pl.col("expected").is_in(stated)
    return pl.when(preferred).then(pl.lit(PREFERENCE)).otherwise("kind").alias("type")


def _values_at(rows: pl.DataFrame) -> pl.Series:
    """JSON of what each row's answer says at its path."""
    found: list[str | None] = []
    last, value = None, None
    for answer, path, gate in rows.select("answer", "path", "gate").iter_rows():
        # One parse an answer: rows of an item stand together.
        if answer != last:
            last, value = answer, None if answer is None else json.loads(answer)
        held = None if answer is None or gate else _at(value, path)
        found.append(None if held is None else dump(held))
    return pl.Series("given", found, dtype=pl.String)


def _at(value: Any, path: str) -> Any:
    if path == ROOT and not isinstance(value, dict):
        return value
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        inside = value[int(head)] if head.isdigit() and int(head) < len(value) else None
        return _at(inside, rest) if rest else inside
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    steps = path.split(".")
    # A name may hold a dot itself.
    for n in range(len(steps) - 1, 0, -1):
        if (name := ".".join(steps[:n])) in value:
            return _at(value[name], ".".join(steps[n:]))
    return None


def _texts(values: pl.Series, kind: Any) -> pl.Series:
    """JSON values as the text, or for sets the list of texts, that comparators read."""
    distinct = values.unique().drop_nulls()
    read = [json.loads(text) for text in distinct.to_list()]
    if kind in SETS:
        many = [[_text(one) for one in _split(value)] for value in read]
        texts = pl.Series("text", many, dtype=pl.List(pl.String))
    else:
        # A list or an object is no value of a type that has one.
        alone = [None if isinstance(value, list | dict) else _text(value) for value in read]
        texts = pl.Series("text", alone, dtype=pl.String)
    lookup = pl.DataFrame({"json": distinct, "text": texts})
    return values.rename("json").to_frame().join(lookup, on="json", how="left", maintain_order="left")["text"]


def _split(value: Any) -> list[Any]:
    if isinstance(value, str):
        parted = value.replace(" and ", ",").replace(";", ",").replace("&", ",").split(",")
        return [one.strip() for one in parted if one.strip()]
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    # Sorted names, so that equal objects in a set are equal texts.
    return value if isinstance(value, str) else canonical(value)
