"""Values of states: read, normalised, laid out as fields (reference 1.4, 3.1 G3, 4.4, 5.3)."""

from collections.abc import Iterator
from typing import Any

from pipelines.applogs.tables import FAMILIES

BLANK, FILL = "<fill the blank>", "<fill>"
DROPPED = frozenset({"priority", "schedule_date", "schedule_dates"})
"""Names that are never part of the right answer."""
CATEGORIES = dict(zip(("user_attributes_state", "habits_state", "preferences_state"), FAMILIES, strict=True))
"""Category of a state key → family."""
ROOT = "value"
"""Path of a value that is no object."""


def family_of(state_key: str) -> str:
    """Family of a state. Raises `ValueError` for a key of none."""
    category, colon, name = state_key.partition(":")
    if not colon or not name or category not in CATEGORIES:
        raise ValueError(f"{state_key!r} is no state key; its category must be one of {', '.join(CATEGORIES)}")
    return CATEGORIES[category]


def humanised(state_key: str) -> str:
    """Name of a state in words: `habits_state:budget_review` → `budget review`."""
    return " ".join(state_key.partition(":")[2].replace("_", " ").split())


def flat_states(states: dict[str, Any]) -> dict[str, Any]:
    """`{category: {name: value}}` or `{category:name: value}` → the latter. Raises `ValueError` for neither."""
    if any(":" in key for key in states):
        return states
    flat: dict[str, Any] = {}
    for category, named in states.items():
        if not isinstance(named, dict):
            raise ValueError(f"{category!r} holds no states")
        flat |= {f"{category}:{name}": value for name, value in named.items()}
    return flat


def current(value: Any) -> Any:
    """What is true now: of `{from, to}` the second."""
    if isinstance(value, dict) and value and all(name.lower() in ("from", "to") for name in value):
        return next((inner for name, inner in value.items() if name.lower() == "to"), None)
    return value


def normalised(value: Any) -> Any:
    """The right answer of a value: its current form without `DROPPED` names, empty containers and nulls.

    None where nothing is left, which means that the state is not asked for.
    """
    return _pruned(current(value))


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _pruned(inner) for name, inner in value.items() if name not in DROPPED}
        return {name: inner for name, inner in kept.items() if inner is not None} or None
    if isinstance(value, list):
        return [inner for inner in map(_pruned, value) if inner is not None] or None
    return value


def template(value: Any, blank: str = BLANK) -> Any:
    """The shape of a value: every scalar a blank, names and lengths of lists kept."""
    if isinstance(value, dict):
        return {name: template(inner, blank) for name, inner in value.items()}
    if isinstance(value, list):
        return [template(inner, blank) for inner in value]
    return blank


def aligned(shape: Any, answer: Any) -> Any:
    """An answer in the template's shape: exactly its names (absent: null), a list as given, its elements aligned."""
    if isinstance(shape, dict):
        given = answer if isinstance(answer, dict) else {}
        return {name: aligned(inner, given.get(name)) for name, inner in shape.items()}
    if isinstance(shape, list) and shape and isinstance(answer, list):
        return [aligned(shape[0], inner) for inner in answer]
    return answer


def fields(value: Any, *, answer: Any = None, lists: bool = False) -> Iterator[tuple[str, Any, Any]]:
    """(dotted path, right value, given value) of every field: names sorted, a list one field unless `lists`.

    With `lists` the elements are fields of their own (`a.b.0`). A value that is no object has the path `value`.
    """
    for path, right, given in _fields(value, answer, (), lists):
        yield ".".join(path) or ROOT, right, given


def _fields(value: Any, answer: Any, path: tuple[str, ...], lists: bool) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    if isinstance(value, dict) and value:
        for name in sorted(value):
            inner = answer.get(name) if isinstance(answer, dict) else None
            yield from _fields(value[name], inner, (*path, name), lists)
    elif lists and isinstance(value, list) and value:
        for place, right in enumerate(value):
            inner = answer[place] if isinstance(answer, list) and place < len(answer) else None
            yield from _fields(right, inner, (*path, str(place)), lists)
    else:
        yield path, value, answer


UNKNOWN = frozenset({"", "unknown", "n/a", "na", "none", "null", "tbd", "not applicable", BLANK, FILL})
"""Texts that say nothing."""


def says_nothing(value: Any) -> bool:
    """Whether an answer holds no value at all: an abstention."""
    if isinstance(value, dict):
        return all(map(says_nothing, value.values()))
    if isinstance(value, list):
        return all(map(says_nothing, value))
    return value is None or (isinstance(value, str) and value.strip().lower() in UNKNOWN)
