"""What is known of one user of a log of visits: batches, what memories said after each, what readers chose, and why.

Gold is part of it, because gold explains scores: a trail lies where the report lies, out of sight of every method.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Fate = Literal["chosen", "missed", "exposed", "other", ""]
"""Of a candidate in one answer: chosen positive, positive that was not, chosen eligible distractor, chosen random
distractor (counts nowhere), or none of these."""
Source = Literal["claim", "same text", "name", ""]
"""How the visits behind a line are known: the memory told them, the line is a visit's own text, the line begins with
the name of a category, domain or brand; empty where nothing tells."""


@dataclass(frozen=True)
class Visit:
    """One visit; `line` as memories and readers see it."""

    index: int
    batch: int
    start: datetime
    action: str
    line: str


@dataclass(frozen=True)
class Batch:
    """One batch of visits `first` … `first + n - 1`."""

    index: int
    start: datetime
    end: datetime
    first: int
    n: int


@dataclass(frozen=True)
class Line:
    """One line of a readout, or a claim at rest, and the visits behind it (numbers of the user's own visits)."""

    slot: Literal["description", "tree", "at rest"]
    text: str
    source: Source
    visits: tuple[int, ...]
    claim: str = ""
    state: str = ""
    confidence: int | None = None


@dataclass(frozen=True)
class Said:
    """What one memory said after batch t."""

    method: str
    budget: int
    tokens: int
    tokens_cut: int
    state_hash: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Call:
    """One model call: its account, and prompt and reply word for word where they are known."""

    step: str
    unit: str
    model: str
    key: str
    status: str
    cached: bool
    prompt_tokens: int
    reply_tokens: int
    latency_ms: float
    retries: int
    error: str
    messages: tuple[tuple[str, str], ...]
    """(speaker, text); empty where the prompt cannot be made again as it was sent."""
    reply: str | None
    """None where the file of calls does not hold it."""


@dataclass(frozen=True)
class Candidate:
    """One candidate of a pool."""

    position: int
    label: str
    """What prompts call it."""
    category: str
    role: str
    familiarity: str


@dataclass(frozen=True)
class Answer:
    """What one reader made of one memory's readout, candidate by candidate."""

    method: str
    reader: str
    budget: int
    status: str
    reason: str
    n_hit: int
    n_exposed: int
    fates: tuple[Fate, ...]
    """By position."""
    ranks: tuple[int | None, ...]
    """By position, from 1: of the scores, or of the order in which the reader named them; None where it did not."""
    scores: tuple[float, ...]
    """By position; empty for readers that do not rank."""
    call: Call | None


@dataclass(frozen=True)
class Unit:
    """One pool of the frozen set."""

    name: str
    pool: str
    n_choose: int
    n_eligible: int
    candidates: tuple[Candidate, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Moment:
    """A transition: what was known after batch t, what was said of it, and what was asked."""

    index: int
    history_end: datetime
    target_start: datetime
    target_end: datetime
    n_visits: int
    """Visits known: numbers 0 … n_visits − 1."""
    said: tuple[Said, ...]
    built: tuple[Call, ...]
    """Calls of the memories that ask a model, on batch t."""
    units: tuple[Unit, ...]


@dataclass(frozen=True)
class Trail:
    """One user."""

    user: str
    visits: tuple[Visit, ...]
    batches: tuple[Batch, ...]
    moments: tuple[Moment, ...]
