"""How the rows of one event become rows of one table."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from pipelines.onchain.logs_raw import LINE
from pipelines.onchain.tables import ONCHAIN_TABLES


@dataclass(frozen=True)
class Builder:
    """One event's way into `table`.

    `build` gets a frame with the event's arguments by name (elements of a list as
    `name.0`, `name.1`, …), `address` and the columns of `PLACE`, and the length of
    the list. `prepare` may add columns that the others use; `refuse` are conditions
    under which a row is malformed, with the reason; `foreign` the condition under
    which it belongs to somebody else.
    """

    table: str
    build: Callable[[pl.DataFrame, int], pl.DataFrame]
    refuse: tuple[tuple[pl.Expr, str], ...] = ()
    foreign: pl.Expr | None = None
    prepare: Callable[[pl.DataFrame], pl.DataFrame] | None = None


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


def any_of(column: str, values: frozenset[bytes]) -> pl.Expr:
    """Whether a binary column equals one of a few values."""
    return pl.any_horizontal(pl.col(column) == pl.lit(value) for value in sorted(values))
