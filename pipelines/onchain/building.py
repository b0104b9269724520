"""How the rows of one event become rows of one table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from pipelines.onchain.buffers import Flags
from pipelines.onchain.logs_raw import LINE
from pipelines.onchain.tables import ONCHAIN_TABLES


@dataclass(frozen=True)
class Builder:
    """One event's way into `table`.

    `build` gets a frame with the event's arguments by name (elements of a list as
    `name.0`, `name.1`, …), `address` and the columns of `PLACE`, and the length of
    the list. `refuse` are conditions under which a row is malformed, with the reason;
    `foreign` the condition under which it belongs to somebody else.

    An event with a `walk` needs no `build`: that makes the rows of `table` out of the
    logs themselves, and says which of them are sound. The others are read like those
    of any event, and refused.
    """

    table: str
    build: Callable[[pl.DataFrame, int], pl.DataFrame] | None = None
    refuse: tuple[tuple[pl.Expr, str], ...] = ()
    foreign: pl.Expr | None = None
    walk: Callable[[pl.DataFrame], tuple[pl.DataFrame, Flags]] | None = None


def shaped(frame: pl.DataFrame, table: str, *columns: pl.Expr) -> pl.DataFrame:
    """The columns of `table`, from `columns` or of the same name in the frame, null where neither; and `__line`."""
    given = {column.meta.output_name(): column for column in columns}
    schema = ONCHAIN_TABLES[table].schema
    return frame.select(
        *(
            (given[name] if name in given else pl.col(name) if name in frame.columns else pl.lit(None))
            .cast(dtype)
            .alias(name)
            for name, dtype in schema.items()
        ),
        LINE,
    )


def joined(table: str, columns: Sequence[pl.Series], logs: pl.DataFrame) -> pl.DataFrame:
    """The columns of `table`, from `columns` or of the same name in the logs, null where neither; and `__line`."""
    given = {column.name: column for column in (*logs, *columns)}
    absent = {
        name: pl.Series(name, [None], dtype).new_from_index(0, logs.height)
        for name, dtype in ONCHAIN_TABLES[table].schema.items()
        if name not in given
    }
    return pl.DataFrame([(given | absent)[name] for name in (*ONCHAIN_TABLES[table].columns, LINE)])


def any_of(column: str, values: frozenset[bytes]) -> pl.Expr:
    """Whether a binary column equals one of a few values."""
    return pl.any_horizontal(pl.col(column) == pl.lit(value) for value in sorted(values))
