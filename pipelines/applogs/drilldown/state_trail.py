"""What is known of one user of app logs: logs, states in time, and every question with what was delivered to it,
answered, and true.

Gold is part of it, because gold explains scores: a trail lies where the report lies, out of sight of every method.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import polars as pl

from pipelines.evaluation.drilldown.trail import Call

Role = Literal["current", "earlier", "distractor", ""]
"""Of a log for one question: shows the value that is right, one that was right before, only imitates the state, or
none of these."""


@dataclass(frozen=True)
class Log:
    """One log; `record` is its JSON on one line."""

    position: int
    id: str
    time: datetime
    what: str
    record: str


@dataclass(frozen=True)
class Field:
    """One field or point of a right answer; `expected` is JSON, None for what a person must read.

    `of_state` is the state whose field it is, in a list of several; else empty.
    """

    part: str
    kind: str
    gate: bool
    criterion: str
    expected: str | None
    of_state: str = ""


@dataclass(frozen=True)
class Agreement:
    """What an answer says in a field, as JSON, and how far that is right by rule (None: not told by rule)."""

    part: str
    given: str | None
    agreement: float | None


@dataclass(frozen=True)
class Verdict:
    """A judge's marks on one part."""

    part: str
    status: str
    reason: str
    core_correct: bool | None
    detail_quality: int | None
    analysis: str


@dataclass(frozen=True)
class Failure:
    """Why an answer is wrong, as a judge says: one of `tables.FAILURES`, None unless the status is ok."""

    label: str | None
    status: str
    reason: str
    analysis: str


@dataclass(frozen=True)
class Delivered:
    """What one memory, frozen at a checkpoint, delivered: to one question, or to all of the checkpoint alike."""

    method: str
    budget: int
    text: str
    tokens: int
    tokens_cut: int
    state_hash: str
    logs: tuple[str, ...] | None
    """Ids in the order of the text; None where it tells them in words of its own."""


@dataclass(frozen=True)
class Answer:
    """What one arm answered; numbers are shares, None where there is none of the kind."""

    method: str
    reader: str
    budget: int
    status: str
    reason: str
    answer: str | None
    """JSON; None unless the status is ok."""
    cited: tuple[str, ...]
    fields: tuple[Agreement, ...]
    mechanical: float | None
    points: float | None
    evidence: tuple[float, float, float]
    """Precision, recall, F1."""
    stale: float | None
    label: str
    """Why it is wrong, by the logs that the memory delivered (`attribution`); empty where right or not asked so."""
    failure: Failure | None
    """The same by a judge; None where it was not asked."""
    score: float | None
    """Core+Detail of the judge; None where it was not asked."""
    verdicts: tuple[Verdict, ...]
    call: Call | None


@dataclass(frozen=True)
class Question:
    """One question of the frozen set. `asked` are its texts by name, word for word.

    Of one that is not `in_full` only what its checkpoint says of it is known: fields, deliveries and calls are empty.
    """

    name: str
    number: int
    """Place among those of its checkpoint, from 1."""
    in_full: bool
    task: str
    state_key: str
    family: str
    service_family: str
    truth: str
    expectation: str
    asked: tuple[tuple[str, str], ...]
    reference: str | None
    fields: tuple[Field, ...]
    roles: Mapping[str, Role]
    """Log → its role; logs without one are left out."""
    tagged: bool
    """Whether anybody told which logs show earlier values and which imitate the state."""
    delivered: tuple[Delivered, ...]
    """To this question alone."""
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Checkpoint:
    """A moment at which something is asked."""

    index: int
    name: str
    as_of: datetime
    n_visible: int
    """Logs known: positions 0 … n_visible − 1."""
    last_log: str
    cut_by: str
    delivered: tuple[Delivered, ...]
    """To every question alike."""
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class StateTrail:
    """One user. `intervals`, `evidence` and `places` are what its picture and its table of states are made from:
    `state_intervals`, `state_evidence` with the `time` of visible logs, `checkpoints`.
    """

    user: str
    logs: tuple[Log, ...]
    checkpoints: tuple[Checkpoint, ...]
    intervals: pl.DataFrame
    evidence: pl.DataFrame
    places: pl.DataFrame
