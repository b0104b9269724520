"""`trailbench export`: the rows of a frozen release, one table as CSV or Parquet."""

from pathlib import Path

import polars as pl

from pipelines.onchain.ids import decimal_text, hex_text
from pipelines.onchain.step_tables import EXPORTS as ONCHAIN_EXPORTS
from pipelines.schema import TABLES
from resources.home import Home
from resources.release_files import frozen_releases
from resources.release_spec import ReleaseSpec, load_release
from resources.store import StoreError

EXPORTS: dict[str, tuple[str, ...]] = {
    "visits": (
        *("user_id", "visit_index", "start", "end", "item_id", "l1", "l2", "brand", "n_click", "n_browse"),
        *("n_favourite", "n_cart", "n_purchase", "dwell_seconds"),
    ),
    "batches": ("user_id", "batch_index", "start", "end", "n_visits", "closed"),
    "transitions": (),
    "positives": (),
    "pools": (),
    "pool_gold": (),
    "pool_counts": (),
    "cohort": (),
    "taxonomy": (),
    "domains": (),
    "rejects": (),
    "funnel": (),
}
"""Table → columns that leave; no columns means all of them."""


class ExportError(ValueError):
    """An export that cannot be made; names the remedy."""


def release_key(home: Home, name: str) -> str:
    """Partition key behind a release name, or behind a partition key itself. Raises `ExportError`."""
    for path in (f"releases/{name}/key.json", f"specs/release/{name}.json"):
        try:
            document = home.store.document(path)
        except (StoreError, ValueError):
            continue
        return str(document["key"]) if path.startswith("releases/") else name
    raise ExportError(f"no release {name!r} in {home.folder}; {_there(frozen_releases(home.store.store))}")


def only_release(home: Home) -> str:
    """Name of the one release of a home folder. Raises `ExportError` when there is none, or a choice."""
    names = frozen_releases(home.store.store)
    if len(names) == 1:
        return names[0]
    raise ExportError(f"name a release of {home.folder}; {_there(names)}")


def _there(names: list[str]) -> str:
    if not names:
        return "there is none yet; run `trailbench build`"
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"


def exported(home: Home, release: str, table: str, gold: bool) -> pl.LazyFrame:
    """Rows of a table of a release, users of the cohort only. Raises `ExportError`."""
    key = release_key(home, release)
    spec = load_release(home.store.store, key)
    names = _names(home, spec.track, key)
    if table not in names:
        raise ExportError(f"no table {table!r} to export; tables are {', '.join(names)}")
    if TABLES[names[table]].wall == "gold" and not gold:
        raise ExportError(f"{table} is gold: what only scoring may read; add --gold if you mean it")
    return rows_of(home, spec, key, names[table])


def _names(home: Home, track: str, key: str) -> dict[str, str]:
    """Name outside → table. On the chain, `funnel` is that of the cohort, `rejects` those of the logs; a track without
    names of its own gives every table of its manifest.
    """
    if track == "onchain":
        return ONCHAIN_EXPORTS
    if track == "commerce":
        return {name: name for name in EXPORTS}
    release = home.store.document(f"specs/frozen/{key}.json")["release"]
    return {name: name for name in home.store.document(f"releases/{release}/manifest.json")["tables"]}


def rows_of(home: Home, spec: ReleaseSpec, key: str, table: str) -> pl.LazyFrame:
    """Rows of a table behind a release, in its total order, in the columns that leave; of visits and batches those of
    the cohort. Rows of a table of drops name their drop.
    """
    catalog, order = home.gold if TABLES[table].wall == "gold" else home.store, TABLES[table].sort_by
    if catalog.stands(table, {"release": key}):
        rows = catalog.scan(table, {"release": key})
    elif catalog.stands(table, {"release": key, "shard": home.shards[0]}):
        rows = catalog.scan(table, {"release": key}, home.shards)
    else:
        rows = pl.concat([catalog.scan(table, {"drop": drop}).with_columns(drop=pl.lit(drop)) for drop in spec.drops])
        order = ["drop", *order]
    if table in ("visits", "batches"):
        kept = home.store.scan("cohort", {"release": key}, home.shards).filter(pl.col("reason") == "")
        rows = rows.join(kept.select("user_id"), on="user_id", how="semi")
    return rows.sort(order, maintain_order=True).select(EXPORTS.get(table) or pl.all())


def write(rows: pl.LazyFrame, to: Path) -> int:
    """Write rows to `to` (.csv or .parquet) and return their number.

    In CSV times are ISO-8601 UTC, token ids decimal text, other bytes hex text with 0x, and a list is its JSON.

    The file appears whole or not at all. Raises `ExportError` for another ending.
    """
    part = to.with_name(f".{to.name}.partial")
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        if to.suffix == ".parquet":
            rows.sink_parquet(part, compression="zstd")
            count = pl.scan_parquet(part).select(pl.len()).collect().item()
        elif to.suffix == ".csv":
            frame = rows.collect()
            pl.DataFrame([_text(column) for column in frame]).write_csv(part)
            count = frame.height
        else:
            raise ExportError(f"{to}: the file must end in .csv or .parquet")
        part.replace(to)
    finally:
        part.unlink(missing_ok=True)
    return int(count)


def viewable(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows as a viewer shows them: ids and hashes as text, as in CSV; words of a vocabulary as plain text."""
    columns = {column.name: _text(column) if column.dtype == pl.Binary else _items(column) for column in frame}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Enum).cast(pl.String))


def _text(column: pl.Series) -> pl.Series:
    """A column as CSV holds it."""
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.to_string("%Y-%m-%dT%H:%M:%S%.fZ")
    if isinstance(column.dtype, pl.Binary):
        return decimal_text(column) if column.name == "token_id" else _hex(column)
    if isinstance(column.dtype, pl.List):
        # JSON of a struct of one field is {"v":…}: the list stands between.
        listed = pl.struct(_items(column).alias("v")).struct.json_encode().str.slice(5).str.head(-1)
        shown = column.to_frame().select(pl.when(pl.col(column.name).is_not_null()).then(listed))
        return shown.to_series().rename(column.name)
    return column


def _hex(column: pl.Series) -> pl.Series:
    return column.to_frame().select(hex_text(pl.col(column.name)).alias(column.name)).to_series()


def _items(column: pl.Series) -> pl.Series:
    """A list column with its bytes as text; null lists as empty ones."""
    if not isinstance(column.dtype, pl.List) or not isinstance(column.dtype.inner, pl.Binary):
        return column
    rows = pl.DataFrame({"v": column}).with_row_index("row")
    inside = rows.explode("v", empty_as_null=False, keep_nulls=False)
    texts = decimal_text(inside["v"]) if column.name == "token_ids" else _hex(inside["v"])
    lists = inside.select("row", texts.alias("v")).group_by("row", maintain_order=True).agg("v")
    return rows.select("row").join(lists, on="row", how="left", maintain_order="left")["v"].fill_null([])
