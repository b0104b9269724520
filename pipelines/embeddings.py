"""What a domain step may ask of an embedding model, and cosines that come out the same everywhere (ours).

Unit vectors are set on a grid of 2⁻²⁴, on which every product and partial sum is exact
in double precision, so that no matrix library, thread count or batch shape can change
a digit.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

GRID = float(1 << 24)

Grid = np.ndarray[tuple[int, int], np.dtype[np.int32]]
"""One unit vector a row, in multiples of 1 / `GRID`."""


class Embedder(Protocol):
    """Turns texts into unit vectors, the same ones on every machine."""

    @property
    def fingerprint(self) -> str:
        """Hash of the weights."""

    def embed(self, texts: Sequence[str]) -> "np.typing.NDArray[np.float32]":
        """One row a text."""


def on_grid(embedder: Embedder, texts: Sequence[str]) -> Grid:
    """The texts' vectors on the grid, one row a text."""
    rounded: Grid = np.rint(np.asarray(embedder.embed(texts), dtype=np.float64) * GRID).astype(np.int32)
    return rounded


def best_cosines(asked: Grid, said: Grid) -> "np.typing.NDArray[np.float64]":
    """For each row of `asked` its highest cosine with a row of `said` (at least one), exactly."""
    products = asked.astype(np.float64) @ said.astype(np.float64).T
    best: np.typing.NDArray[np.float64] = products.max(axis=1) / (GRID * GRID)
    return best
