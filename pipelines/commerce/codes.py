"""Texts as integers: inside the compiled steps a text is its rank among the texts of its column.

Rank 0 is null; ranks from 1 follow the order of the UTF-8 bytes, so that comparing
ranks is comparing texts (nulls first) and no result depends on which text was met first.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from pipelines.commerce.tables import ACTION, ACTIONS

Array = np.ndarray[Any, np.dtype[Any]]

TEXTS = ("user_id", "item_id", "l1", "l2", "brand")
NAMES = ("l1_name", "l2_name")
N_COUNTED = ACTIONS.index("purchase") + 1
"""Actions before this code enter visits; cancel and refund come after it."""
NO_DWELL = np.iinfo(np.int64).min
"""Stands for a null dwell in integer columns."""


@dataclass(frozen=True)
class Ranked:
    """A column as ranks, and the texts in rank order (`texts[0]` is null)."""

    ranks: Array
    texts: pl.Series


@dataclass(frozen=True)
class EventCodes:
    """The columns of `events` that decide visits, one number a row, in no particular order.

    `codes[name]` holds a code a row, `rank[name][code]` its rank and `texts[name]` the texts
    by rank. `detail` (codes, ranked by `rank["detail"]`) orders events that agree in
    everything before the brand, and `brand_of` gives the rank of the brand by that rank.
    """

    time: Array
    action: Array
    dwell: Array
    codes: dict[str, Array]
    rank: dict[str, Array]
    texts: dict[str, pl.Series]
    detail: Array
    brand_of: Array


@contextmanager
def _shared_codes(columns: tuple[str, ...]) -> Iterator[dict[str, pl.Categories]]:
    """One growing text → code map per column; Polars forgets a map that no Series holds."""
    maps = {name: pl.Categories.random() for name in columns}
    holders = [pl.Series([None], dtype=pl.Categorical(categories)) for categories in maps.values()]
    yield maps
    holders.clear()


def _code(column: str, categories: pl.Categories) -> pl.Expr:
    """Code + 1 of every text, 0 for null."""
    text = pl.col(column).cast(pl.Categorical(categories))
    return (text.to_physical() + 1).fill_null(0).alias(column)


def _ranks_of(categories: pl.Categories) -> tuple[Array, pl.Series]:
    """Rank of every code + 1, and the texts in rank order."""
    # A code may be reserved without a text when two threads met the same text at once: it is never used.
    texts = categories.to_series().rename("")
    ordered = texts.drop_nulls().sort()
    # Looking the sorted texts up again costs a third of sorting positions.
    order = ordered.cast(pl.Categorical(categories)).to_physical().to_numpy()
    ranks = np.zeros(len(texts) + 1, dtype=np.uint32)
    ranks[order + 1] = np.arange(1, len(order) + 1, dtype=np.uint32)
    return ranks, pl.concat([pl.Series("", [None], dtype=pl.String), ordered], rechunk=True)


def ranked(column: pl.Series) -> Ranked:
    """Ranks of one text column."""
    frame = pl.LazyFrame([column.rename("text")])
    with _shared_codes(("text",)) as maps:
        codes = frame.select(_code("text", maps["text"])).collect()["text"].to_numpy()
        ranks, texts = _ranks_of(maps["text"])
    return Ranked(ranks[codes], texts)


def event_codes(events: pl.LazyFrame, *, with_names: bool) -> EventCodes:
    """Code `events` in one streaming scan; texts live only in the dictionaries.

    `with_names` puts l1_name and l2_name before the brand in `detail`; that matters only
    where rows agree in all columns up to l2 and differ in the brand.

    Raises `ValueError` when a user, item, time or action is null.
    """
    columns = TEXTS + NAMES if with_names else TEXTS
    with _shared_codes(columns) as maps:
        collected = events.select(
            pl.col("time").cast(pl.Datetime("us", "UTC")).to_physical(),
            pl.col("action").cast(ACTION).to_physical(),
            pl.col("dwell_ms").fill_null(NO_DWELL),
            *(_code(name, maps[name]) for name in columns),
        ).collect(engine="streaming")
        for name in ("time", "action"):
            if nulls := collected[name].null_count():
                raise ValueError(f"events: {name} is null in {nulls} rows; such rows belong in rejects")
        # Taken column by column, so that no second copy of the whole table lives.
        held = collected.to_dict(as_series=True)
        del collected
        arrays = {name: held.pop(name).to_numpy() for name in list(held)}
        tables = {name: _ranks_of(categories) for name, categories in maps.items()}
    for name in ("user_id", "item_id"):
        if nulls := int(np.count_nonzero(arrays[name] == 0)):
            raise ValueError(f"events: {name} is null in {nulls} rows; such rows belong in rejects")
    rank = {name: table[0] for name, table in tables.items()}
    if with_names:
        detail, brand_of = _detail_with_names([rank[name][arrays[name]] for name in (*NAMES, "brand")])
        rank["detail"] = np.arange(len(brand_of), dtype=np.uint32)
    else:
        detail, brand_of = arrays["brand"], np.arange(len(tables["brand"][1]), dtype=np.uint32)
        rank["detail"] = rank["brand"]
    return EventCodes(
        time=arrays["time"],
        action=arrays["action"],
        dwell=arrays["dwell_ms"],
        codes={name: arrays[name] for name in ("user_id", "item_id", "l1", "l2")},
        rank=rank,
        texts={name: tables[name][1] for name in TEXTS},
        detail=detail,
        brand_of=brand_of,
    )


def _detail_with_names(ranks: list[Array]) -> tuple[Array, Array]:
    """Dense rank of (l1_name, l2_name, brand) of every row, and the brand of each such rank."""
    names = ["l1_name", "l2_name", "brand"]
    rows = pl.DataFrame(dict(zip(names, ranks, strict=True)))
    distinct = rows.unique().sort(names).with_row_index("detail")
    detail = rows.join(distinct, on=names, how="left", maintain_order="left")["detail"]
    return detail.to_numpy(), distinct["brand"].to_numpy()
