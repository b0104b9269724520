"""Values as logs tell them: a name with what is added to it, a preference from what was chosen (ours)."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from pipelines.applogs.known import Known
from pipelines.applogs.wording import Choice

_DETAIL = r"\s*(?:,|\s[–-]|\s?\()\s*([^,.!?;:()\[\]\n…]{3,60})(?=[,.!?;:()\[\]\n]|$)"
_TRAILING = re.compile(r"(?i)\s+(?:for (?:me|us)|these days|this time|again|lately|now|any ?time|anyway)$")
Chosen = tuple[int, Choice]
"""A choice, and the place of the log that tells it."""


def named(known: Known, places: Sequence[int], key: str) -> str:
    """A phrase (by its key) as the newest of these logs writes it, with what most of them add to it."""
    text = known.said[places[-1]].phrases[key].text
    detail = _detail(known, places, text)
    return f"{text}, {detail}" if detail else text


def _detail(known: Known, places: Sequence[int], text: str) -> str:
    """What most logs add to a name after a comma, dash or bracket; of equals the newest."""
    found = [
        detail
        for place in reversed(places)
        for detail in sorted({one for _, said in known.said[place].leaves for one in details(text, said)})
    ]
    return Counter(found).most_common(1)[0][0] if found else ""


def details(name: str, text: str) -> list[str]:
    """What a text adds to a name after a comma, dash or bracket."""
    return [one.strip() for one in re.findall(re.escape(name) + _DETAIL, text, re.IGNORECASE)]


def chosen_in(known: Known, places: Iterable[int]) -> list[Chosen]:
    """The choices that logs at these places tell, in their order."""
    return [(place, _by_category(known, one)) for place in places for one in known.said[place].choices]


def axis_of(one: Choice) -> frozenset[str]:
    """Between what was chosen."""
    return frozenset({one.chosen.lower(), one.rejected.lower()})


def side_taken(made: Sequence[Chosen], newest: bool) -> list[Choice]:
    """Of choices between the same two, those for the side that was taken last (`newest`), or most often."""
    sides = Counter(one.chosen.lower() for _, one in made)
    side = made[-1][1].chosen.lower() if newest else max(sides, key=lambda one: (sides[one], one))
    return [one for _, one in made if one.chosen.lower() == side]


def preference(votes: Sequence[Choice]) -> str:
    """Choices for one side as a statement of preference, with what most of them add."""
    rests = Counter(one.rest for one in reversed(votes) if one.rest)
    rest = f", {rests.most_common(1)[0][0]}" if rests else ""
    return f"{stated(votes[-1])}{rest}"


def stated(one: Choice) -> str:
    """A choice as a statement of preference."""
    return f"Prefers {one.chosen} over {one.rejected}"


def _by_category(known: Known, one: Choice) -> Choice:
    """A choice between things as one between their categories, where logs show these and they differ."""
    one = Choice(_TRAILING.sub("", one.chosen), _TRAILING.sub("", one.rejected), one.rest)
    kinds = [known.categories.get(side.lower()) for side in (one.chosen, one.rejected)]
    if kinds[0] and kinds[1] and kinds[0].lower() != kinds[1].lower():
        return Choice(kinds[0], kinds[1], one.rest)
    return one
