"""The trail of a user of app logs in parts: what a page shows of a user and a checkpoint."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pipelines.applogs.drilldown.question_worded import (
    TASKS,
    Logs,
    arm_name,
    arm_of,
    delivered_text,
    question_anchor,
    question_section,
    when,
    worth,
)
from pipelines.applogs.drilldown.state_trail import Checkpoint, Log, Question, StateTrail
from pipelines.applogs.drilldown.states_in_time import checkpoint_anchor, log_anchor, state_rows
from pipelines.applogs.tables import EVIDENCE_ROLES
from pipelines.evaluation.drilldown.parts import Cell, Facts, Fold, Grid, Head, Jump, Part, Section, Words


def overview(trail: StateTrail) -> Section:
    """The user: size, scores by checkpoint, and states in time."""
    facts = Facts(
        (
            ("user", trail.user),
            ("logs", len(trail.logs)),
            ("checkpoints", len(trail.checkpoints)),
            ("questions", sum(len(one.questions) for one in trail.checkpoints)),
            ("first log", when(trail.logs[0].time) if trail.logs else None),
            ("last log", when(trail.logs[-1].time) if trail.logs else None),
            ("⟦log⟧ in a text", "the JSON of that log, which stands in full under History"),
        )
    )
    return Section("user", f"User {trail.user}", (facts, _by_checkpoint(trail), *_states(trail)))


def _by_checkpoint(trail: StateTrail) -> Grid:
    arms = _arms(question for one in trail.checkpoints for question in one.questions)
    rows: list[tuple[Cell, ...]] = []
    for place in trail.checkpoints:
        jump = Jump(place.name, checkpoint_anchor(place.index))
        found: dict[tuple[str, str, int], list[float]] = {}
        for question in place.questions:
            for one in question.answers:
                found.setdefault(arm_of(one), []).append(one.mechanical or 0.0)
        means = (sum(found[arm]) / len(found[arm]) if arm in found else None for arm in arms)
        rows.append((jump, when(place.as_of), place.n_visible, len(place.questions), *means))
    heads = (Head("checkpoint"), Head("as of"), Head("visible logs"), Head("questions"), *_arm_heads(arms))
    return Grid("Agreement by rule, mean over questions", heads, tuple(rows))


def _states(trail: StateTrail) -> list[Part]:
    if trail.intervals.is_empty():
        return []
    heads = tuple(map(Head, ("state", "value", "from", "to", *EVIDENCE_ROLES)))
    rows = tuple(
        (
            *(row["state_key"], row["value"], when(row["valid_from"])),
            "lasts" if row["valid_to"] is None else when(row["valid_to"]),
            *(row[role] for role in EVIDENCE_ROLES),
        )
        for row in state_rows(trail.intervals, trail.evidence).iter_rows(named=True)
    )
    note = "The last columns count logs: which show the value, tell its cause, or only imitate it."
    return [Fold("States in time, as a table", (Grid("", heads, rows, note=note),))]


def checkpoint_section(place: Checkpoint, logs: Logs) -> Section:
    """A checkpoint: what was known, what memories delivered to all questions alike, who was right, each question."""
    facts = Facts(
        (
            ("as of", when(place.as_of)),
            ("visible logs", place.n_visible),
            ("last visible log", logs.jump(place.last_log)),
            ("cut by", place.cut_by),
        )
    )
    told = tuple(delivered_text(one, logs) for one in place.delivered)
    return Section(
        checkpoint_anchor(place.index),
        f"Checkpoint {place.name}",
        (facts, *_by_question(place), *told),
        tuple(question_section(place, one, logs) for one in place.questions if one.in_full),
    )


def _by_question(place: Checkpoint) -> list[Grid]:
    grids = []
    n, full = len(place.questions), sum(one.in_full for one in place.questions)
    note = (
        ""
        if n == full
        else (
            f"{full:,} of {n:,} questions of the checkpoint follow in full: half have the lowest agreement, half are "
            "drawn. The command trailbench explain prints any."
        )
    )
    for task in (task for task in TASKS if any(one.task == task for one in place.questions)):
        mine = [one for one in place.questions if one.task == task]
        arms = _arms(mine)
        rows: list[tuple[Cell, ...]] = []
        for question in mine:
            marks = {arm_of(one): worth(one) for one in question.answers}
            jump = Jump(_short(question, place), question_anchor(place, question))
            rows.append((jump, question.state_key, question.expectation, *(marks.get(arm) for arm in arms)))
        heads = (Head("question"), Head("state"), Head("right answer"), *_arm_heads(arms))
        grids.append(Grid(f"{TASKS[task]}: agreement by rule", heads, tuple(rows)))
    return [*grids[:-1], replace(grids[-1], note=note)] if grids else []


def logs_grid(logs: Sequence[Log]) -> Grid:
    """Logs in full."""
    rows = tuple((one.position, one.id, when(one.time), one.what, one.record) for one in logs)
    heads = tuple(map(Head, ("place", "log", "time", "app and call", "the whole log")))
    return Grid("Logs", heads, rows, tuple(log_anchor(one.position) for one in logs))


def log_words(logs: Sequence[Log]) -> list[Words]:
    """Logs in full, one after another."""
    return [Words(f"{one.id}, {when(one.time)}, {one.what}", one.record) for one in logs]


def _short(question: Question, place: Checkpoint) -> str:
    """The item without the user and checkpoint before it."""
    return question.name.rpartition(f"/{place.name}/")[2]


def _arms(questions: Iterable[Question]) -> list[tuple[str, str, int]]:
    return sorted({arm_of(one) for question in questions for one in question.answers})


def _arm_heads(arms: Sequence[tuple[str, str, int]]) -> list[Head]:
    """Arms by method alone where that tells them apart."""
    methods = [method for method, _, _ in arms]
    return [
        Head(method if methods.count(method) == 1 else arm_name(method, reader, budget), method)
        for method, reader, budget in arms
    ]
