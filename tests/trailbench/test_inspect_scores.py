"""Exported questions under inspect_ai: the same messages, the same reading of replies, the same scores as our own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from inspecting import ask_task, folder_of, lines, run_inspect, run_together, sent
from inspecting_texts import BELIEFS, TEXTS, TRADES, choosing, predicting
from model_server import Answer, Call, error, model_server

from pipelines.evaluation.readers.llm import _answer
from pipelines.models import Reply
from pipelines.onchain.wording import read_belief, read_trade
from resources.experiment_spec import experiment_key, load_experiment
from resources.home import Home

Cli = Callable[..., SimpleNamespace]
AtHome = Callable[[Path], Home]
ASKING = "name: asking\nmethods: {recent_k: [{}, {k: 5}]}\nreaders: [llm]\nbudgets: [300]\nusers: 9\n"


@pytest.fixture
def asking(
    copied: SimpleNamespace, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., SimpleNamespace]:
    """`asking(server, text, release)`: evaluates an experiment with the model behind a server."""

    def evaluate(base_url: str, text: str, release: SimpleNamespace = copied) -> SimpleNamespace:
        file = tmp_path / "asking.yaml"
        file.write_text(text)
        for name, value in {"BASE_URL": base_url, "NAME": "scripted", "RETRIES": "0"}.items():
            monkeypatch.setenv(f"TRAILBENCH_MODEL_{name}", value)
        result = cli("evaluate", release.release, "--experiment", file, "--home", release.home, "--json")
        assert result.code == 0, result.err
        return SimpleNamespace(**{**vars(release), "file": file, "answer": result.json})

    return evaluate


def test_pools_get_the_same_questions_and_scores_as_in_our_units(
    asking: Callable[..., SimpleNamespace], cli: Cli, at_home: AtHome, tmp_path: Path
) -> None:
    with model_server(choosing) as server:
        done = asking(server.base_url, ASKING)
        ours = {sent(call.body["messages"]): call.schema for call in server.requests}
        words = ("--experiment", done.file, "--method", "recent_k", "--gold")
        folder = folder_of(cli, done, tmp_path / "folder", *words)
        server.requests.clear()
        run = run_inspect(folder, server.base_url, tmp_path / "logs")
        theirs = {sent(call.body["messages"]): call for call in server.requests}
    assert set(theirs) < set(ours), "the other half belongs to the other configuration"
    for messages, call in theirs.items():
        bounds = {"minItems", "maxItems"}
        chosen = {name: value for name, value in ours[messages]["properties"]["chosen"].items() if name not in bounds}
        assert call.schema == {**ours[messages], "properties": {"chosen": chosen}}
        assert call.body["temperature"] == 0
    home = at_home(done.home)
    bound = load_experiment(home.store.store, experiment_key("asking", done.release))
    arm = next(one.key for one in bound.arms if one.arm.label == "recent_k")
    units = home.gold.scan("units", {"arm": arm}, home.shards).with_columns(pl.col("pool").cast(pl.String)).collect()
    assert len(set(units["status"])) >= 4 and 0 < units["n_hit"].sum() < units["n_positives"].sum()
    scores = {name: one["scores"]["recall"] for name, one in run.samples.items()}
    assert {name: (one["metadata"]["n_hit"], one["metadata"]["n_positives"]) for name, one in scores.items()} == {
        f"{row['user_id']}/{row['transition_index']}/{row['pool']}": (row["n_hit"], row["n_positives"])
        for row in units.iter_rows(named=True)
    }
    board = pl.read_parquet(Path(done.answer["leaderboard"]).with_suffix(".parquet"))
    rows = board.filter(pl.col("group_kind") == "all", pl.col("method") == "recent_k")
    expected = {row["pool"]: row["recall"] for row in rows.iter_rows(named=True)}
    expected |= {f"{row['pool']}_by_user": row["user_recall"] for row in rows.iter_rows(named=True)}
    assert run.metrics == pytest.approx(expected) and len(expected) == 4 and run.status == "success"


def test_predictions_get_the_same_questions_and_scores_as_in_our_units(
    chain_built: SimpleNamespace, asking: Callable[..., SimpleNamespace], cli: Cli, at_home: AtHome, tmp_path: Path
) -> None:
    home = tmp_path / "polygon"
    shutil.copytree(chain_built.home, home)
    release = SimpleNamespace(release=chain_built.release, home=home)
    text = "name: asking\nmethods: {direct: [{}], retrieval: [{}]}\nreaders: [llm]\nreadings: 60\n"
    with model_server(predicting) as server:
        done = asking(server.base_url, text, release)
        ours = {sent(call.body["messages"]): call.schema for call in server.requests}
        folder = folder_of(cli, done, tmp_path / "folder", "--experiment", done.file, "--method", "direct", "--gold")
        server.requests.clear()
        run = run_inspect(folder, server.base_url, tmp_path / "logs")
        theirs = {sent(call.body["messages"]): call.schema for call in server.requests}
    assert set(theirs) < set(ours)
    for messages, schema in theirs.items():
        assert schema["required"] == ours[messages]["required"]
        assert schema["properties"].get("side") == ours[messages]["properties"].get("side")
    opened = at_home(home)
    bound = load_experiment(opened.store.store, experiment_key("asking", done.release))
    arm = next(one.key for one in bound.arms if one.arm.label == "direct")
    units = opened.gold.scan("prediction_units", {"arm": arm}, opened.shards).collect()
    assert units.height == 60 == len(run.samples) and len(set(units["status"])) >= 3
    assert {name: one["scores"]["held_against_labels"]["value"] for name, one in run.samples.items()} == {
        f"{row['layer']}:{row['wallet'].hex()}:{row['event']}": {
            "correct": float(bool(row["correct"])),
            "error": row["error_all"],
        }
        for row in units.iter_rows(named=True)
    }
    board = pl.read_parquet(Path(done.answer["report"]).parent / "prediction_board.parquet")
    text_of = pl.col("board", "layer", "metric", "reading", "group_kind").cast(pl.String)
    rows = board.with_columns(text_of).filter(
        pl.col("board") == "llm",
        pl.col("method") == "direct",
        pl.col("reading") == "all",
        pl.col("group_kind") == "all",
    )
    expected = {f"{layer}_{metric}": value for layer, metric, value in rows.select("layer", "metric", "value").rows()}
    assert run.metrics == pytest.approx(expected) and len(expected) == 5


def test_a_failed_call_is_a_miss_and_without_gold_nothing_is_scored(
    built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    public, whole = folder_of(cli, built, tmp_path / "p"), folder_of(cli, built, tmp_path / "w", "--gold")
    targets = {one["id"]: one["target"] for one in lines(whole / "gold" / "targets.jsonl")}
    prompts = {one["input"][1]["content"]: one["id"] for one in lines(whole / "samples.jsonl")}
    asked = sorted(name for name in targets if name.endswith("/infer"))
    broken = asked[0]

    def script(call: Call) -> str | Answer:
        name = prompts[call.text]
        return error(400, "cannot") if name == broken else json.dumps({"chosen": targets[name]})

    with model_server(script) as server:
        scored, unscored = run_together(
            (whole, public), tmp_path, server.base_url, tmp_path / "logs", "-T", "pool=infer"
        )
    assert set(scored.samples) == set(asked) == set(unscored.samples)
    n = {name: len(targets[name]) for name in asked}
    assert scored.metrics["infer"] == pytest.approx(1 - n[broken] / sum(n.values())) and scored.metrics["infer"] < 1
    assert unscored.metrics == {} and not any(one.get("scores") for one in unscored.samples.values())


def test_replies_are_read_as_we_read_them(
    built: SimpleNamespace, chain_built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    pools = folder_of(cli, built, tmp_path / "pools")
    predictions = folder_of(cli, chain_built, tmp_path / "predictions", "--method", "none")
    labels, outcomes = ["c01", "c02", "c03"], ["Yes", "No", "no"]

    def told(texts: tuple[str, ...]) -> list[Reply]:
        return [Reply(text, "ok" if text.strip() else "empty") for text in texts]

    chosen = [[labels[place] for place in _answer([0, 1, 2], 2, reply)["chosen"]] for reply in told(TEXTS)]
    assert [said for said, _ in ask_task(pools, "read_choice", [[text, labels] for text in TEXTS])] == chosen
    assert sum(map(bool, chosen)) == 4
    beliefs = [read_belief(reply, outcomes)[1] for reply in told((*TEXTS, *BELIEFS))]
    expected = [[one["side"], one["confidence"]] if one else None for one in beliefs]
    assert ask_task(predictions, "read_belief", [[text, outcomes] for text in (*TEXTS, *BELIEFS)]) == expected
    trades = [read_trade(reply)[1] for reply in told((*TEXTS, *TRADES))]
    expected = [[one["direction"], one["amount"]] if one else None for one in trades]
    assert ask_task(predictions, "read_trade", [[text] for text in (*TEXTS, *TRADES)]) == expected
    assert sum(map(bool, beliefs)) >= 20 and sum(map(bool, trades)) >= 10
