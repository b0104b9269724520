"""Randomness by place: every draw is a keyed hash of where it is made (reference 6.2 step 1)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Place:
    """A node of the tree, by its path as text; draws at one place under one name are always the same."""

    path: str

    def at(self, *names: object) -> "Place":
        """The place below this one."""
        return Place("/".join((self.path, *map(str, names))))

    def bits(self, name: object) -> int:
        """64 bits drawn under a name."""
        return int.from_bytes(blake2b(f"{self.path}?{name}".encode(), digest_size=8).digest(), "big")

    def share(self, name: object) -> float:
        """A number in [0, 1)."""
        return (self.bits(name) >> 11) / 2**53

    def chance(self, name: object, probability: float) -> bool:
        """True with this probability."""
        return self.share(name) < probability

    def whole(self, name: object, low: int, high: int) -> int:
        """A whole number, low ≤ n ≤ high."""
        return low + self.bits(name) % (high - low + 1)

    def one(self, name: object, items: Sequence[Item]) -> Item:
        """One of the items; raises `ZeroDivisionError` where there is none."""
        return items[self.bits(name) % len(items)]

    def some(self, name: object, items: Sequence[Item], count: int) -> list[Item]:
        """`count` different items (all, if fewer), in the order of a keyed hash of their places."""
        order = sorted(range(len(items)), key=lambda n: self.bits((name, n)))
        return [items[n] for n in order[:count]]

    def normal(self, name: object) -> float:
        """A standard normal number (Box–Muller of two draws)."""
        first = 1.0 - self.share((name, 0))
        return math.sqrt(-2.0 * math.log(first)) * math.cos(2.0 * math.pi * self.share((name, 1)))
