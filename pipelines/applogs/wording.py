"""English, as far as names and choices in short texts need it (ours)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 6
"""Words of a phrase at most; longer ones are prose."""
_FUNCTION = """
a an the my our your his her their this that these those by at with to in on for of from into about via per is are was
be am have has had own use uses take takes took go goes went get got buy bought see chose choose chosen picked pick call
now called named and or than over it's i'm as
"""
FUNCTION = frozenset(_FUNCTION.split())
"""Words after which something may be named."""
SUBJECTS = frozenset(["i", "we", "you", "if", "it", "there", "here", "so", "anyway", "yes", "no", "hi", "hey", "many"])
"""Words with which a clause begins that names nothing there."""
SMALL = frozenset(["&", "and", "of", "the", "at", "by", "in", "on", "for", "de", "la"])
"""What may stand between two proper words of one name."""
_KIN = (
    "aunt|boss|brother|cousin|colleague|co-worker|father|flatmate|friend|husband|manager|mother|neighbour|nephew|niece|"
    "parents?|partner|sister|spouse|teacher|uncle|wife"
)
OTHERS = re.compile(rf"(?i)\b(?:my|his|her|their|our|an?) (?:[\w-]+ )?(?:{_KIN})\b")
"""Somebody else, whose things a text may speak of."""
WORD = re.compile(r"[^\W_]+(?:['’&-][^\W_]+)*|&")
SENTENCE = re.compile(r"[.!?;:\n…]+(?:\s|$)|\s[-–—*|]+\s|[()\[\]]|\n")
CLAUSE = re.compile(r",\s")
_AGAINST = re.compile(
    r"(?i)\s+(?:over|rather than|instead of|and not|but not|versus|vs\.?)\s+|,\s*not(?: so much| really)?\s+"
)
_TAKING = (
    r"prefers?|preferred|chose|choose|chosen|choosing|pick(?:ed|ing)?|took|take|taking|"
    r"lean(?:ed|ing|s)? (?:to|towards?)|go(?:ne)? for|went (?:for|with)|"
    r"opt(?:ed)? for|it's|it is|like[sd]?|favou?r(?:ed|s)?|want(?:ed|s)?|better"
)
_VERBS = re.compile(rf"(?i)^.*\b(?:{_TAKING})\s+(?=\S)")


@dataclass(frozen=True)
class Choice:
    """One thing taken and another left."""

    chosen: str
    rejected: str
    rest: str
    """What the clause after it adds; empty for nothing."""


def choices(text: str) -> Iterator[Choice]:
    """Choices that a text tells: `A over B`, `A rather than B`, `A, not B`; at most one a sentence."""
    for sentence in SENTENCE.split(text):
        sides = _AGAINST.split(sentence, maxsplit=1)
        if len(sides) == 2:
            left, right = sides
            chosen = bare(_VERBS.sub("", CLAUSE.split(left)[-1]))
            rejected, *more = CLAUSE.split(right.strip(), maxsplit=1)
            if chosen and (rejected := bare(rejected)) and chosen.lower() != rejected.lower():
                yield Choice(chosen, rejected, more[0].strip() if more else "")


def proper(word: str) -> bool:
    """Whether a word is written as a name or number."""
    return (word[0].isupper() and word not in ("I", "I'm", "I'll", "I've", "I'd")) or word[0].isdigit()


def bare(text: str) -> str:
    """A short text without its article and the marks around it; empty for prose."""
    held = re.sub(r"(?i)^(?:the|an?|my|our)\s+", "", text.strip(" \t\"'“”,.*•#"))
    return held if len(WORD.findall(held)) <= LONGEST + 2 else ""
