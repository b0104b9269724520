"""Beliefs and trades: a model is shown a market and what an interface shows of a trader, and predicts.

Run it as it is: `inspect eval task.py --model PROVIDER/MODEL`, one layer only by `-T layer=belief`.
`samples.jsonl` holds the questions, `gold/targets.jsonl` the answers, joined here by id. Without the second
file replies are collected and nothing is scored.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median
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
FLAT_NAME, FLAT = "flat", -1
LARGEST = 1 << 63


@task
def predictions(layer: str = "") -> Task:
    """Every question, or those of one layer: belief or trade."""
    gold = {row["id"]: row for row in lines(GOLD)} if GOLD.is_file() else None
    rows = [row for row in lines(FOLDER / "samples.jsonl") if layer in ("", row["metadata"]["layer"])]
    return Task(
        dataset=MemoryDataset([sample(row, gold) for row in rows], name=f"predictions {layer}".strip()),
        solver=ask(),
        scorer=None if gold is None else held_against_labels(),
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


def read_belief(text: str, outcomes: list[str]) -> tuple[int, float] | None:
    """Index of the outcome (−1 for flat) and confidence of a reply; None where it gives no usable answer."""
    value = fields(text, "side", "confidence")
    if value is None or not isinstance(value["side"], str) or not is_number(value["confidence"]):
        return None
    if not 0 <= value["confidence"] <= 1:
        return None
    names, said = [name.strip().casefold() for name in outcomes], value["side"].strip().casefold()
    if value["side"] in outcomes:
        return outcomes.index(value["side"]), float(value["confidence"])
    if said in names:
        return names.index(said), float(value["confidence"])
    return (FLAT, float(value["confidence"])) if said == FLAT_NAME else None


def read_trade(text: str) -> tuple[str, int] | None:
    """Direction and amount of a reply; None where it gives no usable answer."""
    value = fields(text, "direction", "amount")
    if value is None or value["direction"] not in ("BUY", "SELL") or not is_number(value["amount"]):
        return None
    amount = value["amount"]
    if isinstance(amount, float) and not amount.is_integer():
        return None
    return (value["direction"], int(amount)) if 0 <= amount < LARGEST else None


def fields(text: str, *names: str) -> dict[str, Any] | None:
    """A reply that is an object of exactly these fields."""
    try:
        value = read_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and set(value) == set(names) else None


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_of(state: TaskState) -> str:
    """The reply; nothing where none came, or it is cut off or declined."""
    cut = state.output.empty or state.output.stop_reason in ("max_tokens", "model_length", "content_filter")
    return "" if cut else state.output.completion


@metric
def over_all_targets() -> Metric:
    """Accuracy and errors, a layer at a time; amounts are in millionths of a share."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        found: dict[str, float] = {}
        for layer in ("belief", "trade"):
            rows = [one.score for one in scores if (one.score.metadata or {})["layer"] == layer]
            if rows:
                found[f"{layer}_accuracy"] = fmean(value(one, "correct") for one in rows)
                found[f"{layer}_mae"] = fmean(value(one, "error") for one in rows)
            if rows and layer == "trade":
                found["trade_medae"] = float(median(value(one, "error") for one in rows))
        return found

    return measure


def value(score: Score, name: str) -> float:
    """One part of a score's value."""
    return float(score.as_dict()[name] or 0.0)


@scorer(metrics=[over_all_targets()])
def held_against_labels() -> Scorer:
    """Whether side or direction is right, and how far off the confidence or amount is.

    A target without a usable answer is wrong; its confidence error is 1, and its amount counts as 0.
    """
    gold = {row["id"]: row for row in lines(GOLD)}

    async def score(state: TaskState, target: Target) -> Score:
        label, layer = gold[str(state.sample_id)], state.metadata["layer"]
        if layer == "belief":
            said: tuple[int | str, float] | None = read_belief(text_of(state), state.metadata["outcomes"])
            right, size, without = label["side"], label["confidence"], 1.0
        else:
            said = read_trade(text_of(state))
            right, size, without = label["direction"], label["amount"], float(label["amount"])
        return Score(
            value={
                "correct": float(said is not None and said[0] == right),
                "error": without if said is None else float(abs(said[1] - size)),
            },
            answer="" if said is None else f"{said[0]} {said[1]}",
            metadata={"layer": layer, "usable": said is not None},
        )

    return score
