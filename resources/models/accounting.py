"""The account of model calls: one row for every call of a scope, made or answered from the cache."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from pipelines.models import REPLY_STATUSES
from pipelines.tables import Column, Table
from resources.models.settings import PARTS

MODEL_CALLS = Table(
    "Calls of language and embedding models.",
    {
        "scope": Column(pl.String, "what the calls were made for, by its fingerprint"),
        "unit": Column(pl.String, "what the call was for inside the scope"),
        "role": Column(pl.Enum(PARTS), "builder | reader | judge | profile | embedding"),
        "endpoint": Column(pl.String, "base URL or name of the endpoint"),
        "model": Column(pl.String, "model name"),
        "key": Column(pl.String, "hash of role, endpoint, model, messages, parameters, schema and attempt"),
        "prompt": Column(pl.String, "hash of the messages"),
        "status": Column(pl.Enum(REPLY_STATUSES), "ok | empty | truncated | refused | failed"),
        "cached": Column(pl.Boolean, "whether the scope made no call for it: tokens, cost and latency are the first's"),
        "prompt_tokens": Column(pl.Int64, "tokens sent", "tokens"),
        "reply_tokens": Column(pl.Int64, "tokens received", "tokens"),
        "latency_ms": Column(pl.Float64, "time from the last try to its reply", "ms"),
        "retries": Column(pl.Int64, "tries after the first"),
        "cost": Column(pl.Int64, "by the price table; null for a model unknown to it", "10⁻⁹ USD", nullable=True),
        "conceded": Column(pl.String, "parameters left out because the endpoint does not know them, by comma"),
        "error": Column(pl.String, "class of the error of the last try; empty when there was none"),
    },
    key=("scope", "key"),
    order=("scope", "role", "unit", "key"),
    may_be_empty="a scope may ask nothing",
)


class CallRow(NamedTuple):
    """One row of `MODEL_CALLS`, in the order of its columns."""

    scope: str
    unit: str
    role: str
    endpoint: str
    model: str
    key: str
    prompt: str
    status: str
    cached: bool
    prompt_tokens: int = 0
    reply_tokens: int = 0
    latency_ms: float = 0.0
    retries: int = 0
    cost: int | None = None
    conceded: str = ""
    error: str = ""


def paid_scope(scope: str, payer: str) -> str:
    """The scope under which the calls of `scope` that `payer` made itself are filed once more."""
    return f"{scope} paid by {payer}"


COLUMNS = CallRow._fields
_REALS = {"cost": "cost INTEGER", "latency_ms": "latency_ms REAL NOT NULL"}
_NUMBERS = ("cached", "prompt_tokens", "reply_tokens", "retries")
CREATE = f"""CREATE TABLE IF NOT EXISTS calls (
    {", ".join(_REALS.get(c, f"{c} {'INTEGER' if c in _NUMBERS else 'TEXT'} NOT NULL") for c in COLUMNS)},
    PRIMARY KEY (scope, key)) WITHOUT ROWID"""
# A hit changes no row of the scope, unless that call had failed. A call made again adds to what was spent on it.
WRITE = f"""INSERT INTO calls ({", ".join(COLUMNS)}) VALUES ({", ".join("?" * len(COLUMNS))})
    ON CONFLICT (scope, key) DO UPDATE SET
        status = excluded.status, cached = excluded.cached, error = excluded.error, conceded = excluded.conceded,
        prompt_tokens = prompt_tokens + excluded.prompt_tokens, reply_tokens = reply_tokens + excluded.reply_tokens,
        latency_ms = excluded.latency_ms, retries = retries + excluded.retries + (NOT excluded.cached),
        cost = cost + excluded.cost
    WHERE NOT excluded.cached OR status NOT IN ('ok', 'truncated')"""
READ = f"SELECT {', '.join(COLUMNS)} FROM calls WHERE scope = ?"


def calls_frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Rows of the account as table `MODEL_CALLS`, in its total order."""
    schema = MODEL_CALLS.schema
    read = {**schema, "cached": pl.Int64()}
    frame = pl.DataFrame(rows, schema=pl.Schema(read), orient="row")
    return frame.cast({"cached": pl.Boolean}).sort(MODEL_CALLS.sort_by)
