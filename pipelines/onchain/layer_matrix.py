"""The units of a board's layer as matrices: targets are rows, in the order of wallets, and methods columns (ours)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.evaluation.intervals import Matrix
from pipelines.onchain.baselines import RULE
from pipelines.onchain.board_tables import STATUSES
from pipelines.onchain.ordering import Bools, Ints, codes, starts_of
from pipelines.onchain.scores import LAYERS, Layer

_UNIT = ["wallet", "event"]


@dataclass(frozen=True)
class LayerMatrix:
    """One layer of one board. NaN where a method has no usable answer; `wallet` counts from 0 and rises."""

    board: str
    layer: Layer
    methods: tuple[str, ...]
    readers: tuple[str, ...]
    targets: pl.DataFrame
    """wallet, event, action of every row."""
    wallet: Ints
    n_wallets: int
    correct: Matrix
    error: Matrix
    error_all: Matrix
    status: npt.NDArray[np.int64]
    """Place in `STATUSES`."""

    def rows(self, kept: Bools) -> "LayerMatrix":
        """The part with these targets; its wallets are counted anew."""
        own = self.targets.filter(pl.Series(kept))
        wallets, wallet = codes(own["wallet"])
        return replace(
            self,
            targets=own,
            wallet=wallet,
            n_wallets=len(wallets),
            correct=self.correct[kept],
            error=self.error[kept],
            error_all=self.error_all[kept],
            status=self.status[kept],
        )

    def by_wallet(self, values: Matrix) -> Matrix:
        """Sums of the rows of each wallet."""
        if not len(values):
            return np.zeros((0, values.shape[1]))
        return np.add.reduceat(values, starts_of(self.wallet)[:-1], axis=0)


def layer_matrices(units: pl.DataFrame) -> Iterator[LayerMatrix]:
    """Each layer of each board of `prediction_units`: a reader's methods, with all baselines beside them.

    Where nobody but baselines answered they make the board `rule`. Raises `ValueError` when a method of a board
    has a unit twice, or other units than the rest.
    """
    named = units.with_columns(pl.col("layer").cast(pl.String))
    readers = named.filter(pl.col("reader") != RULE)["reader"].unique().sort().to_list() or [RULE]
    for board in readers:
        mine = named.filter(pl.col("reader").is_in([board, RULE]))
        for layer in LAYERS:
            part = mine.filter(pl.col("layer") == layer).sort("method", "reader", *_UNIT)
            if part.height:
                yield _matrix(board, layer, part)


def _matrix(board: str, layer: Layer, part: pl.DataFrame) -> LayerMatrix:
    frozen = part.select(_UNIT).n_unique()
    counts = part.group_by("method", "reader").agg(pl.len(), pl.struct(_UNIT).n_unique().alias("distinct"))
    counts = counts.sort("method", "reader")
    for method, _, rows, distinct in counts.iter_rows():
        if rows != distinct:
            raise ValueError(f"board {board}, {layer}: method {method} has {rows - distinct} units twice")
        if distinct != frozen:
            raise ValueError(
                f"board {board}, {layer}: method {method} has {distinct} of {frozen} units; score it again"
            )
    shape = (counts.height, frozen)

    def matrix(column: pl.Expr) -> Matrix:
        values = part.select(column.cast(pl.Float64).fill_null(np.nan)).to_series().to_numpy()
        return np.ascontiguousarray(values.reshape(shape).T)

    targets = part.head(frozen).select(*_UNIT, pl.col("action").cast(pl.String))
    wallets, wallet = codes(targets["wallet"])
    status = part["status"].replace_strict(list(STATUSES), list(range(len(STATUSES))), return_dtype=pl.Int64)
    return LayerMatrix(
        board,
        layer,
        tuple(counts["method"]),
        tuple(counts["reader"]),
        targets,
        wallet,
        len(wallets),
        matrix(pl.col("correct")),
        matrix(pl.col("error")),
        matrix(pl.col("error_all")),
        status.to_numpy().reshape(shape).T,
    )
