"""Evaluations through the command line: units that add up, a board that comes out the same, methods of others."""

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from figures import unpublished

from pipelines.applogs.contenders import BASELINES, PEERS
from pipelines.evaluation.demo_experiments import DEMO
from pipelines.hashing import frame_hash
from pipelines.memory.registry import builtin_methods
from pipelines.onchain.contenders import METHODS as ONCHAIN

Cli = Callable[..., SimpleNamespace]
USERS = 8
EXPERIMENT = f"""
name: small
methods:
  empty: [{{}}]
  recent_k: [{{}}]
  frequency_profile: [{{}}]
readers: [lexical]
users: {USERS}
"""


@pytest.fixture(scope="module")
def evaluated(built: SimpleNamespace, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A small experiment on the shop's release."""
    folder = tmp_path_factory.mktemp("evaluated")
    home = folder / "home"
    shutil.copytree(built.home, home)
    experiment = folder / "small.yaml"
    experiment.write_text(EXPERIMENT)
    result = cli("evaluate", built.release, "--experiment", experiment, "--home", home, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(**{**vars(built), "home": home, "experiment": experiment, "answer": result.json})


def board(answer: dict[str, str]) -> pl.DataFrame:
    return pl.read_parquet(Path(answer["leaderboard"]).with_suffix(".parquet"))


def pools_of(evaluated: SimpleNamespace, cli: Cli, folder: Path) -> pl.DataFrame:
    to = folder / "pools.parquet"
    cli("export", evaluated.release, "--table", "pools", "--to", to, "--home", evaluated.home)
    return pl.read_parquet(to)


def test_units_are_readings_of_methods_that_read_something(
    evaluated: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    answer = evaluated.answer
    pools = pools_of(evaluated, cli, tmp_path).select("user_id", "transition_index", "pool").unique()
    per_user = pools.group_by("user_id").len().sort("user_id")
    assert per_user.height > USERS == answer["users"]
    document = json.loads(next((evaluated.home / "store/specs/experiment").glob("small~*.json")).read_text())
    asked = pools.filter(pl.col("user_id").is_in(document["slice"]["users"])).height
    assert answer["units"] == 2 * asked, "recent_k and frequency_profile; the empty memory reads nothing"
    assert sum(answer["statuses"].values()) == answer["units"]
    assert answer["model_calls"] == 0
    assert (answer["release"], answer["experiment"]) == (evaluated.release, "small")


def test_the_board_has_its_oracle_and_every_method_on_the_same_units(evaluated: SimpleNamespace) -> None:
    rows = board(evaluated.answer).filter(pl.col("group_kind") == "all")
    oracle = rows.filter(pl.col("method") == "oracle")
    assert oracle.height >= 1 and oracle["recall"].to_list() == [1.0] * oracle.height
    assert oracle["exposure"].fill_null(0).to_list() == [0.0] * oracle.height
    for _, per_pool in rows.group_by("pool"):
        assert per_pool["n_units"].n_unique() == 1
        assert {"empty", "recent_k", "frequency_profile", "oracle", "popularity"} <= set(per_pool["method"])


def test_the_report_is_one_page_by_itself(evaluated: SimpleNamespace) -> None:
    page = Path(evaluated.answer["report"]).read_text()
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert evaluated.content_hash in page and "recent_k" in page
    assert 'src="http' not in page and 'href="http' not in page


def test_a_second_run_gives_the_same_board_and_a_lost_result_comes_back(evaluated: SimpleNamespace, cli: Cli) -> None:
    before = frame_hash(board(evaluated.answer))
    Path(evaluated.answer["leaderboard"]).with_suffix(".parquet").unlink()
    words = ("--experiment", evaluated.experiment, "--home", evaluated.home, "--json")
    again = cli("evaluate", evaluated.release, *words)
    assert again.code == 0, again.err
    assert again.json == evaluated.answer and frame_hash(board(again.json)) == before
    reported = cli("report", evaluated.release, *words)
    assert reported.code == 0 and reported.json == evaluated.answer and frame_hash(board(reported.json)) == before


def test_figures_come_again_byte_for_byte(evaluated: SimpleNamespace) -> None:
    seen, found = unpublished(evaluated.home)
    assert seen > 1_000 and found == set()


def test_the_next_commands_explain_a_unit_and_open_the_ui(evaluated: SimpleNamespace, cli: Cli) -> None:
    words = (evaluated.release, "--experiment", evaluated.experiment, "--home", evaluated.home)
    said = cli("evaluate", *words).out
    explain, ui = (shlex.split(line)[2:] for line in said.splitlines() if line.startswith("Next: "))
    assert ui == ["ui", "--home", str(evaluated.home)]
    told = cli(*explain, "--json")
    assert explain[0] == "explain" and told.code == 0, told.err
    answers = [one for unit in told.json["units"] for one in unit["answers"]]
    assert answers and min(one["n_hit"] for one in answers) == 0


def test_a_method_of_another_package_is_listed_and_evaluated(
    evaluated: SimpleNamespace, cli: Cli, install: Callable[..., Path], tmp_path: Path
) -> None:
    install("last_categories")
    listed = cli("methods", "--json").json
    mine = next(one for one in listed["methods"] if one["name"] == "last_categories")
    assert (mine["kind"], mine["description"]) == ("plugin", "The last categories.")
    experiment = tmp_path / "theirs.yaml"
    experiment.write_text("name: theirs\nmethods:\n  last_categories: [{}]\nreaders: [lexical]\nusers: 3\n")
    result = cli("evaluate", evaluated.release, "--experiment", experiment, "--home", evaluated.home, "--json")
    assert result.code == 0, result.err
    assert result.json["units"] == sum(result.json["statuses"].values()) > 0
    rows = board(result.json).filter((pl.col("group_kind") == "all") & (pl.col("method") == "last_categories"))
    assert rows.height >= 1 and (rows["recall"] > rows["chance"]).any(), "it remembers something"


def test_methods_are_listed_with_kind_and_description(cli: Cli) -> None:
    listed = cli("methods", "--json").json
    assert listed["broken"] == {}
    assert {one["name"] for one in listed["methods"]} >= {*builtin_methods(), "oracle"} >= set(DEMO.methods)
    assert all(set(one) == {"name", "kind", "tracks", "description"} for one in listed["methods"])
    assert all(all(one.values()) for one in listed["methods"])
    for track, names in (("onchain", ONCHAIN), ("applogs", {*builtin_methods(), *BASELINES, *PEERS})):
        assert {one["name"] for one in listed["methods"] if track in one["tracks"]} == set(names)


def test_doctor_tells_the_environment_and_no_secret(
    built: SimpleNamespace, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("TRAILBENCH_MODEL_API_KEY", "sk-very-secret-too")
    monkeypatch.delenv("TRAILBENCH_MODEL_NAME", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    result = cli("doctor", "--home", built.home, "--json")
    assert result.code == 0 and result.json["ok"]
    assert "very-secret" not in result.out
    found = {one["what"]: one for one in result.json["findings"]}
    assert found["OPENAI_API_KEY"]["says"] == found["TRAILBENCH_MODEL_API_KEY"]["says"] == "present"
    assert found["OPENAI_BASE_URL"]["says"] == "not set (optional)"
    assert found["TRAILBENCH_MODEL_NAME"]["says"] == "not set (optional; the embedded model answers)"
    assert found["home"]["says"].endswith("2 shards, 1 drops")
    assert found["dagster"]["ok"] and found["polars"]["says"].startswith("2.")


def test_sources_are_the_fixed_names(cli: Cli) -> None:
    names = [one["name"] for one in cli("sources", "--json").json["sources"]]
    assert set(names) == {
        *("complete_journey", "rees46", "taobao", "amazon_reviews", "otto"),
        *("tianchi_mobile", "instacart", "uci_online_retail", "mapping"),
        *("polygon_logs", "polygon_rpc", "gamma_markets", "app_logs"),
    }
