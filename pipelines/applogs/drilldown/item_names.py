"""How a question is spelt: as every table, sheet and export writes its `item`, `user/checkpoint/task/name` (ours)."""

from collections.abc import Iterable
from difflib import get_close_matches

from pipelines.evaluation.drilldown.units import UnknownUnit

FORM = "user/checkpoint/task/name"
_NEAR = 6
"""Items that an error names at most."""


def item_named(text: str, known: Iterable[tuple[str, str, str]]) -> tuple[str, str]:
    """(user, item) of the question that is spelt so, exactly; `known` are (user, checkpoint, item) of all.

    Raises `UnknownUnit`, which names items near it: those that begin so, else the most alike of the checkpoint that it
    begins with, else of the user, else of all.
    """
    rows = sorted(known)
    for user, _, item in rows:
        if item == text:
            return user, item
    near = _near(text, rows)
    says = f"near ones are {', '.join(near)}" if near else "there is none like it"
    raise UnknownUnit(f"no unit {text!r} in this experiment; a unit is spelt {FORM}, and {says}")


def _near(text: str, rows: list[tuple[str, str, str]]) -> list[str]:
    if begun := [item for _, _, item in rows if text and item.startswith(text)]:
        return begun[:_NEAR]
    own = [row for row in rows if text.startswith(f"{row[0]}/")]
    here = [row for row in own if text.startswith(f"{row[0]}/{row[1]}/")]
    among = [item for _, _, item in here or own or rows]
    return get_close_matches(text, among, n=_NEAR, cutoff=0.5) or (among[:_NEAR] if own else [])
