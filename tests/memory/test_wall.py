"""The tripwire: what it catches of a method that opens the gold, and what it honestly cannot see."""

import sqlite3
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pipelines.memory.contract import Batch, MethodSpec, Readout
from pipelines.memory.contract_models import PARROTS
from pipelines.memory.methods.recent_k import SPEC, RecentK
from pipelines.memory.registry import builtin_methods
from pipelines.memory.replay import replay
from pipelines.memory.timeline import Histories
from resources.tokenizer import load_tokens
from resources.wall import Guard, WallBreached, guarded


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    folder = tmp_path / "gold"
    folder.mkdir()
    (folder / "positives.csv").write_text("user_id,l2\nu1,bread\n")
    pl.DataFrame({"user_id": ["u1"], "l2": ["bread"]}).write_parquet(folder / "positives.parquet")
    return folder


def thief(path: Path) -> MethodSpec:
    class Thief(RecentK):
        def readout(self, budget: int) -> Readout:
            return Readout(path.read_text())

    return replace(SPEC, factory=Thief)


def test_a_method_that_opens_the_gold_is_stopped_and_reported(gold: Path, given: Histories, tmp_path: Path) -> None:
    link = tmp_path / "innocent.csv"
    link.symlink_to(gold / "positives.csv")
    for path in (gold / "positives.csv", gold / ".." / "gold" / "positives.csv", link):
        spec = thief(path)
        leaked = replay(spec, spec.config_model(), given, 500, load_tokens())
        assert "bread" in leaked["description"][0], "the leak is real without the guard"
        with pytest.raises(WallBreached, match=r"open: .*positives\.csv"), guarded([gold]):
            replay(spec, spec.config_model(), given, 500, load_tokens())


def test_a_breach_is_reported_although_the_code_swallows_it(gold: Path) -> None:
    with pytest.raises(WallBreached, match=r"positives\.csv"), guarded([gold]) as guard, suppress(Exception):
        (gold / "positives.csv").read_text()
    assert len(guard.breaches) == 1


def test_other_ways_in(gold: Path, tmp_path: Path) -> None:
    ways = [
        lambda: list(gold.iterdir()),
        lambda: (tmp_path / "x").symlink_to(gold / "positives.csv"),
        lambda: (gold / "positives.csv").rename(tmp_path / "mine"),
        lambda: sqlite3.connect(gold / "db"),
        lambda: subprocess.run(["cat", str(gold / "positives.csv")], check=False),
    ]
    for way in ways:
        with pytest.raises(WallBreached), guarded([gold]):
            way()
    assert (gold / "positives.csv").exists()


def test_what_is_outside_stays_open_and_the_guard_ends(gold: Path, tmp_path: Path) -> None:
    outside = tmp_path / "golden.txt"
    outside.write_text("fine")
    with guarded([gold]) as guard:
        assert outside.read_text() == "fine"
    assert guard.breaches == []
    assert "bread" in (gold / "positives.csv").read_text()


def test_compiled_readers_are_not_seen(gold: Path) -> None:
    """Why a method of another package runs in a child process: this read passes the tripwire."""
    with guarded([gold]) as guard:
        assert pl.scan_parquet(gold / "positives.parquet").collect()["l2"].to_list() == ["bread"]
    assert guard.breaches == []


@pytest.mark.parametrize("name", builtin_methods())
def test_no_method_of_ours_opens_anything_at_all(name: str, given: Histories) -> None:
    spec = builtin_methods()[name]
    tokens = load_tokens()
    replay(spec, spec.config_model(), given, 200, tokens, served=PARROTS)
    with guarded([Path("/")]) as guard:
        replay(spec, spec.config_model(), given, 200, tokens, served=PARROTS)
    assert guard.breaches == []


def test_no_method_of_ours_reads_a_clock_or_the_environment() -> None:
    folder = Path(sys.modules["pipelines.memory.methods"].__path__[0])
    for path in [*folder.glob("*.py"), *folder.parent.glob("[!c]*.py")]:
        code = path.read_text()
        clocks = ("import time", "from time", ".now(", ".today(")
        for word in (*clocks, "environ", "socket", "import random", "import requests"):
            assert word not in code, f"{path.name}: {word}"


def test_a_batch_has_neither_closed_nor_the_next_visit() -> None:
    assert set(Batch.__dataclass_fields__) == {"batch_id", "user_id", "index", "start", "end", "visits"}


def test_what_is_open_inside_a_root_stays_open_and_a_root_inside_that_does_not(tmp_path: Path) -> None:
    outer, way, inner = tmp_path / "home", tmp_path / "home" / "site", tmp_path / "home" / "site" / "gold"
    guard = Guard((str(outer), str(inner)), (str(way),))
    answers = [
        guard.forbids(str(path)) for path in (outer, outer / "a", way, way / "a.py", inner, inner / "g", tmp_path)
    ]
    assert answers == [True, True, False, False, True, True, False]
    assert not Guard((str(outer),)).forbids(str(tmp_path / "home2"))


def test_the_whole_tree_can_be_guarded(gold: Path) -> None:
    with pytest.raises(WallBreached), guarded([Path("/")]):
        (gold / "positives.csv").read_text()
