"""How a unit is spelt: `user:transition:pool`, and `wallet:event:layer` on a chain (ours).

The user may hold colons; the last two parts cannot.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

_NEAR = 6
"""Units that an error names at most."""


POOL_UNIT, TARGET_UNIT = "user:transition:pool", "wallet:event:layer"
"""How the units of the two are spelt."""


class UnknownUnit(ValueError):
    """No such unit; the message names near ones."""


class UnitName(NamedTuple):
    """A unit: whose, after which batch or at which trade, and what is asked."""

    who: str
    place: int
    asked: str

    def __str__(self) -> str:
        return f"{self.who}:{self.place}:{self.asked}"


def unit_named(text: str, known: Sequence[UnitName], form: str = POOL_UNIT) -> UnitName:
    """The unit of `known` that is spelt so, exactly.

    Raises `UnknownUnit`, which names units near it: of the same user the nearest places, else units that begin so,
    else those of users that are spelt alike.
    """
    exact = next((one for one in known if str(one) == text), None)
    if exact is not None:
        return exact
    near = _near(text, known)
    says = f"near ones are {', '.join(map(str, near))}" if near else "there is none like it"
    raise UnknownUnit(f"no unit {text!r} in this experiment; a unit is spelt {form}, and {says}")


def _near(text: str, known: Sequence[UnitName]) -> list[UnitName]:
    who, place, asked = _parted(text, {one.who for one in known})
    own = [one for one in known if one.who == who]
    if own:
        return sorted(own, key=lambda one: (abs(one.place - place), one.asked != asked, one))[:_NEAR]
    begun = sorted(one for one in known if text and str(one).startswith(text))
    if begun:
        return begun[:_NEAR]
    alike = get_close_matches(who, sorted({one.who for one in known}), n=3, cutoff=0.5)
    return sorted((one for one in known if one.who in alike), key=lambda one: (alike.index(one.who), one))[:_NEAR]


def _parted(text: str, users: set[str]) -> tuple[str, int, str]:
    """Who, place and what is asked of a text that may lack the last parts."""
    if text in users:
        return text, 0, ""
    head, _, tail = text.rpartition(":")
    if head in users:
        return head, int(tail) if tail.isdecimal() else 0, tail
    who, _, place = head.rpartition(":")
    return who or text, int(place) if place.isdecimal() else 0, tail
