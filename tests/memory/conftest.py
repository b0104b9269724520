"""Fixtures of the memory tests."""

import polars as pl
import pytest
from memory_streams import tables

from pipelines.memory.timeline import Histories, histories


@pytest.fixture(scope="session")
def frames() -> dict[str, pl.DataFrame]:
    return tables()


@pytest.fixture(scope="session")
def given(frames: dict[str, pl.DataFrame]) -> Histories:
    return histories(**frames)
