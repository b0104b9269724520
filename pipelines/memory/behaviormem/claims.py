"""What a claim is: its kinds, closed candidate sets, states and life (paper §4, B.2, B.5).

The paper's candidate sets are not published; these are ours. A slot of the kinds T1
and T2 is a path of its own, so that its notion cannot drift.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import polars as pl

from pipelines.tables import TIME

Kind = Literal["demographics", "social relations", "interests", "situational state"]
CLOSED_KINDS: tuple[Kind, ...] = ("demographics", "social relations")
"""T1, T2: a value out of a candidate set, with a confidence."""
OPEN_KINDS: tuple[Kind, ...] = ("interests", "situational state")
"""T3, T4: free text."""
Scope = Literal["continuous", "stage"]
"""Of a path: `continuous` ones never go dormant, `stage` ones do without support."""
ClaimState = Literal["active", "dormant", "replaced", "retired"]
"""Only `active` is read; every other keeps its evidence."""


@dataclass(frozen=True)
class Slot:
    """A closed slot: what it may say, and whether it is bound to a stage of life."""

    values: tuple[str, ...]
    scope: Scope = "continuous"


SLOTS: Mapping[str, Slot] = {
    "demographics/person/gender": Slot(("female", "male")),
    "demographics/person/age": Slot(
        ("under 18", "18 to 24", "25 to 34", "35 to 44", "45 to 54", "55 to 64", "65 and over")
    ),
    "demographics/person/occupation": Slot(
        ("student", "office work", "manual work", "self-employed", "homemaker", "retired"), "stage"
    ),
    "demographics/household/income": Slot(("low", "middle", "high")),
    "demographics/household/home": Slot(("flat", "house", "house with garden"), "stage"),
    "demographics/household/car": Slot(("has a car", "has no car"), "stage"),
    "social relations/family/partner": Slot(("lives with a partner", "lives without a partner"), "stage"),
    "social relations/family/size": Slot(("one", "two", "three or four", "five or more"), "stage"),
    "social relations/family/baby": Slot(("expects a baby", "has a baby"), "stage"),
    "social relations/family/young child": Slot(("has a young child",), "stage"),
    "social relations/family/teenager": Slot(("has a teenager",), "stage"),
    "social relations/family/elders": Slot(("cares for an older relative",), "stage"),
    "social relations/home/pet": Slot(("dog", "cat", "dog and cat", "other pet"), "stage"),
    "social relations/others/buys for": Slot(("buys for others at work", "buys gifts for friends"), "stage"),
}
"""Path → slot of the kinds T1 and T2 (ours)."""


class Claim(TypedDict):
    """One claim, as it is kept."""

    id: str
    kind: Kind
    path: str
    """`kind/domain/attribute`."""
    text: str
    """Free text, or the value of a closed slot."""
    confidence: int
    """0 to 100."""
    state: ClaimState
    visits: list[int]
    """Its evidence: visits of this user, numbered from 0 in the order in which they were taken in."""
    formed: int
    """µs since 1970 UTC: end of the batch that formed it."""
    supported: int
    """End of the last batch that supported it."""


class Path(TypedDict):
    """One path of the registry; its id in prompts is `r1`, `r2`… by place."""

    path: str
    scope: Scope


@dataclass(frozen=True)
class Candidate:
    """A claim that a batch gives reason for."""

    kind: Kind
    text: str
    confidence: int
    visits: tuple[int, ...]
    because: tuple[str, ...] = ()
    """The patterns and themes between the visits and the claim."""
    path: str = ""


@dataclass
class Book:
    """Claims, paths and the life log of one memory while one batch is taken in; the lists are those of the state."""

    claims: list[Claim]
    paths: list[Path]
    life: list[dict[str, Any]]
    batch: int
    until: int
    """End of the batch, µs."""

    @staticmethod
    def of(state: dict[str, Any], batch: int, until: int) -> "Book":
        """The book in `state`, made if absent."""
        claims, paths, life = (state.setdefault(name, []) for name in ("claims", "paths", "life"))
        return Book(claims, paths, life, batch, until)

    def scope(self, path: str) -> Scope:
        """Of a path in the registry."""
        return next(one["scope"] for one in self.paths if one["path"] == path)

    def add_path(self, path: str, scope: Scope) -> None:
        """Note a path; one that is known keeps its scope."""
        if all(one["path"] != path for one in self.paths):
            self.paths.append({"path": path, "scope": scope})

    def at(self, path: str) -> list[Claim]:
        """Claims at a path that may still speak: active and dormant."""
        return [one for one in self.claims if one["path"] == path and one["state"] in ("active", "dormant")]

    def form(self, candidate: Candidate, cause: str) -> Claim:
        """A new active claim."""
        claim: Claim = {
            "id": f"c{len(self.claims) + 1}",
            "kind": candidate.kind,
            "path": candidate.path,
            "text": candidate.text,
            "confidence": candidate.confidence,
            "state": "active",
            "visits": sorted(set(candidate.visits)),
            "formed": self.until,
            "supported": self.until,
        }
        self.claims.append(claim)
        self.log(claim, "formed", None, cause, candidate)
        return claim

    def support(self, claim: Claim, candidate: Candidate, cause: str) -> None:
        """More evidence for a claim: confidence never falls by it, and one that was not active is again."""
        before = claim["state"]
        claim["visits"] = sorted({*claim["visits"], *candidate.visits})
        claim["confidence"] = max(claim["confidence"], candidate.confidence)
        claim["supported"] = self.until
        claim["state"] = "active"
        self.log(claim, "strengthened" if before == "active" else "reactivated", before, cause, candidate)

    def move(self, claim: Claim, event: str, to: ClaimState, cause: str, candidate: Candidate | None = None) -> None:
        """Change a claim's state."""
        before = claim["state"]
        claim["state"] = to
        self.log(claim, event, before, cause, candidate)

    def log(
        self, claim: Claim, event: str, before: ClaimState | None, cause: str, candidate: Candidate | None = None
    ) -> None:
        """Add one line to the life of a claim."""
        self.life.append(
            {
                "time": self.until,
                "batch": self.batch,
                "claim": claim["id"],
                "path": claim["path"],
                "text": claim["text"],
                "event": event,
                "before": before,
                "after": claim["state"],
                "confidence": claim["confidence"],
                "cause": cause,
                "visits": list(candidate.visits) if candidate else [],
                "because": list(candidate.because) if candidate else [],
            }
        )


LIFE: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "time": TIME,
    "batch": pl.Int32,
    "claim": pl.String,
    "path": pl.String,
    "text": pl.String,
    "event": pl.String,
    "before": pl.String,
    "after": pl.String,
    "confidence": pl.Int32,
    "cause": pl.String,
    "visits": pl.List(pl.Int64),
    "because": pl.List(pl.String),
}
"""What `life` gives: one row an event in the life of a claim.

`event` is formed, strengthened, challenged (a rival was not stronger), doubted (supported and contradicted at once),
replaced, retired, dormant or reactivated; `visits` and `because` are what the event itself brought.
"""


def life(state: Mapping[str, Any]) -> pl.DataFrame:
    """The life of every claim in a memory's state, in order (`LIFE`): when, from what to what, why, by which visits."""
    columns: dict[str, Any] = {**LIFE, "time": pl.Int64}
    return pl.DataFrame(state.get("life", []), schema=columns).with_columns(pl.col("time").cast(TIME))


def kinds_of(closed: bool, opened: bool) -> tuple[Kind, ...]:
    """The kinds that are not masked."""
    return (CLOSED_KINDS if closed else ()) + (OPEN_KINDS if opened else ())


def slots_of(kinds: Iterable[Kind]) -> dict[str, Slot]:
    """The closed slots of some kinds."""
    return {path: slot for path, slot in SLOTS.items() if path.split("/")[0] in set(kinds)}
