"""Memories that ask a model: one way to ask, count, give up and stay whole (ours).

A reply becomes memory only as a parsed value. A reply that cannot be read is asked
again a few times; then its step is lost and counted. An endpoint that gives no reply
raises, and the batch is not taken in: the state is as before.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel

from pipelines.hashing import digest
from pipelines.memory.contract import Batch, Tokens
from pipelines.memory.rendering import plain
from pipelines.memory.state import JsonMemory
from pipelines.models import Message, Model, ModelFailed, Request
from pipelines.replies import parse, schema_of

T = TypeVar("T", bound=BaseModel)


class ModelNeeded(ValueError):
    """A memory that asks a model was opened without one."""


class ContextTooSmall(ValueError):
    """The declared context does not hold a prompt, its reply and one line of data."""


@dataclass
class Tally:
    """What one batch cost and lost: counts by name, `name:detail` for the parts of one."""

    counts: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, n: int = 1, *, of: str = "") -> None:
        """Count `n` of `name`, and of its part `of`."""
        self.counts[name] += n
        if of:
            self.counts[f"{name}:{of}"] += n

    def reject(self, step: str, reason: str, n: int = 1) -> None:
        """Count an item of a reply that was not taken over."""
        if n:
            self.add("rejected", n, of=f"{step}:{reason}")


@dataclass(frozen=True)
class Asker:
    """Asks one model for typed values on behalf of one batch."""

    llm: Model
    tally: Tally
    tokens: Tokens
    unit: str
    """Method and batch, in the accounting."""
    context_tokens: int
    """Prompt and reply together, in tokens of `tokens`."""
    reply_tokens: int
    retries: int

    def ask(self, step: str, instructions: str, data: str, model: type[T], most: int | None = None) -> T | None:
        """The reply as `model`; None when no attempt could be read, and the step is then counted as lost.

        `most` bounds the lists of the reply in its schema, below what `model` allows: a small model fills a list as
        far as it may.

        Raises `ModelFailed` when the endpoint gave no reply, and what the model raises.
        """
        messages = (Message("system", instructions), Message("user", data))
        for attempt in range(self.retries + 1):
            reply = self.llm.ask(
                Request(
                    messages,
                    schema_of(model) if most is None else _bounded(schema_of(model), most),
                    step,
                    max_tokens=self.reply_tokens,
                    attempt=attempt,
                    unit=f"{self.unit}:{step}",
                )
            )
            self.tally.add("calls", of=step)
            self.tally.add("tokens_in", reply.tokens_in)
            self.tally.add("tokens_out", reply.tokens_out)
            parsed = parse(reply, model)
            if parsed.status == "failed":
                raise ModelFailed(f"{step}: the model gave no reply{': ' + reply.error if reply.error else ''}")
            if parsed.value is not None:
                return parsed.value
            self.tally.add("parse_failures", of=parsed.status)
        self.tally.add("lost_steps", of=step)
        return None

    def room(self, *texts: str) -> int:
        """Tokens that these texts and the reply leave for lines of data."""
        return self.context_tokens - self.reply_tokens - sum(map(self.tokens.count, texts))

    def windows(self, lines: Sequence[str], room: int) -> list[list[int]]:
        """Places of consecutive `lines`, as many a call as `room` holds, none left out.

        More than one window is counted under `extra_windows`. Raises `ContextTooSmall` for a line that fits in none.
        """
        windows: list[list[int]] = []
        used = room
        for place, cost in enumerate(self.tokens.counts(lines)):
            if cost + 1 > room:
                raise ContextTooSmall(
                    f"context_tokens {self.context_tokens} leaves {room} tokens for data and a line has {cost + 1}: "
                    f"raise context_tokens or lower reply_tokens ({self.reply_tokens})"
                )
            used += cost + 1
            if used > room:
                windows.append([])
                used = cost + 1
            windows[-1].append(place)
        self.tally.add("extra_windows", max(len(windows) - 1, 0))
        return windows


def _bounded(schema: Mapping[str, Any], most: int) -> dict[str, Any]:
    """The schema with no list of the outermost object longer than `most`."""
    properties = {
        name: {**value, "maxItems": min(most, value.get("maxItems", most))} if value.get("type") == "array" else value
        for name, value in schema["properties"].items()
    }
    return {**schema, "properties": properties}


class ModelMemory(JsonMemory):
    """A `JsonMemory` that asks a model. A subclass says by `take` how a batch changes `state`."""

    prompts: ClassVar[str] = ""
    """Hash of the prompts it sends."""

    def open(self, user: str, config: BaseModel, llm: Any, embedder: Any) -> None:
        """See `Method`. Raises `ModelNeeded` when this configuration asks a model and there is none."""
        if llm is None and self.asks(config):
            raise ModelNeeded(f"method {self.name!r} asks a model and was given none: name one in the experiment")
        super().open(user, config, llm, embedder)
        self.llm: Model = llm
        self._owner = digest(self._owner, llm.fingerprint if llm is not None else "", self.prompts)

    def asks(self, config: BaseModel) -> bool:
        """Whether this configuration makes any call."""
        return True

    def ingest(self, batch: Batch) -> None:
        """See `Method`. Whatever is raised, the memory is then as it was before."""
        journal, state = deepcopy(self.journal), deepcopy(self.state)
        try:
            super().ingest(batch)
        except BaseException:
            self.journal, self.state = journal, state
            raise

    def record(self, batch: Batch, tally: Tally) -> None:
        """Note in the state what the batch cost and lost."""
        self.state.setdefault("ingests", []).append({"batch": batch.index, **dict(sorted(tally.counts.items()))})

    def stats(self) -> dict[str, int]:
        """Batches, visits and the sums of all tallies; `degraded` is 1 when a step was lost."""
        sums: Counter[str] = Counter({"calls": 0, "tokens_in": 0, "tokens_out": 0, "parse_failures": 0})
        sums.update({"lost_steps": 0, "rejected": 0})
        for ingest in self.state.get("ingests", []):
            sums.update({name: n for name, n in ingest.items() if name != "batch"})
        return {**super().stats(), **dict(sorted(sums.items())), "degraded": int(sums["lost_steps"] > 0)}


def said(text: str) -> str:
    """What a model wrote, on one line and free of control characters."""
    return plain(text)


def cited(
    step: str, asked: Sequence[str], known: Callable[[str], bool], tally: Tally, *, what: str = "evidence"
) -> list[str] | None:
    """The ids an item cites, each once; None, counted, when it cites nothing or anything that does not exist."""
    ids = list(dict.fromkeys(asked))
    if not ids:
        tally.reject(step, f"no_{what}")
        return None
    if not all(known(one) for one in ids):
        tally.reject(step, f"unknown_{what}")
        return None
    return ids
