"""Experiments on an on-chain release: which predictors answer which targets (ours).

`methods` of the experiment file are baselines, which answer by `rule`, and history
interfaces, which the listed readers answer. All baselines stand in every experiment,
listed or not; a pair of method and reader that do not go together is no arm.
"""

from collections.abc import Mapping
from typing import Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines.evaluation.experiment import BadExperiment, Experiment, Value, plain_name, require_known
from pipelines.evaluation.experiment_arms import Arm
from pipelines.evaluation.experiment_slice import Slice, sample_users
from pipelines.hashing import digest_json, key64_column
from pipelines.onchain.baselines import RULE
from pipelines.onchain.contenders import BASELINES, METHODS, invalid_pair
from pipelines.onchain.histories import INTERFACES
from pipelines.onchain.settings import OnchainSettings

DEFAULT = Experiment(name="baselines", methods={name: [{}] for name in BASELINES}, readers=[RULE])
"""What is run where no experiment is named: baselines, which need no model."""
LLM = "llm"
"""The reader that asks a model; `llm:NAME` names the model."""
INTERFACES_ASKED = Experiment(
    name="interfaces", methods={name: [{}] for name in INTERFACES}, readers=[LLM], readings=20
)
"""Every interface on a small sample of targets, which an embedded model can answer in minutes."""
HERE = " on an on-chain release"
COMMERCE_ONLY = ("budgets", "batches", "judges", "judged")


class _Plain(BaseModel):
    """A method without settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DirectConfig(_Plain):
    """Settings of the interface `direct`."""

    scope: Literal["market", "all_markets"] | None = Field(
        default=None, description="where it looks for the latest trades, instead of the release's own setting"
    )


def settings_for(method: str, config: Mapping[str, Value], settings: OnchainSettings) -> OnchainSettings:
    """Settings of a release under the configuration of an interface."""
    scope = config.get("scope") if method == "direct" else None
    return settings.model_copy(update={"direct_scope": scope}) if scope else settings


def readers_of(experiment: Experiment) -> list[str]:
    """The readers of an experiment on an on-chain release; without a list of them only baselines answer."""
    return experiment.readers if "readers" in experiment.model_fields_set else [RULE]


def arms(experiment: Experiment, release: str, readers: Mapping[str, str]) -> list[Arm]:
    """Every arm of an experiment on a release (its content hash): baselines first, then as the file has them.

    `readers` are the fingerprints of the readers that ask a model, by name, their prompts included. Raises
    `BadExperiment` for a method, configuration or field that an on-chain release does not know, and for an
    interface that no reader answers.
    """
    _refuse(experiment)
    cells: list[tuple[str, str, dict[str, Value], str]] = [(name, name, {}, RULE) for name in BASELINES]
    for label, method, config in experiment.configured():
        cells += [(label, method, config, name) for name in readers_of(experiment) if not invalid_pair(method, name)]
    out = []
    for label, method, config, reader in {(cell[0], cell[3]): cell for cell in cells}.values():
        stated = {
            "release": release,
            "method": method,
            "config": config,
            "reader": readers.get(reader, reader),
            "asked": [experiment.users, experiment.readings, experiment.split, experiment.seed],
        }
        key = "~".join([experiment.name, label, plain_name(reader, 60)])
        fingerprint = digest_json(stated)
        out.append(Arm(key, experiment.name, release, label, method, config, reader, 0, "", "", fingerprint))
    return out


def slice_of(histories: pl.LazyFrame, experiment: Experiment) -> Slice:
    """The targets that an experiment asks about, drawn from table `histories`, and their wallets as hex text.

    A larger sample of wallets or targets contains every smaller one of the same seed.
    """
    in_split = pl.col("split").cast(pl.String) == experiment.split
    found = (
        histories.filter(in_split)
        .select(pl.col("wallet").bin.encode("hex").alias("user"), "event", pl.col("layer").cast(pl.String))
        .collect()
    )
    users = tuple(sample_users(found["user"], experiment).to_list())
    if experiment.readings == "all":
        return Slice(users, split=experiment.split)
    mine = found.filter(pl.col("user").is_in(list(users))).with_columns(
        name=pl.format("{}:{}:{}", "user", "event", "layer")
    )
    key = key64_column(mine["name"], f"readings:{experiment.seed}")
    drawn = mine.with_columns(key.alias("key")).sort("key", "name").head(experiment.readings)
    rows = drawn.sort("user", "event", "layer").select("user", "event", "layer").rows()
    return Slice(tuple(drawn["user"].unique().sort()), pools=tuple(rows), split=experiment.split)


def asked(targets: pl.DataFrame, part: Slice, layer: str = "", event: str = "event") -> pl.DataFrame:
    """The rows of a table of targets that a slice asks about.

    Of `histories`, or of the instances of one `layer`, whose trade at the cut is in column `event`.
    """
    user = pl.col("wallet").bin.encode("hex").alias("user")
    rows = targets.with_columns(user, pl.lit(layer).alias("layer") if layer else pl.col("layer").cast(pl.String))
    kept = rows.filter(pl.col("user").is_in(list(part.users)) & (pl.col("split").cast(pl.String) == part.split))
    if part.pools is not None:
        named = pl.DataFrame(part.pools, schema=["user", event, "layer"], orient="row")
        drawn = named.with_columns(pl.col(event).cast(targets.schema[event]), pl.col("user", "layer").cast(pl.String))
        kept = kept.join(drawn, on=named.columns, how="semi")
    return kept.select(pl.col(name).cast(dtype) for name, dtype in targets.schema.items())


def _refuse(experiment: Experiment) -> None:
    readers = readers_of(experiment)
    require_known("method", experiment.methods, METHODS, HERE)
    require_known("reader", readers, (RULE, LLM), HERE)
    for name in COMMERCE_ONLY:
        if getattr(experiment, name) != Experiment.model_fields[name].default:
            raise BadExperiment(f"{name} belongs to commerce releases; take it out of the experiment", (name,))
    for _, method, config in experiment.configured():
        try:
            (DirectConfig if method == "direct" else _Plain).model_validate(config)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
            where = ("methods", method)
            raise BadExperiment(f"method {method} does not take its configuration: {wrong}", where) from error
        if method not in BASELINES and all(invalid_pair(method, reader) for reader in readers):
            why = f"no reader answers method {method}: list `{LLM}`, or `{LLM}:NAME`, among the readers"
            raise BadExperiment(why, ("methods", method))
