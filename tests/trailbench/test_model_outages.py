"""Evaluations whose endpoint is away, misnamed or wrongly set up: a message and exit code 2, and nothing that stays."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from model_server import Answer, Call, error, key_echoed, model_server, server_error

Cli = Callable[..., SimpleNamespace]
KEY = "key-that-nobody-may-see"
FEW = "name: few\nmethods:\n  recent_k: [{}]\nreaders: [llm]\nusers: 4\nbatches: 2\n"
"""So few calls that no circuit opens."""


@pytest.fixture
def evaluate(copied: SimpleNamespace, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """`evaluate(NAME=…, text=…)`: the experiment under `TRAILBENCH_MODEL_NAME` and so on."""
    file = tmp_path / "few.yaml"

    def run(text: str = FEW, **settings: str) -> SimpleNamespace:
        file.write_text(text)
        with monkeypatch.context() as environment:
            given = {"API_KEY": KEY, "BACKOFF_SECONDS": "0.001", "RETRIES": "1", **settings}
            for name, value in given.items():
                environment.setenv(f"TRAILBENCH_MODEL_{name}", value)
            result = cli("evaluate", "--experiment", file, "--home", copied.home, "--json")
        assert KEY not in result.out + result.err
        return result

    yield run


def chosen(call: Call) -> str:
    choice = call.body["response_format"]["json_schema"]["schema"]["properties"]["chosen"]
    return json.dumps({"chosen": choice["items"]["enum"][: choice["minItems"]]})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda call: key_echoed(call), "HTTP 401"),
        (lambda call: error(404, "no such model"), "check TRAILBENCH_MODEL_BASE_URL and TRAILBENCH_MODEL_NAME"),
        (lambda call: Answer(body=b"<html>log in</html>", headers={"content-type": "text/html"}), "no chat completion"),
    ],
)
def test_an_endpoint_that_answers_nothing_ends_the_run_and_a_later_one_goes_on(
    evaluate: Cli, answer: Callable[[Call], Answer], says: str
) -> None:
    whole = False
    with model_server(lambda call: chosen(call) if whole else answer(call)) as server:
        away = evaluate(BASE_URL=server.base_url, NAME="m")
        assert away.code == 2 and says in away.err and "no call was answered" in away.err
        whole = True
        back = evaluate(BASE_URL=server.base_url, NAME="m")
    assert back.code == 0, back.err
    assert back.json["statuses"] == {"ok": back.json["units"]}


def test_no_endpoint_at_all_ends_the_run(evaluate: Cli) -> None:
    away = evaluate(BASE_URL="http://127.0.0.1:9/v1", NAME="m")
    assert away.code == 2 and "no connection; check TRAILBENCH_MODEL_BASE_URL" in away.err


def test_the_next_run_asks_again_for_what_was_lost_and_for_nothing_else(evaluate: Cli) -> None:
    lost: set[bytes] = set()
    broken = True

    def every_other(call: Call) -> str | Answer:
        if broken and (call.raw in lost or call.number % 3 == 1):
            lost.add(call.raw)
            return server_error(500)
        return chosen(call)

    with model_server(every_other) as server:
        first = evaluate(BASE_URL=server.base_url, NAME="m")
        assert first.code == 0, first.err
        assert first.json["statuses"]["failed"] == len(lost) > 0
        broken, before = False, server.count
        second = evaluate(BASE_URL=server.base_url, NAME="m")
        assert second.code == 0, second.err
        assert second.json["statuses"] == {"ok": second.json["units"]}
        assert server.count - before == second.json["model_calls"] == len(lost)
        third = evaluate(BASE_URL=server.base_url, NAME="m")
        assert third.json["model_calls"] == 0 and third.json["statuses"] == second.json["statuses"]


@pytest.mark.parametrize(
    ("settings", "text", "says"),
    [
        ({"BASE_URL": "http://127.0.0.1:9/v1"}, FEW, "set TRAILBENCH_MODEL_NAME"),
        ({"FILE": "/no/such.yaml"}, FEW, "TRAILBENCH_MODEL_FILE"),
        ({"NAME": "m", "PRICES": "{bad"}, FEW, "prices"),
        ({"NAME": "m", "CONCURRENCY": "0"}, FEW, "TRAILBENCH_MODEL_CONCURRENCY"),
        ({"NAME": "m"}, FEW.replace("[llm]", '["lexical:m"]'), "write lexical"),
        ({}, FEW.replace("[llm]", '["llm:grand"]'), "model grand is named for role reader and no endpoint is set"),
    ],
)
def test_what_is_set_wrongly_is_named_before_anything_runs(
    evaluate: Cli, settings: dict[str, str], text: str, says: str
) -> None:
    refused = evaluate(text, **settings)
    assert refused.code == 2 and says in refused.err


def test_an_experiment_may_name_the_model_of_an_endpoint_that_has_none(evaluate: Cli) -> None:
    with model_server(chosen) as server:
        ran = evaluate(FEW.replace("[llm]", '["llm:vendor/model"]'), BASE_URL=server.base_url)
        assert ran.code == 0, ran.err
        assert {call.model for call in server.chats} == {"vendor/model"}


def test_the_account_outlives_its_file_and_counts_calls_that_arms_share(evaluate: Cli, copied: SimpleNamespace) -> None:
    """An `empty` memory says the same under every budget: one prompt answers both arms, and both needed it."""
    text = FEW.replace("recent_k", "empty").replace("users: 4", "users: 2") + "budgets: [300, 600]\n"

    def costs(result: SimpleNamespace) -> pl.DataFrame:
        return pl.read_parquet(Path(result.json["report"]).with_name("costs.parquet"))

    with model_server(chosen) as server:
        first = evaluate(text, BASE_URL=server.base_url, NAME="m")
        assert first.code == 0, first.err
        told = costs(first)
        assert told["budget"].to_list() == [300, 600]
        assert told["n_calls"].to_list() == [server.count] * 2 and told["n_cached"].to_list() == [0, server.count]
        shutil.rmtree(copied.home / "models")
        again = evaluate(text, BASE_URL=server.base_url, NAME="m")
        assert again.json["model_calls"] == 0 and costs(again).equals(told)


def test_a_memory_that_is_damaged_or_gone_is_made_again_from_kept_replies(
    evaluate: Cli, copied: SimpleNamespace
) -> None:
    text = FEW.replace("recent_k", "profile_gen").replace("[llm]", "[lexical]")

    def profile(call: Call) -> str:
        parts = ("interests", "habits", "preferences", "current_needs", "circumstances")
        return json.dumps({"summary": f"a prompt of {len(call.text)}", **{part: [] for part in parts}})

    with model_server(profile) as server:
        assert evaluate(text, BASE_URL=server.base_url, NAME="m").code == 0
        calls = server.count
        for file in (copied.home / "memories").rglob("state.json"):
            file.write_bytes(file.read_bytes()[:-20])
        damaged = evaluate(text + "budgets: [60]\n", BASE_URL=server.base_url, NAME="m")
        assert damaged.code == 0, damaged.err
        assert list((copied.home / "memories").rglob(".damaged-*"))
        shutil.rmtree(copied.home / "memories")
        again = evaluate(text + "budgets: [90]\n", BASE_URL=server.base_url, NAME="m")
        assert again.code == 0, again.err
        assert server.count == calls and damaged.json["model_calls"] == again.json["model_calls"] == 0
