"""`trailbench synth`: the same bytes wherever they are made, whole users only, nobody's folder, bounded memory."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipelines.applogs.reading_drop import read_drop
from pipelines.applogs.step_tables import BROUGHT, DROPPED
from pipelines.applogs.synthesis.trajectories import trajectory
from pipelines.applogs.synthesis.world import Span
from resources.drops import expand
from resources.synthetic_users import Plan, users_folder, write_user

Cli = Callable[..., SimpleNamespace]
SMALL = ("--windows", 2, "--logs", 150)
FILES = {
    "app_log_large.json",
    "state_intervals.jsonl",
    "state_changes.jsonl",
    "state_evidence.jsonl",
    "state_moments.jsonl",
    "statistics.json",
}


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def whole(folder: Path) -> list[str]:
    """Users with logs; each must have all of its gold and nothing else."""
    names = sorted(path.name for path in folder.glob("*_user_*"))
    for name in names:
        both = [*(folder / name).iterdir(), *(folder / "gold" / name).iterdir()]
        assert {path.name for path in both} == FILES and len(both) == len(FILES), name
        assert json.loads((folder / name / "app_log_large.json").read_text())["user_id"] == name
    return names


def synth(cli: Cli, to: Path, *words: object) -> SimpleNamespace:
    result = cli("synth", "--out", to, *words, "--json")
    assert result.code == 0, result.err
    return result


def refused(cli: Cli, to: Path, *words: object) -> str:
    before = files(to) if to.is_dir() else {}
    result = cli("synth", "--out", to, *words)
    assert result.code == 2, result.out
    if to.is_dir():
        assert files(to) == before
    return " ".join(result.err.split())


@pytest.fixture(scope="module")
def made(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine small users, written in this process."""
    to = tmp_path_factory.mktemp("synth") / "users"
    synth(cli, to, "--users", 9, "--seed", 5, "--workers", 1, *SMALL)
    return to


def test_a_drop_holds_what_the_trajectory_says(made: Path) -> None:
    read = read_drop(expand([made]))
    assert read[f"{DROPPED}app_logs"]["user_id"].n_unique() == 9 == len(whole(made))
    one = trajectory(5, 3, Span(2, 150))
    for name, rows in (("intervals", one.intervals), ("changes", one.changes), ("evidence", one.evidence)):
        table = f"state_{name}"
        found = read[f"{DROPPED}{table}"].filter(user_id=one.user_id).select(rows.columns)
        assert found.sort(BROUGHT[table].sort_by).equals(rows.sort(BROUGHT[table].sort_by)) and rows.height
    logs = json.loads((made / one.user_id / "app_log_large.json").read_text())["app_logs"]
    assert logs == one.app_logs
    served = read[f"{DROPPED}state_moments"].filter(user_id=one.user_id)["state_key"]
    assert set(served) == {key for key in one.intervals["state_key"] if not key.startswith("habits_state:")}


def test_nothing_of_the_gold_lies_beside_the_logs(made: Path) -> None:
    for name in whole(made):
        assert [path.name for path in (made / name).iterdir()] == ["app_log_large.json"]


def test_the_statistics_are_of_all_users(made: Path, cli: Cli) -> None:
    told = json.loads((made / "statistics.json").read_text())
    rows = {row["measure"]: row for row in told["measures"]}
    counts = [len(json.loads((made / name / "app_log_large.json").read_text())["app_logs"]) for name in whole(made)]
    assert told["users"] == 9
    assert (rows["logs a user"]["least"], rows["logs a user"]["most"]) == (min(counts), max(counts))
    assert rows["logs a user"]["here"] == pytest.approx(sum(counts) / 9)
    assert rows["logs a user"]["published"].startswith("1,772")
    shown = cli("synth", "--out", made, "--users", 9, "--seed", 5, *SMALL)
    assert "0 users made, 9 were there" in " ".join(shown.out.split()) and "1,772" in shown.out


def test_the_bytes_do_not_depend_on_workers_zone_or_hash_seed(made: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TZ": "Pacific/Auckland", "PYTHONHASHSEED": "77"}
    words = ["synth", "--out", tmp_path / "b", "--users", 9, "--seed", 5, "--workers", 3, *SMALL, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "trailbench.cli", *map(str, words)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["made"] == 9
    assert files(tmp_path / "b") == files(made)


def test_a_folder_grows_to_the_same_bytes(made: Path, cli: Cli, tmp_path: Path) -> None:
    first = synth(cli, tmp_path / "c", "--users", 2, "--from-user", 8, "--seed", 5, *SMALL)
    assert (first.json["made"], first.json["users"]) == (2, 2)
    assert whole(tmp_path / "c") == ["008_user_008", "009_user_009"]
    rest = synth(cli, tmp_path / "c", "--users", 9, "--seed", 5, *SMALL)
    assert (rest.json["made"], rest.json["kept"], rest.json["users"]) == (7, 2, 9)
    assert files(tmp_path / "c") == files(made)
    fewer = synth(cli, tmp_path / "c", "--users", 1, "--seed", 5, *SMALL)
    assert (fewer.json["made"], fewer.json["kept"], fewer.json["users"]) == (0, 1, 9)
    assert files(tmp_path / "c") == files(made)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_leaves_whole_users_and_goes_on(
    workers: int, made: Path, spawn: Callable[..., "subprocess.Popen[str]"], cli: Cli, tmp_path: Path
) -> None:
    to = tmp_path / "killed"
    process = spawn("synth", "--out", to, "--users", 300, "--seed", 5, "--workers", workers, *SMALL)
    deadline = time.monotonic() + 120
    while len(list(to.glob("*_user_*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    # Its workers die with it; one that did not would go on writing here.
    left = whole(to)
    time.sleep(0.5)
    assert whole(to) == left and 3 <= len(left) < 300
    assert not (to / "statistics.json").exists()
    again = synth(cli, to, "--users", len(left) + 2, "--seed", 5, *SMALL)
    assert again.json["kept"] >= 3 and again.json["kept"] + again.json["made"] == len(left) + 2
    there = files(to)
    same = [there[name] == data for name, data in files(made).items() if "_user_" in name and name in there]
    assert len(same) >= 3 * len(FILES) and all(same)
    assert not (to / ".partial").exists()


def test_gold_without_its_logs_is_made_again(made: Path, cli: Cli, tmp_path: Path) -> None:
    to = tmp_path / "d"
    synth(cli, to, "--users", 2, "--seed", 5, *SMALL)
    (to / "002_user_002" / "app_log_large.json").unlink()
    (to / "002_user_002").rmdir()
    (to / "gold" / "002_user_002" / "state_changes.jsonl").write_text("cut")
    assert synth(cli, to, "--users", 2, "--seed", 5, *SMALL).json["made"] == 1
    assert all(files(made)[name] == data for name, data in files(to).items() if "_user_" in name)


def test_a_document_that_was_cut_off_is_cleared_away(made: Path, cli: Cli, tmp_path: Path) -> None:
    to = tmp_path / "h"
    for _ in range(2):
        to.mkdir(exist_ok=True)
        (to / ".k3q9.tmp").write_text('{"made by": "tr')
        synth(cli, to, "--users", 1, "--seed", 5, *SMALL)
        assert sorted(path.name for path in to.iterdir()) == sorted(
            [".lock", "001_user_001", "card.json", "gold", "statistics.json"]
        )


def test_folders_of_others_are_refused(made: Path, cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    assert "was not made by trailbench synth; name another folder" in refused(cli, other, "--seed", 5)
    assert "is no folder" in refused(cli, other / "thesis.txt")
    assert "seed 5, not 6" in refused(cli, made, "--seed", 6, *SMALL)
    assert "windows 2, not 3" in refused(cli, made, "--seed", 5, "--windows", 3, "--logs", 150)
    assert "aimed at 150, not 151" in refused(cli, made, "--seed", 5, "--windows", 2, "--logs", 151)


def test_files_that_were_put_in_or_changed_are_refused(cli: Cli, tmp_path: Path) -> None:
    to, words = tmp_path / "e", ("--users", 2, "--seed", 5, *SMALL)
    synth(cli, to, *words)
    for stray in (to / "notes.txt", to / "gold" / "notes.txt"):
        stray.write_text("mine")
        assert f"{stray} is no file of synthetic users; move it" in refused(cli, to, *words)
        stray.unlink()
    stray = to / "001_user_001" / "task_packs.json"
    stray.write_text("{}")
    assert "remove" in refused(cli, to, *words)
    stray.unlink()
    log = to / "001_user_001" / "app_log_large.json"
    genuine = log.read_bytes()
    log.write_bytes(genuine.replace(b"log_00001", b"log_00000", 1))
    assert f"{log} is not as it was written; remove" in refused(cli, to, *words)
    log.write_bytes(genuine)
    card = to / "card.json"
    card.write_text(card.read_text().replace('"code": "', '"code": "x'))
    assert "made with code x" in refused(cli, to, *words)


def test_two_runs_do_not_write_to_one_folder(cli: Cli, tmp_path: Path) -> None:
    to = tmp_path / "f"
    with users_folder(to, Plan(5, Span(2, 150))):
        assert "another run writes to" in refused(cli, to, "--seed", 5, *SMALL)
    assert synth(cli, to, "--users", 1, "--seed", 5, *SMALL).json["made"] == 1


def test_memory_does_not_grow_with_users(tmp_path: Path) -> None:
    """Three small users or ten: as much is held after them, and no user takes more than those before."""
    plan, to = Plan(5, Span(1, 0)), tmp_path / "g"
    held, peaks = [], []
    with users_folder(to, plan):
        tracemalloc.start()
        try:
            for index in range(10):
                tracemalloc.reset_peak()
                write_user(to, plan, index)
                peaks.append(tracemalloc.get_traced_memory()[1])
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    bytes_of_a_user = sum(map(len, files(to).values())) / 10
    # Names are remembered, up to a bound; users are not.
    assert held[-1] - held[2] < 7 * bytes_of_a_user / 4, (held, bytes_of_a_user)
    assert max(peaks[3:]) < 1.5 * max(peaks[:3]), peaks
