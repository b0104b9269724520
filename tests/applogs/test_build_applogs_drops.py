"""Releases of app logs from drops of all sorts: as published, several of one user, and drops that contradict."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from applog_builds import Cli, build, rows
from applog_drops import gold_rows, log_rows, write_gold, write_logs
from applog_worlds import DATA, USER

from resources.home import Home

# -- published sets --------------------------------------------------------------


def published(folder: Path, before: int = 0, after: int = 0) -> Path:
    """The published excerpt as a drop, its one log amid others."""
    if not DATA.is_dir():
        pytest.skip("the published excerpt is not beside the checkout")
    logs = json.loads((DATA / "user001_app_log_excerpt.json").read_text())["app_logs"]
    shutil.copytree(DATA, folder / USER)
    (folder / USER / "user001_app_log_excerpt.json").unlink()
    (folder / USER / "user001_task_packs_excerpt.json").rename(folder / USER / "task_packs.json")
    (folder / USER / "SOURCE.md").rename(folder / "README.md")
    others = [one for one in log_rows(before + after, each=1) if one["app_log_id"] != "log_00003"]
    if others:
        at = next(one for one in others if one["app_log_id"] == "log_00180")
        for one in others:
            place = int(one["app_log_id"][4:])
            one["timestamp"] = (
                f"2023-{10 + place // 70:02}-{1 + place % 28:02} {place % 24:02}:00:00"
                if place < 180
                else "2024-01-05 10:00:00"
            )
        at["timestamp"] = "2023-12-31 19:30:00"
    write_logs(folder, USER, {"app_logs": logs + others})
    return folder


def test_the_published_excerpt_is_read_and_its_gold_kept_apart(
    cli: Cli, at_home: Callable[[Path], Home], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("trailbench.proving.builtin_methods", dict)
    made = build(cli, tmp_path / "home", published(tmp_path / "outputs"), shards=1)
    home = at_home(made.home)
    assert rows(made, home, "checkpoints").drop("as_of").rows() == [
        (USER, 0, "cal_quarterly_001", 1, "log_00003", "time")
    ]
    tasks = rows(made, home, "tasks")
    assert tasks["task"].cast(pl.String).to_list() == ["personalised_service", "state_completion"]
    assert tasks["scenario"].drop_nulls().to_list()[0].startswith("It is Sunday at 09:15.")
    items = rows(made, home, "gold_items")
    assert items["evidence"].list.len().to_list() == [14, 14]
    assert json.loads(items.filter(task="state_completion")["reference"][0]) == {
        "schedule": {"days_of_week": [6], "frequency_type": "weekly"}, "timing": {"start_time": "09:30"}
    }  # fmt: skip
    assert rows(made, home, "gold_parts").filter(pl.col("gate")).height == 1
    assert any("13 logs that show a right answer but are not there" in said for said in made.warnings)
    assert any("cut by time" in said for said in made.warnings)
    assert cli("verify", made.release, "--home", made.home).code == 0
    audited = cli("audit", made.release, "--home", made.home, "--json")
    assert audited.json["passed"], audited.json


def test_the_first_published_checkpoint_is_index_179(cli: Cli, at_home: Callable[[Path], Home], tmp_path: Path) -> None:
    made = build(cli, tmp_path / "home", published(tmp_path / "outputs", before=180, after=20), shards=1)
    found = rows(made, at_home(made.home), "checkpoints").row(0, named=True)
    assert (found["n_visible"], found["last_log_id"], found["cut_by"]) == (180, "log_00180", "index")
    assert str(found["as_of"]) == "2023-12-31 19:30:00+00:00"


# -- several drops ---------------------------------------------------------------


def refused(cli: Cli, home: Path, *paths: Path) -> str:
    result = cli("build", "--track", "applogs", *paths, "--home", home, "--shards", 1)
    assert result.code == 2, result.out
    assert not (home / "store" / "releases").exists()
    return " ".join(result.err.split())


def test_a_user_of_two_drops_is_there_once_and_a_longer_log_is_the_longer(
    cli: Cli, at_home: Callable[[Path], Home], tmp_path: Path
) -> None:
    logs = log_rows(60)
    write_logs(tmp_path / "old", USER, logs[:80])
    write_logs(tmp_path / "new", USER, logs)
    write_logs(tmp_path / "new", "002_user_002", logs[:3])
    write_gold(tmp_path / "gold alone", "003_user_003", gold_rows(log_rows(60)))
    made = build(cli, tmp_path / "home", *(tmp_path / name for name in ("old", "new", "gold alone")))
    home = at_home(made.home)
    assert rows(made, home, "app_logs").filter(user_id=USER)["position"].to_list() == list(range(120))
    funnel = rows(made, home, "applog_funnel").drop("place").rows()
    assert ("drops", "logs", "in another drop as well", 80) in funnel
    assert ("drops", "users", "no log of them in any drop", 1) in funnel
    assert ("gold", "users", "nothing is told of them", 2) in funnel
    assert made.refusals.keys() == {"instances"} and "nothing to ask" in made.refusals["instances"]
    assert any("no log of them in any drop" in said for said in made.warnings)
    assert rows(made, home, "tasks").is_empty() and rows(made, home, "checkpoints").height == 2


def test_drops_that_tell_a_log_differently_are_refused(cli: Cli, tmp_path: Path) -> None:
    logs = log_rows(30)
    write_logs(tmp_path / "one", USER, logs)
    logs[7] = {**logs[7], "response": {"n": "another"}}
    write_logs(tmp_path / "two", USER, logs)
    said = refused(cli, tmp_path / "home", tmp_path / "one", tmp_path / "two")
    assert f"tell app_logs of {USER}, log_00008 differently" in said and "leave one of the drops out" in said


def test_gold_that_names_other_logs_than_there_are_is_not_published(cli: Cli, tmp_path: Path) -> None:
    logs = log_rows(60)
    gold = gold_rows(logs)
    gold["state_evidence"][0]["position"] = 3
    write_logs(tmp_path / "drop", USER, logs)
    write_gold(tmp_path / "drop", USER, gold)
    said = refused(cli, tmp_path / "home", tmp_path / "drop")
    assert "state_evidence" in said and "at the position that is told" in said
