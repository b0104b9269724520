"""States of app-log users: a model is shown a memory and a question, and answers in the form of a template.

Run it as it is: `inspect eval task.py --model PROVIDER/MODEL`, one kind only by `-T kind=free_form`.
`samples.jsonl` holds the questions, `gold/targets.jsonl` the answers, joined here by id. Without the second
file replies are collected and nothing is scored. `scoring/` holds the rules that score them, which need polars,
for lists scipy as well.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, GenerateConfig, ResponseSchema
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema

FOLDER = Path(__file__).resolve().parent
GOLD = FOLDER / "gold" / "targets.jsonl"
SPEAKERS = {"system": ChatMessageSystem, "user": ChatMessageUser}
FENCE = re.compile(r"\A```[A-Za-z]*\s*\n(.*?)\n?```\Z", re.DOTALL)


@task
def states(kind: str = "") -> Task:
    """Every question, or those of one kind: state_completion, personalised_service, free_form or no_key."""
    gold = {row["id"]: row for row in lines(GOLD)} if GOLD.is_file() else None
    rows = [row for row in lines(FOLDER / "samples.jsonl") if kind in ("", row["metadata"]["task"])]
    return Task(
        dataset=MemoryDataset([sample(row, gold) for row in rows], name=f"states {kind}".strip()),
        solver=ask(),
        scorer=None if gold is None else agreement(),
        config=GenerateConfig(temperature=0.0),
        # A call that failed is a wrong answer: no question ever leaves the denominator.
        fail_on_error=False,
        score_on_error=True,
    )


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Objects of a JSON Lines file."""
    with file.open(encoding="utf-8") as text:
        yield from map(json.loads, text)


def sample(row: dict[str, Any], gold: dict[str, dict[str, Any]] | None) -> Sample:
    """A question with its answer, where there is one. Raises `KeyError` for a question that the gold lacks."""
    messages: list[ChatMessage] = [SPEAKERS[one["role"]](content=one["content"]) for one in row["input"]]
    target = [] if gold is None else gold[row["id"]]["target"]
    return Sample(input=messages, target=target, id=row["id"], metadata=row["metadata"])


@solver
def ask() -> Solver:
    """One greedy call in the form that the question asks for, where the provider supports that."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        form = state.metadata["reply"]
        schema = ResponseSchema(name=form["name"], json_schema=JSONSchema.model_validate(form["schema"]), strict=True)
        return await generate(state, response_schema=schema, max_tokens=form["max_tokens"])

    return solve


def read_json(text: str) -> Any:
    """The one JSON value that a reply is, a code fence around it left out. Raises `ValueError`."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key is given twice")
        return dict(pairs)

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no number")

    text = text.strip()
    if fenced := FENCE.match(text):
        text = fenced.group(1)
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def read_value(text: str) -> Any:
    """What a reply gives as the value, which may be null. Raises `ValueError` for a reply of another form."""
    given = read_json(text)
    if not isinstance(given, dict) or set(given) != {"value", "evidence"} or not isinstance(given["evidence"], list):
        raise ValueError("not the form that was asked for")
    if not all(isinstance(cited, str) for cited in given["evidence"]):
        raise ValueError("an id is no text")
    return given["value"]


def text_of(state: TaskState) -> str:
    """The reply; nothing where none came, or it is cut off or declined."""
    cut = state.output.empty or state.output.stop_reason in ("max_tokens", "model_length", "content_filter")
    return "" if cut else state.output.completion


@metric
def by_kind() -> Metric:
    """The mean over questions, a kind and what is expected at a time."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        return {kind: fmean(values) for kind, values in grouped(scores).items()}

    return measure


@metric
def by_user() -> Metric:
    """The mean over users of the mean over a user's checkpoints of that over their questions, as on the board."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        users: dict[tuple[str, str], list[float]] = {}
        for (kind, user, _), values in grouped(scores, "user_id", "checkpoint_id").items():
            users.setdefault((kind, user), []).append(fmean(values))
        kinds: dict[str, list[float]] = {}
        for (kind, _), values in users.items():
            kinds.setdefault(kind, []).append(fmean(values))
        return {f"{kind}_by_user": fmean(values) for kind, values in kinds.items()}

    return measure


def grouped(scores: list[SampleScore], *by: str) -> dict[Any, list[float]]:
    """Scores by kind of question and these fields of it; where nothing is true that is a kind of its own."""
    found: dict[Any, list[float]] = {}
    for one in scores:
        said = one.score.metadata or {}
        kind = said["task"] if said["expectation"] == "value" else f"{said['task']}_{said['expectation']}"
        found.setdefault((kind, *(said[name] for name in by)) if by else kind, []).append(one.score.as_float())
    return dict(sorted(found.items()))


@scorer(metrics=[by_kind(), by_user()])
def agreement() -> Scorer:
    """Agreement of the answer's fields with the truth, by rule; where nothing is true an abstention is worth 1.

    A question of which no field can be compared by rule has no score.
    """
    sys.path.insert(0, str(FOLDER / "scoring"))
    from pipelines.applogs.reading_replies import Said, said_by
    from pipelines.applogs.reply_scores import mechanical_score

    gold = {row["id"]: row for row in lines(GOLD)}

    async def score(state: TaskState, target: Target) -> Score:
        right, asked = gold[str(state.sample_id)], state.metadata
        try:
            said = said_by(read_value(text_of(state)), asked["shape"])
        except ValueError as error:
            said = Said("transport_error" if state.output.empty else "parse_error", reason=str(error))
        value = mechanical_score(said, right)
        about = {name: asked[name] for name in ("task", "user_id", "checkpoint_id")}
        return Score(
            # What is no number is left out of every mean by inspect.
            value=float("nan") if value is None else value,
            answer=json.dumps(said.answer, ensure_ascii=False) if said.status == "ok" else "",
            explanation=said.reason,
            metadata={**about, "expectation": right["expectation"], "status": said.status},
        )

    return score
