"""The rubric Grounded: is what a memory says of a user borne out by what the user did? (ours)

What is judged are the lines of a readout taken after batch t; the evidence is the
user's own visits of the batches up to t. No gold, no outcome and no method's name
enters, and nothing after t.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from pipelines.evaluation.judging import PART, PARTS
from pipelines.evaluation.judging.core_detail import CORE, DETAIL
from pipelines.evaluation.judging.rubric import Field, JudgeSettings, Rubric
from pipelines.evaluation.judging.tables import JUDGING_TABLES
from pipelines.memory.contract import Tokens
from pipelines.memory.rendering import visit_lines
from pipelines.memory.timeline import Histories

SUPPORTED, SPECIFIC = "supported", "specific"
GROUNDED = Rubric(
    name="grounded",
    instructions="judge/grounded",
    fields=(Field(SUPPORTED, "bool"), Field(SPECIFIC, "int", low=0, high=2)),
)
QUESTION = "Which lines of this description of the user do the user's own visits support?"
SLOTS = ("description", "tree")
SHARES = 4
"""A judge's context is one part in so many visits and as much reply; the rest is instructions and readout."""


@dataclass(frozen=True)
class Room:
    """What one call shows: at most so many tokens of visits (by the counter of the readouts), and so many lines."""

    evidence_tokens: int
    lines: int


def room_of(settings: JudgeSettings) -> Room:
    """The room in the context of a judge; a small context shows little evidence and few lines a call."""
    part = settings.context_tokens // SHARES
    return Room(part, max((part - settings.reply_tokens) // settings.part_tokens, 1))


def grounded_parts(
    readouts: pl.DataFrame, given: Histories, asked: Iterable[tuple[str, int]], tokens: Tokens, room: Room
) -> pl.DataFrame:
    """The lines of the readouts (table `readouts`) at `asked` (user, transition), as columns `PARTS`.

    An item is what one call is about: a readout, or as many of its lines as there is room for. The reference holds the
    user's visits up to the transition, newest first, as far as the room reaches. A readout without a line has no part.
    Sorted by item and part. Raises `ValueError` for a transition without a readout.
    """
    said = {
        (row["user_id"], row["transition_index"]): row
        for row in readouts.select("user_id", "transition_index", *SLOTS).iter_rows(named=True)
    }
    rows = []
    for user, transition in asked:
        if (user, transition) not in said:
            raise ValueError(f"user {user!r} has no readout after batch {transition}; build the memory first")
        lines = list(readout_lines(said[user, transition]))
        if not lines:
            continue
        texts = [said[user, transition][slot] for slot in SLOTS]
        shown = {
            "user_id": user,
            "gate": False,
            "question": QUESTION,
            "reference": evidence(given, user, transition, tokens, room.evidence_tokens),
            "answer": "\n".join(text for text in texts if text.strip()),
            "expected": None,
        }
        rows += [
            {**shown, "item": item_name(user, transition, place // room.lines), "part": part, "given": line}
            for place, (part, line) in enumerate(lines)
        ]
    return pl.DataFrame(rows, schema=dict(PARTS)).sort("item", "part")


def item_name(user: str, transition: int, call: int) -> str:
    """Name of a call about a readout among those of one memory; calls about a readout count from 0."""
    return f"{user}/{transition}/{call}"


def readout_lines(readout: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Name and text of every line with a word in it, slot by slot: `description 001`, `tree 001` …"""
    for slot in SLOTS:
        lines = [line.strip() for line in readout[slot].split("\n") if line.strip()]
        yield from ((f"{slot} {place:03}", line) for place, line in enumerate(lines, start=1))


def evidence(given: Histories, user: str, transition: int, tokens: Tokens, budget: int) -> str:
    """The user's visits of the batches up to `transition`, newest first; a last line says how many were left out."""
    past = [place for place, (index, *_) in enumerate(given.batches[user]) if index <= transition]
    shown: list[str] = []
    left, used = sum(given.batches[user][place][2] for place in past), 0
    for place in reversed(past):
        lines = visit_lines(given.batch(user, place).visits)[::-1]
        for line, cost in zip(lines, tokens.counts(lines), strict=True):
            used += cost + 1
            if used > budget:
                return "\n".join([*shown, f"({left} older visits are not shown)"])
            shown.append(line)
            left -= 1
    return "\n".join(shown)


def as_core_detail(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Verdicts of this rubric under the names of Core + Detail, whose scores they then have: 0.8 and 0.2 of a part."""
    return verdicts.rename({SUPPORTED: CORE, SPECIFIC: DETAIL})


def verdict_rows(verdicts: pl.DataFrame, parts: pl.DataFrame) -> pl.DataFrame:
    """Rows of table `verdicts` from a judge's verdicts on `parts`, in the table's order."""
    table = JUDGING_TABLES["verdicts"]
    return (
        verdicts.join(parts.select(*PART, line="given"), on=PART, how="left")
        .with_columns(
            pl.lit(GROUNDED.name).alias("rubric"),
            pl.col("item").str.extract(r"/(\d+)/\d+$").cast(pl.Int32).alias("transition_index"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
        .sort(table.sort_by)
    )
