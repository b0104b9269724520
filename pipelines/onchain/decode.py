"""Rows of `logs` → rows of the tables of events, each log exactly once (design step 2).

A log belongs to an event when its topic 0 and its address do; everything else is
foreign. Of an event, a log either decodes exactly or is refused with its reason.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from pipelines.commerce.reading import RAW_LIMIT
from pipelines.onchain import conditions, position_changes, trades, words
from pipelines.onchain.abi import EVENTS, TAILS, Event, Word, layout
from pipelines.onchain.buffers import column
from pipelines.onchain.building import Builder, any_of
from pipelines.onchain.logs_raw import LINE

BUILDERS: dict[str, Builder] = {**trades.BUILDERS, **position_changes.BUILDERS, **conditions.BUILDERS}
"""By event; an event without builder is checked and counted, and enters no table."""

REFUSED = pl.Schema(
    {
        "line": pl.Int64,
        "reason": pl.String,
        "event": pl.String,
        "raw": pl.String,
        "block_number": pl.Int64,
        "log_index": pl.Int32,
    }
)
_NONE = pl.DataFrame(schema=REFUSED)
COUNTS = pl.Schema({"outcome": pl.String, "event": pl.String, "rows": pl.Int64})
_WRONG = {
    "address": "is no address",
    "amount": "is 2^63 or more",
    "bit": "is neither 0 nor 1",
    "constant": "has another offset or length than its encoding",
    "length": "has another length than its encoding",
}


@dataclass(frozen=True)
class Decoded:
    """Tables by name (with `__line`), refused logs (`REFUSED`), and the number of logs by outcome and event (`COUNTS`).

    Outcomes are `trade`, `other`, `reject` and `foreign`. `of_pools` are logs that were left for later.
    """

    tables: dict[str, pl.DataFrame]
    refused: pl.DataFrame
    counts: pl.DataFrame
    of_pools: pl.DataFrame


def decode(logs: pl.DataFrame, pools: Collection[bytes] | None = ()) -> Decoded:
    """Decode logs; `pools` are the addresses of the pools that belong to the protocol.

    With None, which says that they are not known yet, logs of pools are left for later.
    Raises `AssertionError` when a log would be lost or counted twice.
    """
    parts: dict[str, list[pl.DataFrame]] = {}
    refused: list[pl.DataFrame] = []
    counts: Counter[tuple[str, str]] = Counter()
    foreign = 0
    of_pools = [logs.clear()]
    for event, rows in by_event(logs):
        if event is None:
            foreign += rows.height
            continue
        if pools is None and not event.contracts:
            of_pools.append(rows)
            continue
        ours = _emitted(rows, event, pools or ())
        counts["foreign", event.name] += rows.height - ours.height
        builder = BUILDERS.get(event.name)
        decoded = 0
        if builder and builder.walk:
            rows, sound = builder.walk(ours)
            parts.setdefault(builder.table, []).append(rows)
            decoded = rows.height
            ours = ours.clear() if sound.all() else ours.filter(pl.Series(~sound))
        for frame, size, bad in read_event(event, ours) if ours.height else ():
            refused.append(bad)
            counts["reject", event.name] += bad.height
            if frame is None:
                continue
            if builder is None:
                decoded += frame.height
                continue
            if builder.foreign is not None:
                kept = frame.filter(~builder.foreign)
                counts["foreign", event.name] += frame.height - kept.height
                frame = kept
            frame, bad = _refuse(event, frame, size, builder)
            refused.append(bad)
            counts["reject", event.name] += bad.height
            if builder.build is None:
                assert frame.is_empty(), f"{event.name}: a log is sound, and its walk said it is not"
                continue
            decoded += frame.height
            parts.setdefault(builder.table, []).append(builder.build(frame, size))
        outcome = "trade" if event.name.startswith("order_filled") else "other"
        counts[outcome, event.name] += decoded
    counts["foreign", ""] += foreign
    later = pl.concat(of_pools)
    assert counts.total() + later.height == logs.height, "a log was lost or counted twice"
    counted = sorted((*of, n) for of, n in counts.items() if n)
    return Decoded(
        {name: frames[0] if len(frames) == 1 else pl.concat(frames) for name, frames in parts.items()},
        _joined(refused),
        pl.DataFrame(counted, schema=COUNTS, orient="row"),
        later,
    )


def _joined(refused: Sequence[pl.DataFrame]) -> pl.DataFrame:
    some = [part for part in refused if part.height]
    return pl.concat(some) if some else _NONE


def by_event(logs: pl.DataFrame) -> Iterator[tuple[Event | None, pl.DataFrame]]:
    """Logs by the event that their topic 0 names; None where it names none."""
    codes = words.find(logs["topic0"], [event.topic0 for event in EVENTS])
    distinct = _distinct(codes)
    for code in distinct:
        rows = logs if len(distinct) == 1 else logs.filter(pl.Series(codes == code))
        yield None if code < 0 else EVENTS[code], rows


def of_protocol(logs: pl.DataFrame) -> pl.Series:
    """Whether a log is of an event and from a contract of the protocol, or of a pool event."""
    ours = pl.lit(False)
    for event in EVENTS:
        of_event = pl.col("topic0") == pl.lit(event.topic0)
        ours |= of_event & any_of("address", event.contracts) if event.contracts else of_event
    return logs.select(ours.fill_null(False).alias("ours")).to_series()


def _emitted(rows: pl.DataFrame, event: Event, pools: Collection[bytes]) -> pl.DataFrame:
    emitters = event.contracts or frozenset(pools)
    if len(emitters) > 32:
        return rows.filter(pl.col("address").is_in(pl.Series(sorted(emitters), dtype=pl.Binary).implode()))
    ours = words.find(rows["address"], sorted(emitters)) >= 0
    return rows if ours.all() else rows.filter(pl.Series(ours))


def read_event(event: Event, rows: pl.DataFrame) -> Iterator[tuple[pl.DataFrame | None, int, pl.DataFrame]]:
    """Arguments of the logs of one event, one frame a length of its lists, with that length; and what is refused."""
    rows, bad = _with_topics(event, rows)
    yield None, 0, bad
    data = column(rows["data"])
    alike = data.all_of(int(data.lengths[0])) if rows.height else True
    for n_bytes in _distinct(data.lengths[:1] if alike else data.lengths):
        part = rows if alike else rows.filter(pl.Series(data.lengths == n_bytes))
        words_ = layout(event, n_bytes // 32) if n_bytes % 32 == 0 else None
        if words_ is None:
            fault = f"data has {n_bytes} bytes, not {_expected(event)}"
            yield None, 0, _refused(event, part, pl.lit(fault))
            continue
        columns, failed = words.read_words(part["data"], words_)
        part = part.hstack(columns)
        if failed.any():
            faults = np.array(["", *(f"{word.name} {_WRONG.get(word.kind, '')}" for word in words_)], object)
            fine = pl.Series(failed == 0)
            reasons = pl.Series("reason", faults[failed[failed > 0]].tolist(), pl.String)
            bad = _refused(event, part.filter(~fine), pl.lit(reasons))
            part = part.filter(fine)
        else:
            bad = _NONE
        yield part, _list_length(event, words_), bad


def _with_topics(event: Event, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows with the right topics and their indexed arguments; and the refused ones."""
    n_topics = 1 + len(event.indexed)
    wrong = np.zeros(rows.height, np.bool_)
    for i in range(1, 4):
        missing = rows[f"topic{i}"].is_null()
        if (i < n_topics and missing.any()) or (i >= n_topics and not missing.all()):
            wrong |= (missing if i < n_topics else ~missing).to_numpy()
    refused = [_NONE]
    if wrong.any():
        found = 1 + pl.sum_horizontal(pl.col(f"topic{i}").is_not_null().cast(pl.Int8) for i in range(1, 4))
        reason = pl.concat_str(found.cast(pl.String), pl.lit(f" topics, not {n_topics}"))
        refused.append(_refused(event, rows.filter(pl.Series(wrong)), reason))
        rows = rows.filter(pl.Series(~wrong))
    for i, argument in enumerate(event.indexed, 1):
        if argument.kind in ("bytes32", "uint256"):
            rows = rows.hstack([rows[f"topic{i}"].alias(argument.name)])
            continue
        columns, failed = words.read_words(rows[f"topic{i}"], [Word(argument.name, argument.kind)])  # type: ignore[arg-type]
        rows = rows.hstack(columns)
        if failed.any():
            bad = pl.Series(failed > 0)
            fault = f"topic {i} ({argument.name}) {_WRONG[argument.kind]}"
            refused.append(_refused(event, rows.filter(bad), pl.lit(fault)))
            rows = rows.filter(~bad)
    return rows, _joined(refused)


def _distinct(values: "np.typing.NDArray[np.integer]") -> list[int]:
    """Distinct values, ascending."""
    if not len(values) or values.min() == values.max():
        return [int(value) for value in values[:1]]
    return [int(value) for value in np.unique(values)]


def _list_length(event: Event, layout_: Sequence[Word]) -> int:
    tail = next((argument.name for argument in event.data if argument.kind in TAILS), None)
    return sum(word.name.startswith(f"{tail}.") for word in layout_)


def _refuse(event: Event, frame: pl.DataFrame, size: int, builder: Builder) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Set aside rows that decode but cannot mean what they say."""
    conditions_ = list(builder.refuse)
    if event.name == "condition_resolution":
        conditions_.append((pl.col("outcomes") != size, f"{size} numerators for another number of outcomes"))
    if event.name == "pool_creation":
        conditions_.append((pl.lit(size != 1), f"a pool over {size} conditions"))
    refused = [_NONE]
    if frame.is_empty():
        return frame, refused[0]
    for condition, reason in conditions_:
        bad = frame.select(condition.alias("bad")).to_series()
        if bad.len() == 1 < frame.height:
            bad = bad.new_from_index(0, frame.height)
        if bad.any():
            refused.append(_refused(event, frame.filter(bad), pl.lit(reason)))
            frame = frame.filter(~bad)
    return frame, _joined(refused)


def _refused(event: Event, rows: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    return rows.select(
        pl.col(LINE).alias("line"),
        reason.alias("reason"),
        pl.lit(event.name).alias("event"),
        pl.concat_str(pl.lit("0x"), pl.col("data").bin.slice(0, RAW_LIMIT // 2 - 1).bin.encode("hex")).alias("raw"),
        "block_number",
        "log_index",
    ).cast(REFUSED)


def _expected(event: Event) -> str:
    if any(argument.kind in TAILS for argument in event.data):
        return "that of its lists"
    return str(32 * len(event.data))
