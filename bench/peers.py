"""The path events Parquet → visits → batches → strong signals, by us and by peers, under the same rules.

Every peer returns the same three tables with text ids. DuckDB leaves its tables in its
own memory, which is what its user would do; they are read out after the clock stopped.
Closing batches is a sequential rule that SQL has no fair form for, so that all peers
call the same compiled kernel for it (0.04 s at ten million events); the rest is theirs.

Run as `python -m bench.peers NAME PARQUET`: one measured run in a process of its own,
printed as JSON.
"""

import argparse
import json
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pipelines.commerce.batches import close_batches
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.signals import SCHEMA
from pipelines.commerce.tables import ACTIONS
from pipelines.hashing import frame_hash
from pipelines.schema import TABLES

S = CommerceSettings()
COLUMNS = ("user_id", "time", "action", "item_id", "l1", "l2", "l1_name", "l2_name", "brand", "dwell_ms")
KEPT = ("visits", "batches", "signals")
Tables = dict[str, pl.DataFrame]


def ours(path: Path) -> Callable[[], Tables]:
    """`pipelines.commerce.trajectories`: codes, ranges of users, compiled passes."""
    from pipelines.commerce.trajectories import trajectories

    result = trajectories(pl.scan_parquet(path), S)
    return lambda: {name: getattr(result, name) for name in KEPT}


def floor(path: Path) -> Callable[[], Tables]:
    """Polars: scan the columns that decide visits, sort by user and time. No result."""
    columns = [name for name in COLUMNS if not name.endswith("_name")]
    pl.scan_parquet(path).select(columns).sort("user_id", "time").collect()
    return lambda: {}


# What a visit is, said once for both DuckDB versions; `n` numbers the events of the stream.
_RANK = "case action when 'favourite' then 1 when 'cart' then 2 when 'purchase' then 3 else 0 end"
_ACT = "case action when 'click' then 0 else 1 end"
_TIES = "l1 nulls first, l2 nulls first, l1_name nulls first, l2_name nulls first, brand nulls first"
_COUNTERS = ", ".join(
    f"(count(*) filter (where action = '{name}'))::integer as n_{name}"
    for name in ("click", "browse", "favourite", "cart", "purchase")
)
_FACTS = f"""
    arg_min({{'l1': l1, 'l2': l2}}, n) filter (where l2 is not null) as category,
    arg_min(brand, n) filter (where brand is not null) as brand,
    {_COUNTERS}, (sum(dwell_ms) // 1000)::bigint as dwell_seconds
"""
_DEEP = f"""(n_browse >= {S.deep_browse_events} or coalesce(dwell_seconds, 0) >= {S.deep_browse_seconds}
    or stop - start >= to_seconds({S.deep_browse_seconds}) or again >= {S.deep_browse_visits})"""
_FLAGS = f"""
    bool_or(n_favourite > 0) as favourite, bool_or(n_cart > 0) as cart,
    bool_or(n_purchase > 0) as purchase, bool_or({_DEEP}) as deep_browse
"""
_STRONG = f"(n_favourite > 0 or n_cart > 0 or n_purchase > 0 or {_DEEP})"


def _closed(user: Any, start: Any, stop: Any) -> dict[str, Any]:
    """Batch of every visit, and the batches; visits are given in table order."""
    user = np.asarray(user)
    change = np.flatnonzero(user[1:] != user[:-1]) + 1
    bounds = np.concatenate([[0], change, [len(user)]])
    first, last = (np.asarray(column).astype("datetime64[us]").astype(np.int64) for column in (start, stop))
    closed = close_batches(bounds, first, last, S)
    per_user = np.diff(closed.bounds)
    index = np.arange(len(closed.first)) - np.repeat(closed.bounds[:-1], per_user)
    n_visits = closed.end - closed.first
    return {
        "index_of_visit": np.arange(len(user)) - np.repeat(bounds[:-1], np.diff(bounds)),
        "batch_of_visit": np.repeat(index, n_visits),
        "first_row": closed.first,
        "batch_index": index,
        "first_visit": closed.first - np.repeat(bounds[:-1], per_user),
        "n_visits": n_visits,
        "closed": closed.closed,
    }


def _duckdb() -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"set threads = {os.cpu_count()}; set TimeZone = 'UTC'; set enable_progress_bar = false")
    return connection


def duckdb_plain(path: Path) -> Callable[[], Tables]:
    """DuckDB as one would write it: `lag` and running `sum` windows per user over text ids, then group by."""
    db = _duckdb()
    order = f"time, {_RANK}, item_id, {_ACT}, {_TIES}"
    db.execute(f"""
        create table visits as
        with flagged as (
            select *, row_number() over stream as n,
                coalesce(item_id != lag(item_id) over stream
                    or time - lag(time) over stream > to_minutes({S.visit_gap_minutes}), true) as opens
            from read_parquet('{path}') where action not in ('cancel', 'refund')
            window stream as (partition by user_id order by {order})
        ), numbered as (
            select *, sum(opens::integer) over (partition by user_id order by n) - 1 as visit_index from flagged
        )
        select user_id, visit_index::integer as visit_index, min(time) as start, max(time) as stop,
            any_value(item_id) as item_id, {_FACTS}
        from numbered group by user_id, visit_index order by user_id, visit_index""")
    spine = db.execute("select user_id, start, stop from visits order by user_id, visit_index").fetchnumpy()
    closed = _closed(spine["user_id"], spine["start"], spine["stop"])
    batch_rows = {
        "user_id": np.asarray(spine["user_id"])[closed["first_row"]],
        **{name: closed[name] for name in ("batch_index", "first_visit", "n_visits", "closed")},
    }
    frame = pl.DataFrame(batch_rows).to_arrow()  # noqa: F841
    db.execute("create table closures as select * from frame")
    db.execute(f"""
        create table signals as
        with kept as (
            select user_id from visits where category is not null group by 1 having count(*) >= {S.cohort_visits}
        ), placed as (
            select v.*, c.batch_index,
                count(*) over (partition by v.user_id, c.batch_index, v.item_id) as again
            from visits v asof join closures c on v.user_id = c.user_id and v.visit_index >= c.first_visit
            where v.user_id in (from kept) and c.batch_index > 0
        )
        select user_id, batch_index - 1 as transition_index, category.l1 as l1, category.l2 as l2, {_FLAGS}
        from placed where category is not null and {_STRONG}
        group by user_id, batch_index, category order by user_id, batch_index, l1 nulls first, l2""")
    return lambda: _read_out(db, "select user_id, batch_index, first_visit, n_visits, closed from closures")


def duckdb_tuned(path: Path) -> Callable[[], Tables]:
    """DuckDB tuned: integer users, categories and brands, one sort, streaming windows, positional join, no re-sort.

    Like us it leaves out the written names, which order nothing in a log whose ties agree in brand.
    """
    db = _duckdb()
    db.execute(f"""
        create view log as select * from read_parquet('{path}');
        create table users as
            select user_id, (row_number() over (order by user_id))::integer as u
            from (select distinct user_id from log);
        create table categories as
            select l1, l2, (row_number() over (order by l1 nulls first, l2 nulls first))::integer as c,
                l2 is not null as valid
            from (select distinct l1, l2 from log);
        create table brands as
            select brand, (row_number() over (order by brand))::integer as b
            from (select distinct brand from log where brand is not null);
        create table stream as
            select u, time, {_RANK}::tinyint as rank, action, item_id, c, valid, b, dwell_ms
            from log join users using (user_id)
            join categories on log.l1 is not distinct from categories.l1 and log.l2 is not distinct from categories.l2
            left join brands on log.brand = brands.brand
            where action not in ('cancel', 'refund')
            order by u, time, rank, item_id, {_ACT}, c, b nulls first;
        create table merged as
        with flagged as (
            select *, row_number() over () as n,
                coalesce(u != lag(u) over () or item_id != lag(item_id) over ()
                    or time - lag(time) over () > to_minutes({S.visit_gap_minutes}), true) as opens
            from stream
        ), numbered as (select *, sum(opens::integer) over (rows unbounded preceding) as visit from flagged)
        select visit, any_value(u) as u, min(time) as start, max(time) as stop, any_value(item_id) as item_id,
            arg_min(c, n) filter (valid) as c, arg_min(b, n) filter (b is not null) as b,
            {_COUNTERS}, (sum(dwell_ms) // 1000)::bigint as dwell_seconds
        from numbered group by visit order by visit;
        drop table stream""")
    spine = db.execute("select u, start, stop from merged order by visit").fetchnumpy()
    closed = _closed(spine["u"], spine["start"], spine["stop"])
    places = pl.DataFrame(  # noqa: F841
        {
            "batch_index": closed["batch_of_visit"].astype(np.int32),
            "visit_index": closed["index_of_visit"].astype(np.int32),
        }
    ).to_arrow()
    batch_rows = pl.DataFrame(  # noqa: F841
        {
            "u": np.asarray(spine["u"])[closed["first_row"]],
            **{name: closed[name] for name in ("batch_index", "first_visit", "n_visits", "closed")},
        }
    ).to_arrow()
    db.execute(f"""
        create table closures as select * from batch_rows;
        create table placed as select * from merged positional join places;
        drop table merged;
        create table signals as
        with kept as (select u from placed where c is not null group by u having count(*) >= {S.cohort_visits}),
        targets as (select * from placed where batch_index > 0 and u in (from kept)),
        twice as (
            select u, batch_index, item_id, count(*) as again from targets group by all
            having count(*) >= {S.deep_browse_visits}
        ), deep as (
            select v.*, coalesce(t.again, 1) as again
            from targets v left join twice t on v.u = t.u and v.batch_index = t.batch_index and v.item_id = t.item_id
        ), strong as (
            select u, batch_index, c, {_FLAGS} from deep where c is not null and {_STRONG} group by u, batch_index, c
        )
        select user_id, batch_index - 1 as transition_index, l1, l2, favourite, cart, purchase, deep_browse
        from strong join users using (u) join categories using (c);
        create table visits as
            select user_id, visit_index, start, stop, item_id, {{'l1': l1, 'l2': l2}} as category, brand,
                n_click, n_browse, n_favourite, n_cart, n_purchase, dwell_seconds
            from placed join users using (u) left join categories using (c) left join brands using (b);
        drop table placed""")
    return lambda: _read_out(
        db, "select user_id, batch_index, first_visit, n_visits, closed from closures join users using (u)"
    )


def _read_out(db: Any, batches: str) -> Tables:
    """Polars frames of the tables that a DuckDB version left behind."""
    visits = _frame(
        db,
        """select user_id, visit_index, start, stop as "end", item_id, category.l1 as l1, category.l2 as l2,
            brand, n_click, n_browse, n_favourite, n_cart, n_purchase, dwell_seconds from visits""",
    )
    spans = visits.select("user_id", "visit_index", "start", "end")
    first = (
        _frame(db, batches)
        .with_columns(pl.col("first_visit").cast(pl.Int32))
        .join(
            spans.select("user_id", pl.col("visit_index").alias("first_visit"), "start"), on=["user_id", "first_visit"]
        )
    )
    last = first.with_columns((pl.col("first_visit") + pl.col("n_visits") - 1).cast(pl.Int32).alias("visit_index"))
    return {
        "visits": visits,
        "batches": last.join(spans.drop("start"), on=["user_id", "visit_index"]),
        "signals": _frame(db, "select * from signals"),
    }


def _frame(db: Any, query: str) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(db.sql(query).to_arrow_table()))


def pandas_compiled(path: Path) -> Callable[[], Tables]:
    """pandas: dictionary-read Parquet, categoricals in text order, one lexsort, then our compiled kernels.

    Like us it sorts by the remaining columns only when events tie that differ in them.
    """
    import pandas as pd
    import pyarrow.parquet as pq

    from pipelines.commerce import signals as signal_step
    from pipelines.commerce import visits as visit_step
    from pipelines.commerce.batches import batch_table
    from pipelines.commerce.codes import N_COUNTED, NO_DWELL

    texts = ["user_id", "item_id", "l1", "l2", "brand"]
    table = pq.read_table(
        path, columns=[*texts, "time", "action", "dwell_ms"], read_dictionary=texts
    ).unify_dictionaries()
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    del table
    action = frame.pop("action").cat.set_categories(list(ACTIONS)).cat.codes
    keep = (action < N_COUNTED).to_numpy()
    frame, act = frame[keep], action.to_numpy()[keep].astype(np.int64)
    names: dict[str, pl.Series] = {}
    code: dict[str, Any] = {}
    for name in texts:
        column = frame.pop(name).cat.remove_unused_categories()
        ordered = column.cat.reorder_categories(sorted(column.cat.categories))
        names[name] = pl.concat(
            [pl.Series([None], dtype=pl.String), pl.Series(ordered.cat.categories.to_list(), dtype=pl.String)]
        )
        code[name] = ordered.cat.codes.to_numpy().astype(np.int64) + 1
    when = frame["time"].astype("datetime64[us, UTC]").astype("int64").to_numpy() * 4 + np.maximum(act - 1, 0)
    what, category = code["item_id"] << 3 | act, code["l1"] << 32 | code["l2"]
    order = np.lexsort((what, when, code["user_id"]))
    tied = np.logical_and.reduce([np.diff(key[order]) == 0 for key in (code["user_id"], when, what)])
    if any((tied & (np.diff(key[order]) != 0)).any() for key in (category, code["brand"])):
        raise ValueError("ties that differ in category or brand need the whole order")
    dwell = (
        frame["dwell_ms"].fillna(NO_DWELL).astype(np.int64).to_numpy()
        if frame["dwell_ms"].notna().any()
        else np.full(len(when), NO_DWELL)
    )
    rows = np.stack([when, what, category, code["brand"], dwell], axis=1)
    starts = np.concatenate([[0], np.cumsum(np.bincount(code["user_id"] - 1))])
    visits = visit_step.VisitArrays(
        0,
        *visit_step._merge_events(
            rows,
            order,
            starts,
            S.visit_gap_minutes * visit_step.MINUTE,
            np.arange(len(names["brand"]), dtype=np.uint32),
        ),
    )
    del rows, order, frame
    batches = close_batches(visits.bounds, visits.start, visits.end, S)
    user = np.repeat(np.arange(len(starts) - 1), np.diff(batches.bounds))
    index = np.arange(len(user)) - batches.bounds[user]
    valid = np.add.reduceat(np.append(visits.l2 != 0, 0), visits.bounds[:-1])
    target = np.flatnonzero((valid >= S.cohort_visits)[user] & (index > 0))
    found = signal_step.find_signals(
        batches.first[target], batches.end[target], item=visits.item, l1=visits.l1, l2=visits.l2,
        start=visits.start, stop=visits.end, counts=visits.counts, dwell_ms=visits.dwell, settings=S,
    )  # fmt: skip
    of_signal = target[found.target]

    def text(name: str, codes: Any) -> Any:
        return pd.Categorical.from_codes(
            codes.astype(np.int64) - 1, categories=names[name].slice(1).to_pandas()
        ).astype("str")

    users = np.repeat(np.arange(1, len(starts)), np.diff(visits.bounds))
    visit_frame = pd.DataFrame(
        {
            "user_id": text("user_id", users),
            "visit_index": np.arange(len(users)) - visits.bounds[users - 1],
            "start": visits.start.view("datetime64[us]"),
            "end": visits.end.view("datetime64[us]"),
            "item_id": text("item_id", visits.item),
            "l1": text("l1", visits.l1),
            "l2": text("l2", visits.l2),
            "brand": text("brand", visits.brand),
            **dict(zip(visit_step.COUNTERS, visits.counts, strict=True)),
            "dwell_seconds": pd.array(np.where(visits.dwell == NO_DWELL, 0, visits.dwell // 1000), dtype="Int64"),
        }
    )
    visit_frame.loc[visits.dwell == NO_DWELL, "dwell_seconds"] = pd.NA
    known = names["user_id"].slice(1)
    batch_frame = batch_table(batches, visits.bounds, known, visits.start, visits.end)
    signal_frame = signal_step.signal_table(
        found, known.gather(user[of_signal]), index[of_signal] - 1, names["l1"], names["l2"]
    )
    return lambda: {
        "visits": pl.from_pandas(visit_frame).with_columns(pl.col("start", "end").dt.replace_time_zone("UTC")),
        "batches": batch_frame,
        "signals": signal_frame,
    }


PEERS: dict[str, Callable[[Path], Callable[[], Tables]]] = {
    "trailbench": ours,
    "floor": floor,
    "duckdb_tuned": duckdb_tuned,
    "duckdb_plain": duckdb_plain,
    "pandas": pandas_compiled,
}


def results(tables: Tables) -> dict[str, dict[str, Any]]:
    """Rows and logical hash of each table, whatever order and integer widths the peer left them in."""
    found = {}
    for name, frame in tables.items():
        schema = SCHEMA if name == "signals" else TABLES[name].schema
        keys = list(SCHEMA)[:4] if name == "signals" else TABLES[name].sort_by
        table = frame.lazy().select(pl.col(c).cast(dtype) for c, dtype in schema.items()).sort(keys).collect()
        found[name] = {"rows": table.height, "hash": frame_hash(table)}
    return found


def measure(name: str, path: Path, warm: Path | None = None) -> dict[str, Any]:
    """One run: seconds, processor seconds, peak memory in bytes before results are read out, and the results."""
    if warm:
        PEERS[name](warm)
    wall, cpu = time.perf_counter(), time.process_time()
    read_out = PEERS[name](path)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"wall": wall, "cpu": cpu, "peak": peak, "results": results(read_out())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=PEERS)
    parser.add_argument("path", type=Path)
    parser.add_argument("--warm", type=Path)
    given = parser.parse_args()
    print(json.dumps(measure(given.name, given.path, given.warm)))
