"""`claims`: what memories that can tell it claim after every batch, and by which visits (ours)."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from pipelines.memory.contract import Claim
from pipelines.schema import TABLES

_MOMENTS = ("formed", "supported")


class Claimed:
    """Gathers the claims that `replay` tells, one call a transition."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def __call__(self, user: str, transition: int, claims: Sequence[Claim]) -> None:
        """Note the claims of a user at a transition."""
        self._rows += [
            (user, transition, one.id, one.line, one.state, one.confidence, list(one.visits), one.formed, one.supported)
            for one in claims
        ]

    def table(self) -> pl.DataFrame:
        """Table `claims`."""
        table = TABLES["claims"]
        told = pl.DataFrame(self._rows, schema={**table.schema, **dict.fromkeys(_MOMENTS, pl.Int64)}, orient="row")
        return told.cast({name: table.schema[name] for name in _MOMENTS}).sort(table.sort_by)
