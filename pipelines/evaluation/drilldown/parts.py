"""What an explanation is shown in, by pages and the terminal alike: facts, grids, words and folds of them."""

from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["good", "bad", "plain"]


@dataclass(frozen=True)
class Mark:
    """A cell that judges: its word says all, the tone only helps the eye."""

    word: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Jump:
    """A cell, or one of several in it, that leads to an anchor of the same explanation."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Jumps:
    """A cell of several jumps, and what was left out of them."""

    jumps: tuple[Jump, ...]
    more: str = ""


Cell = str | int | float | bool | None | Mark | Jump | Jumps


@dataclass(frozen=True)
class Head:
    """The head of a column; `method` where the column is of one method, so that a filter finds it."""

    title: str
    method: str = ""


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    rows: tuple[tuple[str, Cell], ...]
    title: str = ""


@dataclass(frozen=True)
class Grid:
    """A table. Rows may have an anchor, and a method that a filter finds (empty: of none)."""

    title: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    anchors: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Words:
    """Text of a log, a memory or a model, word for word."""

    title: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class Fold:
    """Parts that are opened when they are wanted; `method` as of a head."""

    title: str
    parts: "tuple[Part, ...]"
    method: str = ""


Part = Facts | Grid | Words | Fold


@dataclass(frozen=True)
class Section:
    """A unit, or what several units share; `pool` is what a filter finds, `anchor` what jumps lead to."""

    anchor: str
    title: str
    parts: tuple[Part, ...]
    sections: "tuple[Section, ...]" = field(default=())
    pool: str = ""
