"""What judges say of one answer, in parts."""

from pipelines.applogs.drilldown.state_trail import Answer
from pipelines.evaluation.drilldown.parts import Cell, Facts, Grid, Head, Mark, Part


def failure_mark(one: Answer) -> Cell:
    """Why an answer is wrong by judge, or that the judge erred; None where it was not asked."""
    if one.failure is None:
        return None
    said = one.failure.label or one.failure.status
    return Mark(said.replace("_", " "), "bad" if one.failure.status == "judge_error" else "plain")


def judged_parts(one: Answer) -> tuple[Part, ...]:
    """Marks of an answer, and why it is wrong, with the judges' words; empty where none was asked."""
    parts: list[Part] = [_verdicts(one)] if one.verdicts else []
    if one.failure is not None:
        facts: tuple[tuple[str, Cell], ...] = (
            ("why wrong, by judge", failure_mark(one)),
            ("reason of an error", one.failure.reason),
            ("analysis", one.failure.analysis),
        )
        parts.append(Facts(tuple(row for row in facts if row[1])))
    return tuple(parts)


def _verdicts(one: Answer) -> Grid:
    heads = tuple(map(Head, ("part", "status", "reason", "core", "detail, of 2", "analysis")))
    rows = tuple(
        (
            each.part,
            Mark(each.status, "plain" if each.status == "ok" else "bad"),
            each.reason,
            None if each.core_correct is None else Mark("right", "good") if each.core_correct else Mark("wrong", "bad"),
            each.detail_quality,
            each.analysis,
        )
        for each in one.verdicts
    )
    return Grid("Marks of the judge", heads, rows)
