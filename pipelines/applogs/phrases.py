"""What one log says: its words, the phrases that may name something, and the choices between two things (ours).

Rules of English and of the shape of API logs alone. A phrase comes from a field that names something, or from prose:
a run of capitalised or numbered words, or what follows a function word up to the end of its clause.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pipelines.applogs.wording import (
    CLAUSE,
    FUNCTION,
    LONGEST,
    OTHERS,
    SENTENCE,
    SMALL,
    SUBJECTS,
    WORD,
    Choice,
    bare,
    choices,
    proper,
)
from pipelines.evaluation.judging.stems import STOP, stem

CACHED = 1 << 12
"""Logs whose contents are remembered: more than a user has, who is asked again at every checkpoint."""
TOPICS = {
    "Amazon": "shopping order buy product",
    "Spotify": "music song listening playlist artist",
    "Fitbit": "exercise workout run running walk walking gym training fitness sleep yoga ride",
    "Chase": "budget bank banking finance finances money spending bill bills account payment savings",
    "Robinhood": "investing investment stock stocks portfolio market trading",
    "WhatsApp": "call chat message family friend check",
    "Gmail": "mail email inbox correspondence newsletter",
    "LinkedIn": "career job network networking professional",
    "Notion": "notes journal planning plan writing study project review",
    "Netflix": "film movie series show watching watch television",
    "Goodreads": "book books reading read",
    "Instagram": "photo post social",
    "Google": "search research",
    "LLM Assistant": "learning practice writing lesson study language",
    "Google Maps": "commute trip visit drive place",
    "UberEats": "dinner lunch meal food takeout restaurant",
}
"""What each app is about, in words: general knowledge of apps, none of a user."""
_NAMING = """
name title merchant artist destination place location company skill activity restaurant venue goal
"""
NAMING = frozenset(_NAMING.split())
"""Words of field names whose values name something."""
_NO_VALUE = re.compile(r"(?:^|_)(?:id|ids|timestamp|at|created|updated|date|url|status|type|category|genre|address)$")
_NO_WORD = re.compile(r"(?:^|_)(?:id|ids|timestamp|at|created|updated|date|url|status|type|address|mode)$")
_TOKEN = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Phrase:
    """Words that may name something."""

    text: str
    """As it is written, a leading article apart."""
    weight: float
    """How likely it names something: a field that names, capitals, numbers, several words."""


@dataclass(frozen=True)
class Said:
    """What a log says."""

    words: frozenset[str]
    """Stems of its words, those of its app's topics among them."""
    spoken: frozenset[str]
    """Stems of the words in its own texts alone."""
    leaves: tuple[tuple[str, str], ...]
    """(name, text) of its texts, in its order."""
    phrases: dict[str, Phrase]
    """By their text in lower case, each once, the heaviest."""
    choices: tuple[Choice, ...]
    own: tuple[tuple[str, str], ...]
    """(name, text) of what stands alone, in no list of several: what the log is about, its categories among it."""
    others: bool
    """Whether it speaks of other people's things."""
    categories: tuple[tuple[str, str], ...]
    """(key of a named thing, its category or genre)."""


@lru_cache(maxsize=CACHED)
def said(record: str, api: str, app: str) -> Said:
    """What a log of an app and API says, by its record."""
    log = json.loads(record)
    bodies = [log.get(body) or {} for body in ("request", "response")]
    found = list(_leaves(bodies))
    leaves = tuple(dict.fromkeys((name, text) for name, text, _ in found if not _NO_VALUE.search(name)))
    own = dict.fromkeys((name, text) for name, text, crowd in found if crowd == 1 and not _NO_WORD.search(name))
    phrases: dict[str, Phrase] = {}
    for name, text, crowd in found:
        if _NO_VALUE.search(name):
            continue
        for phrase in _phrases(name, text):
            held = Phrase(phrase.text, phrase.weight / crowd)
            if (key := phrase.text.lower()) not in phrases or phrases[key].weight < held.weight:
                phrases[key] = held
    spoken = frozenset(stems(" ".join(text for _, text in leaves)))
    about = stems(f"{_CAMEL.sub(' ', api)} {TOPICS.get(app, '')} {' '.join(name for name, _ in leaves)}")
    return Said(
        spoken | frozenset(about),
        spoken,
        leaves,
        phrases,
        tuple(dict.fromkeys(choice for _, text in leaves for choice in choices(text))),
        tuple(own),
        any(OTHERS.search(text) for _, text in own),
        tuple(dict.fromkeys(_categories(bodies))),
    )


def stems(text: str) -> list[str]:
    """Stems of the words of a text that tell something, bare numbers left out."""
    return [stem(word) for word in _TOKEN.findall(text.lower()) if word not in STOP and not word.isdigit()]


def head(text: str) -> str:
    """A name without its qualifier and article."""
    return bare(CLAUSE.split(SENTENCE.split(text.strip(), maxsplit=1)[0], maxsplit=1)[0])


def _leaves(value: Any, name: str = "", crowd: int = 1) -> Iterator[tuple[str, str, int]]:
    """(name, text, how many stand beside it in its list)."""
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _leaves(one, inner.lower(), crowd)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one, name, crowd if not name else max(crowd, len(value)))
    elif isinstance(value, str) and value.strip() and "@" not in value.strip()[1:]:
        yield name, value.strip(), crowd


def _categories(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        named = next((value[one] for one in ("name", "title") if isinstance(value.get(one), str)), None)
        kind = next((value[one] for one in ("category", "genre", "genres", "tags", "type") if value.get(one)), None)
        kind = kind[0] if isinstance(kind, list) and kind else kind
        if named and isinstance(kind, str):
            yield head(named).lower(), kind
        for inner in value.values():
            yield from _categories(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _categories(one)


def _phrases(name: str, text: str) -> Iterator[Phrase]:
    if NAMING & set(name.split("_")) and len(WORD.findall(text)) <= LONGEST + 4 and "contact" not in text:
        if named := head(text):
            yield Phrase(named, 1.3 * _weight(named))
        return
    if " " in text:
        yield from in_prose(text)


def in_prose(text: str) -> Iterator[Phrase]:
    """Phrases of a text in sentences."""
    for sentence in SENTENCE.split(text):
        for clause in CLAUSE.split(sentence):
            yield from _of_clause(clause)


def _of_clause(clause: str) -> Iterator[Phrase]:
    spans = list(WORD.finditer(clause))
    words = [span[0] for span in spans]
    starts = {i + 1 for i, word in enumerate(words[:-1]) if word.lower() in FUNCTION} | {0}
    for i in sorted(starts):
        if 0 < len(words) - i <= LONGEST and words[i].lower() not in FUNCTION | SUBJECTS:
            phrase = clause[spans[i].start() : spans[-1].end()]
            # The first word of a clause has its capital from there.
            yield Phrase(phrase, 0.6 * _weight(phrase, begins=True) if i == 0 else _weight(phrase))
    places = [i for i, word in enumerate(words) if proper(word)]
    for i, j in _runs(words, places):
        if i or j > i:
            last = next((n for n in range(j + 1, len(words)) if words[n].lower() in FUNCTION), len(words)) - 1
            for end in {j, min(last, i + LONGEST - 1)} if last > j else {j}:
                phrase = clause[spans[i].start() : spans[end].end()]
                yield Phrase(phrase, _weight(phrase))


def _runs(words: list[str], places: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of proper words, small words between two of them included."""
    begin = last = None
    for i in places:
        if last is not None and (i == last + 1 or (i <= last + 3 and all(
            word.lower() in SMALL for word in words[last + 1 : i]
        ))):  # fmt: skip
            last = i
            continue
        if begin is not None and last is not None:
            yield begin, last
        begin = last = i
    if begin is not None and last is not None:
        yield begin, last


def _weight(phrase: str, *, begins: bool = False) -> float:
    words = WORD.findall(phrase)
    named = [i for i, word in enumerate(words) if proper(word) and (i or not begins)]
    # What comes before a name on the way to it is none of it.
    late = 0.6 if named and named[0] > 0 else 1.0
    return late * (1.0 + 0.5 * min(len(named), 2)) * (0.6 if len(words) == 1 else 1.0 + 0.1 * min(len(words), 4))
