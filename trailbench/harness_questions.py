"""The questions of a release for an evaluation harness: which ones, what the model is shown, what is right."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.readers.llm import INSTRUCTIONS, QUESTION, LlmReaderSettings
from pipelines.exports.samples import Row, pool_samples, pool_targets, prediction_samples, prediction_targets
from pipelines.onchain.experiment import INTERFACES_ASKED, asked, settings_for
from pipelines.onchain.experiment import slice_of as targets_of
from pipelines.onchain.histories import INTERFACES, Interface
from pipelines.onchain.profiles import profiles
from pipelines.onchain.prompting import contexts, prompts
from pipelines.onchain.scores import LAYERS
from pipelines.onchain.wording import prompt_hash
from pipelines.prompts import prompts_hash
from resources.experiment_spec import ArmSpec, BoundExperiment, experiment_key, load_experiment
from resources.home import Home
from resources.release_spec import ReleaseSpec
from resources.store import NotPublished
from resources.tokenizer import load_tokens
from trailbench.evaluating import experiment_named
from trailbench.exporting import ExportError

USERS_AT_ONCE = 200
"""Users whose prompts are made together."""
INSTANCES = {"belief": ("belief_instances", "cut_event"), "trade": ("trade_instances", "event")}
"""Layer → the table of its labels, and its column with the trade at the cut."""


@dataclass(frozen=True)
class Wanted:
    """What a call asks for: an experiment by name or file, and one of its methods by label and budget."""

    experiment: str | None = None
    method: str | None = None
    budget: int | None = None


@dataclass(frozen=True)
class Questions:
    """What goes into a folder.

    `task` names the file that runs them, `context` says what the model is shown, `prompts` is the hash of the prompt
    files; `targets` is called only where gold may leave.
    """

    task: str
    context: str
    prompts: str
    samples: Iterable[Row]
    targets: Callable[[], Iterable[Row]]


def _pools(home: Home, spec: ReleaseSpec, key: str, release: str, wanted: Wanted) -> Questions:
    """Every pool of a commerce release, or those an experiment asks, behind what a method's memory says of the user."""
    at = {"release": key}
    if wanted.experiment is None:
        if wanted.method is not None or wanted.budget is not None:
            raise ExportError("--method and --budget name a memory of an experiment; add --experiment")
        arm, part = None, None
        context = "no memory: both slots are unused"
    else:
        chosen = _arm(_evaluated(home, wanted.experiment, release), wanted)
        arm, part, of = chosen.key, chosen.slice, chosen.arm
        context = f"memory {of.label} of experiment {of.experiment}, at most {of.budget} tokens"
    pools = home.store.scan("pools", at, home.shards)
    pools = (pools if part is None else part.of(pools)).sort("user_id", "transition_index", "pool", "position")
    names = home.store.scan("taxonomy", at).collect()

    def samples() -> Iterator[Row]:
        rows = pools.collect()
        said = _readouts(home, arm, rows)
        tokens, settings = load_tokens(), LlmReaderSettings()
        for own in _by_users(rows):
            mine = said.join(own.select("user_id").unique(), on="user_id", how="semi")
            yield from pool_samples(mine, own, names, tokens, settings)

    def targets() -> Iterator[Row]:
        roles = home.gold.scan("pool_gold", at, home.shards)
        return pool_targets((roles if part is None else part.of(roles)).collect())

    return Questions("pools", context, prompts_hash(INSTRUCTIONS, QUESTION), samples(), targets)


def _readouts(home: Home, arm: str | None, pools: pl.DataFrame) -> pl.DataFrame:
    """What a memory says at every transition that is asked about; nothing without one, or where it says nothing."""
    states = pools.select("user_id", "transition_index").unique().sort("user_id", "transition_index")
    if arm is None:
        return states.with_columns(description=pl.lit(""), tree=pl.lit(""))
    try:
        said = home.store.scan("readouts", {"arm": arm}, home.shards).collect()
    except NotPublished as error:
        raise ExportError(f"{error}; run `trailbench evaluate` with the experiment first") from error
    return states.join(said, on=states.columns, how="left", maintain_order="left")


def _by_users(pools: pl.DataFrame) -> Iterator[pl.DataFrame]:
    number = pl.col("user_id").rle_id() // USERS_AT_ONCE
    yield from pools.with_columns(part=number).partition_by("part", maintain_order=True, include_key=False)


def _evaluated(home: Home, experiment: str, release: str) -> BoundExperiment:
    """An experiment as it was evaluated on a release. Raises `ExportError` where it was not, or was another then."""
    named = experiment_named(experiment)
    try:
        bound = load_experiment(home.store.store, experiment_key(named.name, release))
    except NotPublished as error:
        run = f"trailbench evaluate {release} --experiment {experiment}"
        raise ExportError(f"{named.name} was not evaluated on {release}; run `{run}` first") from error
    if _memories(bound.experiment) != _memories(named):
        raise ExportError(
            f"{named.name} was changed since it was evaluated on {release}; run `trailbench evaluate` again"
        )
    return bound


def _memories(experiment: Experiment) -> dict[str, Any]:
    """What of an experiment decides its memories and what is asked."""
    return experiment.model_dump(exclude={"release", "readers", "judges", "judged", "limits"})


def _arm(bound: BoundExperiment, wanted: Wanted) -> ArmSpec:
    """The arm of the method and budget that are wanted; arms that differ in their reader share readouts."""
    labels = list(dict.fromkeys(one.arm.label for one in bound.arms))
    if wanted.method not in labels:
        raise ExportError(f"name a method of {bound.experiment.name} by --method: {', '.join(labels)}")
    own = {one.arm.budget: one for one in reversed(bound.arms) if one.arm.label == wanted.method}
    if len(own) == 1 and wanted.budget is None:
        return next(iter(own.values()))
    if wanted.budget not in own:
        raise ExportError(f"name a budget of {bound.experiment.name} by --budget: {', '.join(map(str, sorted(own)))}")
    return own[wanted.budget]


def _predictions(home: Home, spec: ReleaseSpec, key: str, release: str, wanted: Wanted) -> Questions:
    """Targets of an on-chain release, or those an experiment asks, behind what an interface shows."""
    label, method, config, experiment = _interface(wanted)
    at = {"release": key}
    part = targets_of(home.store.scan("histories", at, home.shards), experiment)
    settings = settings_for(method, config, spec.settings)
    described = home.store.scan("markets", at).collect()
    known = contexts(described)

    def whole(table: str) -> pl.DataFrame:
        catalog = home.gold if table.endswith("_instances") else home.store
        mine = pl.col("wallet").bin.encode("hex").is_in(list(part.users))
        return catalog.scan(table, at, home.shards).filter(mine).collect()

    def samples() -> Iterator[Row]:
        targets = asked(whole("histories"), part).sort("layer", "wallet", "event")
        own = whole("cohort_trades").sort("wallet", "event")
        support = home.store.scan("support_trades", at).collect()
        for layer in LAYERS:
            mine = targets.filter(pl.col("layer").cast(pl.String) == layer)
            of_wallets = profiles(own, mine, described, layer)
            yield from prediction_samples(prompts(mine, own, support, of_wallets, known, method, settings))

    def targets() -> Iterator[Row]:
        names = {condition: context.outcomes for condition, context in known.items()}
        for layer in LAYERS:
            table, event = INSTANCES[layer]
            rows = whole(table).filter(pl.col("cohort").cast(pl.String) == "evaluation")
            yield from prediction_targets(asked(rows, part, layer, event).sort("wallet", event), layer, names)

    context = f"interface {label}, targets of split {experiment.split}"
    return Questions("predictions", context, prompt_hash(), samples(), targets)


def _interface(wanted: Wanted) -> tuple[str, Interface, dict[str, Any], Experiment]:
    """Label, interface, configuration, and the experiment that says which targets are asked: all of split test where
    none is named.
    """
    if wanted.budget is not None:
        raise ExportError("--budget belongs to memories of commerce releases; leave it out")
    if wanted.experiment is None:
        experiment = INTERFACES_ASKED.model_copy(update={"readings": "all"})
    else:
        experiment = experiment_named(wanted.experiment)
    there = {label: (name, config) for label, name, config in experiment.configured() if name in INTERFACES}
    if wanted.method not in there:
        raise ExportError(f"name an interface by --method: {', '.join(there) or 'this experiment has none'}")
    name, config = there[wanted.method]
    return wanted.method, name, config, experiment


QUESTIONS: dict[str, Callable[[Home, ReleaseSpec, str, str, Wanted], Questions]] = {
    "commerce": _pools,
    "onchain": _predictions,
}
"""Track → how its questions are made."""
