"""The questions of a release for an evaluation harness: which ones, what the model is shown, what is right."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.applogs.asking import AskingSettings
from pipelines.applogs.asking import prompts as state_prompts
from pipelines.applogs.contenders import RAG, remembers
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.experiment import asked as states_asked
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.readers.llm import INSTRUCTIONS, QUESTION, LlmReaderSettings
from pipelines.exports.samples import (
    Row,
    pool_samples,
    pool_targets,
    prediction_samples,
    prediction_targets,
    state_samples,
    state_targets,
)
from pipelines.onchain.experiment import INTERFACES_ASKED, asked, settings_for
from pipelines.onchain.experiment import slice_of as targets_of
from pipelines.onchain.histories import INTERFACES, Interface
from pipelines.onchain.profiles import profiles
from pipelines.onchain.prompting import contexts, prompts
from pipelines.onchain.scores import LAYERS
from pipelines.onchain.wording import prompt_hash
from pipelines.prompts import prompts_hash
from resources.home import Home
from resources.release_spec import ReleaseSpec
from resources.store import NotPublished
from resources.tokenizer import load_tokens
from trailbench.evaluating import experiment_named
from trailbench.exporting import ExportError
from trailbench.wanted_arms import Wanted, arms_wanted, evaluated

USERS_AT_ONCE = 200
"""Users whose prompts are made together."""
INSTANCES = {"belief": ("belief_instances", "cut_event"), "trade": ("trade_instances", "event")}
"""Layer → the table of its labels, and its column with the trade at the cut."""

SCORED_BY = ("pipelines.applogs.reading_replies", "pipelines.applogs.reply_scores")
"""What the task of states reads replies and scores with; it goes into the folder, too."""


@dataclass(frozen=True)
class Questions:
    """What goes into a folder.

    `task` names the file that runs them, `context` says what the model is shown, `prompts` is the hash of the prompt
    files; `targets` is called only where gold may leave. `scored_by` are the domain modules that the file scores with.
    """

    task: str
    context: str
    prompts: str
    samples: Iterable[Row]
    targets: Callable[[], Iterable[Row]]
    scored_by: tuple[str, ...] = ()


def _pools(home: Home, spec: ReleaseSpec, key: str, release: str, wanted: Wanted) -> Questions:
    """Every pool of a commerce release, or those an experiment asks, behind what a method's memory says of the user."""
    at = {"release": key}
    if wanted.experiment is None:
        if wanted.method is not None or wanted.budget is not None:
            raise ExportError("--method and --budget name a memory of an experiment; add --experiment")
        arm, part = None, None
        context = "no memory: both slots are unused"
    else:
        chosen = arms_wanted(evaluated(home, wanted.experiment, release), wanted)[0]
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
    return states.join(_of_arm(home, "readouts", arm), on=states.columns, how="left", maintain_order="left")


def _of_arm(home: Home, table: str, arm: str) -> pl.DataFrame:
    try:
        return home.store.scan(table, {"arm": arm}, home.shards).collect()
    except NotPublished as error:
        raise ExportError(f"{error}; run `trailbench evaluate` with the experiment first") from error


def _by_users(pools: pl.DataFrame) -> Iterator[pl.DataFrame]:
    number = pl.col("user_id").rle_id() // USERS_AT_ONCE
    yield from pools.with_columns(part=number).partition_by("part", maintain_order=True, include_key=False)


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
        raise ExportError("--budget belongs to memories, and an on-chain release has none; leave it out")
    if wanted.experiment is None:
        experiment = INTERFACES_ASKED.model_copy(update={"readings": "all"})
    else:
        experiment = experiment_named(wanted.experiment)
    there = {label: (name, config) for label, name, config in experiment.configured() if name in INTERFACES}
    if wanted.method not in there:
        raise ExportError(f"name an interface by --method: {', '.join(there) or 'this experiment has none'}")
    name, config = there[wanted.method]
    return wanted.method, name, config, experiment


def _states(home: Home, spec: ReleaseSpec, key: str, release: str, wanted: Wanted) -> Questions:
    """Every question of a release of app logs, or those an experiment asks, behind what a method delivered to it."""
    at, part, told = {"release": key}, None, None
    if wanted.experiment is None:
        if wanted.method is not None or wanted.budget is not None:
            raise ExportError("--method and --budget name a memory of an experiment; add --experiment")
        context = "no memory: what it delivers is empty"
    else:
        bound = evaluated(home, wanted.experiment, release)
        # Rules ask no model, and what the oracle is shown is gold.
        shown = [one for one in bound.arms if remembers(one.arm.method) or one.arm.method == RAG]
        chosen = arms_wanted(bound, wanted, shown)[0]
        part, of, told = chosen.slice, chosen.arm, _of_arm(home, "contexts", chosen.key)
        most = f", at most {of.budget} tokens" if of.budget else ""
        context = f"memory {of.label} of experiment {of.experiment}{most}"
    tasks, places = (home.store.scan(table, at, home.shards).collect() for table in ("tasks", "checkpoints"))
    questions = tasks if part is None else states_asked(tasks, places, part, part.users)
    assert isinstance(spec.settings, AppLogSettings)
    minutes = spec.settings.minutes

    def samples() -> Iterator[Row]:
        tokens, settings = load_tokens(), AskingSettings()
        shown = _nothing(questions) if told is None else told
        yield from state_samples(shown, questions, tokens, settings)

    def targets() -> Iterator[Row]:
        own = questions.select("user_id", "item").lazy()
        items, parts = (
            home.gold.scan(table, at, home.shards).join(own, on=["user_id", "item"], how="semi").collect()
            for table in ("gold_items", "gold_parts")
        )
        return state_targets(items, parts, minutes)

    return Questions("states", context, state_prompts(), samples(), targets, SCORED_BY)


def _nothing(questions: pl.DataFrame) -> pl.DataFrame:
    """Table `contexts` of a memory that delivers nothing at any checkpoint."""
    places = questions.select("user_id", "checkpoint_id").unique()
    empty = places.with_columns(item=pl.lit(WHOLE), text=pl.lit(""), tokens=0, tokens_cut=0, state_hash=pl.lit(""))
    filled = empty.with_columns(retrieved=pl.lit([], pl.List(pl.String)))
    return filled.select(pl.col(name).cast(dtype) for name, dtype in APPLOG_TABLES["contexts"].schema.items())


QUESTIONS: dict[str, Callable[[Home, ReleaseSpec, str, str, Wanted], Questions]] = {
    "commerce": _pools,
    "onchain": _predictions,
    "applogs": _states,
}
"""Track → how its questions are made."""
