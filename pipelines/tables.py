"""What a published table is: its columns with type, unit and meaning, its key and order, and which store holds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

TIME = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class Column:
    """One column of a published table."""

    dtype: pl.DataType | type[pl.DataType]
    meaning: str
    unit: str = ""
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """One published table.

    `key` identifies a row; `order` is the total order in which rows are stored
    and hashed (equal to `key` unless stated). `wall` says which of the two
    stores holds it: what a method's input is made from (`store`) or what only
    scoring may read (`gold`).
    """

    meaning: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    order: tuple[str, ...] = ()
    wall: Literal["store", "gold"] = "store"
    may_be_empty: str = ""
    """Why zero rows are legal; empty text means that an empty table is a fault."""

    @property
    def schema(self) -> pl.Schema:
        """Column name → Polars type, in stored order."""
        return pl.Schema({name: column.dtype for name, column in self.columns.items()})

    @property
    def sort_by(self) -> list[str]:
        """Columns of the total order."""
        return list(self.order or self.key)

    @property
    def user_axis(self) -> str:
        """Column that names the user a row belongs to (`user_id`, or `wallet` as 20 bytes); empty where none does."""
        return next((name for name in ("user_id", "wallet") if name in self.columns), "")

    def empty(self) -> pl.DataFrame:
        """A frame with the columns of the table and no rows."""
        return pl.DataFrame(schema=self.schema)
