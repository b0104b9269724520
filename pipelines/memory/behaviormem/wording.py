"""What each step asks the model for: the shape of its reply, and the prompts (paper B.3, B.4; wording ours).

A shape is strict about fields and types only; ids, words, values and ranges are checked
item by item, so that one bad item costs itself and not the reply. Patterns, words and
ranges are there for endpoints that constrain decoding by the schema.
"""

from typing import Annotated, get_args

from pydantic import BaseModel, ConfigDict, Field

from pipelines.hashing import digest
from pipelines.memory.behaviormem.claims import SLOTS, Kind, Scope
from pipelines.prompts import load, prompts_hash


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _id(letter: str) -> dict[str, object]:
    return {"pattern": f"^{letter}[0-9]+$"}


def _words(*words: str) -> dict[str, object]:
    return {"enum": list(words)}


VisitId = Annotated[str, Field(json_schema_extra=_id("v"))]
PatternId = Annotated[str, Field(json_schema_extra=_id("p"))]
ThemeId = Annotated[str, Field(json_schema_extra=_id("t"))]
ClaimId = Annotated[str, Field(json_schema_extra=_id("c"))]
PathId = Annotated[str, Field(json_schema_extra={"pattern": "^(r[0-9]+)?$"})]
KindWord = Annotated[str, Field(json_schema_extra=_words(*get_args(Kind)))]
ScopeWord = Annotated[str, Field(json_schema_extra=_words(*get_args(Scope)))]
RelationWord = Annotated[str, Field(json_schema_extra=_words("supports", "contradicts", "unclear"))]
Confidence = Annotated[int, Field(json_schema_extra={"minimum": 0, "maximum": 100})]


class Pattern(_Shape):
    """A regularity in behaviours."""

    text: str
    evidence: list[VisitId]


class Patterns(_Shape):
    """Reply of the step from behaviours to patterns."""

    patterns: list[Pattern]


class Theme(_Shape):
    """What patterns say together."""

    kind: KindWord
    text: str
    confidence: Confidence
    evidence: list[PatternId]


class Themes(_Shape):
    """Reply of the step from patterns to themes."""

    themes: list[Theme]


class Characteristic(_Shape):
    """A value of a closed slot."""

    slot: str
    value: str
    confidence: Confidence
    evidence: list[ThemeId]


class Characteristics(_Shape):
    """Reply of the step from themes to characteristics."""

    characteristics: list[Characteristic]


class Guess(_Shape):
    """A claim made from behaviours at once."""

    kind: KindWord
    slot: str
    text: str
    confidence: Confidence
    evidence: list[VisitId]


class Guesses(_Shape):
    """Reply of the one-step ablation."""

    claims: list[Guess]


class Placement(_Shape):
    """Where a claim belongs."""

    claim: ThemeId
    path: PathId
    domain: str
    attribute: str
    scope: ScopeWord


class Placements(_Shape):
    """Reply of the placement."""

    placements: list[Placement]


class Verdict(_Shape):
    """How a new claim stands to a known one."""

    new: ThemeId
    known: ClaimId
    relation: RelationWord
    reason: str


class Verdicts(_Shape):
    """Reply of the maintenance."""

    verdicts: list[Verdict]


PATTERNS = load("behaviormem/patterns")
THEMES = load("behaviormem/themes")
CHARACTERISTICS = load("behaviormem/characteristics")
PLACEMENT = load("behaviormem/placement")
MAINTENANCE = load("behaviormem/maintenance")
ONE_STEP = load("behaviormem/one_step")

PROMPTS_HASH = digest(
    prompts_hash(PATTERNS, THEMES, CHARACTERISTICS, PLACEMENT, MAINTENANCE, ONE_STEP),
    *(f"{path}: {slot.scope}: {', '.join(slot.values)}" for path, slot in SLOTS.items()),
)
"""Hash of every prompt and of the candidate sets they show."""
