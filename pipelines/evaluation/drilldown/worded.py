"""A trail in parts: what a page and the terminal show of a user, a transition and a unit."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from pipelines.evaluation.drilldown.parts import (
    Cell,
    Facts,
    Fold,
    Grid,
    Head,
    Jump,
    Jumps,
    Mark,
    Part,
    Section,
    Words,
)
from pipelines.evaluation.drilldown.trail import Answer, Call, Line, Moment, Said, Trail, Unit, Visit

MATRIX = 12
"""Answers beside each other on a page."""
_SHOWN = 5
"""Visits named behind a line, the newest."""
FATES = {
    "chosen": Mark("chosen", "good"),
    "missed": Mark("missed", "bad"),
    "exposed": Mark("exposed", "bad"),
    "other": Mark("wrong, random"),
    "": Mark(""),
}
HOW = {
    "claim": "as the memory tells",
    "same text": "the visit's own text",
    "name": "visits of that name",
    "": "not told",
}
POOL_NOTE = (
    "chosen: a positive that was chosen; missed: a positive that was not; exposed: a chosen distractor that was "
    "matched to the history; wrong, random: a chosen distractor drawn at random. The number is the rank that the "
    "reader gave, of equal scores the earlier place first."
)


def overview(trail: Trail) -> Section:
    """The user: size, and every transition with its scores."""
    arms = sorted({(one.reader, one.budget) for m in trail.moments for unit in m.units for one in unit.answers})
    methods = sorted({one.method for m in trail.moments for unit in m.units for one in unit.answers})
    facts: list[tuple[str, Cell]] = [
        ("user", trail.user),
        ("visits", len(trail.visits)),
        ("batches", len(trail.batches)),
        ("transitions", len(trail.moments)),
        ("first visit", _when(trail.batches[0].start) if trail.batches else None),
        ("last visit", _when(trail.batches[-1].end) if trail.batches else None),
    ]
    grids = [_by_transition(trail, methods, reader, budget) for reader, budget in arms]
    return Section("user", f"User {trail.user}", (Facts(tuple(facts)), *grids))


def _by_transition(trail: Trail, methods: Sequence[str], reader: str, budget: int) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for moment in trail.moments:
        for unit in moment.units:
            hits = {one.method: one.n_hit for one in unit.answers if (one.reader, one.budget) == (reader, budget)}
            cells = [f"{hits[name]} / {unit.n_choose}" if name in hits else None for name in methods]
            jump = Jump(str(moment.index), f"t{moment.index}")
            rows.append((jump, _when(moment.history_end), Jump(unit.pool, _anchor(moment, unit)), *cells))
    heads = (Head("transition"), Head("after"), Head("pool"), *(Head(name, name) for name in methods))
    return Grid(f"Positives chosen, reader {reader}, {budget:,} tokens", heads, tuple(rows))


def visits_grid(visits: Sequence[Visit]) -> Grid:
    """Visits with the borders of their batches."""
    rows: list[tuple[Cell, ...]] = []
    anchors: list[str] = []
    batch = None
    for one in visits:
        if one.batch != batch:
            batch = one.batch
            rows.append((None, f"— batch {batch} begins —"))
            anchors.append(f"b{batch}")
        rows.append((one.index, one.line))
        anchors.append(f"v{one.index}")
    return Grid(
        "Visits", (Head("visit"), Head("time | category | brand | item | what was done")), tuple(rows), tuple(anchors)
    )


def moment_section(moment: Moment, visits: Sequence[Visit], matrix: int = MATRIX) -> Section:
    """A transition: what was known, what memories said of it and why, and its pools.

    Up to `matrix` answers stand beside each other; of more, every candidate names those that chose it.
    """
    facts = Facts(
        (
            ("known", f"batches 0 to {moment.index}, {moment.n_visits:,} visits"),
            ("history ends", _when(moment.history_end)),
            ("outcome", f"{_when(moment.target_start)} to {_when(moment.target_end)}"),
        )
    )
    said = [_said(one, visits) for one in moment.said]
    built = [fold for fold in [_built(moment)] if fold is not None]
    units = tuple(unit_section(moment, unit, matrix) for unit in moment.units)
    return Section(f"t{moment.index}", f"Transition {moment.index}", (facts, *said, *built), units)


def unit_section(moment: Moment, unit: Unit, matrix: int = MATRIX) -> Section:
    """A pool, who chose what, and the calls behind it; `matrix` as of `moment_section`."""
    answers = unit.answers
    parts: list[Part] = [
        Facts(
            (("choose", unit.n_choose), ("candidates", len(unit.candidates)), ("eligible distractors", unit.n_eligible))
        ),
        _scores(unit, answers),
        _pool(unit, answers, matrix),
    ]
    parts += [call_fold(one.call, _arm(one), one.method) for one in answers if one.call is not None]
    return Section(_anchor(moment, unit), unit.name, tuple(parts), pool=unit.pool)


def _anchor(moment: Moment, unit: Unit) -> str:
    return f"t{moment.index}-{unit.pool}"


def _scores(unit: Unit, answers: Sequence[Answer]) -> Grid:
    heads = ("method", "reader", "budget", "status", "reason", "chosen", "exposed")
    rows = tuple(
        (
            *(one.method, one.reader, one.budget),
            Mark(one.status, "plain" if one.status == "ok" else "bad"),
            one.reason,
            f"{one.n_hit} / {unit.n_choose}",
            f"{one.n_exposed} / {unit.n_choose}" if unit.n_eligible else None,
        )
        for one in answers
    )
    return Grid("Answers", tuple(map(Head, heads)), rows, methods=tuple(one.method for one in answers))


def _pool(unit: Unit, answers: Sequence[Answer], matrix: int) -> Grid:
    heads = [Head(name) for name in ("place", "label", "candidate", "role", "familiarity")]
    rows: list[tuple[Cell, ...]] = []
    for place, one in enumerate(unit.candidates):
        own: tuple[Cell, ...] = (one.position, one.label, one.category, one.role, one.familiarity)
        if len(answers) > matrix:
            by = [_arm(answer) for answer in answers if answer.fates[place] not in ("", "missed")]
            rows.append((*own, "; ".join(by)))
        else:
            rows.append((*own, *(_fate(answer, place) for answer in answers)))
    columns = [Head("chosen by")] if len(answers) > matrix else [Head(_arm(one), one.method) for one in answers]
    return Grid("Pool", (*heads, *columns), tuple(rows), note=POOL_NOTE)


def _fate(answer: Answer, place: int) -> Mark:
    mark, rank = FATES[answer.fates[place]], answer.ranks[place]
    word = " · ".join(part for part in (mark.word, "" if rank is None else str(rank)) if part)
    return replace(mark, word=word)


def _arm(one: Answer | Said) -> str:
    reader = f", {one.reader}" if isinstance(one, Answer) else ""
    return f"{one.method}{reader}, {one.budget:,} tokens"


def _said(said: Said, visits: Sequence[Visit]) -> Fold:
    claims = any(line.claim for line in said.lines)
    names = ("slot", "line", *(("claim", "state", "confidence, %") if claims else ()), "how known", "visits")
    rows = tuple(
        (
            *(line.slot, line.text),
            *((line.claim, line.state, line.confidence) if claims else ()),
            HOW[line.source],
            _jumps(line),
        )
        for line in said.lines
    )
    grid = Grid("What it said, line by line, and the visits behind each", tuple(map(Head, names)), rows)
    facts = Facts(
        (
            ("tokens", said.tokens),
            ("tokens cut", said.tokens_cut),
            ("state of the memory", said.state_hash),
        )
    )
    title = f"Readout of {_arm(said)}" + ("" if said.lines else " (says nothing)")
    evidence = _evidence(said, visits)
    return Fold(title, (facts, grid, *evidence) if said.lines else (facts,), said.method)


def _jumps(line: Line) -> Jumps:
    newest = line.visits[: -_SHOWN - 1 : -1]
    left = len(line.visits) - len(newest)
    return Jumps(tuple(Jump(str(number), f"v{number}") for number in newest), f"and {left:,} older" if left else "")


def _evidence(said: Said, visits: Sequence[Visit]) -> list[Part]:
    """The visits behind the claims of a memory, each in words."""
    cited = sorted({number for line in said.lines if line.claim for number in line.visits})
    known = {one.index: one for one in visits}
    rows = tuple((Jump(str(number), f"v{number}"), known[number].line) for number in cited if number in known)
    return [Grid("Evidence of its claims", (Head("visit"), Head("what happened")), rows)] if rows else []


def _built(moment: Moment) -> Fold | None:
    if not moment.built:
        return None
    calls = tuple(call_fold(one, f"{one.unit}, {one.model}", "") for one in moment.built)
    return Fold(f"Model calls by which memories took in batch {moment.index} ({len(calls)})", calls)


def call_fold(call: Call, title: str, method: str) -> Fold:
    """A model call: its account, prompt and reply."""
    facts: tuple[tuple[str, Cell], ...] = (
        ("model", call.model),
        ("status", Mark(call.status, "plain" if call.status == "ok" else "bad")),
        ("cached", call.cached),
        ("prompt tokens", call.prompt_tokens),
        ("reply tokens", call.reply_tokens),
        ("milliseconds", call.latency_ms),
        ("tries after the first", call.retries),
        ("error", call.error),
        ("key", call.key),
    )
    absent = "Not kept." if call.step == "build" else "The prompt cannot be made again as it was sent."
    prompts = [Words(f"Prompt, {speaker}", text) for speaker, text in call.messages]
    reply = "The file of model calls does not hold it." if call.reply is None else ""
    words = [*(prompts or [Words("Prompt", "", absent)]), Words("Reply", call.reply or "", reply)]
    return Fold(f"Prompt and reply: {title}", (Facts(tuple(row for row in facts if row[1] != "")), *words), method)


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
