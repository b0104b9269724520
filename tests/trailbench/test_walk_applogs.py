"""The commands of docs/applogs.md, and those on app logs of the other pages, in the order of the pages."""

import json
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from documentation import save
from model_server import ModelServer
from walking import Walk, frozen, told

from pipelines.applogs.contenders import BASELINES

USERS = ["001_user_001", "002_user_002"]


def methods(experiment: str) -> set[str]:
    """Methods on the board of an experiment."""
    (file,) = Path("dynamic/reports").glob(f"{experiment}~*/applog_board.parquet")
    return set(pl.read_parquet(file)["method"].cast(pl.String))


@pytest.fixture(scope="module")
def dynamic(walk: Walk) -> SimpleNamespace:
    """The home folder `dynamic` with a release of made-up users, and what was said on the way."""
    said = [
        walk("trailbench synth --users 10 --seed 7 --out applogs").out,
        walk("trailbench synth --users 1000 --seed 7 --out applogs").out,
    ]
    built = walk("trailbench build --track applogs applogs --home dynamic").out
    return SimpleNamespace(release=frozen(built), made=said, built=built)


@pytest.fixture(scope="module")
def evaluated(walk: Walk, dynamic: SimpleNamespace) -> SimpleNamespace:
    """The home after its first evaluation."""
    return SimpleNamespace(release=dynamic.release, said=walk("trailbench evaluate --home dynamic").out)


def test_users_are_made_gone_on_with_and_frozen(walk: Walk, dynamic: SimpleNamespace) -> None:
    assert "1 user made, 0 were there" in dynamic.made[0] and "1 user made, 1 were there" in dynamic.made[1]
    assert sorted(file.parent.name for file in Path("applogs").glob("*/app_log_large.json")) == USERS
    assert (
        "is what its manifest says"
        in walk("trailbench verify RELEASE --home dynamic", {"RELEASE": dynamic.release}).out
    )
    walk("trailbench export RELEASE --table tasks --to tasks.csv --home dynamic", {"RELEASE": dynamic.release})
    tasks = pl.read_csv("tasks.csv")
    assert sorted(tasks["user_id"].unique()) == USERS and tasks["task"].n_unique() == 4
    assert not {"reference", "evidence", "expectation"} & set(tasks.columns), "gold stays"


def test_without_a_model_every_method_answers_and_an_answer_is_explained(
    walk: Walk, evaluated: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(evaluated.said, "model_calls") == "0" and told(evaluated.said, "users") == "2"
    assert {*BASELINES, "oracle", "empty", "rag_bm25"} <= methods("applogs")
    # Of the few states that these users have, another one than that on the page.
    said = walk(
        "trailbench explain 001_user_001/cal_quarterly_003/state/habits_state:yoga_practice --home dynamic",
        {"yoga_practice": "evening_journal"},
    ).out
    assert all(f"Answer of {name}," in said for name in methods("applogs"))
    monkeypatch.setenv("TRAILBENCH_HOME", "dynamic")
    item = "001_user_001/cal_quarterly_003/state/habits_state:evening_journal"
    assert walk("trailbench explain ITEM", {"ITEM": item}).out == said


def test_a_language_model_answers_a_sample_and_what_it_said_leaves_as_predictions(
    walk: Walk, dynamic: SimpleNamespace, model: ModelServer
) -> None:
    assert "Calls of my-model" in walk("trailbench estimate --home dynamic --reader llm").out
    assert model.count == 0
    assert told(walk("trailbench evaluate --home dynamic --reader llm").out, "model_calls") == str(model.count) != "0"
    before = model.count
    save("dynamic.yaml")
    said = walk("trailbench evaluate --experiment dynamic.yaml --home dynamic").out
    assert told(said, "model_calls") == str(model.count - before) != "0"
    assert methods("dynamic") == {*BASELINES, "rag_bm25", "behaviormem", "oracle"}
    walk(
        "trailbench export RELEASE --experiment dynamic.yaml --method rag_bm25 --as dynamicmem --gold "
        "--to predicted --home dynamic",
        {"RELEASE": dynamic.release},
    )
    files = sorted(Path("predicted").glob("*/predictions.json"))
    assert [file.parent.name for file in files] == USERS
    assert all(json.loads(file.read_text())["user_id"] == file.parent.name for file in files)
