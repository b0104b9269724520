"""Judging answers against a reference: by a model (`rubric`), by rule (`comparators`), and by people (`labelling`).

`calibration` holds the first against the last and corrects a score by it.

What is judged is a frame of **parts**, one row a part of an answer, columns `PARTS`.
"""

from collections.abc import Mapping

import polars as pl

PARTS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "user_id": pl.String,
    "item": pl.String,
    "part": pl.String,
    "gate": pl.Boolean,
    "question": pl.String,
    "reference": pl.String,
    "answer": pl.String,
    "expected": pl.String,
    "given": pl.String,
}
"""Columns of what is judged.

`user_id` whose life it is about (the cluster of every interval); `item` the answer, `part` a name of the part, unique
within it; `gate` whether the item counts nothing unless this part's core is right. `question`, `reference` and `answer`
are the item's, the same in all its rows; `expected` and `given` are the part's own values, null where it has none.
"""

PART = ["item", "part"]


class BadParts(ValueError):
    """Parts that cannot be judged: a column missing, a part twice, one item with two texts."""


def checked(parts: pl.DataFrame) -> pl.DataFrame:
    """The columns `PARTS`, sorted by item and part. Raises `BadParts`."""
    if missing := sorted(PARTS.keys() - set(parts.columns)):
        raise BadParts(f"parts lack the columns {', '.join(missing)}")
    frame = parts.select(pl.col(name).cast(dtype) for name, dtype in PARTS.items()).sort(PART)
    if nulls := [name for name in (*PART, "user_id", "gate") if frame[name].null_count()]:
        raise BadParts(f"parts have no value in {', '.join(nulls)}")
    if twice := frame.height - frame.select(PART).n_unique():
        raise BadParts(f"{twice} parts stand twice; name each part of an item once")
    texts = ["user_id", "question", "reference", "answer"]
    if unlike := frame.group_by("item").agg(pl.struct(texts).n_unique().alias("n")).filter(pl.col("n") > 1).height:
        raise BadParts(f"{unlike} items have rows of different users or texts; an item is one answer to one question")
    return frame
