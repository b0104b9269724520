"""Which visits stand behind a line of a readout (ours).

A memory that tells its claims tells their visits. Any other line is held against the
user's own visits: it is a visit's own text, or begins with the name of a category,
domain or brand that visits carry. Nothing is guessed from words inside a sentence.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

import polars as pl

from pipelines.evaluation.drilldown.trail import Source
from pipelines.memory.rendering import category, category_names, plain, visit_lines

Told = Mapping[str, tuple[int, ...]]
"""Line of a claim → its visits."""


class Evidence:
    """The visits of one user (`VISIT_COLUMNS`, in order), found by the texts of lines."""

    def __init__(self, visits: pl.DataFrame) -> None:
        self.lines = visit_lines(visits)
        self._same: dict[str, list[int]] = defaultdict(list)
        self._named: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines):
            self._same[line].append(number)
        brands = visits["brand"].to_list()
        for number, ((l1, l2), brand) in enumerate(zip(category_names(visits), brands, strict=True)):
            names = {category(l1, l2) if l2 else "", category(l1, None), f"brand {plain(brand)}" if brand else ""}
            for name in names - {""}:
                self._named[name].append(number)

    def of(self, line: str, known: int, told: Told) -> tuple[Source, tuple[int, ...]]:
        """How the visits behind a line are known, and which they are, among the first `known` of the user."""
        if line in told:
            return "claim", tuple(number for number in told[line] if number < known)
        # `recent: <visit> | met 3 times` holds a visit as it is.
        for text in (line, line.partition(": ")[2], line.partition(": ")[2].rpartition(" | met ")[0]):
            if text in self._same:
                return "same text", self._before(self._same[text], known)
        name = line.rpartition(": ")[0] or line
        while name and name not in self._named:
            name = name.rpartition(": ")[0]
        found = self._before(self._named[name], known) if name else ()
        return ("name" if found else ""), found

    @staticmethod
    def _before(numbers: list[int], known: int) -> tuple[int, ...]:
        return tuple(numbers[: bisect_left(numbers, known)])
