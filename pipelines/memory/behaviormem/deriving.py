"""F2 → F3: the evidence ladder behaviour → pattern → theme → characteristic (paper §4.2, B.3).

Each level is shown the level below and nothing else, and every item cites what it was
shown; an item that cites nothing or anything else is rejected and counted. Themes of
T3 and T4 are claims as they stand; those of T1 and T2 go on to a value of a closed
slot. One step in place of the ladder is an ablation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pipelines.memory.asking import Asker, cited, said
from pipelines.memory.behaviormem.claims import CLOSED_KINDS, Candidate, Kind, slots_of
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.behaviormem.wording import (
    CHARACTERISTICS,
    MOST_EVIDENCE,
    ONE_STEP,
    PATTERNS,
    THEMES,
    Characteristics,
    Guesses,
    Patterns,
    Themes,
)
from pipelines.prompts import fill

Item = TypeVar("Item")

MEANINGS: dict[Kind, str] = {
    "demographics": "who the person is: gender, age, occupation, income, home, car",
    "social relations": "who lives with or depends on them: partner, children, relatives, pets, people they buy for",
    "interests": "lasting tastes, hobbies, favourite kinds of things, ways of choosing",
    "situational state": "what occupies them now: a need, a project, an event, a season, a change",
}


@dataclass(frozen=True)
class _Found:
    """An item of a level: its text, the visits under it and the sentences between."""

    text: str
    visits: tuple[int, ...]
    because: tuple[str, ...]
    kind: Kind = "interests"
    confidence: int = 0


def climb(asker: Asker, config: BehaviorMemConfig, lines: Sequence[str], first: int) -> list[Candidate]:
    """Claims that behaviours give reason for; `lines` are theirs (`v1 | …`), `first` is the number of the first."""
    if not config.ladder:
        return _at_once(asker, config, lines, first)
    themes = _themes(asker, config, _patterns(asker, config, lines, first))
    opened = [
        Candidate(one.kind, one.text, one.confidence, one.visits, one.because)
        for one in themes
        if one.kind not in CLOSED_KINDS
    ]
    return [*_characteristics(asker, config, [one for one in themes if one.kind in CLOSED_KINDS]), *opened]


def instructions_of(config: BehaviorMemConfig) -> list[str]:
    """What the steps of this configuration are told, the one that reads behaviours first."""
    if not config.ladder:
        return [_one_step_instructions(config)]
    closed = [_characteristic_instructions(config)] if config.closed_kinds else []
    return [_pattern_instructions(config), _theme_instructions(config), *closed]


def _pattern_instructions(config: BehaviorMemConfig) -> str:
    return fill(PATTERNS, most=str(config.max_patterns), cited=str(MOST_EVIDENCE))


def _theme_instructions(config: BehaviorMemConfig) -> str:
    return fill(THEMES, most=str(config.max_themes), kinds=_kinds(config.kinds), cited=str(MOST_EVIDENCE))


def _characteristic_instructions(config: BehaviorMemConfig) -> str:
    return fill(CHARACTERISTICS, slots=_slots(config.kinds), cited=str(MOST_EVIDENCE))


def _one_step_instructions(config: BehaviorMemConfig) -> str:
    slots = _slots(config.kinds) or "(none)"
    return fill(
        ONE_STEP, most=str(config.max_themes), kinds=_kinds(config.kinds), slots=slots, cited=str(MOST_EVIDENCE)
    )


def _patterns(asker: Asker, config: BehaviorMemConfig, lines: Sequence[str], first: int) -> list[_Found]:
    instructions = _pattern_instructions(config)
    found = []
    for window in asker.windows(lines, asker.room(instructions)):
        reply = asker.ask(
            "patterns", instructions, "\n".join(lines[place] for place in window), Patterns, config.max_patterns
        )
        shown = {f"v{place + 1}" for place in window}
        for item in _first(asker, "patterns", reply.patterns if reply else [], config.max_patterns):
            # Each item counts once, by the first thing that is wrong with it.
            if (ids := cited("patterns", item.evidence, shown.__contains__, asker.tally)) is None:
                continue
            if (text := _sentence(asker, config, "patterns", item.text)) is not None:
                found.append(_Found(text, _numbers(ids, first), ()))
    return found


def _themes(asker: Asker, config: BehaviorMemConfig, patterns: list[_Found]) -> list[_Found]:
    instructions = _theme_instructions(config)
    found = []
    lines = [f"p{place + 1} | {one.text}" for place, one in enumerate(patterns)]
    for window in asker.windows(lines, asker.room(instructions)):
        reply = asker.ask(
            "themes", instructions, "\n".join(lines[place] for place in window), Themes, config.max_themes
        )
        shown = {f"p{place + 1}": patterns[place] for place in window}
        for item in _first(asker, "themes", reply.themes if reply else [], config.max_themes):
            if (
                (ids := cited("themes", item.evidence, shown.__contains__, asker.tally)) is None
                or (text := _sentence(asker, config, "themes", item.text)) is None
                or (kind := _kind(asker, config, "themes", item.kind, item.confidence)) is None
            ):
                continue
            below = [shown[one] for one in ids]
            found.append(_Found(text, _visits(below), tuple(one.text for one in below), kind, item.confidence))
    return found


def _characteristics(asker: Asker, config: BehaviorMemConfig, themes: list[_Found]) -> list[Candidate]:
    instructions = _characteristic_instructions(config)
    found = []
    lines = [f"t{place + 1} | {one.text}" for place, one in enumerate(themes)]
    for window in asker.windows(lines, asker.room(instructions)):
        reply = asker.ask("characteristics", instructions, "\n".join(lines[place] for place in window), Characteristics)
        shown = {f"t{place + 1}": themes[place] for place in window}
        for item in reply.characteristics if reply else []:
            if (
                (ids := cited("characteristics", item.evidence, shown.__contains__, asker.tally)) is None
                or (path := _slot(asker, config, "characteristics", item.slot, item.value)) is None
                or (kind := _kind(asker, config, "characteristics", path.split("/")[0], item.confidence)) is None
            ):
                continue
            below = [shown[one] for one in ids]
            because = tuple(dict.fromkeys(text for one in below for text in (*one.because, one.text)))
            found.append(Candidate(kind, item.value, item.confidence, _visits(below), because, path))
    return found


def _at_once(asker: Asker, config: BehaviorMemConfig, lines: Sequence[str], first: int) -> list[Candidate]:
    instructions = _one_step_instructions(config)
    found = []
    for window in asker.windows(lines, asker.room(instructions)):
        reply = asker.ask(
            "one_step", instructions, "\n".join(lines[place] for place in window), Guesses, config.max_themes
        )
        shown = {f"v{place + 1}" for place in window}
        for item in _first(asker, "one_step", reply.claims if reply else [], config.max_themes):
            if (
                (ids := cited("one_step", item.evidence, shown.__contains__, asker.tally)) is None
                or (kind := _kind(asker, config, "one_step", item.kind, item.confidence)) is None
                or (text := _sentence(asker, config, "one_step", item.text)) is None
                or (path := _place(asker, config, kind, item.slot, text)) is None
            ):
                continue
            found.append(Candidate(kind, text, item.confidence, _numbers(ids, first), (), path))
    return found


def _first(asker: Asker, step: str, items: Sequence[Item], most: int) -> Sequence[Item]:
    asker.tally.reject(step, "too_many", max(len(items) - most, 0))
    return items[:most]


def _sentence(asker: Asker, config: BehaviorMemConfig, step: str, text: str) -> str | None:
    clean = said(text)
    if not clean or asker.tokens.count(clean) > config.sentence_tokens:
        asker.tally.reject(step, "too_long" if clean else "no_text")
        return None
    return clean


def _kind(asker: Asker, config: BehaviorMemConfig, step: str, kind: str, confidence: int) -> Kind | None:
    """The kind of an item, if it may be used and the item's confidence is one."""
    if kind not in config.kinds:
        asker.tally.reject(step, "masked_kind" if kind in MEANINGS else "unknown_kind")
        return None
    if not 0 <= confidence <= 100:
        asker.tally.reject(step, "confidence_out_of_range")
        return None
    return kind


def _slot(asker: Asker, config: BehaviorMemConfig, step: str, slot: str, value: str) -> str | None:
    known = slots_of(config.kinds)
    if slot not in known or value not in known[slot].values:
        asker.tally.reject(step, "unknown_slot" if slot not in known else "value_outside_slot")
        return None
    return slot


def _place(asker: Asker, config: BehaviorMemConfig, kind: Kind, slot: str, value: str) -> str | None:
    """The path of a claim made in one step: its slot, or none yet for free text."""
    if kind not in CLOSED_KINDS:
        return ""
    if not slot.startswith(f"{kind}/"):
        asker.tally.reject("one_step", "unknown_slot")
        return None
    return _slot(asker, config, "one_step", slot, value)


def _numbers(ids: Sequence[str], first: int) -> tuple[int, ...]:
    return tuple(sorted(first + int(one[1:]) - 1 for one in ids))


def _visits(below: Sequence[_Found]) -> tuple[int, ...]:
    return tuple(sorted({visit for one in below for visit in one.visits}))


def _kinds(kinds: Sequence[Kind]) -> str:
    return "\n".join(f"- {kind}: {MEANINGS[kind]}" for kind in kinds)


def _slots(kinds: Sequence[Kind]) -> str:
    return "\n".join(f"- {path}: {' | '.join(slot.values)}" for path, slot in slots_of(kinds).items())
