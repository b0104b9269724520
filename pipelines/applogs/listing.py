"""Lists of what is true, without a model: what rules know of logs where no state is named to look for (ours).

Routines by when logs recur; preferences by what was chosen again and again; attributes by what is named most, which
is a guess. An entry comes with the positions of its newest logs.
"""

from collections.abc import Sequence

from pipelines.applogs.json_text import JsonObject
from pipelines.applogs.known import Known
from pipelines.applogs.question_forms import NAME
from pipelines.applogs.reminding import subject, topic, values
from pipelines.applogs.told_values import Chosen, axis_of, chosen_in, named, preference, side_taken
from pipelines.applogs.wording import WORD, proper

Entry = tuple[JsonObject, tuple[int, ...]]
CITED_EACH = 5
"""Logs that an entry cites at most, the newest."""
TWICE = 2
"""Something is a habit of choosing, or of naming, from so many logs on."""


def routines_kept(known: Known, most: int) -> list[Entry]:
    """The routines that logs keep, those seen most often."""
    return [
        ({NAME: ", ".join(subject(known, one) or [topic(known, one)]), **values(known, one)}, _newest(one.positions))
        for one in known.routines[:most]
    ]


def sides_taken(known: Known, newest: bool, most: int) -> list[Entry]:
    """What is preferred of everything that was chosen between at least twice, the oftenest first."""
    made: dict[frozenset[str], list[Chosen]] = {}
    for one in chosen_in(known, range(len(known.said))):
        made.setdefault(axis_of(one[1]), []).append(one)
    kept = {axis: mine for axis, mine in made.items() if len(mine) >= TWICE}
    ranked = sorted(kept, key=lambda axis: (-len(kept[axis]), -kept[axis][-1][0], sorted(axis)))
    return [
        (
            {NAME: " or ".join(sorted(axis)), "value": preference(side_taken(kept[axis], newest))},
            _at(known, [place for place, _ in kept[axis]]),
        )
        for axis in ranked[:most]
    ]


def things_named(known: Known, newest: bool, most: int) -> list[Entry]:
    """What two logs or more call by a name, with capitals or numbers, likeliest first; `newest`: of twice as many."""
    scores = known.named(dict.fromkeys(range(len(known.said)), 1.0), frozenset())
    written = {key: phrase.text for one in known.said for key, phrase in one.phrases.items()}
    often = [key for key in scores if known.spread[key] >= TWICE and any(map(proper, WORD.findall(written[key])))]
    ranked: list[str] = []
    for key in sorted(often, key=lambda one: (-scores[one], one)):
        if len(ranked) < (2 * most if newest else most) and not any(key in held or held in key for held in ranked):
            ranked.append(key)
    where = {key: [place for place, one in enumerate(known.said) if key in one.phrases] for key in ranked}
    if newest:
        ranked = sorted(ranked, key=lambda key: -where[key][-1])[:most]
    return [({NAME: key, "value": named(known, where[key], key)}, _at(known, where[key])) for key in ranked]


def _at(known: Known, places: Sequence[int]) -> tuple[int, ...]:
    return _newest([known.logs[place]["position"] for place in places])


def _newest(positions: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(set(positions))[-CITED_EACH:])
