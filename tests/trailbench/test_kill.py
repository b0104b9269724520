"""Kill −9 at any moment, then run again: the same release, nothing lost, nothing doubled, nothing blocked."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from trailbench.running import dagster_instance

Cli = Callable[..., SimpleNamespace]


def references(home: Path) -> int:
    """Partitions that stand for something."""
    return sum(1 for wall in ("store", "gold") for _ in (home / wall / "references").rglob("*.json"))


def reading(home: Path) -> bool:
    """Whether the first drop is being published: inside the step that holds a pool slot."""
    return (home / "store" / ".locks").is_dir()


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "while the drop is read": reading,
    "after a few partitions": lambda home: references(home) >= 9,
    "in the labels": lambda home: references(home) >= 20,
}


@pytest.fixture(scope="module")
def killed(
    shop: SimpleNamespace, spawn: Callable[..., object], tmp_path_factory: pytest.TempPathFactory
) -> SimpleNamespace:
    """A home folder in which the same build was killed at several moments."""
    home = tmp_path_factory.mktemp("killed") / "home"
    seen = []
    for moment, reached in MOMENTS.items():
        process = spawn("build", *shop.options, shop.log, "--home", home, "--json")
        deadline = time.monotonic() + 240
        while not reached(home) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, f"the build ended before it was {moment}"
        seen.append(references(home))
    return SimpleNamespace(home=home, seen=seen)


def test_a_killed_build_goes_on_and_ends_in_the_same_release(
    killed: SimpleNamespace, built: SimpleNamespace, shop: SimpleNamespace, cli: Cli, at_home: Callable[[Path], object]
) -> None:
    assert killed.seen[0] == 0 and killed.seen[1] >= 9 and killed.seen[2] >= 20
    assert not (killed.home / "store" / "releases").exists()
    at_home(killed.home)
    with dagster_instance(killed.home) as instance:
        left = instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
        assert left == [], "runs of dead processes are closed when the instance is opened"
        assert len(instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE]))) >= 3
        for pool in ("read",):
            info = instance.event_log_storage.get_concurrency_info(pool)
            assert (info.active_slot_count, info.pending_step_count) == (0, 0)

    result = cli("build", *shop.options, shop.log, "--home", killed.home, "--json")
    assert result.code == 0, result.err
    assert (result.json["content_hash"], result.json["counts"]) == (built.content_hash, built.counts)
    assert verified(cli, result.json["release"], killed.home)
    assert [str(path) for path in killed.home.rglob("*") if path.name.startswith(".staged")] == []
    assert len(list((killed.home / "drops").glob("*.json"))) == 1
    sidecars = {path.parent for path in killed.home.rglob("part.json")}
    files = [path for path in killed.home.rglob("*.parquet") if path.parent in sidecars]
    assert len(files) == len(sidecars), "one file a partition: nothing doubled"


def verified(cli: Cli, release: str, home: Path) -> bool:
    result = cli("verify", release, "--home", home, "--json")
    return result.code == 0 and result.json == {"release": release, "verified": True, "problems": []}


def test_two_builds_at_once_in_one_home_make_one_release(
    built: SimpleNamespace, shop: SimpleNamespace, spawn: Callable[..., object], cli: Cli, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    both = [spawn("build", *shop.options, shop.log, "--home", home, "--json") for _ in range(2)]
    answers = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], [err for _, err in answers]
    assert {json.loads(out)["content_hash"] for out, _ in answers} == {built.content_hash}
    assert verified(cli, built.release, home)


def test_an_interrupted_build_says_so(
    shop: SimpleNamespace, spawn: Callable[..., object], tmp_path: Path, at_home: Callable[[Path], object]
) -> None:
    home = tmp_path / "home"
    process = spawn("build", *shop.options, shop.log, "--home", home, "--json")
    deadline = time.monotonic() + 240
    while not reading(home) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    assert "was interrupted; run the command again, it goes on there" in " ".join(err.split())
    at_home(home)
    with dagster_instance(home) as instance:
        assert instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])) == []
