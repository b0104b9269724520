"""Connected domains: one frozen table per calendar quarter (ours; paper §3.3 leaves the connection open).

A quarter's table knows only visits that ended strictly before the quarter
starts, of all users of the log. It is kept in integer co-visit counts, and its
order is decided in integers, so it comes out the same on any machine.
"""

import numba as nb
import numpy as np
import polars as pl

from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.walks import Ints
from pipelines.schema import TABLES
from pipelines.tables import TIME


def quarter_number(time: str) -> pl.Expr:
    """Calendar quarter (UTC) of an instant as a running number: 4 · year + (0–3)."""
    return pl.col(time).dt.year().cast(pl.Int64) * 4 + pl.col(time).dt.quarter().cast(pl.Int64) - 1


def quarter_start(number: str) -> pl.Expr:
    """First instant of the quarter with this running number."""
    return pl.datetime(pl.col(number) // 4, pl.col(number) % 4 * 3 + 1, 1, time_unit="us", time_zone="UTC").cast(TIME)


def first_quarter_after(end: str) -> pl.Expr:
    """Running number of the first quarter whose start is strictly after an instant.

    An instant exactly on a quarter's start is not before that quarter.
    """
    return quarter_number(end) + 1


def domains(visits: pl.LazyFrame, batches: pl.LazyFrame, settings: CommerceSettings) -> pl.DataFrame:
    """Table `domains`: for every quarter and domain, the domains of highest positive PMI with it.

    `visits` and `batches` are those of all users, cohort or not. A unit is a
    user-batch truncated to the visits that ended before the quarter starts, and it
    counts (`n_units`) from the first quarter after its first visit ended, whatever
    that visit's category; a domain is in a unit when a visit with a category names
    it. Quarters run from the first one after any visit to that of the last visit.
    At most `settings.connected_domains` rows a quarter and domain; PMI is positive
    when n_both · n_units > n_l1 · n_connected, its rank within a domain is that of
    n_both / n_connected, ties by text.
    """
    entries, names = _entries(visits, batches)
    if entries.is_empty() or not names:
        return TABLES["domains"].empty()
    counts = _count(entries, len(names), int(entries["last_quarter"][0]))
    text = pl.DataFrame({"code": range(len(names)), "name": names}, schema={"code": pl.Int64, "name": pl.String})
    wide = pl.Int128
    ranked = (
        counts.filter(
            pl.col("n_both").cast(wide) * pl.col("n_units") > pl.col("n_l1").cast(wide) * pl.col("n_connected")
        )
        # Counts stay below 2^31, so two different fractions differ by more than 2^-62:
        # the integer part of the fraction times 2^62 orders them exactly.
        .with_columns((pl.col("n_both").cast(wide) * pl.lit(1 << 62, dtype=wide) // pl.col("n_connected")).alias("key"))
        # Codes are ranks of texts, so they order as the texts do.
        .sort("quarter", "a", "key", "b", descending=[False, False, True, False])
        .with_columns((pl.int_range(pl.len()).over("quarter", "a") + 1).cast(pl.Int32).alias("rank"))
        .filter(pl.col("rank") <= settings.connected_domains)
    )
    return (
        ranked.join(text.rename({"code": "a", "name": "l1"}), on="a", how="left", maintain_order="left")
        .join(text.rename({"code": "b", "name": "connected_l1"}), on="b", how="left", maintain_order="left")
        .with_columns(quarter_start("quarter").alias("quarter"))
        .select(pl.col(name).cast(dtype) for name, dtype in TABLES["domains"].schema.items())
    )


def _entries(visits: pl.LazyFrame, batches: pl.LazyFrame) -> tuple[pl.DataFrame, list[str]]:
    """One row a (user-batch, domain or none): the first quarter that may know it, units in one run each."""
    units = batches.select("user_id", "first_visit").collect()
    users = units.select(pl.col("user_id").unique().sort()).with_row_index("user")
    named = pl.when(pl.col("l2").is_not_null()).then("l1")
    names = visits.select(named.unique().drop_nulls().sort()).collect(engine="streaming").to_series().to_list()
    codes = pl.LazyFrame({"l1": names, "code": range(len(names))}, schema={"l1": pl.String, "code": pl.Int64})
    rows = (
        visits.select("user_id", "visit_index", named.alias("l1"), quarter=first_quarter_after("end"))
        .join(users.lazy(), on="user_id", how="left")
        .join(codes, on="l1", how="left")
        .select("user", "visit_index", "quarter", pl.col("code").fill_null(-1))
        .collect(engine="streaming")
    )
    if rows["user"].null_count():
        raise ValueError("a visit is in no batch; give visits and batches of the same users")
    # User and visit number in one integer: a visit is in the last batch that begins at or before it.
    begins = np.sort(_place(units.join(users, on="user_id", how="left"), "first_visit"))
    unit = np.searchsorted(begins, _place(rows, "visit_index"), side="right")
    entries = (
        rows.lazy()
        .select(pl.Series("unit", unit), "code", "quarter")
        .group_by("unit", "code")
        .agg(pl.col("quarter").min())
        .sort("unit", "quarter", "code")
        .collect()
    )
    return entries.with_columns(pl.lit(rows["quarter"].max()).alias("last_quarter") - 1), names


def _place(rows: pl.DataFrame, number: str) -> Ints:
    return rows.select(pl.col("user").cast(pl.Int64) * (1 << 32) + pl.col(number)).to_series().to_numpy()


def _count(entries: pl.DataFrame, n_domains: int, last_quarter: int) -> pl.DataFrame:
    """Cumulative counts at every quarter, for each ordered pair of domains that shared a unit."""
    unit = entries["unit"].to_numpy()
    code = entries["code"].to_numpy()
    quarter = entries["quarter"].to_numpy()
    new_unit = np.r_[True, unit[1:] != unit[:-1]]
    start = np.flatnonzero(new_unit)[np.cumsum(new_unit) - 1].astype(np.int64)
    order = np.argsort(quarter, kind="stable").astype(np.int64)
    ends = np.searchsorted(quarter[order], np.arange(quarter.min(), last_quarter + 1), side="right")
    # The first entry of a unit is the earliest, so it dates the unit.
    first_of_unit = np.sort(quarter[new_unit])
    both = np.zeros((n_domains, n_domains), np.int64)
    single = np.zeros(n_domains, np.int64)
    frames = []
    done = 0
    for number, end in zip(range(int(quarter.min()), last_quarter + 1), ends.tolist(), strict=True):
        _add_pairs(order[done:end], start, code, both, single)
        done = end
        a, b = np.nonzero(both)
        frames.append(
            pl.DataFrame(
                {
                    "a": a.astype(np.int64),
                    "b": b.astype(np.int64),
                    "n_l1": single[a],
                    "n_connected": single[b],
                    "n_both": both[a, b],
                }
            ).with_columns(
                pl.lit(number, dtype=pl.Int64).alias("quarter"),
                pl.lit(int(np.searchsorted(first_of_unit, number, side="right")), dtype=pl.Int64).alias("n_units"),
            )
        )
    schema = dict.fromkeys(("a", "b", "n_l1", "n_connected", "n_both", "quarter", "n_units"), pl.Int64)
    return pl.concat([pl.DataFrame(schema=schema), *frames])


@nb.njit(cache=True)
def _add_pairs(order: Ints, start: Ints, code: Ints, both: Ints, single: Ints) -> None:
    """Add entries to the counts; each pairs with the entries before it in its unit, which are no later."""
    for entry in order:
        a = code[entry]
        if a < 0:
            continue
        single[a] += 1
        for other in range(start[entry], entry):
            b = code[other]
            if b >= 0:
                both[a, b] += 1
                both[b, a] += 1
