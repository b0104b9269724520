"""Experiments on a release of app logs from the command line: without a model, with one over HTTP, with plug-ins."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from applog_experiments import ASKING, WITHOUT_MODEL, sensible, table
from applog_lives import USERS
from model_server import (
    Answer,
    Call,
    content_filtered,
    empty,
    model_server,
    server_error,
    too_long,
    wrong_schema,
)

HUNT = """
places = [*pathlib.Path({home!r}).rglob('*'), *pathlib.Path('.').absolute().rglob('*')]
seen = ' '.join(map(str, [vars(self), dict(os.environ), places]))
if any(word in seen for word in ('gold', 'evidence', 'reference', 'state_key', 'night_swim')):
    raise OSError('there it is')
"""


def test_every_question_is_answered_or_counted_and_the_second_run_makes_nothing(
    lives_built: SimpleNamespace, evaluate_lives: Callable[..., SimpleNamespace]
) -> None:
    answer = lives_built.first
    questions = table(lives_built, "answers", "small~routine~rule")
    assert answer["units"] == 6 * questions.height > 0 and answer["users"] == len(USERS)
    assert sum(answer["statuses"].values()) == answer["units"] and set(answer["statuses"]) == {"ok", "abstained"}
    assert [answer[name] for name in ("model_calls", "cache_hits", "tokens", "cost")] == [0, 0, 0, 0]
    assert table(lives_built, "contexts", "small~oracle~extractive").is_empty()
    assert table(lives_built, "answers", "small~oracle~extractive").is_empty()
    proven = table(lives_built, "oracle_answers", "small~oracle~extractive", "gold")
    assert proven.height == questions.height
    arms = ("oracle~extractive", "recent_k~extractive~3000", "routine~rule", "last_value~rule")
    units = {arm: table(lives_built, "applog_units", f"small~{arm}", "gold") for arm in arms}
    keys = [units[arm].select("user_id", "item").rows() for arm in units]
    assert all(one == keys[0] for one in keys), "one frozen set"
    completed = {
        arm: dict(
            rows.filter(pl.col("task").cast(pl.String) == "state_completion")
            .group_by(pl.col("family").cast(pl.String))
            .agg(pl.col("mechanical").mean())
            .iter_rows()
        )
        for arm, rows in units.items()
    }
    assert completed["oracle~extractive"] == {"attribute": 1.0, "habit": 1.0, "preference": 1.0}
    assert completed["routine~rule"]["habit"] == 1.0 and completed["last_value~rule"]["habit"] == 0.0
    files = {file: file.stat().st_mtime_ns for wall in ("store", "gold") for file in
             (lives_built.home / wall).rglob("*.parquet")}  # fmt: skip
    again = evaluate_lives(WITHOUT_MODEL)
    assert again.code == 0 and again.json["statuses"] == answer["statuses"]
    assert {file: file.stat().st_mtime_ns for file in files} == files
    assert evaluate_lives(WITHOUT_MODEL, "estimate").json["estimate"] == []


def test_faults_are_statuses_and_only_errors_are_asked_again(
    lives_built: SimpleNamespace, ask_lives: Callable[..., SimpleNamespace]
) -> None:
    text = ASKING.replace("asking", "faulty").replace("  oracle: [{}]\n", "").replace("readings: 9", "readings: 13")
    faults: dict[str, Answer | str] = {}
    script: list[Answer | str] = [
        server_error(), too_long(), empty(), content_filtered(), wrong_schema(), "It is so.",
        '{"value": null, "evidence": []}',
    ]  # fmt: skip

    def faulty(call: Call) -> Answer | str:
        if call.text not in faults and script:
            faults[call.text] = script.pop(0)
        return faults.get(call.text) or sensible(call)

    with model_server(faulty) as server:
        result = ask_lives(server, text=text)
        assert result.code == 0, result.err
        answers = table(lives_built, "answers", "faulty~recent_k-k12~llm~1500")
        reasons = dict(answers["reason"].drop_nulls().value_counts().iter_rows())
        # What a script answers to two equal prompts it answers alike, so that there may be more of a kind.
        assert set(reasons) == {
            *("reply_failed", "reply_truncated", "reply_empty", "reply_refused", "reply_wrong_schema"),
            "reply_not_json",
        }
        assert set(answers["status"].cast(pl.String)) >= {"transport_error", "parse_error", "abstained", "ok"}
        assert result.json["units"] == 13 * 4 == sum(result.json["statuses"].values())
        scored = table(lives_built, "applog_units", "faulty~recent_k-k12~llm~1500", "gold")
        errors = pl.col("status").cast(pl.String).str.ends_with("error")
        told = scored.filter(errors & (pl.col("expectation").cast(pl.String) == "value"))
        assert told.height and told["mechanical"].fill_null(0).max() == 0
        before = server.count
        faults.clear()
        again = ask_lives(server, text=text)
        assert again.code == 0, again.err
        # A reply without a text is none, and is not kept; one that cannot be read is.
        lost = {"reply_failed", "reply_empty", "reply_refused"}
        assert server.count - before == sum(n for reason, n in reasons.items() if reason in lost)
        later = table(lives_built, "answers", "faulty~recent_k-k12~llm~1500")
        assert dict(later["reason"].drop_nulls().value_counts().iter_rows()) == {
            reason: n for reason, n in reasons.items() if reason not in lost
        }


def test_a_plug_in_is_evaluated_and_finds_no_gold(
    lives_built: SimpleNamespace, evaluate_lives: Callable[..., SimpleNamespace], install: Callable[..., Path]
) -> None:
    install("hunter", "import os, pathlib", HUNT.format(home=str(lives_built.home)))
    result = evaluate_lives("name: theirs\nmethods:\n  hunter: [{}]\nreaders: [extractive]\nbudgets: [500]\n")
    assert result.code == 0, result.err
    contexts = table(lives_built, "contexts", "theirs~hunter~extractive~500")
    asked = table(lives_built, "tasks").select("user_id", "checkpoint_id").unique().sort("user_id", "checkpoint_id")
    assert contexts.select("user_id", "checkpoint_id").equals(asked) and set(contexts["item"]) == {""}
    assert contexts["text"].str.contains("playsong").all(), "it remembers something"
    assert result.json["units"] == sum(result.json["statuses"].values())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: x\nmethods:\n  recal: [{}]\n", "no method recal on a release of app logs"),
        ("name: x\nmethods:\n  recent_k: [{}]\nreaders: [embedding]\n", "there are extractive, llm, rule"),
        ("name: x\nmethods:\n  recent_k: [{n: 5}]\n", "method recent_k does not take its configuration: n"),
        ("name: x\nmethods:\n  recent_k: [{}]\nsplit: train\n", "split belongs to on-chain releases; take it out"),
        ("name: x\nmethods:\n  recent_k: [{}]\nbudgets: [0]\n", "experiment.yaml, line 4: budgets"),
        (
            "name: x\nmethods:\n  recent_k: [{}]\njudges:\n- failure\n- failure:m\n",
            "line 6: two judges are called failure",
        ),
        ("name: x\nmethods:\n  recent_k: [{}]\njudges: [grounded]\n", "there are core_detail, failure"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_message(
    evaluate_lives: Callable[..., SimpleNamespace], text: str, says: str
) -> None:
    result = evaluate_lives(text)
    assert result.code == 2 and says in " ".join(result.err.split())


def profile(call: Call) -> str:
    """A profile that names how much it was written from."""
    names = ("interests", "habits", "preferences", "current_needs", "circumstances")
    summary = f"The user's takeout restaurant is known from {len(call.text)} letters"
    return json.dumps({"summary": summary, **{name: [] for name in names}})


def test_a_memory_that_asks_a_model_goes_on_where_it_was_cut_off(
    lives_built: SimpleNamespace, ask_lives: Callable[..., SimpleNamespace]
) -> None:
    text = "name: building\nmethods:\n  profile_gen: [{every_batches: 8}]\nreaders: [extractive]\nusers: 1\n"
    kept = lives_built.home / "memories"
    gone = [10]

    def script(call: Call) -> Answer | str:
        return profile(call) if call.number < gone[0] else server_error()

    # Calls go one by one, a batch after another; the endpoint is gone in the second half.
    with model_server(script) as server:
        estimated = ask_lives(server, "estimate", text).json["estimate"]
        assert [row["role"] for row in estimated] == ["profile"]
        broken = ask_lives(server, text=text)
        assert broken.code != 0 and "gave no reply" in broken.err and server.count == 11
        assert len(list(kept.glob("*/*/*"))) == 1, "that of the first checkpoint"
        gone[0] = 1_000
        whole = ask_lives(server, text=text)
        assert whole.code == 0, whole.err
        made = server.count - 11
        assert (whole.json["model_calls"], whole.json["cache_hits"]) == (made, 10), "none is made again"
        assert len({call.text for call in server.chats}) == 10 + made <= estimated[0]["calls"]
        again = ask_lives(server, text=text)
        assert (again.json["model_calls"], again.json["statuses"]) == (0, whole.json["statuses"])
    contexts = table(lives_built, "contexts", "building~profile_gen-every_batches8~extractive~600")
    assert contexts["text"].str.contains("takeout restaurant is known").all()
    answers = table(lives_built, "answers", "building~profile_gen-every_batches8~extractive~600")
    said = answers.filter(pl.col("item").str.contains("/state/user_attributes_state:takeout_restaurant"))
    assert said["status"].cast(pl.String).unique().to_list() == ["ok"]
    # Its own words, or a log that waits to be taken in and stands there as it is.
    assert said["answer"].str.contains("letters|Olive Hill").all() and said["answer"].str.contains("letters").any()
