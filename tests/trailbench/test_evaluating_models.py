"""Evaluations whose memories and readers ask a model: a real HTTP endpoint, its faults, limits, kills, the account."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from model_server import (
    Answer,
    Call,
    ModelServer,
    empty,
    model_server,
    rate_limited,
    refused,
    server_error,
    too_long,
    two_choices,
    wrong_schema,
)

Cli = Callable[..., SimpleNamespace]
KEY = "key-that-nobody-may-see"
EXPERIMENT = """
name: asking
methods:
  recent_k: [{}]
  profile_gen: [{}]
readers: [llm]
users: 4
batches: 2
"""


def answer(call: Call) -> str:
    """What a model of some sense would say: the first labels; a profile of what the prompt counts."""
    asked = call.body["response_format"]["json_schema"]
    if asked["name"] == "choice":
        chosen = asked["schema"]["properties"]["chosen"]
        return json.dumps({"chosen": chosen["items"]["enum"][: chosen["minItems"]]})
    parts = {name: [] for name in ("interests", "habits", "preferences", "current_needs", "circumstances")}
    return json.dumps({"summary": f"{len(re.findall('Abt', call.text))} visits with a name", **parts})


@pytest.fixture
def asking(copied: SimpleNamespace, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A home folder with a release, and `evaluate(server, …)` of the experiment there."""
    file = tmp_path / "asking.yaml"
    file.write_text(EXPERIMENT)

    def evaluate(server: ModelServer, *more: object, text: str = EXPERIMENT, name: str = "scripted") -> SimpleNamespace:
        file.write_text(text)
        monkeypatch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        monkeypatch.setenv("TRAILBENCH_MODEL_NAME", name)
        monkeypatch.setenv("TRAILBENCH_MODEL_API_KEY", KEY)
        monkeypatch.setenv("TRAILBENCH_MODEL_BACKOFF_SECONDS", "0.001")
        return cli("evaluate", "--experiment", file, "--home", copied.home, "--json", *more)

    return SimpleNamespace(**{**vars(copied), "evaluate": evaluate, "file": file})


def table(asking: SimpleNamespace, name: str) -> pl.DataFrame:
    """All published rows of a table of the experiment."""
    return pl.concat([pl.read_parquet(one) for one in (asking.home / "store" / name).rglob("*.parquet")])


def test_a_run_counts_its_calls_and_the_next_one_makes_none(asking: SimpleNamespace) -> None:
    with model_server(answer) as server:
        first = asking.evaluate(server)
        assert first.code == 0, first.err
        assert first.json["model_calls"] == len(server.requests) > 0
        assert first.json["statuses"] == {"ok": first.json["units"]}
        assert first.json["tokens"] == 18 * len(server.requests) and first.json["cost"] is None
        again = asking.evaluate(server)
        assert (again.json["model_calls"], again.json["tokens"], again.json["cost"]) == (0, 0, 0.0)
        assert again.json["cache_hits"] == first.json["model_calls"] == len(server.requests)
    calls = table(asking, "model_calls").unique(["step", "key"])
    assert calls.height == first.json["model_calls"]
    assert set(calls["role"]) == {"reader", "profile"} and set(calls["status"]) == {"ok"}
    costs = pl.read_parquet(asking.home / "reports" / f"asking~{asking.release}" / "costs.parquet")
    assert costs.filter(method="profile_gen", step="build")["n_calls"].to_list() == [
        calls.filter(role="profile").height
    ]
    assert costs["n_calls"].sum() == calls.height
    page = (asking.home / "reports" / f"asking~{asking.release}" / "report.html").read_text()
    built = costs.filter(method="profile_gen", step="build").row(0, named=True)
    assert f"<td>{built['n_calls']}</td><td>{built['n_cached']}</td>" in page.split('id="calls"')[1]
    assert "What the memories counted" in page and 'id="ablations"' not in page and 'id="budgets"' not in page
    assert server.base_url in page.split('id="provenance"')[1], "the models behind each arm are named"


def test_a_larger_sample_accounts_for_the_calls_that_a_smaller_one_made(asking: SimpleNamespace) -> None:
    text = EXPERIMENT.replace("  recent_k: [{}]\n", "").replace("readers: [llm]", "readers: [lexical]")
    with model_server(answer) as server:
        few = asking.evaluate(server, text=text.replace("users: 4", "users: 2"))
        more = asking.evaluate(server, text=text)
        assert few.json["model_calls"] > 0 and more.json["model_calls"] > 0
        assert more.json["cache_hits"] == few.json["model_calls"]
        costs = pl.read_parquet(asking.home / "reports" / f"asking~{asking.release}" / "costs.parquet")
        assert costs["n_calls"].to_list() == [len(server.requests)], "all that its memories needed"


def test_another_endpoint_needs_only_the_environment_and_the_key_is_written_nowhere(asking: SimpleNamespace) -> None:
    with model_server(answer) as one, model_server(answer) as other:
        first, second = asking.evaluate(one), asking.evaluate(other, name="other/model")
        assert len(other.requests) == len(one.requests) == first.json["model_calls"] == second.json["model_calls"]
        assert {call.model for call in other.chats} == {"other/model"}
        assert {call.key for call in other.requests} == {KEY}
    holders = [file for file in asking.home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert holders == []


FAULTS = {
    "empty": (empty, "invalid"),
    "too_long": (too_long, "invalid"),
    "wrong_schema": (wrong_schema, "invalid"),
    "refused": (refused, "invalid"),
    "two_choices": (two_choices, "failed"),
    "server_error": (server_error, "failed"),
    "unknown_label": (lambda: '{"chosen": ["c99"]}', "invalid"),
}


def test_nothing_is_scored_as_an_answer_that_was_none(asking: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind of fault in turn, for each reading; each is counted under its status, and hits nothing."""
    monkeypatch.setenv("TRAILBENCH_MODEL_RETRIES", "1")
    monkeypatch.setenv("TRAILBENCH_MODEL_CIRCUIT_FAILURES", "1000")
    kinds = list(FAULTS)
    given: dict[str, str] = {}

    def faulty(call: Call) -> str | Answer:
        kind = given.setdefault(call.text, kinds[len(given) % len(kinds)])
        return FAULTS[kind][0]()

    text = EXPERIMENT.replace("  profile_gen: [{}]\n", "").replace("users: 4", "users: 16")
    with model_server(faulty) as server:
        result = asking.evaluate(server, text=text)
    assert result.code == 0, result.err
    assert len(given) >= len(kinds), "every fault was met"
    assert set(result.json["statuses"]) == {"invalid", "failed"}
    assert sum(result.json["statuses"].values()) == result.json["units"]
    board = pl.read_parquet(Path(result.json["leaderboard"]).with_suffix(".parquet"))
    own = board.filter(method="recent_k", group_kind="all")
    assert own["n_hit"].to_list() == [0.0] * own.height and own["coverage"].max() == 0.0
    assert own["flags"].str.contains("degraded: .* calls without a whole reply").all()
    readings = table(asking, "readings")
    expected = {FAULTS[kind][1] for kind in kinds}
    assert set(readings["status"]) == expected == {"invalid", "failed"}


def test_waits_and_passing_faults_cost_nothing_but_time(asking: SimpleNamespace) -> None:
    met: set[str] = set()

    def at_first(call: Call) -> str | Answer:
        if call.text in met:
            return answer(call)
        met.add(call.text)
        return (rate_limited("0"), server_error(503))[len(met) % 2]

    with model_server(answer) as smooth, model_server(at_first) as bumpy:
        expected, found = asking.evaluate(smooth), asking.evaluate(bumpy)
        assert found.code == 0, found.err
        assert len(bumpy.requests) == 2 * len(smooth.requests)
        assert (found.json["statuses"], found.json["model_calls"]) == (
            expected.json["statuses"],
            expected.json["model_calls"],
        )


def test_a_limit_stops_the_run_and_a_larger_one_goes_on_there(asking: SimpleNamespace) -> None:
    with model_server(answer) as server:
        stopped = asking.evaluate(server, text=EXPERIMENT + "limits: {calls: 5}\n")
        assert stopped.code == 2 and "max_calls" in stopped.err and "go on there" in stopped.err
        assert len(server.requests) == 5
        still = asking.evaluate(server, text=EXPERIMENT + "limits: {calls: 5}\n")
        assert still.code == 2 and len(server.requests) == 5, "what an experiment spent stays spent"
        whole = asking.evaluate(server, text=EXPERIMENT + "limits: {calls: 1000}\n")
        assert whole.code == 0, whole.err
        assert len({call.raw for call in server.requests}) == len(server.requests) == 5 + whole.json["model_calls"]


def test_a_limit_counts_what_the_experiment_itself_spent_on_a_memory_that_it_shares(asking: SimpleNamespace) -> None:
    text = EXPERIMENT.replace("  recent_k: [{}]\n", "")
    with model_server(answer) as server:
        theirs = asking.evaluate(server, text=text)
        built = len(server.requests) - theirs.json["units"]
        assert built > 0
        mine = text.replace("asking", "mine") + f"budgets: [3]\nlimits: {{calls: {theirs.json['units']}}}\n"
        found = asking.evaluate(server, text=mine)
        assert found.code == 0, found.err
        assert found.json["model_calls"] == theirs.json["units"], "it read all pools anew, and built nothing"
        spent = asking.evaluate(server, text=mine.replace("budgets: [3]", "budgets: [3, 4]"))
        assert spent.code == 2 and "max_calls" in spent.err, "what it spent itself stays spent"


def test_a_model_that_is_declared_weak_later_flags_a_board_that_is_there(
    asking: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flags(result: SimpleNamespace) -> set[bool]:
        board = pl.read_parquet(Path(result.json["leaderboard"]).with_suffix(".parquet"))
        return set(board.filter(method="profile_gen", group_kind="all")["flags"].str.contains("weak model"))

    with model_server(answer) as server:
        assert flags(asking.evaluate(server)) == {False}
        monkeypatch.setenv("TRAILBENCH_MODEL_WEAK", "true")
        weak = asking.evaluate(server)
        assert weak.json["model_calls"] == 0 and flags(weak) == {True}


def test_kill_9_in_the_middle_repeats_no_finished_call(
    asking: SimpleNamespace, spawn: Callable[..., "subprocess.Popen[str]"]
) -> None:
    """Killed twice while memories are built and pools are read; the third run ends, and its board is a smooth one's."""

    def slow(call: Call) -> Answer:
        return Answer(answer(call), delay=0.02)

    with model_server(slow) as server:
        environment = {
            "TRAILBENCH_MODEL_BASE_URL": server.base_url,
            "TRAILBENCH_MODEL_NAME": "scripted",
            "TRAILBENCH_MODEL_CONCURRENCY": "1",
        }
        words = ("evaluate", "--experiment", asking.file, "--home", asking.home, "--json")
        for stop_at in (4, 11):
            process = spawn(*words, **environment)
            _wait(lambda at=stop_at, run=process: server.count >= at or run.poll() is not None)
            assert process.poll() is None, process.communicate()
            process.send_signal(signal.SIGKILL)
            process.communicate()
            assert server.count >= stop_at
        ended = spawn(*words, **environment)
        out, err = ended.communicate(timeout=300)
        assert ended.returncode == 0, err
        found = json.loads(out)
        asked = [call.raw for call in server.requests]
        # A call in flight at each kill may have been made twice; a finished one never.
        assert len(asked) - len(set(asked)) <= 2
    with model_server(answer) as smooth:
        expected = asking.evaluate(smooth)
    assert found["statuses"] == expected.json["statuses"] and found["units"] == expected.json["units"]


def _wait(done: Callable[[], bool], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


def test_an_estimate_names_roles_calls_and_cost_before_any_call(
    asking: SimpleNamespace, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAILBENCH_MODEL_PRICES", json.dumps({"scripted": {"prompt": 2.0, "reply": 10.0}}))
    with model_server(answer) as server:
        monkeypatch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        monkeypatch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
        said = cli("estimate", "--experiment", asking.file, "--home", asking.home, "--json")
        assert said.code == 0, said.err
        assert server.requests == []
        rows = {row["role"]: row for row in said.json["estimate"]}
        ran = asking.evaluate(server)
        made = {role: sum(r == role for r in table(asking, "model_calls")["role"]) for role in rows}
    assert set(rows) == {"reader", "profile"}
    assert rows["reader"]["calls"] == ran.json["units"]
    assert rows["profile"]["calls"] >= made["profile"] > 0
    for row in rows.values():
        assert row["cost"] == pytest.approx((row["tokens_in"] * 2.0 + row["tokens_out"] * 10.0) / 1e6, abs=1e-8)
    assert ran.json["cost"] == pytest.approx(ran.json["model_calls"] * (11 * 2.0 + 7 * 10.0) / 1e6)
