"""Exported questions on app logs under inspect_ai: the same messages, answers and scores as of our own reader."""

import ast
import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from inspecting import lines, run_inspect, run_together, sent
from inspecting_texts import stating
from model_server import model_server

from pipelines.applogs.answers import standing
from pipelines.applogs.asking import AskingSettings, ask, prompts
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.scores import units
from pipelines.applogs.summary import checkpoint_scores, over_checkpoints
from pipelines.applogs.tables import table_of
from pipelines.exports.samples import state_samples, state_targets
from pipelines.models import Message, Reply, Request
from resources.code import sources
from resources.tokenizer import load_tokens
from trailbench.harness_questions import SCORED_BY, Questions
from trailbench.inspect_folder import write_questions

sys.path.insert(0, str(Path(__file__).parents[1] / "applogs"))
sys.path.insert(0, str(Path(__file__).parents[1] / "memory"))
from applog_lives import asked, checkpoints, logs
from scripted_models import Scripted

LOGS = logs()
PLACES = checkpoints(LOGS)
ASKED = asked(LOGS, PLACES)
MINUTES = 4.0


def contexts() -> pl.DataFrame:
    """The first logs, but to one user nothing at all."""
    records = dict(LOGS.group_by("user_id", maintain_order=True).agg(pl.col("record").head(4)).iter_rows())
    rows = [
        {**place, "item": WHOLE, "text": "" if place["user_id"] == "u2" else "\n".join(records[place["user_id"]])}
        for place in PLACES.select("user_id", "checkpoint_id").to_dicts()
    ]
    return table_of("contexts", [{**row, "tokens": 1, "tokens_cut": 0, "state_hash": ""} for row in rows])


def replied(request: Request) -> Reply:
    """What the scripted endpoint says, as the engine hands it on."""
    answer: Any = stating(SimpleNamespace(text=request.messages[-1].text, schema=request.schema))  # type: ignore[arg-type]
    if isinstance(answer, str):
        return Reply(answer, "ok", "key")
    return Reply(answer.text, "truncated") if answer.finish == "length" else Reply("", "refused")


def spoken(messages: tuple[Message, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((one.speaker, one.text) for one in messages)


def exported(to: Path) -> Path:
    """A folder of all questions, with what is right."""
    samples = state_samples(contexts(), ASKED.questions, load_tokens(), AskingSettings())
    questions = Questions(
        "states", "", prompts(), samples, lambda: state_targets(ASKED.gold_items, ASKED.gold_parts, MINUTES), SCORED_BY
    )
    to.mkdir()
    assert write_questions(to, questions, lambda _: None, gold=True) == ASKED.questions.height  # type: ignore[arg-type]
    return to


def test_states_get_the_same_messages_answers_and_scores_as_from_our_own_reader(tmp_path: Path) -> None:
    tokens, settings, model = load_tokens(), AskingSettings(retries=0), Scripted(replied)
    told = ask(model, contexts(), ASKED.questions, tokens, settings)
    stand = standing(ASKED.gold_items, told)
    ours = units(stand, agreements(ASKED.gold_parts, stand, MINUTES))
    assert set(ours["status"].cast(pl.String)) == {"ok", "abstained", "parse_error"}
    assert told["reason"].drop_nulls().n_unique() >= 3, "replies of several kinds are read as none"
    empty = ours.filter(pl.col("expectation").cast(pl.String) == "never")
    assert set(empty["mechanical"]) == {0.0, 1.0}, "some abstain from what is not true and some do not"
    assert ours["mechanical"].n_unique() >= 5, "right, in part, wrong"

    folder = exported(tmp_path / "folder")
    written = lines(folder / "samples.jsonl")
    assert [one["id"] for one in written] == [one["id"] for one in lines(folder / "gold" / "targets.jsonl")]
    assert {name for one in written for name in one["metadata"]} == {
        *("user_id", "checkpoint_id", "task", "shape", "reply"),
    }  # fmt: skip
    with model_server(stating) as server:
        run = run_inspect(folder, server.base_url, tmp_path / "logs")
        theirs = {sent(call.body["messages"]): call for call in server.chats}
    sought = {spoken(request.messages): request for request in model.asked}
    assert theirs.keys() == sought.keys()
    for messages, call in theirs.items():
        schema = json.loads(json.dumps(sought[messages].schema))
        del schema["properties"]["evidence"]["maxItems"]
        assert call.schema == schema and call.body["temperature"] == 0

    scores = {name: one["scores"]["agreement"] for name, one in run.samples.items()}
    assert {name: (one["value"], one["metadata"]["status"]) for name, one in scores.items()} == {
        row["item"]: (row["mechanical"], row["status"]) for row in ours.to_dicts()
    }
    answers = {name: json.loads(one["answer"]) for name, one in scores.items() if one["answer"]}
    assert answers == {row["item"]: json.loads(row["answer"]) for row in told.drop_nulls("answer").to_dicts()}
    means = over_checkpoints(checkpoint_scores(ours), "mechanical").filter(family="all")
    expected = {
        f"{task}{'' if expectation == 'value' else f'_{expectation}'}_by_user": value
        for task, expectation, value in means.select("task", "expectation", "value").iter_rows()
    }
    found = {name: value for name, value in run.metrics.items() if name.endswith("_by_user")}
    assert found == pytest.approx(expected) and len(expected) == 5 == len(run.metrics) // 2
    assert run.status == "success"


def test_folders_of_two_versions_in_one_process_run_each_by_its_own_code(tmp_path: Path) -> None:
    changed = {
        "trailbench_questions.py": ("temperature=0.0", "temperature=0.5"),
        "scoring/pipelines/applogs/reply_scores.py": ("float(score)", "float(score) / 2"),
    }
    one, other = exported(tmp_path / "one"), exported(tmp_path / "other")
    for name, (was, becomes) in changed.items():
        text = (other / name).read_text()
        assert text.count(was) == 1
        (other / name).write_text(text.replace(was, becomes))
    with model_server(stating) as server:
        runs = run_together((one, other), one, server.base_url, tmp_path / "logs")
        warmth = Counter(call.body["temperature"] for call in server.chats)
    assert warmth == {0.0: ASKED.questions.height, 0.5: ASKED.questions.height}
    scores, halves = ({name: one["scores"]["agreement"]["value"] for name, one in run.samples.items()} for run in runs)
    assert max(scores.values()) == 1 and halves == pytest.approx({name: value / 2 for name, value in scores.items()})


def test_no_prompt_holds_what_is_right() -> None:
    bare = contexts().with_columns(text=pl.lit(""))
    samples = "".join(map(json.dumps, state_samples(bare, ASKED.questions, load_tokens(), AskingSettings())))
    targets = "".join(map(json.dumps, state_targets(ASKED.gold_items, ASKED.gold_parts, MINUTES)))
    for value in ("Thai Garden", "Olive Hill", "calm jazz", "loud rock", "aqp_", "identity", "expectation"):
        assert value in targets and value not in samples


def test_what_scores_outside_imports_nothing_late() -> None:
    # Folders of several versions run in one process: a late import would find the modules of another one.
    files = sources(*SCORED_BY)
    late = {
        (name, ast.unparse(inner))
        for name, file in files.items()
        for outer in ast.walk(ast.parse(file.read_text()))
        if isinstance(outer, ast.FunctionDef)
        for inner in ast.walk(outer)
        if isinstance(inner, ast.Import | ast.ImportFrom) and "pipelines" in ast.unparse(inner)
    }
    assert len(files) > 5 and late == set()
