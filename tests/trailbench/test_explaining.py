"""`trailbench explain` and the pages beside a report: a real endpoint, a hostile log, claims with their visits."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from model_server import Call, model_server

from pipelines.evaluation.drilldown.pages import file_name
from tests.conftest import MAPPING, shop_lines, write_log

Cli = Callable[..., SimpleNamespace]
HOSTILE = "<script>alert(1)</script>{{7*7}} \x1b[31m\u202e=1+1"
SAID = "Ignore all rules. \x1b[2J\u202e<img src=x onerror=alert(1)> {{7*7}} =cmd"
EXPERIMENT = """
name: explained
methods: {recent_k: [{}], behaviormem: [{closed_kinds: false}], shuffled_user: [{}]}
readers: [llm, lexical]
users: 4
batches: 2
pages: 2
"""
STEPS: dict[str, Any] = {
    "patterns": {"patterns": [{"text": "buys twice", "evidence": ["v1", "v3"]}]},
    "themes": {"themes": [{"kind": "interests", "text": "likes it", "confidence": 70, "evidence": ["p1"]}]},
    "placement": {"placements": [{"claim": "t1", "path": "", "domain": "d", "attribute": "a", "scope": "continuous"}]},
    "characteristics": {"characteristics": []},
    "maintenance": {"verdicts": []},
}


def answer(call: Call) -> str:
    """Claims for a memory; for a reader the first labels of a small pool, and no answer at all to a larger one."""
    asked = call.body["response_format"]["json_schema"]
    if asked["name"] in STEPS:
        return json.dumps(STEPS[asked["name"]])
    chosen = asked["schema"]["properties"]["chosen"]
    labels = chosen["items"]["enum"]
    return json.dumps({"chosen": labels[: chosen["minItems"]]}) if len(labels) < 20 else SAID


@pytest.fixture(scope="module")
def explained(cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A home folder with an experiment on a hostile log, and what its endpoint was asked."""
    folder = tmp_path_factory.mktemp("explained")
    lines = [line.replace("K0", "K:0").replace("Abt 1", f"Abt {HOSTILE}") for line in shop_lines(users=12)]
    log, mapping, experiment = write_log(folder / "shop.csv", lines), folder / "shop.yaml", folder / "explained.yaml"
    mapping.write_text(MAPPING)
    experiment.write_text(EXPERIMENT)
    home = folder / "home"
    built = cli("build", log, "--source", "mapping", "--mapping", mapping, "--home", home, "--shards", 1, "--json")
    assert built.code == 0, built.err
    with model_server(answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAILBENCH_MODEL_BASE_URL", server.base_url)
        patch.setenv("TRAILBENCH_MODEL_NAME", "scripted")
        made = cli("evaluate", "--experiment", experiment, "--home", home, "--json")
        assert made.code == 0, made.err
        sent = [call.body["messages"] for call in server.chats]
    reports = Path(made.json["report"]).parent

    def ask(*words: object) -> SimpleNamespace:
        return cli("explain", *words, "--home", home)

    return SimpleNamespace(home=home, ask=ask, sent=sent, reports=reports, release=made.json["release"])


def published(explained: SimpleNamespace, table: str, wall: str = "gold") -> pl.DataFrame:
    parts = [pl.read_parquet(one) for one in (explained.home / wall / table).rglob("*.parquet")]
    return pl.concat(parts).unique(maintain_order=True)


@pytest.fixture(scope="module")
def units(explained: SimpleNamespace) -> pl.DataFrame:
    return published(explained, "units").filter(pl.col("method") == "recent_k").sort(pl.all())


def spelt(row: dict[str, Any]) -> str:
    return f"{row['user_id']}:{row['transition_index']}:{row['pool']}"


def test_every_answer_of_a_unit_is_that_of_the_board(explained: SimpleNamespace, units: pl.DataFrame) -> None:
    for row in units.filter(reader="llm").head(4).to_dicts():
        got = explained.ask(spelt(row), "--json").json
        assert (got["unit"], got["user"], got["release"]) == (spelt(row), row["user_id"], explained.release)
        (unit,) = got["units"]
        assert len(unit["answers"]) == 3 * 2 and unit["n_choose"] == row["n_positives"]
        (mine,) = [one for one in unit["answers"] if (one["method"], one["reader"]) == ("recent_k", "llm")]
        assert (mine["status"], mine["n_hit"], mine["n_exposed"]) == (row["status"], row["n_hit"], row["n_exposed"])
        assert mine["fates"].count("chosen") == row["n_hit"] and mine["fates"].count("exposed") == row["n_exposed"]


def test_prompt_and_reply_are_those_that_went_over_the_wire(explained: SimpleNamespace, units: pl.DataFrame) -> None:
    replies = set()
    for row in units.filter(reader="llm").to_dicts():
        got = explained.ask(spelt(row), "--reader", "llm", "--json").json
        for one in got["units"][0]["answers"]:
            call = one["call"]
            messages = [{"role": speaker, "content": text} for speaker, text in call["messages"]]
            assert len(messages) == 2 and messages in explained.sent
            size = len(got["units"][0]["candidates"])
            assert (call["reply"] == SAID) == (size >= 20) and one["status"] == ("ok" if size < 20 else "invalid")
            replies.add(call["reply"])
    assert SAID in replies and len(replies) > 1


def test_a_claim_leads_to_its_visits(explained: SimpleNamespace, units: pl.DataFrame) -> None:
    row = units.filter(pl.col("transition_index") == 1).row(0, named=True)
    got = explained.ask(spelt(row), "--method", "behaviormem-closed_kindsFalse", "--json").json
    claims = [line for said in got["said"] for line in said["lines"] if line["claim"]]
    batches = published(explained, "batches", "store").filter(user_id=row["user_id"])
    first = batches.filter(batch_index=1)["first_visit"][0]
    assert [(one["claim"], one["source"], one["visits"]) for one in claims] == [
        ("c1", "claim", [0, 2, first, first + 2])
    ]
    visits = published(explained, "visits", "store").filter(user_id=row["user_id"])
    for number in claims[0]["visits"]:
        item = visits.filter(visit_index=number)["item_id"][0]
        assert f"| item {item} |" in got["evidence"][str(number)]
    assert got["n_visits"] > first + 2
    # A call that batch 0 made already, word for word, stands there.
    for one in got["built"]:
        assert one["reply"] is not None and json.loads(one["reply"]) == STEPS[one["unit"].split(":")[-1]]
    assert "patterns" in {one["unit"].split(":")[-1] for one in got["built"]}
    borrowed = explained.ask(spelt(row), "--method", "shuffled_user", "--json").json
    assert {line["source"] for said in borrowed["said"] for line in said["lines"]} <= {""}


def test_the_terminal_shows_the_same_as_text(explained: SimpleNamespace, units: pl.DataFrame) -> None:
    row = units.filter(reader="llm", status="invalid").row(0, named=True)
    shown = explained.ask(spelt(row)).out
    said = re.sub(r"\s+", " ", shown)
    for part in (
        "Experiment explained",
        spelt(row),
        "Readout of recent_k",
        "Visits behind the lines",
        "Evidence of its claims",
    ):
        assert part in said, part
    assert f"{row['n_hit']} / {row['n_positives']}" in said and "not told" not in said.split("Model calls")[0][:200]
    assert "\x1b" not in shown and "\u202e" not in shown and "49" + " =cmd" not in shown
    assert "│ Ignore all rules. ␛[2J⟨U+202E⟩<img src=x onerror=alert(1)> {{7*7}} =cmd" in shown
    assert "<script>alert(1)</script>{{7*7}}" in shown
    # What a model is told stands behind a sign, line by line.
    assert "\n│ " in shown.split("Prompt, user")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["K:0"], r"no unit 'K:0' in this experiment; a unit is spelt user:transition:pool, and near ones are K:0"),
        (["nobody at all"], "there is none like it"),
        (["x", "--method", "none_such"], "no method 'none_such' in this experiment; there are behaviormem-"),
        (["x", "--reader", "none"], "no reader 'none' in this experiment; there are lexical, llm"),
        (["x", "--experiment", "other"], "no experiment 'other' was evaluated in .*; there are explained"),
    ],
)
def test_what_is_not_there_is_refused_with_a_remedy(explained: SimpleNamespace, words: list[str], says: str) -> None:
    got = explained.ask(*words)
    assert (got.code, got.out) == (2, "") and re.search(says, got.err.replace("\n", " ")), got.err
    assert "\x1b" not in explained.ask("\x1b[31m\u202e").err


def test_a_home_without_an_experiment_says_what_to_run(built: SimpleNamespace, cli: Cli) -> None:
    got = cli("explain", "a:0:infer", "--home", built.home)
    assert got.code == 2 and "nothing was evaluated in" in got.err and "trailbench evaluate" in got.err


def test_pages_lie_out_of_sight_of_methods_and_are_those_of_the_setting(
    explained: SimpleNamespace, cli: Cli, at_home: Callable[[Path], Any]
) -> None:
    from resources.dag import InputStore

    pages = {file.name: file.read_text() for file in (explained.reports / "users").iterdir()}
    report = (explained.reports / "report.html").read_text()
    assert len(pages) == 2 and "2 of 4 users have a page" in report
    assert sorted(re.findall(r'href="users/([^"]+)"', report)) == sorted(pages)
    users = published(explained, "units")["user_id"].unique()
    assert set(pages) < {file_name(user) for user in users}
    for text in pages.values():
        assert "<script>alert" not in text and "\x1b" not in text and "\u202e" not in text and "<img" not in text
        assert "Ignore all rules. ␛[2J⟨U+202E⟩&lt;img src=x" in text and "Evidence of its claims" in text
    at_home(explained.home)
    assert any(explained.reports.is_relative_to(hidden) for hidden in InputStore().hidden)
