"""What is handed on of an experiment on app logs: prompts of a memory, and prediction files with their metrics."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from applog_experiments import table
from applog_lives import USERS
from inspecting import folder_of, lines
from prediction_reader import read_predictions

from pipelines.applogs.answers import standing
from pipelines.applogs.asking import NOTHING
from pipelines.applogs.board_summaries import published_metrics
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.scores import points_by_rule, units
from pipelines.prompts.quoting import quoted

Cli = Callable[..., SimpleNamespace]


def test_prompts_are_handed_on_with_what_a_memory_delivered_and_never_with_what_the_oracle_is_shown(
    lives_built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    def prompts(*words: object) -> dict[str, str]:
        samples = lines(folder_of(cli, lives_built, tmp_path / "folder", *words) / "samples.jsonl")
        return {one["id"]: one["input"][1]["content"] for one in samples}

    bare = prompts()
    assert sorted(bare) == sorted(table(lives_built, "tasks")["item"])
    assert "needs polars" in (tmp_path / "folder" / "README.md").read_text()
    words = ("--experiment", lives_built.experiment, "--method")
    searched = prompts(*words, "rag_bm25")
    delivered = dict(
        table(lives_built, "contexts", "small~rag_bm25~extractive~3000").select("item", "text").iter_rows()
    )
    assert searched.keys() == bare.keys() == delivered.keys() and any(delivered.values())
    for item, prompt in searched.items():
        before, after = bare[item].split(NOTHING, 1)
        assert prompt == before + quoted(delivered[item], NOTHING) + after
    for method in ("oracle", "routine"):
        refused = cli("export", "--as", "inspect", "--to", tmp_path / "x", "--home", lives_built.home, *words, method)
        assert refused.code == 2 and "by --method: recent_k, rag_bm25" in " ".join(refused.err.split())


@pytest.mark.parametrize(
    ("method", "reader"), [("recent_k", "extractive"), ("oracle", "extractive"), ("routine", "rule")]
)
def test_prediction_files_give_the_published_metrics_again(
    lives_built: SimpleNamespace, cli: Cli, tmp_path: Path, method: str, reader: str
) -> None:
    to = tmp_path / "predictions"
    words = (
        "export",
        "--as",
        "dynamicmem",
        "--experiment",
        lives_built.experiment,
        "--method",
        method,
        "--home",
        lives_built.home,
    )
    assert "add --gold" in cli(*words, "--to", to).err
    result = cli(*words, "--gold", "--to", to, "--json")
    assert result.code == 0, result.err
    users = sorted(path.parent.name for path in to.glob("*/predictions.json"))
    assert users == list(USERS) and result.json["users"] == 3
    places = table(lives_built, "checkpoints")
    published = pl.col("task").cast(pl.String).is_in(["state_completion", "personalised_service"])
    items = table(lives_built, "gold_items", wall="gold").filter(published)
    read = []
    for user in users:
        own = places.filter(user_id=user).select("as_of", "checkpoint_id").iter_rows()
        as_of = {f"{moment:%Y-%m-%d %H:%M:%S}": name for moment, name in own}
        read.append(read_predictions((to / user / "predictions.json").read_text(), as_of, items))
    stand = standing(items, pl.concat(read))
    agreed = agreements(table(lives_built, "gold_parts", wall="gold"), stand)
    again = published_metrics((method, reader, 0), units(stand, agreed, correct=points_by_rule(agreed)), stand)
    board = pl.read_parquet(Path(lives_built.first["report"]).parent / "applog_compat.parquet")
    ours = board.filter(method=method, reader=reader)
    metrics = [dict(rows.select("metric", "value").iter_rows()) for rows in (again, ours)]
    assert metrics[0] == pytest.approx(metrics[1]) and len(metrics[1]) >= 15
    assert metrics[1]["rq3_apply_key_coverage_mean"] > 0 and ours["value"].n_unique() > 4


def test_whose_answers_are_handed_on_is_asked_where_it_is_open(
    lives_built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    words = ("export", "--as", "dynamicmem", "--to", tmp_path / "x", "--home", lives_built.home, "--gold")
    named = ("--experiment", lives_built.experiment)
    for more, says in (
        ((), "name its experiment by --experiment"),
        (named, "by --method: routine, last_value, majority_choice, recent_k, rag_bm25, oracle"),
        ((*named, "--method", "recent_k", "--reader", "llm"), "name a reader of small by --reader: extractive"),
        ((*named, "--method", "recent_k", "--budget", 9), "name a budget of small by --budget: 3000"),
    ):
        refused = cli(*words, *more)
        assert refused.code == 2 and says in " ".join(refused.err.split()), refused.err
    assert list(tmp_path.iterdir()) == []
