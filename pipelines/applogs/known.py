"""Logs of one user, laid out to be searched: which speak of a question, and what they name (ours)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import log

import polars as pl

from pipelines.applogs.associations import associated
from pipelines.applogs.json_text import JsonObject
from pipelines.applogs.phrases import Said, said, stems
from pipelines.applogs.routines import Routine, routines
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.evaluation.judging.stems import stem

RELATED = 0.5
"""Logs speak of a question that say at least this share of what the one that says most of it does."""
ASSOCIATED = 0.4
"""Weight of a word that goes with a wanted one, against 1 of the wanted word itself."""
OTHERS = 0.3
"""Weight of logs that speak of other people's things, unless people are asked about."""
_PEOPLE = frozenset(map(stem, ["family", "parent", "child", "grandparent", "partner", "spouse", "friend", "neighbour"]))
_EMPTY = frozenset(
    ["about", "check", "info", "latest", "new", "news", "note", "quick", "reminder", "short", "update", "word"]
)
"""Stems of headings, which name nothing."""


class Known:
    """Rows of `app_logs` (their user apart) in the order of `position`.

    `chosen` says that they were searched out for one question, and so speak of it whatever their words.
    """

    def __init__(self, logs: Sequence[JsonObject], *, chosen: bool = False) -> None:
        self.logs, self.chosen = logs, chosen

    @cached_property
    def said(self) -> list[Said]:
        """What each log says, in their order."""
        return [said(row["record"], row["api"], row["app"]) for row in self.logs]

    @cached_property
    def places(self) -> dict[int, int]:
        """Position → place among the logs."""
        return {row["position"]: place for place, row in enumerate(self.logs)}

    @cached_property
    def index(self) -> dict[str, list[int]]:
        """Stem → places of the logs that say it."""
        found: dict[str, list[int]] = {}
        for place, one in enumerate(self.said):
            for word in one.words:
                found.setdefault(word, []).append(place)
        return found

    @cached_property
    def spread(self) -> Counter[str]:
        """Key of a phrase → how many logs have it."""
        return Counter(key for one in self.said for key in one.phrases)

    @cached_property
    def categories(self) -> dict[str, str]:
        """Key of a named thing → the category that logs show it in, the newest."""
        return dict(pair for one in self.said for pair in one.categories)

    @cached_property
    def leaves(self) -> dict[str, list[tuple[int, str]]]:
        """Name of a field → (position, text) of its values, oldest first."""
        found: dict[str, list[tuple[int, str]]] = {}
        for row, one in zip(self.logs, self.said, strict=True):
            for name, text in one.leaves:
                found.setdefault(name, []).append((row["position"], text))
        return found

    @cached_property
    def routines(self) -> list[Routine]:
        """Routines in the logs."""
        schema = {name: APPLOG_TABLES["app_logs"].schema[name] for name in ("position", "time", "app")}
        return routines(pl.DataFrame([{name: row[name] for name in schema} for row in self.logs], schema=schema))

    def row(self, position: int) -> JsonObject:
        """The log at a position."""
        return self.logs[self.places[position]]

    def rarity(self, word: str) -> float:
        """Logarithm of all logs over those that say a stem; 0 where none does."""
        places = self.index.get(word)
        return log((1 + len(self.logs)) / len(places)) if places else 0.0

    def overlap(self, wanted: Iterable[str]) -> dict[int, float]:
        """Place → how much of the wanted stems the log says, by their rarity; those that say none are left out.

        A stem that is associated with a wanted one counts `ASSOCIATED`, each wanted one once a log.
        """
        scores: dict[int, float] = {}
        # In a fixed order, for sums of floats depend on theirs.
        for word in sorted(wanted):
            best: dict[int, float] = {}
            for other, weight in ((word, 1.0), *((one, ASSOCIATED) for one in sorted(associated(word)))):
                worth = weight * self.rarity(other)
                for place in self.index.get(other, ()):
                    best[place] = max(best.get(place, 0.0), worth)
            for place, worth in best.items():
                scores[place] = scores.get(place, 0.0) + worth
        return scores

    def related(self, wanted: Iterable[str]) -> dict[int, float]:
        """Place → share of the most that a log says of the wanted stems, of the logs that speak of it."""
        scores = self.overlap(wanted)
        most = max(scores.values(), default=0.0)
        family = bool(_PEOPLE & set(wanted))
        return {
            place: score / most * (OTHERS if self.said[place].others and not family else 1.0)
            for place, score in sorted(scores.items())
            if most > 0 and score >= RELATED * most
        }

    def named(self, related: dict[int, float], wanted: frozenset[str]) -> dict[str, float]:
        """Key of a phrase → how likely it is what the related logs name.

        Their number, by how much they speak of it, times its share of all logs that have it (root), its rarity and
        its own weight. Phrases of wanted words and headings alone name nothing.
        """
        support: dict[str, float] = {}
        weight: dict[str, float] = {}
        for place, share in related.items():
            for key, phrase in self.said[place].phrases.items():
                support[key] = support.get(key, 0.0) + share * phrase.weight
                weight[key] = max(weight.get(key, 0.0), phrase.weight)
        found = {}
        for key, held in support.items():
            spread = self.spread[key]
            if (words := set(stems(key)) or {key}) <= wanted | _EMPTY or not any(map(str.isalpha, key)):
                continue
            own = len(words - wanted - _EMPTY) / len(words)
            found[key] = held**0.5 * own * (held / weight[key] / spread) ** 0.5 * log(2 + len(self.logs) / spread)
        return found

    def best(self, place: int, scores: dict[str, float]) -> str | None:
        """Key of the phrase of a log that scores most; of equals the longer, then the last by name."""
        told = self.said[place].phrases
        return max(
            (key for key in told if key in scores),
            key=lambda key: (scores[key] * told[key].weight, len(key), key),
            default=None,
        )
