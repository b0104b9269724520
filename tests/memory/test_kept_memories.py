"""Memories that are kept between runs: nothing is taken in twice, and a resumed run says the same."""

import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from pipelines.memory.contract import Batch
from pipelines.memory.methods.recent_k import SPEC, RecentK
from pipelines.memory.replay import replay
from pipelines.memory.timeline import Histories
from resources.memories import KeptMemories
from resources.tokenizer import load_tokens

BUDGET = 150


class Dies(RuntimeError):
    pass


def counting(die_after: int | None = None) -> tuple[Any, Counter[str]]:
    """The method `recent_k`, and how often each batch was taken in; it dies once it took `die_after`."""
    taken: Counter[str] = Counter()

    class Counting(RecentK):
        def take(self, batch: Batch) -> None:
            if die_after is not None and taken.total() >= die_after:
                raise Dies
            taken[batch.batch_id] += 1
            super().take(batch)

    return replace(SPEC, factory=Counting), taken


@pytest.mark.parametrize("threads", [1, 3])
def test_a_run_that_died_goes_on_at_the_last_kept_batch(given: Histories, tmp_path: Path, threads: int) -> None:
    whole = replay(SPEC, SPEC.config_model(), given, BUDGET, load_tokens())
    kept = KeptMemories(tmp_path)
    total: Counter[str] = Counter()
    for die_after in (1, 2, None):
        spec, taken = counting(die_after)
        if die_after is None:
            table = replay(spec, spec.config_model(), given, BUDGET, load_tokens(), checkpoints=kept, threads=threads)
            assert_frame_equal(table, whole)
        else:
            with pytest.raises(Dies):
                replay(spec, spec.config_model(), given, BUDGET, load_tokens(), checkpoints=kept, threads=threads)
        total += taken
    n_batches = sum(len(batches) for batches in given.batches.values())
    assert set(total.values()) == {1}
    assert total.total() == n_batches
    assert not list(tmp_path.rglob(".partial-*"))


def test_an_interrupted_run_does_not_wait_for_threads_that_wait(given: Histories) -> None:
    replied, once = threading.Event(), threading.Lock()
    waited: list[bool] = []

    class Waiting(RecentK):
        def take(self, batch: Batch) -> None:
            if once.acquire(blocking=False):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            waited.append(replied.wait(60))

    spec = replace(SPEC, factory=Waiting)
    try:
        with pytest.raises(KeyboardInterrupt):
            replay(spec, spec.config_model(), given, BUDGET, load_tokens(), threads=2)
        assert not waited
    finally:
        replied.set()


def test_another_budget_reads_the_kept_memories_and_another_configuration_does_not(
    given: Histories, tmp_path: Path
) -> None:
    kept = KeptMemories(tmp_path)
    for budget, config, expected in ((BUDGET, {}, True), (60, {}, False), (60, {"k": 2}, True)):
        spec, taken = counting()
        settings = spec.config_model(**config)
        table = replay(spec, settings, given, budget, load_tokens(), checkpoints=kept)
        assert (taken.total() > 0) == expected
        assert_frame_equal(table, replay(SPEC, settings, given, budget, load_tokens()))


def test_a_snapshot_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise Dies

    kept = KeptMemories(tmp_path)
    with pytest.raises(Dies):
        kept.keep("abcd", fails)
    assert kept.find("abcd") is None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_first_of_two_writers_wins(tmp_path: Path) -> None:
    kept = KeptMemories(tmp_path)

    def first(folder: Path) -> None:
        (folder / "who").write_text("first")

    def second(folder: Path) -> None:
        kept.keep("abcd", first)
        (folder / "who").write_text("second")

    kept.keep("abcd", second)
    found = kept.find("abcd")
    assert found is not None
    assert (found / "who").read_text() == "first"


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def changed(file: Path) -> None:
    """One bit, as a disk may lose it."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


@pytest.mark.parametrize("damage", [emptied, changed, Path.unlink])
@pytest.mark.parametrize("at", ["first", "last", "all"])
def test_a_damaged_memory_is_set_aside_and_built_again(
    given: Histories, tmp_path: Path, damage: Callable[[Path], None], at: str
) -> None:
    kept = KeptMemories(tmp_path)
    spec, _ = counting()
    whole = replay(spec, spec.config_model(), given, BUDGET, load_tokens(), checkpoints=kept)
    states = sorted(tmp_path.rglob("state.json"))
    hurt = {"first": states[:1], "last": states[-1:], "all": states}[at]
    for file in hurt:
        damage(file)
    spec, taken = counting()
    again = replay(spec, spec.config_model(), given, BUDGET, load_tokens(), checkpoints=kept)
    assert_frame_equal(again, whole)
    assert taken.total() == len(hurt) == len(list(tmp_path.rglob(".damaged-*")))
    spec, taken = counting()
    assert_frame_equal(replay(spec, spec.config_model(), given, BUDGET, load_tokens(), checkpoints=kept), whole)
    assert not taken
