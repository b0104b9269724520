"""One drop of app logs → its tables: what a memory may know on one side, what is true on the other."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pipelines.applogs.app_logs import read_app_logs
from pipelines.applogs.drop_files import LOGS, PACK, TIMELINES, tell_apart
from pipelines.applogs.packs import read_pack
from pipelines.applogs.step_tables import BROUGHT, DROPPED, STEP_TABLES
from pipelines.applogs.timelines import read_timeline
from pipelines.hashing import bucket_column


def read_drop(paths: Sequence[Path]) -> dict[str, pl.DataFrame]:
    """Tables `DROP_TABLES` of the files of a drop. Raises `SourceError` naming user, file, place and remedy."""
    found: dict[str, list[pl.DataFrame]] = {name: [table.empty()] for name, table in BROUGHT.items()}
    for file in tell_apart(paths):
        data = file.path.read_bytes()
        if file.name == LOGS:
            found["app_logs"].append(read_app_logs(data, file.label, file.user_id))
        elif file.name == PACK:
            pack = read_pack(data, file.label, file.user_id)
            for name in ("items", "parts", "states", "records"):
                found[f"gold_{name}"].append(getattr(pack.gold, name))
            found["tasks"].append(pack.questions)
            found["anchors"].append(pack.anchors)
        else:
            table = TIMELINES[file.name]
            found[table].append(read_timeline(data, file.label, file.user_id, table))
    return {f"{DROPPED}{name}": _placed(f"{DROPPED}{name}", pl.concat(parts)) for name, parts in found.items()}


def _placed(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    spec = STEP_TABLES[table]
    placed = rows.with_columns(bucket_column(rows["user_id"]))
    return placed.select(pl.col(name).cast(dtype) for name, dtype in spec.schema.items()).sort(spec.sort_by)
