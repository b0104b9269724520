"""The files of a synthetic user: the log as published, and apart from it, as JSON lines, what is true."""

from dataclasses import dataclass

import polars as pl

from pipelines.applogs.drop_files import LOGS
from pipelines.applogs.synthesis.trajectories import Trajectory, log_file
from pipelines.tables import TIME


@dataclass(frozen=True)
class UserFiles:
    """Bytes by name of file: what a memory may know, and what only scoring may read."""

    logs: dict[str, bytes]
    gold: dict[str, bytes]


def user_files(made: Trajectory) -> UserFiles:
    """The files of a user as `reading_drop.read_drop` reads them."""
    gold = {
        "state_intervals": made.intervals,
        "state_changes": made.changes,
        "state_evidence": made.evidence,
        "state_moments": made.moments,
    }
    return UserFiles({LOGS: log_file(made)}, {f"{name}.jsonl": _lines(rows) for name, rows in gold.items()})


def _lines(rows: pl.DataFrame) -> bytes:
    """Rows without their user, whom the folder names; times as the log writes them."""
    times = [name for name, dtype in rows.schema.items() if dtype == TIME]
    text = rows.drop("user_id").with_columns(pl.col(times).dt.strftime("%Y-%m-%d %H:%M:%S"))
    return text.write_ndjson().encode()
