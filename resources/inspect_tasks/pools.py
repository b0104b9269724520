"""Pools of candidates: a model is shown a memory and a pool, and names the labels it chooses.

Run it as it is: `inspect eval task.py --model PROVIDER/MODEL`, one pool only by `-T pool=infer`.
`samples.jsonl` holds the questions, `gold/targets.jsonl` the answers, joined here by id. Without the second
file replies are collected and nothing is scored.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
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
def pools(pool: str = "") -> Task:
    """Every question, or those of one pool: remember or infer."""
    gold = {row["id"]: row for row in lines(GOLD)} if GOLD.is_file() else None
    rows = [row for row in lines(FOLDER / "samples.jsonl") if pool in ("", row["metadata"]["pool"])]
    return Task(
        dataset=MemoryDataset([sample(row, gold) for row in rows], name=f"pools {pool}".strip()),
        solver=ask(),
        scorer=None if gold is None else recall(),
        config=GenerateConfig(temperature=0.0),
        # A call that failed is a miss: no question ever leaves the denominator.
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


def read_choice(text: str, labels: list[str]) -> tuple[list[str], str]:
    """Labels that a reply chooses, and why there is none; a label that is not in the list spoils all."""
    try:
        value = read_json(text)
    except ValueError:
        return [], "empty" if not text.strip() else "not_json"
    if not isinstance(value, dict) or set(value) != {"chosen"} or not isinstance(value["chosen"], list):
        return [], "wrong_schema"
    chosen = value["chosen"]
    if not all(isinstance(label, str) for label in chosen):
        return [], "wrong_schema"
    if not chosen:
        return [], "none_chosen"
    if not set(chosen) <= set(labels):
        return [], "unknown_label"
    return (chosen, "") if len(set(chosen)) == len(chosen) else ([], "label_twice")


def choice_of(state: TaskState) -> tuple[list[str], str]:
    """What a reply chooses; one that never came, is cut off or declined is not read."""
    if state.output.empty:
        return [], "failed"
    if state.output.stop_reason in ("max_tokens", "model_length"):
        return [], "truncated"
    if state.output.stop_reason == "content_filter":
        return [], "refused"
    return read_choice(state.output.completion, state.metadata["labels"])


@metric
def micro() -> Metric:
    """Chosen positives / positives, a pool at a time."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        return {pool: hits / asked for pool, (hits, asked) in sorted(sums(scores, "pool").items())}

    return measure


@metric
def by_user() -> Metric:
    """The mean over users of their own recall, a pool at a time."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        shares: dict[str, list[float]] = {}
        for (pool, _), (hits, asked) in sorted(sums(scores, "pool", "user_id").items()):
            shares.setdefault(pool, []).append(hits / asked)
        return {f"{pool}_by_user": sum(own) / len(own) for pool, own in shares.items()}

    return measure


def sums(scores: list[SampleScore], *by: str) -> dict[Any, tuple[float, int]]:
    """Chosen positives and positives by these fields of a question."""
    found: dict[Any, tuple[float, int]] = {}
    for one in scores:
        said = one.score.metadata or {}
        key = tuple(said[name] for name in by) if len(by) > 1 else said[by[0]]
        hits, asked = found.get(key, (0.0, 0))
        found[key] = hits + one.score.as_float() * said["n_positives"], asked + said["n_positives"]
    return found


@scorer(metrics=[micro(), by_user()])
def recall() -> Scorer:
    """Chosen positives / positives of a pool. Of more labels than asked for the first ones count, missing ones miss."""

    async def score(state: TaskState, target: Target) -> Score:
        positives = set(target)
        chosen, why = choice_of(state)
        counted = chosen[: len(positives)]
        hits = len(positives.intersection(counted))
        return Score(
            value=hits / len(positives),
            answer=" ".join(chosen),
            explanation=why or None,
            metadata={
                "n_hit": hits,
                "n_positives": len(positives),
                "pool": state.metadata["pool"],
                "user_id": state.metadata["user_id"],
            },
        )

    return score
