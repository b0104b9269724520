"""Fixtures of the memory tests."""

from pathlib import Path

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


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that packages are installed in (`plugin_packages.install`) and found in."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder
