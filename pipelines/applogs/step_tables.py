"""The tables between a drop of app logs and a release, and what of the track the store holds.

A drop has one table `applog_drop_…` for each table of the release that its files bring; what only scoring may
read goes to the gold store at that door already.
"""

from dataclasses import replace

import polars as pl

from pipelines.applogs.tables import APPLOG_TABLES, FAMILY
from pipelines.commerce.tables import COMMERCE_TABLES
from pipelines.tables import TIME, Column, Table

DROPPED = "applog_drop_"
"""Prefix of the tables of a drop."""
_BUCKET = Column(pl.UInt8, "bucket of the user: keyed hash of its text, modulo 256")
_USER = APPLOG_TABLES["app_logs"].columns["user_id"]
_KEY = APPLOG_TABLES["state_intervals"].columns["state_key"]
_ANCHORS = Table(
    "Where a task pack says that its checkpoints lie, before they are held against the log.",
    {
        "user_id": _USER,
        "checkpoint_id": APPLOG_TABLES["checkpoints"].columns["checkpoint_id"],
        "log_index": Column(pl.Int64, "last visible log, from 0", nullable=True),
        "app_log_id": Column(pl.String, "id of that log", nullable=True),
        "as_of": Column(TIME, "moment that questions are about", "µs"),
    },
    key=("user_id", "checkpoint_id"),
)
_MOMENTS = Table(
    "When a form or a search that a state fills is wanted; the names of its fields say nothing of the state.",
    {
        "user_id": _USER,
        "state_key": _KEY,
        "scenario": Column(pl.String, "the moment, in words"),
        "slots": Column(pl.String, "JSON: name of the service's field → path of the value's field"),
    },
    key=("user_id", "state_key"),
    wall="gold",
)
BROUGHT: dict[str, Table] = {
    "app_logs": APPLOG_TABLES["app_logs"],
    "anchors": _ANCHORS,
    "tasks": APPLOG_TABLES["tasks"],
    **{name: APPLOG_TABLES[name] for name in ("gold_items", "gold_parts", "gold_states", "gold_records")},
    **{name: APPLOG_TABLES[name] for name in ("state_intervals", "state_changes", "state_evidence")},
    "state_moments": _MOMENTS,
}
"""What the files of a drop bring, by the name it has in a release; `anchors` become `checkpoints`."""
DROP_TABLES = tuple(f"{DROPPED}{name}" for name in BROUGHT)
"""Tables of a drop."""
_ALL = {
    **{name: one for name, one in BROUGHT.items() if name != "anchors"},
    "checkpoints": APPLOG_TABLES["checkpoints"],
}
RELEASED = tuple(_ALL)
"""Tables of a release that lie in shards."""


def _of_drop(name: str, table: Table) -> Table:
    return replace(
        table,
        meaning=f"What one drop brings for `{name}`. {table.meaning}",
        columns={"bucket": _BUCKET, **table.columns},
        may_be_empty="a drop need not bring logs, nor gold",
    )


def _of_release(table: Table) -> Table:
    return replace(table, may_be_empty="a shard may hold no user, and a user no gold")


STEP_TABLES: dict[str, Table] = {
    **{f"{DROPPED}{name}": _of_drop(name, table) for name, table in BROUGHT.items()},
    "state_keys": Table(
        "Every state that is ever true of any user of the release: where states that never were true come from.",
        {
            "state_key": _KEY,
            "family": Column(FAMILY, "family of the state"),
            "n_users": Column(pl.Int32, "users that it is ever true of", "users"),
        },
        key=("state_key",),
        wall="gold",
        may_be_empty="task packs bring no timelines",
    ),
    "applog_funnel": replace(
        COMMERCE_TABLES["funnel"],
        meaning="What of users, logs and states went in, stayed and left at every step, by reason.",
    ),
}
PUBLISHED: dict[str, Table] = {**{name: _of_release(table) for name, table in _ALL.items()}, **STEP_TABLES}
"""Every table from a drop to a release that the store holds."""
HASHED = ("app_logs", "checkpoints", "tasks", "gold_items", "gold_parts", "gold_states")
"""Tables whose logical hashes name a release."""
