"""Beliefs and trades: a model is shown a market and what an interface shows of a trader, and predicts.

Run it as it is: `inspect eval task.py --model PROVIDER/MODEL`, one layer only by `-T layer=belief`.
What is particular to these questions; `trailbench_questions.py`, beside this file, reads and asks them.
"""

import sys
from pathlib import Path
from statistics import fmean, median
from typing import Any

from inspect_ai import Task, task
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

# The one beside this file: another folder that runs in this process has its own, maybe of another version.
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.modules.pop("trailbench_questions", None)
from trailbench_questions import answers, questions, read_json, text_of  # noqa: E402

FLAT_NAME, FLAT = "flat", -1
LARGEST = 1 << 63


@task
def predictions(layer: str = "") -> Task:
    """Every question, or those of one layer: belief or trade."""
    return questions("predictions", "layer", layer, held_against_labels)


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
    gold = answers()

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
