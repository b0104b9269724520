"""Pools of candidates: a model is shown a memory and a pool, and names the labels it chooses.

Run it as it is: `inspect eval task.py --model PROVIDER/MODEL`, one pool only by `-T pool=infer`.
What is particular to these questions; `trailbench_questions.py`, beside this file, reads and asks them.
"""

import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

# The one beside this file: another folder that runs in this process has its own, maybe of another version.
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.modules.pop("trailbench_questions", None)
from trailbench_questions import questions, read_json, unread  # noqa: E402


@task
def pools(pool: str = "") -> Task:
    """Every question, or those of one pool: remember or infer."""
    return questions("pools", "pool", pool, recall)


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
    why = unread(state)
    return ([], why) if why else read_choice(state.output.completion, state.metadata["labels"])


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
