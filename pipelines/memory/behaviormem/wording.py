"""What each step asks the model for: the shape of its reply, and the prompts (paper B.3, B.4; wording ours).

A shape is strict about fields and types only; ids, words, values and ranges are checked
item by item, so that one bad item costs itself and not the reply. Patterns, words,
ranges and lengths are there for endpoints that constrain decoding by the schema: a
small model would fill lists until its reply is cut.
"""

from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field

from pipelines.hashing import digest
from pipelines.memory.behaviormem.claims import SLOTS, Kind, Scope
from pipelines.memory.behaviormem.settings import MOST_PATTERNS, MOST_THEMES
from pipelines.prompts import load, prompts_hash

MOST_EVIDENCE = 12
"""Ids that an item is asked to cite at most; more are taken."""
_MOST_ANSWERS = 40


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


def _id(letter: str) -> dict[str, object]:
    return {"pattern": f"^{letter}[0-9]+$"}


def _words(*words: str) -> dict[str, object]:
    return {"enum": list(words)}


def _most(n: int) -> Any:
    return Field(json_schema_extra={"maxItems": n})


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
    evidence: Annotated[list[VisitId], _most(MOST_EVIDENCE)]


class Patterns(_Shape):
    """Reply of the step from behaviours to patterns."""

    patterns: Annotated[list[Pattern], _most(MOST_PATTERNS)]


class Theme(_Shape):
    """What patterns say together."""

    kind: KindWord
    text: str
    confidence: Confidence
    evidence: Annotated[list[PatternId], _most(MOST_EVIDENCE)]


class Themes(_Shape):
    """Reply of the step from patterns to themes."""

    themes: Annotated[list[Theme], _most(MOST_THEMES)]


class Characteristic(_Shape):
    """A value of a closed slot."""

    slot: str
    value: str
    confidence: Confidence
    evidence: Annotated[list[ThemeId], _most(MOST_EVIDENCE)]


class Characteristics(_Shape):
    """Reply of the step from themes to characteristics."""

    characteristics: Annotated[list[Characteristic], _most(len(SLOTS))]


class Guess(_Shape):
    """A claim made from behaviours at once."""

    kind: KindWord
    slot: str
    text: str
    confidence: Confidence
    evidence: Annotated[list[VisitId], _most(MOST_EVIDENCE)]


class Guesses(_Shape):
    """Reply of the one-step ablation."""

    claims: Annotated[list[Guess], _most(MOST_THEMES)]


class Placement(_Shape):
    """Where a claim belongs."""

    claim: ThemeId
    path: PathId
    domain: str
    attribute: str
    scope: ScopeWord


class Placements(_Shape):
    """Reply of the placement."""

    placements: Annotated[list[Placement], _most(_MOST_ANSWERS)]


class Verdict(_Shape):
    """How a new claim stands to a known one."""

    new: ThemeId
    known: ClaimId
    relation: RelationWord
    reason: str


class Verdicts(_Shape):
    """Reply of the maintenance."""

    verdicts: Annotated[list[Verdict], _most(_MOST_ANSWERS)]


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
