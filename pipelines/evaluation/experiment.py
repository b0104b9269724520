"""Experiments: which methods, readers and budgets are compared, on which users; the fields and their rules."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from pipelines.hashing import digest_json
from pipelines.models import Role

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=40)]
ReaderName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*(:[A-Za-z0-9][A-Za-z0-9._/@+:-]*)?$", max_length=120)
]
"""`embedding`, `llm`, or `llm:NAME` with the model that answers; of judges likewise, `grounded` or `grounded:NAME`."""


Value = str | int | float | bool
BUILDER, LABEL = "builder", "label"
"""Keys of a memory's configuration that name the model which builds it, and what tables call it; no part of the
method's own settings."""

FIELDS_OF_TRACKS = {
    "split": ("onchain", "on-chain releases"),
    "batch_days": ("applogs", "releases of app logs"),
    "tasks": ("applogs", "releases of app logs"),
}
"""Field that means something on one track alone → that track, and its releases as people call them."""

Count = Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)]


class BadExperiment(ValueError):
    """An experiment that cannot be used; the message names the field and the reason, and file and line where known.

    `place` leads to what is wrong: a field, then a key or a value of it; empty where nothing of one place is.
    """

    def __init__(self, message: str, place: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.place = place


class Limits(BaseModel):
    """What the model calls of an experiment may cost; a run that reaches a limit stops and can go on later."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    calls: int | None = Field(default=None, ge=0, strict=True, description="calls made (cached replies are free)")
    tokens: int | None = Field(default=None, ge=0, strict=True, description="prompt and reply tokens of calls made")
    cost: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, strict=True, description="cost of calls made, by the price table"
    )


class Experiment(BaseModel):
    """One experiment file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name = Field(description="name in arm keys and reports")
    release: str | None = Field(default=None, description="content hash, or its prefix; by default the newest")
    methods: dict[Name, list[dict[str, Value]]] = Field(
        min_length=1,
        description="method → the configurations to run it with; [{}] is its defaults, `builder: NAME` its model, "
        "`label: NAME` what tables call it",
    )
    readers: list[ReaderName] = Field(
        default=["embedding"], min_length=1, description="task readers; `llm:NAME` names the model"
    )
    judges: list[ReaderName] = Field(
        default=[],
        description="rubrics by which a model judges readouts (of app logs: answers, and why they fail); "
        "`grounded:NAME` names the model",
    )
    judged: Count = Field(
        default=20,
        description="size of the keyed sample of readouts (of app logs: questions) that are judged, the same of every "
        "memory",
    )
    models: dict[Role, str] = Field(default={}, description="role → model name, instead of the configured one")
    limits: Limits = Field(default=Limits(), description="limits of the model calls")
    budgets: list[Count] = Field(default=[600], min_length=1, description="readout budgets, tokens")
    users: Count | Literal["all"] = Field(default="all", description="size of the keyed sample of users, or all")
    batches: Count | Literal["all"] = Field(
        default="all",
        description="first batches (of app logs: checkpoints) of a user that are taken in and asked about, or all",
    )
    batch_days: Count = Field(
        default=1, description="of app logs: days of the log's clock in one batch, as memories take them in"
    )
    tasks: Annotated[list[Name], Field(min_length=1)] | Literal["all"] = Field(
        default="all", description="of app logs: the tasks whose questions are asked, or all"
    )
    readings: Count | Literal["all"] = Field(
        default="all",
        description="size of the keyed sample of pools, targets or questions that every arm is asked, or all",
    )
    pages: int = Field(
        default=30,
        ge=0,
        le=10_000,
        strict=True,
        description="users with a page in the report: half with the lowest scores, half drawn",
    )
    split: Literal["train", "validation", "test"] = Field(
        default="test", description="which targets of an on-chain release are asked; commerce releases have no splits"
    )
    seed: int = Field(
        default=20261,
        ge=0,
        lt=1 << 63,
        strict=True,
        description="seed of the sample, of intervals and of methods that draw",
    )

    @model_validator(mode="after")
    def _distinct(self) -> "Experiment":
        for what in ("readers", "judges", "budgets", "tasks"):
            values = getattr(self, what)
            if values != "all" and len(set(values)) < len(values):
                raise ValueError(f"{what} holds a value twice")
        labels = [label for label, *_ in self.configured()]
        if twice := sorted({label for label in labels if labels.count(label) > 1}):
            raise ValueError(f"methods: two configurations read the same: {', '.join(twice)}")
        if empty := sorted(name for name, configs in self.methods.items() if not configs):
            raise ValueError(f"methods: {', '.join(empty)} has no configuration; write [{{}}] for its defaults")
        return self

    def configured(self) -> Iterator[tuple[str, str, dict[str, Value]]]:
        """Label, method and configuration of every memory, in the order of the file."""
        for name, configs in self.methods.items():
            for config in configs:
                yield _label(name, config), name, config


def require_known(what: str, named: Iterable[str], there_are: Iterable[str], where: str = "") -> None:
    """Refuse a method, reader or judge (`what`) that there is not; of `name:model` the name counts.

    Raises `BadExperiment` that lists those that `there_are` `where`.
    """
    known = sorted(there_are)
    unknown = [one for one in named if one.partition(":")[0] not in known]
    if unknown:
        said = ", ".join(sorted({one.partition(":")[0] for one in unknown}))
        raise BadExperiment(f"no {what} {said}{where}; there are {', '.join(known)}", (f"{what}s", unknown[0]))


def refuse_foreign(experiment: Experiment, track: str) -> None:
    """Raises `BadExperiment` for a field of the file that means something on releases of another track alone."""
    for name, (own, releases) in FIELDS_OF_TRACKS.items():
        if track != own and name in experiment.model_fields_set:
            raise BadExperiment(f"{name} belongs to {releases}; take it out of the experiment", (name,))


def own_settings(config: Mapping[str, Value]) -> dict[str, Value]:
    """The part of a memory's configuration that is the method's."""
    return {name: value for name, value in config.items() if name not in (BUILDER, LABEL)}


def _label(method: str, config: dict[str, Value]) -> str:
    """`recent_k`, or `recent_k-k5` with a configuration; long or strange ones end in a hash."""
    if not config:
        return method
    if LABEL in config:
        return f"{method}-{plain_name(str(config[LABEL]), 40)}"
    return f"{method}-{plain_name('-'.join(f'{name}{config[name]}' for name in sorted(config)), 40)}"


def plain_name(text: str, longest: int) -> str:
    """Text as a folder can carry it; what is too long or strange is cut and ends in a hash of the whole."""
    plain = re.sub(r"[^A-Za-z0-9._-]+|\.{2,}", "_", text)
    if plain == text and len(plain) <= longest:
        return plain
    return f"{plain[: longest - 10]}-{digest_json(text, size=4)}"
