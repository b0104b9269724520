"""States of app-log users: a model is shown a memory and a question, and answers in the form of a template.

Run it as it is: `inspect eval task.py --model PROVIDER/MODEL`, one kind only by `-T kind=free_form`.
What is particular to these questions; `trailbench_questions.py`, beside this file, reads and asks them.
`scoring/` holds the rules that score them, which need polars, for lists scipy as well.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

from inspect_ai import Task, task
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

# The one beside this file: another folder that runs in this process has its own, maybe of another version.
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.modules.pop("trailbench_questions", None)
from trailbench_questions import FOLDER, answers, questions, read_json, text_of  # noqa: E402


@task
def states(kind: str = "") -> Task:
    """Every question, or those of one kind: state_completion, personalised_service, free_form or no_key."""
    return questions("states", "task", kind, agreement)


def read_value(text: str) -> Any:
    """What a reply gives as the value, which may be null. Raises `ValueError` for a reply of another form."""
    given = read_json(text)
    if not isinstance(given, dict) or set(given) != {"value", "evidence"} or not isinstance(given["evidence"], list):
        raise ValueError("not the form that was asked for")
    if not all(isinstance(cited, str) for cited in given["evidence"]):
        raise ValueError("an id is no text")
    return given["value"]


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
    with rules():
        from pipelines.applogs.reading_replies import Said, said_by
        from pipelines.applogs.reply_scores import mechanical_score
    gold = answers()

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


@contextmanager
def rules() -> Iterator[None]:
    """Imports of `pipelines` in this block come from `scoring/` of this folder, and others never see them."""

    def taken() -> dict[str, ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] == "pipelines"]
        return {name: sys.modules.pop(name) for name in names}

    others = taken()
    sys.path.insert(0, str(FOLDER / "scoring"))
    try:
        yield
    finally:
        sys.path.pop(0)
        taken()
        sys.modules.update(others)
