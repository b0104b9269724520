"""What a reply's value is as an answer: in the shape asked for, an abstention, or unreadable (reference 4.4)."""

from dataclasses import dataclass
from typing import Any

from pipelines.applogs.json_text import dump, strict
from pipelines.applogs.state_values import aligned, says_nothing


@dataclass(frozen=True)
class Said:
    """One answer: its `status` (`ok`, `abstained`, `parse_error`), its `answer` where ok, the `reason` of an error."""

    status: str
    answer: Any = None
    reason: str | None = None


def said_by(value: Any, shape: Any) -> Said:
    """The answer that the value of a reply is to a question of this `shape` (its template; None for a message)."""
    try:
        value = strict(dump(value))
    except (ValueError, RecursionError):
        # A number beyond all bounds, half of a character, or nested without end.
        return Said("parse_error", reason="unsound")
    if says_nothing(value):
        return Said("abstained")
    if shape is None and not isinstance(value, str):
        return Said("parse_error", reason="no_text")
    if isinstance(shape, dict) and not isinstance(value, dict):
        return Said("parse_error", reason="no_object")
    value = value if shape is None else aligned(shape, value)
    return Said("parse_error", reason="other_names") if says_nothing(value) else Said("ok", value)
