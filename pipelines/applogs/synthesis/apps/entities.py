"""What apps know of the things and people an event names: made from the name, so that all apps and logs agree."""

import re
from functools import lru_cache

from pipelines.applogs.synthesis.world import Persona
from pipelines.hashing import key64


@lru_cache(maxsize=8192)
def bits_of(kind: str, name: str) -> int:
    """64 bits of an entity by its name, under a kind."""
    return key64(name, kind)


def identifier(kind: str, name: str) -> str:
    """Id of a thing by its name (`prod_3f9a0c12`)."""
    return f"{kind}_{bits_of(kind, name) >> 32:08x}"


def whole_of(kind: str, name: str, low: int, high: int) -> int:
    """A whole number that a thing always has, low ≤ n ≤ high (price in cents, length, count of ratings)."""
    return low + bits_of(kind, name) % (high - low + 1)


def rating_of(name: str) -> float:
    """Mean rating of a thing, 3.6 to 4.9."""
    return whole_of("rating", name, 36, 49) / 10


@lru_cache(maxsize=8192)
def slug(text: str) -> str:
    """Lower-case words joined by `_`, without a leading article or "my"."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "_".join(words[1:] if len(words) > 1 and words[0] in ("my", "a", "an", "the", "our") else words)


def contact_id(person: str) -> str:
    """Contact of a relation: "my sister" → `contact_sister`."""
    return f"contact_{slug(person)}"


def address(person: str) -> str:
    """Mail address of a relation or an organisation: "my sister" → `sister@mail.example`."""
    return f"{slug(person).replace('_', '.')}@mail.example"


def own_address(persona: Persona) -> str:
    """Mail address of the user."""
    return f"{persona.user_id}@mail.example"


def dollars(cents: int) -> float:
    """An amount as apps show it."""
    return cents / 100
