"""Evaluations of an on-chain release through the command line: baselines, readers over a real endpoint, the account."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from figures import unpublished
from model_server import Answer, Call, ModelServer, empty, model_server, refused, server_error, too_long

from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.contenders import BASELINES
from resources.experiment_spec import load_experiment
from resources.home import Home
from trailbench.running import dagster_instance, run_job

Cli = Callable[..., SimpleNamespace]
EXPERIMENT = "name: asking\nmethods: {{direct: [{{}}], none: [{{}}]}}\nreaders: [{reader}]\nreadings: {readings}\n"
READINGS = 7


@pytest.fixture(scope="module")
def evaluated(chain_built: SimpleNamespace, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A home folder with an on-chain release and its baselines evaluated; a test that changes it takes a copy."""
    home = tmp_path_factory.mktemp("onchain") / "home"
    shutil.copytree(chain_built.home, home)
    result = cli("evaluate", "--home", home, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(**{**vars(chain_built), "home": home, "answer": result.json})


@pytest.fixture
def copied(evaluated: SimpleNamespace, tmp_path: Path) -> SimpleNamespace:
    home = tmp_path / "home"
    shutil.copytree(evaluated.home, home)
    return SimpleNamespace(**{**vars(evaluated), "home": home})


@pytest.fixture
def asking(
    copied: SimpleNamespace, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., SimpleNamespace]:
    """`asking(server)`: evaluates two interfaces on a few targets with the model behind the server."""
    file = tmp_path / "asking.yaml"

    def evaluate(server: ModelServer, *more: object, reader: str = "llm", readings: int = READINGS) -> SimpleNamespace:
        file.write_text(EXPERIMENT.format(reader=reader, readings=readings))
        monkeypatch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        monkeypatch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
        monkeypatch.setenv("TRAILBENCH_MODEL_RETRIES", "1")
        monkeypatch.setenv("TRAILBENCH_MODEL_BACKOFF_SECONDS", "0.001")
        return cli(more[0] if more else "evaluate", "--experiment", file, "--home", copied.home, "--json")

    return evaluate


def table(answer: dict[str, Any], name: str) -> pl.DataFrame:
    return pl.read_parquet(Path(answer["report"]).parent / f"{name}.parquet")


def gold(cli: Cli, release: SimpleNamespace, name: str, to: Path) -> pl.DataFrame:
    words = ("--table", name, "--to", to / f"{name}.parquet", "--gold", "--home", release.home)
    assert cli("export", release.release, *words).code == 0
    return pl.read_parquet(to / f"{name}.parquet").filter(pl.col("cohort") == "evaluation", pl.col("split") == "test")


def sensible(call: Call) -> str:
    """The first side, or a purchase of a share."""
    schema = call.body["response_format"]["json_schema"]
    if schema["name"] == "belief":
        return json.dumps({"side": schema["schema"]["properties"]["side"]["enum"][0], "confidence": 1.0})
    return '{"direction": "BUY", "amount": 1000000}'


def test_the_next_command_explains_a_target(copied: SimpleNamespace, cli: Cli) -> None:
    said = cli("evaluate", "--home", copied.home).out
    explain = next(shlex.split(line)[2:] for line in said.splitlines() if line.startswith("Next: trailbench explain "))
    told = cli(*explain, "--json")
    assert told.code == 0 and explain[1] == told.json["unit"], told.err


def test_baselines_answer_every_test_target_without_a_model(
    evaluated: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    answer = evaluated.answer
    beliefs, trades = (gold(cli, evaluated, f"{layer}_instances", tmp_path) for layer in ("belief", "trade"))
    assert beliefs.height > 10 and trades.height > 10
    assert answer["units"] == 2 * beliefs.height + 3 * trades.height
    assert answer["statuses"] == {"ok": answer["units"]}
    assert [answer[name] for name in ("model_calls", "cache_hits", "tokens", "cost")] == [0, 0, 0, 0]
    assert (answer["experiment"], answer["split"]) == ("baselines", "test")
    board = table(answer, "prediction_board")
    assert board.schema == PREDICTION_TABLES["prediction_board"].schema
    whole = board.filter(pl.col("group_kind") == "all", pl.col("reading") == "all")
    assert {(row["layer"], row["method"]) for row in whole.to_dicts()} == {
        *(("belief", name) for name in BASELINES[:2]),
        *(("trade", name) for name in BASELINES[2:]),
    }
    assert len(answer["rows"]) == whole.height == 2 * 2 + 3 * 3
    # Every trade is held against the last one before it: counted again, from the exported trades.
    cohort = tmp_path / "cohort.parquet"
    cli("export", evaluated.release, "--table", "cohort_trades", "--to", cohort, "--home", evaluated.home)
    own = pl.read_parquet(cohort).sort("wallet", "event")
    before = own.with_columns(
        pl.coalesce(
            pl.col("direction").shift().over("wallet", "condition_id"),
            pl.col("direction").shift().over("wallet"),
            pl.lit("BUY", own.schema["direction"]),
        ).alias("before")
    )
    asked = trades.select("wallet", "event").join(before, on=["wallet", "event"])
    got = whole.filter(pl.col("metric") == "accuracy", pl.col("method") == "last_direction")
    assert got["value"].to_list() == [round((asked["before"] == asked["direction"]).mean(), 9)]


def test_figures_come_again_byte_for_byte(evaluated: SimpleNamespace) -> None:
    seen, found = unpublished(evaluated.home)
    assert seen > 300 and found == set()


def test_the_report_is_written_and_can_be_written_again(copied: SimpleNamespace, cli: Cli) -> None:
    folder = copied.home / "reports" / f"baselines~{copied.release}"
    page = (folder / "report.html").read_text()
    for said in ("Final-side accuracy", "Amount median absolute error, shares", "Labels and splits", "too few markets"):
        assert said in page
    assert "No model was asked." in page and "Not available." not in page
    before = {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert {"report.html", "prediction_board.csv", "prediction_differences.parquet", "labels.csv"} <= set(before)
    shutil.rmtree(folder)
    again = cli("report", "--home", copied.home)
    assert again.code == 0, again.err
    assert {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
    assert "median error" in again.out and "last_side" in again.out and "model_calls" in again.out


def test_a_reader_is_asked_each_target_once_ever(
    asking: Callable[..., SimpleNamespace], copied: SimpleNamespace
) -> None:
    with model_server(sensible) as server:
        estimated = asking(server, "estimate").json["estimate"]
        assert [row["calls"] for row in estimated] == [2 * READINGS] and server.count == 0
        assert estimated[0]["tokens_in"] > 2 * READINGS * 50
        first = asking(server)
        assert first.code == 0, first.err
        answer = first.json
        # Without history two targets of a market are one question, and one call.
        asked_once = len({call.text for call in server.chats})
        assert READINGS < server.count == asked_once <= 2 * READINGS
        assert (answer["model_calls"], answer["cache_hits"]) == (asked_once, 0)
        asked = {(row["board"], row["layer"]): set() for row in answer["rows"]}
        for row in answer["rows"]:
            asked[row["board"], row["layer"]].add(row["method"])
        assert asked["llm", "trade"] == {"direct", "none", *BASELINES[2:]}
        board = table(answer, "prediction_board")
        counted = board.filter(
            pl.col("metric") == "accuracy", pl.col("reading") == "all", pl.col("group_kind") == "all"
        )
        per_method = counted.group_by("method").agg(pl.col("n_units").sum()).rows_by_key("method", unique=True)
        assert per_method["direct"] == per_method["none"] == (READINGS,)
        again = asking(server).json
        assert server.count == asked_once
        assert (again["model_calls"], again["cache_hits"]) == (0, asked_once)
        assert table(again, "prediction_board").equals(board)
    costs = table(answer, "costs")
    assert costs["n_calls"].sum() == asked_once
    assert set(costs["method"]) == {"direct", "none"}
    blind = [call.text for call in server.chats if "Nothing is shown of the trader's earlier trades." in call.text]
    shown = [call.text for call in server.chats if re.search(r"\| (BUY|SELL) \| \d+ \| ", call.text)]
    assert blind and shown and not set(blind) & set(shown)


def test_a_larger_sample_of_wallets_accounts_for_the_calls_that_a_smaller_one_made(
    copied: SimpleNamespace, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "growing.yaml"
    monkeypatch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
    with model_server(sensible) as server:
        monkeypatch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        for users in (1, 2, 3):
            file.write_text(f"name: growing\nmethods: {{none: [{{}}]}}\nreaders: [llm]\nusers: {users}\n")
            result = cli("evaluate", "--experiment", file, "--home", copied.home, "--json")
            assert result.code == 0, result.err
            assert table(result.json, "costs")["n_calls"].sum() == server.count, users


def test_unusable_replies_stay_in_the_denominator_under_their_own_status(
    asking: Callable[..., SimpleNamespace],
) -> None:
    faults: list[str | Answer] = ["I would buy.", '{"side": "Mars", "confidence": 1}', too_long(), empty(), refused()]
    faults += [server_error(), server_error()]

    def script(call: Call) -> str | Answer:
        return faults.pop(0) if faults else sensible(call)

    with model_server(script) as server:
        result = asking(server, readings=12)
        assert result.code == 0, result.err
    statuses = result.json["statuses"]
    assert sum(statuses.values()) == result.json["units"]
    assert {name for name in statuses if name != "ok"} >= {"invalid", "truncated", "empty"}
    board = table(result.json, "prediction_board").filter(pl.col("metric") == "accuracy", pl.col("group_kind") == "all")
    direct = board.filter(pl.col("method") == "direct")
    whole, valid = (direct.filter(pl.col("reading") == reading)["n_units"].sum() for reading in ("all", "valid"))
    assert whole == 12 > valid
    assert direct["n_invalid"].sum() > 0
    assert set(direct.filter(pl.col("coverage") < 1)["flags"].str.contains("coverage < 1")) == {True}


def test_a_failed_audit_publishes_nothing_and_unlike_arms_are_not_ranked(
    copied: SimpleNamespace, at_home: Callable[[Path], Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    from assets import onchain_boards
    from trailbench.running import RunFailed

    home = at_home(copied.home)
    key = f"baselines~{copied.release}"
    real = onchain_boards.GivenPredictions.provenance
    first = load_experiment(home.store.store, key).arms[0].arm.key

    def other(given: Any) -> dict[str, dict[str, object]]:
        stated = real(given)
        return {**stated, first: {**stated[first], "evaluator": "0"}}

    with dagster_instance(home.folder) as instance:
        monkeypatch.setattr(onchain_boards.GivenPredictions, "provenance", other)
        with pytest.raises(RunFailed, match=r"not ranked: runs .* differ in evaluator: '[01]' and '[01]'"):
            run_job(instance, "onchain_board", {"experiment": key})
        monkeypatch.setattr(onchain_boards.GivenPredictions, "provenance", real)
        before = home.gold.require("prediction_board", {"experiment": key})
        wrong = onchain_boards.prediction_board
        code = onchain_boards.CODE
        monkeypatch.setattr(onchain_boards, "CODE", (*code, "pipelines.models"))
        monkeypatch.setattr(
            onchain_boards,
            "prediction_board",
            lambda *given, **more: wrong(*given, **more).with_columns(pl.lit(0.5).alias("coverage")),
        )
        with pytest.raises(RunFailed, match="statuses"):
            run_job(instance, "onchain_board", {"experiment": key})
        assert home.gold.require("prediction_board", {"experiment": key}) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: e\nmethods: {recent_k: [{}]}\n", "no method recent_k on an on-chain release"),
        ("name: e\nmethods: {direct: [{}]}\n", "no reader answers method direct"),
        ("name: e\nmethods: {last_side: [{}]}\nbudgets: [10]\n", "budgets belongs to commerce releases"),
    ],
)
def test_an_experiment_that_does_not_fit_is_refused_with_the_remedy(
    evaluated: SimpleNamespace, cli: Cli, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(text)
    result = cli("evaluate", "--experiment", file, "--home", evaluated.home)
    assert result.code != 0
    assert message in result.err


def test_there_is_no_judge_whose_verdicts_people_could_label(
    evaluated: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    result = cli("labels", "--experiment", "baselines", "--to", tmp_path / "x.csv", "--home", evaluated.home)
    said = " ".join(result.err.split())
    assert result.code == 2 and not list(tmp_path.iterdir())
    assert "is a release of onchain; judges are on releases of commerce and applogs alone" in said, said
