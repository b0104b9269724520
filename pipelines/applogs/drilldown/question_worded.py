"""One question in parts: as asked, what is right, what memories delivered, what was answered, how it was marked."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from pipelines.applogs.drilldown.judged_worded import failure_mark, judged_parts
from pipelines.applogs.drilldown.state_trail import Answer, Checkpoint, Delivered, Field, Log, Question, Role
from pipelines.applogs.drilldown.states_in_time import checkpoint_anchor, log_anchor
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
    Tone,
    Words,
)
from pipelines.evaluation.drilldown.worded import call_fold
from pipelines.memory.rendering import plain

ROLES: dict[Role, str] = {
    "current": "current value",
    "earlier": "earlier values",
    "distractor": "distractors",
    "": "other logs",
}
"""Role of a log → what its column is called."""
TASKS = {
    "state_completion": "State completion",
    "personalised_service": "Personalised service",
    "free_form": "Free form",
    "no_key": "Without a key",
}
_SHOWN = 8
"""Logs of one role that a cell names, the newest."""


class Logs:
    """The logs of a user that a page or an explanation may name."""

    def __init__(self, logs: Sequence[Log], whole: bool = False) -> None:
        self._positions = {one.id: one.position for one in logs}
        self._ids = {plain(one.record): one.id for one in logs}
        self.whole = whole
        """Whether texts are shown word for word, or with ids in the place of logs that are shown in full elsewhere."""

    def jump(self, log: str) -> Jump:
        """The id, leading to the log where it is one of these."""
        position = self._positions.get(log)
        return Jump(log, "" if position is None else log_anchor(position))

    def named(self, text: str) -> str:
        """The text with `⟦id⟧` for every log whose whole JSON ends a line; the text itself where `whole`."""
        return text if self.whole else "\n".join(map(self._line, text.split("\n")))

    def _line(self, line: str) -> str:
        start = line.find("{")
        known = None if start < 0 else self._ids.get(plain(line[start:]))
        return line if known is None else f"{line[:start]}⟦{known}⟧"


def question_anchor(place: Checkpoint, question: Question) -> str:
    """Where a page shows a question."""
    return f"{checkpoint_anchor(place.index)}-q{question.number}"


def question_section(place: Checkpoint, question: Question, logs: Logs) -> Section:
    """A question on a page: as asked, what is right, who answered what and was shown what, arms below each other."""
    marks: list[Part] = []
    for one in question.answers:
        judged = judged_parts(one)
        marks += [Fold(f"Marks of the judge: {_arm(one)}", judged, one.method)] if judged else []
        marks += _calls(one, logs)
    texts = [delivered_text(one, logs) for one in question.delivered]
    parts = (*_asked(question, logs), _answers(question, logs), *_fields(question), *_delivered(place, question, logs))
    return Section(question_anchor(place, question), question.name, (*parts, *texts, *marks))


def question_told(place: Checkpoint, question: Question, logs: Logs) -> Section:
    """The same for a narrow place: one arm and one memory after another."""
    parts: list[Part] = [*_asked(question, logs)]
    for one in question.answers:
        told = zip(_right(question), question.fields, strict=True)
        rows = tuple((*cells, _agreement(one, field.part)) for cells, field in told)
        grid = Grid("Field by field", tuple(map(Head, ("field", "right", "compared as", "answer"))), rows)
        own: list[Part] = [Facts(_answer(one, logs)), *([grid] if rows else [])]
        parts.append(Fold(f"Answer of {_arm(one)}", (*own, *judged_parts(one))))
        parts += _calls(one, logs)
    parts += [delivered_text(one, logs, question) for one in _memories(place, question)]
    return Section(question_anchor(place, question), question.name, tuple(parts))


def _asked(question: Question, logs: Logs) -> list[Part]:
    none = "none" if question.expectation != "value" else "not published"
    facts: list[tuple[str, Cell]] = [
        ("task", TASKS.get(question.task, question.task)),
        ("state", question.state_key),
        ("family", question.family),
        ("service", question.service_family),
        ("expectation", question.expectation),
        ("truth", question.truth),
        ("right answer", question.reference or none),
    ]
    for role, name in ROLES.items():
        if role and (mine := _of_role(question.roles, question, role)):
            facts.append((f"logs of {name}", _of_states(mine, question, logs)))
    return [Facts(tuple(row for row in facts if row[1])), *(Words(title, text) for title, text in question.asked)]


def _answer(one: Answer, logs: Logs) -> tuple[tuple[str, Cell], ...]:
    """What is said of an answer, by name."""
    precision, recall, _ = one.evidence
    return (
        ("status", Mark(one.status, "plain" if one.status in ("ok", "abstained") else "bad")),
        ("by rule", worth(one)),
        ("points", one.points),
        ("Core+Detail", one.score),
        ("answer", one.answer),
        ("cited logs", _jumps(one.cited, logs)),
        ("evidence precision", precision),
        ("evidence recall", recall),
        ("stale evidence", one.stale),
        ("why wrong", one.label.replace("_", " ")),
        ("why wrong, by judge", failure_mark(one)),
        ("reason of the status", one.reason),
    )


def _answers(question: Question, logs: Logs) -> Grid:
    told = [(one, _answer(one, logs)) for one in question.answers]
    names = [name for name, _ in told[0][1]] if told else []
    rows = tuple((one.method, one.reader, one.budget, *(cell for _, cell in cells)) for one, cells in told)
    heads = tuple(map(Head, ("method", "reader", "budget", *names)))
    return Grid("Answers", heads, rows, methods=tuple(one.method for one in question.answers))


def _right(question: Question) -> list[tuple[str, str, str]]:
    """Name, right value and type of every field."""
    return [
        (f"{one.part}{' (gate)' if one.gate else ''}", one.expected or one.criterion, one.kind)
        for one in question.fields
    ]


def _fields(question: Question) -> list[Grid]:
    if not question.fields:
        return []
    if question.fields[0].of_state:
        return [_states(question)]
    names, right, kinds = zip(*_right(question), strict=True)
    rows: list[tuple[Cell, ...]] = [("right", *right), ("compared as", *kinds)]
    rows += [(_arm(one), *(_agreement(one, field.part) for field in question.fields)) for one in question.answers]
    methods = ("", "", *(one.method for one in question.answers))
    note = "What the answer says in each field, and how far that agrees with the right value by rule, from 0 to 1."
    return [Grid("Field by field", (Head("arm"), *map(Head, names)), tuple(rows), methods=methods, note=note)]


def _states(question: Question) -> Grid:
    """What is right of every state of a list, and what each arm's entry for it says: there are too many for columns."""
    states: dict[str, list[Field]] = {}
    for field in question.fields:
        states.setdefault(field.of_state, []).append(field)
    rows: list[tuple[Cell, ...]] = []
    for state, fields in states.items():
        right = " · ".join(field.expected or "" for field in fields)
        rows.append((state, right, *(_entry(one, fields) for one in question.answers)))
    heads = (Head("state"), Head("right"), *(Head(_arm(one), one.method) for one in question.answers))
    note = (
        "What the entry says that was matched with a state, field by field, and how far both agree, from 0 to 1. "
        "What a list says of nothing that is true is not shown here."
    )
    return Grid("State by state", heads, tuple(rows), note=note)


def _entry(one: Answer, fields: Sequence[Field]) -> Mark:
    """What an answer's entry for one state says, and its mean agreement."""
    parts = {field.part for field in fields}
    held = [each for each in one.fields if each.part in parts]
    agreed = sum(each.agreement or 0.0 for each in held) / len(fields)
    words = [*(each.given or "–" for each in held if agreed), f"{agreed:.3f}"]
    return Mark(" · ".join(words), _tone(agreed))


def _agreement(one: Answer, part: str) -> Mark:
    held = next((each for each in one.fields if each.part == part), None)
    if held is None:
        return Mark("–")
    words = [held.given or "", "" if held.agreement is None else f"{held.agreement:.3f}"]
    return Mark(" · ".join(filter(None, words)) or "–", _tone(held.agreement))


def _memories(place: Checkpoint, question: Question) -> list[Delivered]:
    """What was delivered to the question, or to all of its checkpoint, in the order of methods."""
    answered = {(one.method, one.budget) for one in question.answers}
    every = (*place.delivered, *question.delivered)
    return sorted(
        (one for one in every if (one.method, one.budget) in answered), key=lambda one: (one.method, one.budget)
    )


def _delivered(place: Checkpoint, question: Question, logs: Logs) -> list[Part]:
    every = _memories(place, question)
    if not every:
        return []
    heads = ("method", "budget", "tokens", "tokens cut", "logs", *ROLES.values())
    rows = tuple(
        (*(one.method, one.budget, one.tokens, one.tokens_cut), *(cell for _, cell in _shown(one, question, logs)))
        for one in every
    )
    untagged = "" if question.tagged else " Nobody told which logs show earlier values or imitate the state."
    note = f"Logs that a memory delivered, by what they show of this state.{untagged}"
    return [Grid("Delivered", tuple(map(Head, heads)), rows, methods=tuple(one.method for one in every), note=note)]


def _shown(one: Delivered, question: Question, logs: Logs) -> list[tuple[str, Cell]]:
    """The delivered logs by their role."""
    if one.logs is None:
        return [("logs", "not told"), *((name, None) for name in ROLES.values())]
    rows: list[tuple[str, Cell]] = [("logs", len(one.logs))]
    for role, name in ROLES.items():
        mine = _of_role(one.logs, question, role)
        # Whatever concerns the state leads to its log; the others are named and stand in the text.
        rows.append((name, _of_states(mine, question, logs) if role else " ".join(mine)))
    return rows


def _of_role(ids: Iterable[str], question: Question, role: Role) -> list[str]:
    return [one for one in ids if question.roles.get(one, "") == role]


def delivered_text(one: Delivered, logs: Logs, question: Question | None = None) -> Fold:
    """What a memory delivered, and how large it is; with its logs by what they show of a question's state."""
    facts: list[tuple[str, Cell]] = [
        ("tokens", one.tokens), ("tokens cut", one.tokens_cut), ("state of the memory", one.state_hash)
    ]  # fmt: skip
    facts += [] if question is None else _shown(one, question, logs)
    words = Words("Text", logs.named(one.text), "" if one.text else "It delivered nothing.")
    budget = f", {one.budget:,} tokens" if one.budget else ""
    return Fold(f"Delivered by {one.method}{budget}", (Facts(tuple(facts)), words), one.method)


def _calls(one: Answer, logs: Logs) -> list[Part]:
    if one.call is None:
        return []
    call = replace(one.call, messages=tuple((who, logs.named(text)) for who, text in one.call.messages))
    return [call_fold(call, _arm(one), one.method)]


def _of_states(ids: Sequence[str], question: Question, logs: Logs) -> Jumps:
    """All logs of one state; of the many states behind a list the first ones."""
    return _jumps(ids, logs, len(ids) if question.state_key else _SHOWN)


def _jumps(ids: Sequence[str], logs: Logs, shown: int = _SHOWN) -> Jumps:
    named = tuple(map(logs.jump, ids[:shown]))
    return Jumps(named, f"and {len(ids) - shown:,} more" if len(ids) > shown else "")


def worth(one: Answer) -> Mark:
    """Agreement by rule, or why there is none."""
    if one.status not in ("ok", "abstained"):
        return Mark(one.status, "bad")
    return Mark("–" if one.mechanical is None else f"{one.mechanical:.3f}", _tone(one.mechanical))


def _tone(share: float | None) -> Tone:
    return "plain" if share is None or 0 < share < 1 else "good" if share else "bad"


def arm_of(one: Answer) -> tuple[str, str, int]:
    """Method, reader and budget of an answer."""
    return one.method, one.reader, one.budget


def _arm(one: Answer) -> str:
    return arm_name(*arm_of(one))


def arm_name(method: str, reader: str, budget: int) -> str:
    """An arm in words."""
    return f"{method}, {reader}" + (f", {budget:,} tokens" if budget else "")


def when(moment: datetime) -> str:
    """By the clock of the logs, which tell no zone."""
    return f"{moment:%Y-%m-%d %H:%M:%S}"
