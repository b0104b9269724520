"""Total order of events, and several drops as one table."""

from collections.abc import Sequence

import polars as pl

from pipelines.schema import TABLES


def in_total_order(events: pl.DataFrame, *, distinct: bool = False) -> pl.DataFrame:
    """The columns of `events` sorted by its total order; with `distinct`, equal rows once."""
    schema = TABLES["events"].schema
    frame = events.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    frame = frame[_total_order(frame)]
    return frame.filter(~repeats(frame)) if distinct else frame


def _total_order(frame: pl.DataFrame) -> pl.Series:
    """Positions that sort by the total order.

    Equal to sorting by all columns; but only rows that agree in the first five are
    compared in the others, which is several times faster.
    """
    sort_by = TABLES["events"].sort_by
    first = sort_by[:5]
    order = frame.select(pl.arg_sort_by(first).alias("order"))["order"]
    keys = frame.select(first)[order]
    twin = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in first).fill_null(False)
    tied = keys.select(twin | twin.shift(-1, fill_value=False)).to_series()
    if not tied.any():
        return order
    # Runs of equal keys stay where they are, so the sorted ties fit back into their places.
    ties = order.filter(tied)
    within = frame[ties].select(pl.arg_sort_by(sort_by).alias("order"))["order"]
    return order.scatter(tied.arg_true(), ties[within])


def repeats(ordered: pl.DataFrame) -> pl.Series:
    """Whether a row of a sorted frame equals the one before."""
    names = TABLES["events"].sort_by
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift()) for name in names)
    # The first row compares with nothing, which must not pass for a row of nulls.
    return ordered.select((same & (pl.int_range(pl.len()) > 0)).alias("again"))["again"]


def merge_drops(drops: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Events of several drops as one table, in its total order.

    Equal rows occur as often as in the drop that has most of them, so that a drop
    sent again, in another format or as part of a cumulative export, adds nothing.
    One drop is returned as it is.
    """
    if len(drops) == 1:
        return drops[0]
    spec = TABLES["events"]
    if not drops:
        return spec.empty().lazy()
    names = spec.schema.names()
    marked = [drop.select(*names, pl.lit(i, pl.UInt32).alias("__drop")) for i, drop in enumerate(drops)]
    return pl.concat(marked).map_batches(_merged, schema=spec.schema)


def _merged(frame: pl.DataFrame) -> pl.DataFrame:
    """The n-th of equal rows of a drop meets the n-th of every other; one of them stays.

    Rows meet by hash, which is checked; should two different rows share a hash,
    they are counted by content instead.
    """
    if frame.is_empty():
        return frame.drop("__drop")
    lengths = frame["__drop"].rle().struct.field("len")
    parts = [
        in_total_order(frame.slice(end - length, length))
        for end, length in zip(lengths.cum_sum(), lengths, strict=True)
    ]
    numbered = [_numbered(part) for part in parts]
    rows, row, of = pl.concat(parts), pl.col("row"), pl.col("of")
    meeting = pl.concat(numbered).with_row_index("row").sort("hash", "nth", "row")
    first = (pl.col("hash") != pl.col("hash").shift()) | (pl.col("nth") != pl.col("nth").shift())
    meeting = meeting.select("row", of=pl.when(first.fill_null(True)).then(row).forward_fill()).sort("row")
    kept, met = meeting.filter(row == of), meeting.filter(row != of)
    exact = all(int((part["nth"] == 0).sum()) == part["hash"].n_unique() for part in numbered)
    if exact and rows[met["row"]].equals(rows[met["of"]]):
        return in_total_order(rows[kept["row"]])
    return _merged_by_content(frame)


def _numbered(part: pl.DataFrame) -> pl.DataFrame:
    """Hash of every row of a sorted drop and its number among its equals, from 0."""
    position = pl.int_range(pl.len(), dtype=pl.UInt32)
    start = pl.when(~pl.col("again")).then(position).forward_fill()
    return pl.DataFrame({"hash": part.hash_rows(), "again": repeats(part)}).select("hash", nth=position - start)


def _merged_by_content(frame: pl.DataFrame) -> pl.DataFrame:
    names = TABLES["events"].schema.names()
    counts = frame.group_by([*names, "__drop"]).len("__n").group_by(names).agg(pl.col("__n").max())
    return in_total_order(counts.with_columns(pl.lit(0).repeat_by("__n").alias("__n")).explode("__n"))
