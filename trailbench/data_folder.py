"""`trailbench export --as huggingface`: a frozen release as a folder that dataset viewers and `datasets` read.

What leaves is every table of the release's manifest, whatever its track: a further track needs nothing here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.exports.data_card import UNKNOWN, WHOLE, BadLicense, Subset, dataset_card, license_fields
from pipelines.onchain.step_tables import EXPORTS as ONCHAIN_EXPORTS
from pipelines.schema import TABLES
from resources.export_folder import export_folder, refuse_foreign
from resources.home import Home
from resources.release_spec import ReleaseSpec, load_release
from trailbench.console import Steps
from trailbench.exporting import ExportError, release_key, rows_of, viewable

ROWS_A_FILE = 1_000_000
"""Rows of one Parquet file; the next ones go into the next file."""
SPLIT = "split"
"""Column that parts a table into splits, where it is of a fixed vocabulary."""
_OUTSIDE = {table: name for name, table in ONCHAIN_EXPORTS.items()}


def documents(home: Home, release: str) -> tuple[str, ReleaseSpec, dict[str, Any], dict[str, Any]]:
    """Partition key, specification, manifest and card of a frozen release. Raises `ExportError` when there is none."""
    key = release_key(home, release)
    name = home.store.document(f"specs/frozen/{key}.json")["release"]
    found = (home.store.document(f"releases/{name}/{what}.json") for what in ("manifest", "card"))
    return key, load_release(home.store.store, key), *found


def origin_of(spec: ReleaseSpec) -> dict[str, str]:
    """Where the rows of a release come from: source, declared mapping, and drops by their content."""
    named = {"mapping": str(spec.mapping["name"])} if spec.mapping.get("name") else {}
    return {"source": spec.source, **named, "drops": ", ".join(spec.drops)}


def checked_license(stated: str) -> str:
    """A license that a card can name. Raises `ExportError`."""
    try:
        license_fields(stated)
    except BadLicense as error:
        raise ExportError(str(error)) from error
    return stated


def write_data_folder(
    home: Home, release: str, to: Path, step: Steps, *, gold: bool = False, stated: str = UNKNOWN
) -> dict[str, Any]:
    """Write the tables of a release as sharded Parquet with a card; rows by table.

    Gold has a folder and configurations of its own, and is there only where `gold`; `stated` is the license.
    Raises `ExportError`, and `FolderRefused` for a folder that is not to be replaced.
    """
    refuse_foreign(to.absolute())
    key, spec, manifest, card = documents(home, checked_license(stated) and release)
    walls = ("store", "gold") if gold else ("store",)
    leaving = [
        table for wall in walls for table in TABLES if table in manifest["tables"] and TABLES[table].wall == wall
    ]
    step.expect(len(leaving) + 1)
    says = {"export": "huggingface", "release": manifest["release"], "content_hash": manifest["content_hash"]}
    with export_folder(to, says) as folder:
        subsets = []
        for table in leaving:
            step(f"table {table}")
            name = _OUTSIDE.get(table, table)
            subsets.append(_write_table(folder, name, table, rows_of(home, spec, key, table)))
        step("card")
        text = dataset_card(manifest, card, origin_of(spec), subsets, stated)
        (folder / "README.md").write_text(text, encoding="utf-8")
    rows = {one.config: sum(one.splits.values()) for one in subsets}
    return {"release": manifest["release"], "as": "huggingface", "folder": str(to), "rows": rows}


def _write_table(folder: Path, name: str, table: str, rows: pl.LazyFrame) -> Subset:
    """Write one table in its order, split by split."""
    columns = rows.collect_schema()
    named = columns.get(SPLIT)
    # Names of files come from a vocabulary, never from cells.
    splits = named.categories.to_list() if isinstance(named, pl.Enum) else []
    parts = {split: rows.filter(pl.col(SPLIT).cast(pl.String) == split) for split in splits} or {WHOLE: rows}
    made = viewable(pl.DataFrame(schema=columns)).schema
    types = {column: "Datetime" if isinstance(dtype, pl.Datetime) else str(dtype) for column, dtype in made.items()}
    subset = Subset(name, TABLES[table], {}, types)
    (folder / subset.folder).mkdir(parents=True)
    counts = {split: _write_split(folder / subset.folder, split, part) for split, part in parts.items()}
    return Subset(name, TABLES[table], counts, subset.columns)


def _write_split(folder: Path, split: str, rows: pl.LazyFrame) -> int:
    """Write rows as `<split>-00000-of-00003.parquet` and return their number; none at all is one empty file."""
    files = []
    count = 0
    for number, piece in enumerate(_pieces(rows)):
        count += piece.height
        files.append(folder / f".{split}-{number:05}")
        viewable(piece).write_parquet(files[-1], compression="zstd", statistics=True)
    for number, file in enumerate(files):
        file.rename(folder / f"{split}-{number:05}-of-{len(files):05}.parquet")
    return count


def _pieces(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Rows in frames of `ROWS_A_FILE`, whatever batches the engine hands out; at least one frame."""
    held = pl.DataFrame(schema=rows.collect_schema())
    for batch in rows.collect_batches(chunk_size=ROWS_A_FILE, maintain_order=True):
        held = pl.concat([held, batch])
        while held.height > ROWS_A_FILE:
            yield held.head(ROWS_A_FILE).rechunk()
            held = held.slice(ROWS_A_FILE)
    yield held.rechunk()
