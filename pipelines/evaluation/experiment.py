"""Experiments: which methods, readers and budgets are compared, on which users.

An **arm** is one cell: method (with its configuration) × reader × budget. Arms
that share a memory, or a readout, carry the same fingerprint for it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Annotated, Any, Literal

import polars as pl
import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from pipelines.hashing import digest_json, key64_column
from pipelines.memory import replay
from pipelines.models import Role

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=40)]
ReaderName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*(:[A-Za-z0-9][A-Za-z0-9._/@+:-]*)?$", max_length=120)
]
"""`embedding`, `llm`, or `llm:NAME` with the model that answers; of judges likewise, `grounded` or `grounded:NAME`."""
_FORMS = {
    "readers": "write NAME, or NAME:MODEL with a model's name of letters, digits and . _ / @ + : -",
    "judges": "write NAME, or NAME:MODEL with a model's name of letters, digits and . _ / @ + : -",
}
_NAME_FORM = "write lower-case letters, digits and _, beginning with a letter or digit"
"""What the patterns above mean, for people."""
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
        default=None, ge=0, allow_inf_nan=False, description="cost of calls made, by the price table"
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
        description="users with a page in the report: half with the lowest scores, half drawn",
    )
    split: Literal["train", "validation", "test"] = Field(
        default="test", description="which targets of an on-chain release are asked; commerce releases have no splits"
    )
    seed: int = Field(
        default=20261, ge=0, lt=1 << 63, description="seed of the sample, of intervals and of methods that draw"
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


@dataclass(frozen=True)
class Arm:
    """One cell of an experiment; fingerprints are hex text.

    `key` is the Dagster partition key and `label` the method's name in tables
    (with its configuration unless default).
    """

    key: str
    experiment: str
    release: str
    label: str
    method: str
    config: dict[str, Value]
    reader: str
    budget: int
    memory: str
    """Fingerprint of the memory: release, method with its version and configuration, batches, seed."""
    readout: str
    """Fingerprint of the readouts: memory and budget."""
    fingerprint: str
    """Fingerprint of the readings: readouts and reader."""
    builder: str = ""
    """Name of the model that builds the memory; empty for the configured one."""


@dataclass(frozen=True)
class Slice:
    """The part of a release that an experiment asks about: the denominator of its numbers."""

    users: tuple[str, ...]
    """In text order."""
    batches: int | None = None
    """First batches of a user; None is all."""
    pools: tuple[tuple[str, int, str], ...] | None = field(default=None)
    """(user, transition, pool) of the sampled pools, or (wallet, event, layer) of targets; None is all."""
    split: str = ""
    """On-chain: whose targets are asked."""

    def of(self, rows: pl.LazyFrame, users: tuple[str, ...] | None = None) -> pl.LazyFrame:
        """Rows of a table with users that fall into the slice; `users` narrows it further."""
        columns = rows.collect_schema()
        kept = rows.filter(pl.col("user_id").is_in(list(self.users if users is None else users)))
        for index in ("transition_index", "batch_index"):
            if self.batches is not None and index in columns:
                kept = kept.filter(pl.col(index) < self.batches)
        if self.pools is None or not {"transition_index", "pool"} <= set(columns):
            return kept
        key = {name: columns[name] for name in ("user_id", "transition_index", "pool")}
        return kept.join(pl.LazyFrame(self.pools, schema=key, orient="row"), on=list(key), how="semi")


def arms(experiment: Experiment, release: str, methods: Mapping[str, str], readers: Mapping[str, str]) -> list[Arm]:
    """Every arm of an experiment on a release (its content hash), in the order of the file.

    `methods` are the fingerprints of the methods by label (`MethodSpec.fingerprint` of
    each configuration, and of its model where it has one), `readers` those of the readers by name.
    """
    out = []
    # Not the sample of users: a memory of one user is the same in a larger sample.
    sampled = {"batches": experiment.batches, "seed": experiment.seed}
    for label, method, config in experiment.configured():
        memory = digest_json({"release": release, "method": methods[label], **sampled})
        for budget in experiment.budgets:
            readout = digest_json({"memory": memory, "budget": budget})
            for reader in experiment.readers:
                out.append(
                    Arm(
                        key="~".join([experiment.name, label, plain_name(reader, 60), str(budget)]),
                        experiment=experiment.name,
                        release=release,
                        label=label,
                        method=method,
                        config=own_settings(config),
                        builder=str(config.get(BUILDER, "")),
                        reader=reader,
                        budget=budget,
                        memory=memory,
                        readout=readout,
                        fingerprint=digest_json(
                            {"readout": readout, "reader": readers[reader], "readings": experiment.readings}
                        ),
                    )
                )
    return out


def sample_users(users: pl.Series, experiment: Experiment) -> pl.Series:
    """The users that an experiment evaluates, sorted: those of the smallest keyed hashes, or all.

    A larger sample contains every smaller one of the same seed.
    """
    distinct = users.unique().sort()
    if experiment.users == "all":
        return distinct
    drawn = replay.sample_users(distinct.to_list(), experiment.users, experiment.seed)
    return pl.Series(users.name, drawn, dtype=pl.String)


def slice_of(pools: pl.LazyFrame, experiment: Experiment) -> Slice:
    """The part of a release that an experiment asks about, drawn from its table `pools`.

    A larger sample of users or pools contains every smaller one of the same seed.
    """
    batches = None if experiment.batches == "all" else experiment.batches
    asked = pools.select("user_id", "transition_index", "pool").unique()
    if batches is not None:
        asked = asked.filter(pl.col("transition_index") < batches)
    found = asked.collect()
    users = tuple(sample_users(found["user_id"], experiment).to_list())
    if experiment.readings == "all":
        return Slice(users, batches)
    mine = found.filter(pl.col("user_id").is_in(list(users))).with_columns(
        name=pl.format("{}:{}:{}", "user_id", "transition_index", pl.col("pool").cast(pl.String))
    )
    key = key64_column(mine["name"], f"readings:{experiment.seed}")
    drawn = mine.with_columns(key.alias("key")).sort("key", "name").head(experiment.readings)
    rows = drawn.sort("user_id", "transition_index", "pool").select("user_id", "transition_index", "pool").rows()
    return Slice(users, batches, tuple(rows))


def parse(text: str, file: str) -> Experiment:
    """An experiment from YAML text; `file` is named in errors.

    Raises `BadExperiment` for broken YAML, a key given twice, an unknown or
    missing field, or a value out of range.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            raise BadExperiment(f"{file}: is empty; an experiment needs at least name and methods")
        _refuse_repeats(root, file)
        value = yaml.load(text, _Loader)
    except RecursionError as error:
        raise BadExperiment(f"{file}: is nested too deep, or in itself") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise BadExperiment(f"{file}{line}: not YAML: {getattr(error, 'problem', None) or error}") from error
    try:
        return Experiment.model_validate(value)
    except ValidationError as error:
        raise BadExperiment("\n".join(_explain(problem, root, file) for problem in error.errors())) from error


class _Loader(yaml.SafeLoader):
    """Says where a value is none: a date without such a day, an integer beyond all bounds."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


def _refuse_repeats(node: yaml.Node, file: str) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, child in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise BadExperiment(f"{file}, line {key.start_mark.line + 1}: a field has no name but a list or a map")
            if key.value in seen:
                raise BadExperiment(f"{file}, line {key.start_mark.line + 1}: {key.value} is given twice")
            seen.add(key.value)
            _refuse_repeats(child, file)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_repeats(child, file)


def _explain(problem: Any, root: yaml.Node, file: str) -> str:
    path = problem["loc"]
    node, steps = _node_at(root, path)
    if problem["type"] == "missing" and len(steps) < len(path):
        steps.append(str(path[len(steps)]))
    where = f"{'.'.join(steps)}: " if steps else ""
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden" and len(path) == 1:
        message += f"; fields are {', '.join(Experiment.model_fields)}"
    if problem["type"] == "string_pattern_mismatch":
        message = _FORMS.get(str(path[0]), _NAME_FORM)
    return f"{file}, line {node.start_mark.line + 1}: {where}{message}"


def located(error: BadExperiment, text: str, file: str) -> BadExperiment:
    """The error of an experiment that was read from `text`, with the file and the line of its place in front."""
    if not error.place:
        return BadExperiment(f"{file}: {error}")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert root is not None, "an experiment was read from it"
    node, _ = _node_at(root, (*error.place, "[key]"))
    return BadExperiment(f"{file}, line {node.start_mark.line + 1}: {error}", error.place)


def _node_at(root: yaml.Node, path: Sequence[str | int]) -> tuple[yaml.Node, list[str]]:
    """The node that a path of keys, indices and values leads to, as far as the file goes, and the steps taken.

    `[key]` at the end is the key itself instead of what it stands for.
    """
    node, steps = root, []
    for step, following in zip_longest(path, path[1:]):
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == str(step)), None)
            if found is None:
                break
            node = found[0] if following == "[key]" else found[1]
        elif isinstance(node, yaml.SequenceNode):
            named = [one for one in node.value if one.value == step]
            if isinstance(step, int) and step < len(node.value):
                node = node.value[step]
            elif named:
                node = named[0]
            else:
                break
        else:
            break
        steps.append(str(step))
    return node, steps


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


DEMO = Experiment(
    name="demo",
    methods={
        name: [{}]
        for name in (
            "empty",
            "recent_k",
            "shuffled_user",
            "long_context",
            "frequency_profile",
            "template_profile",
            "rag_bm25",
        )
    },
    readers=["embedding"],
    budgets=[600],
    users=200,
)
"""The experiment of `make demo`."""

DEMO_LLM = Experiment(
    name="demo_llm",
    methods={
        "empty": [{}],
        "shuffled_user": [{}],
        "long_context": [{}],
        "frequency_profile": [{}],
        "rag_bm25": [{}],
        "behaviormem": [
            {
                "label": "small",
                "context_tokens": 2400,
                "record_tokens": 32,
                "reply_tokens": 300,
                "max_patterns": 2,
                "max_themes": 2,
                "retries": 0,
                "closed_kinds": False,
            }
        ],
    },
    readers=["llm"],
    budgets=[600],
    users=2,
    batches=2,
    readings=2,
)
"""The slice of `make demo` that goes through a language model: small, because the embedded model is slow, and weak."""
