"""The commands of README, docs/models.md and docs/papers.md on a log of a known shop, in the order of the pages."""

import csv
import gzip
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from documentation import save
from model_server import ModelServer
from walking import Walk, frozen, told

from pipelines.commerce.settings import CommerceSettings
from pipelines.evaluation.demo_experiments import DEMO, DEMO_LLM
from pipelines.memory.registry import builtin_methods
from tests.ui.shop_log import rows

LOG = "2019-Oct.csv.gz"
KEY = "key-that-nobody-may-see"


def board(home: str, experiment: str) -> pl.DataFrame:
    (file,) = Path(home, "reports").glob(f"{experiment}~*/leaderboard.parquet")
    return pl.read_parquet(file).with_columns(pl.col(pl.Enum).cast(pl.String)).filter(group_kind="all")


@pytest.fixture(scope="module")
def shop(walk: Walk) -> SimpleNamespace:
    """The home folder `shop` with the release of a log in the format rees46: its name and its answers."""
    lines = rows(map(str, range(1, 6)), "2019-10-01", sessions=14, days_between=2)
    with gzip.open(LOG, "wt") as file:
        file.write("\n".join([*lines, "no row"]) + "\n")
    said = walk("trailbench build 2019-Oct.csv.gz --source rees46 --home shop").out
    return SimpleNamespace(release=frozen(said), said=said, events=len(lines) - 1)


@pytest.fixture(scope="module")
def model(walk: Walk, model: ModelServer) -> ModelServer:
    """The endpoint, with a key."""
    walk("export TRAILBENCH_MODEL_API_KEY=…", {"…": KEY})
    return model


def test_a_log_of_a_known_format_ends_in_a_board_and_a_table(walk: Walk, shop: SimpleNamespace) -> None:
    assert "rees46" in walk("trailbench sources").out
    said = walk("trailbench validate 2019-Oct.csv.gz --source rees46").out
    assert f"Next: trailbench build {LOG} --source rees46" in said
    assert (told(said, "events"), told(said, "rejects"), told(said, "users")) == (f"{shop.events:,}", "1", "5")
    assert Path(f"shop/store/releases/{shop.release}/manifest.json").is_file() and "Funnel" in shop.said
    walk("trailbench evaluate --home shop")
    assert set(board("shop", "demo")["method"]) == {*DEMO.methods, "oracle", "popularity", "chance"}
    said = walk("trailbench export RELEASE --table batches --to batches.csv --home shop", {"RELEASE": shop.release}).out
    batches = pl.read_csv("batches.csv")
    assert f"{batches.height} rows of batches" in said and batches["user_id"].n_unique() == 5 < batches.height


def test_what_is_there_is_listed_and_proven(walk: Walk, shop: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CommerceSettings.model_fields:
        assert name in walk("trailbench settings").out
    listed = walk("trailbench methods").out
    assert all(re.search(rf"^ {name} ", listed, re.MULTILINE) for name in builtin_methods())
    monkeypatch.setenv("TRAILBENCH_HOME", "shop")
    assert "is what its manifest says" in walk("trailbench verify RELEASE", {"RELEASE": shop.release}).out
    audited = walk("trailbench audit RELEASE", {"RELEASE": shop.release}).out
    assert audited.count(" passed ") > 3 and "FAILED" not in audited
    doctor = walk("trailbench doctor").out
    assert "1 shards, 1 drops" in doctor and "MISSING" not in doctor


def test_the_own_model_is_estimated_first_and_then_asked(walk: Walk, shop: SimpleNamespace, model: ModelServer) -> None:
    before = model.count
    assert "Calls of my-model" in walk("trailbench estimate --experiment demo_llm --home shop").out
    assert model.count == before, "before any call"
    said = walk("trailbench evaluate --experiment demo_llm --home shop").out
    assert told(said, "model_calls") == str(model.count - before) != "0"
    assert set(board("shop", "demo_llm")["reader"]) == {"llm"}
    assert {call.key for call in model.chats} == {KEY} and {call.model for call in model.chats} == {"my-model"}
    kept = [file.read_bytes() for file in Path("shop").rglob("*") if file.is_file()]
    assert KEY not in said and not any(KEY.encode() in content for content in kept)
    assert len(DEMO_LLM.methods) <= len(board("shop", "demo_llm")["method"].unique())


def test_an_experiment_on_several_models_has_its_limits(walk: Walk, shop: SimpleNamespace, model: ModelServer) -> None:
    walk(
        "export TRAILBENCH_MODEL_PRICES='"
        '{"my-model": {"prompt": 0.15, "reply": 0.6}, "other-model": {"prompt": 0.1, "reply": 0.4}}\''
    )
    save("models.yaml")
    before = model.count
    said = walk("trailbench estimate --experiment models.yaml --home shop").out
    assert "Calls of my-model" in said and "Calls of other-model" in said and model.count == before
    walk("trailbench evaluate --experiment models.yaml --home shop")
    assert {call.model for call in model.chats[before:]} == {"my-model", "other-model"}
    assert {"behaviormem", "behaviormem-other", "profile_gen"} <= set(board("shop", "models")["method"])
    costs = pl.read_csv(f"shop/reports/models~{shop.release}/costs.csv")
    assert costs["cost"].sum() > 0


def test_people_calibrate_a_judge(walk: Walk, shop: SimpleNamespace, model: ModelServer) -> None:
    save("judged.yaml")
    before = model.count
    assert told(walk("trailbench estimate --experiment judged.yaml --home shop").out, "judge").startswith("9 ")
    said = walk("trailbench evaluate --experiment judged.yaml --home shop").out
    assert model.count > before and "uncalibrated: nothing is labelled" in said
    walk("trailbench labels --experiment judged.yaml --to sheet.csv --n 50 --home shop")
    with Path("sheet.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert 20 < len(lines) <= 50 and not {"method", "verdict", "supported"} & set(lines[0])
    with Path("sheet.csv").open("w", newline="") as file:
        sheet = csv.DictWriter(file, lines[0].keys())
        sheet.writeheader()
        sheet.writerows(line | {"label": "no" if place % 4 == 0 else "yes"} for place, line in enumerate(lines))
    walk("trailbench labels --experiment judged.yaml --from sheet.csv --home shop")
    kept = json.loads(Path("shop/gold/labels/grounded.json").read_text())
    assert len(kept) == len(lines) and sum(not label for label in kept.values()) == (len(lines) + 3) // 4
    made = model.count
    assert "uncalibrated" not in walk("trailbench report --experiment judged.yaml --home shop").out
    page = Path(f"shop/reports/judged~{shop.release}/report.html").read_text()
    assert f"after {len(lines)} labelled lines: TPR 1.000 + TNR 0.000 is not above 1" in page, "it supports every line"
    assert model.count == made


def test_the_papers_protocol_is_the_plain_build(walk: Walk, shop: SimpleNamespace, model: ModelServer) -> None:
    # A home that holds the tables of this log already makes them no second time.
    shutil.copytree("shop", "paper", ignore=shutil.ignore_patterns("reports", "arm", "experiment"))
    assert frozen(walk("trailbench build 2019-Oct.csv.gz --source rees46 --home paper").out) == shop.release
    save("behaviormem.yaml")
    walk("trailbench evaluate --experiment behaviormem.yaml --home paper")
    rows = board("paper", "behaviormem")
    assert set(rows["reader"]) == {"llm"} and set(rows["budget"]) == {2000}
    assert sum(name.startswith("behaviormem") for name in set(rows["method"])) == 3
