"""What all exported questions share: how they are read from this folder, asked, and their replies read as JSON.

`samples.jsonl` holds the questions, `gold/targets.jsonl` the answers, joined here by id. Without the second
file replies are collected and nothing is scored.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, GenerateConfig, ResponseSchema
from inspect_ai.scorer import Scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema

FOLDER = Path(__file__).resolve().parent
GOLD = FOLDER / "gold" / "targets.jsonl"
SPEAKERS = {"system": ChatMessageSystem, "user": ChatMessageUser}
FENCE = re.compile(r"\A```[A-Za-z]*\s*\n(.*?)\n?```\Z", re.DOTALL)
UNREAD = {"max_tokens": "truncated", "model_length": "truncated", "content_filter": "refused"}


def questions(name: str, field: str, value: str, scorer: Callable[[], Scorer]) -> Task:
    """The questions whose `field` has this value, all where it is empty; scored where the answers are there."""
    gold = answers() if GOLD.is_file() else None
    rows = [row for row in lines(FOLDER / "samples.jsonl") if value in ("", row["metadata"][field])]
    return Task(
        dataset=MemoryDataset([sample(row, gold) for row in rows], name=f"{name} {value}".strip()),
        solver=ask(),
        scorer=None if gold is None else scorer(),
        config=GenerateConfig(temperature=0.0),
        # A call that failed is a wrong answer: no question ever leaves the denominator.
        fail_on_error=False,
        score_on_error=True,
    )


def answers() -> dict[str, dict[str, Any]]:
    """What is right, by id of the question."""
    return {row["id"]: row for row in lines(GOLD)}


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


def unread(state: TaskState) -> str:
    """Why a reply is not read: it never came, is cut off or was declined; empty where it is read."""
    return "failed" if state.output.empty else UNREAD.get(state.output.stop_reason, "")


def text_of(state: TaskState) -> str:
    """The reply; nothing where it is not read."""
    return "" if unread(state) else state.output.completion
