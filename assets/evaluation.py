"""Evaluation: memories → readouts → readings → scored units → leaderboard and report."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import dagster as dg
import polars as pl
from pydantic import BaseModel

from assets.arms import GivenArm
from assets.asking import asking, progress_log, said, spent_metadata
from assets.commerce import batches, cohort, pools, taxonomy, transitions, visits
from assets.evaluation_steps import arm_step
from assets.experiment_costs import engine_of
from assets.freezing import release
from assets.partitions import any_of, axes_of
from assets.publishing import UNANSWERED, Made, Result, publish
from assets.readers import WITHOUT_MODEL, asks_model, model_reader
from pipelines.evaluation.scores import EVALUATOR_VERSION, score
from pipelines.hashing import digest
from pipelines.memory.claimed import Claimed
from pipelines.memory.contract import MethodSpec
from pipelines.memory.replay import Served, replay
from pipelines.memory.timeline import histories
from pipelines.schema import TABLES
from resources.dag import GoldStore, InputStore, Models
from resources.embedder import StaticEmbedder
from resources.memories import KeptMemories
from resources.models.budget import Amount
from resources.plugin_process import open_method
from resources.tokenizer import load_tokens

HISTORY = ("visits", "batches", "transitions")


@arm_step(
    deps=[any_of(asset) for asset in (visits, batches, transitions, taxonomy, release)],
    code=("pipelines.memory",),
    pool="memory",
)
def readouts(context: dg.AssetExecutionContext, store: InputStore, models: Models) -> Iterator[Result]:
    """What an arm's memory says of each user after each batch. Arms that share a memory share these."""
    given = GivenArm(store, {"store": store.catalog}, axes_of(context))
    spent: list[Amount] = []
    with ExitStack() as stack:
        method = stack.enter_context(open_method(given.arm.method, hidden=store.hidden))
        config = method.config_model(**given.arm.config)
        names = given.names(method.needs)
        stated = {
            "method": method.fingerprint(config),
            "version": method.version,
            "wall": method.wall,
            "budget": given.arm.budget,
            "tokens": load_tokens().sha256,
            "model": [models.access.fingerprint(role, name) for role, name in names.items()],
            "embedder": StaticEmbedder().fingerprint if "embedder" in method.needs else "",
            "prompts": method.prompts,
            "weak_builder": any(models.access.endpoint(role, name).weak for role, name in names.items()),
        }
        yield from publish(
            context,
            {"store": store.catalog},
            ["readouts", "builds", "claims"],
            inputs={
                **stated,
                "users": list(given.own_users),
                "batches": given.spec.slice.batches,
                "seed": given.spec.seed,
                **{name: given.histories_content(name, method.stream) for name in (*HISTORY, "taxonomy")},
                # A release whose shard is that of another one needed the same calls, and its account says so.
                **({"account": given.scope("build")} if names else {}),
            },
            code=("pipelines.memory",),
            settings=given.settings,
            make=lambda: build(context, given, models, method, config, stated, spent),
            show=lambda _: spent_metadata(spent),
        )


def build(
    context: dg.AssetExecutionContext,
    given: GivenArm,
    models: Models,
    method: MethodSpec,
    config: BaseModel,
    stated: Mapping[str, Any],
    spent: list[Amount],
) -> Made:
    """Replay the users' batches through the arm's memory; one that asks a model is kept after every batch."""
    read = {name: given.histories_table(name, method.stream).collect() for name in HISTORY}
    streams = histories(**read, taxonomy=given["taxonomy"])
    names = given.names(method.needs)
    counted: list[tuple[str, str, int]] = []
    claimed = Claimed()
    with ExitStack() as stack:
        served, threads = Served(embedder=StaticEmbedder()), 1
        kept: KeptMemories | None = None
        total = sum(len(streams.outcomes.get(user, {})) for user in given.own_users)
        tell = progress_log(context, "transitions", total, lambda: "no model calls")
        if names and given.own_users:
            stack.enter_context(asking())
            engine = stack.enter_context(engine_of(given, models, names))
            served = replace(served, **{str(role): engine.model(role, given.scope("build")) for role in names})
            # Kept apart by scope: calls that were made for another sample come from the cache, and are accounted for.
            kept = KeptMemories(given.store.folder / "memories" / digest(given.scope("build")))
            threads = engine.rules.concurrency
            stack.callback(lambda: spent.append(engine.spent))
            tell = progress_log(context, "transitions", total, lambda: said(engine.spent))
        made = replay(
            method,
            config,
            streams,
            given.arm.budget,
            load_tokens(),
            users=given.own_users,
            seed=given.spec.seed,
            progress=tell,
            served=served,
            checkpoints=kept,
            threads=threads,
            closed=lambda user, stats: counted.extend((user, name, n) for name, n in stats.items()),
            claimed=claimed,
        )
    builds = pl.DataFrame(counted, schema=TABLES["builds"].schema, orient="row").sort("user_id", "count")
    return Made({"readouts": made, "builds": builds, "claims": claimed.table()}, extra=stated, companions=read)


@arm_step(deps=[readouts, any_of(pools)], code=("pipelines.evaluation.readers",), pool="reader")
def readings(context: dg.AssetExecutionContext, store: InputStore, models: Models) -> Iterator[Result]:
    """What the arm's reader chooses from every pool, given the readout and nothing else."""
    given = GivenArm(store, {"store": store.catalog}, axes_of(context))
    names = given.names(["reader"]) if asks_model(given.arm.reader) else {}
    known = [models.access.unasked(role, name) for role, name in names.items()]
    context_tokens = models.access.rules("reader").context_tokens
    reader = model_reader(known[0], context_tokens) if known else WITHOUT_MODEL[given.arm.reader]()
    spent: list[Amount] = []
    lost: list[int] = []
    # A reader without a prompt states an empty one.
    stated = {"reader": reader.fingerprint, "prompt": getattr(reader, "prompt", ""), "weak": any(m.weak for m in known)}

    def make() -> Made:
        asked = given.sampled("pools").collect()
        with ExitStack() as stack:
            reads = reader
            if names and asked.height:
                stack.enter_context(asking())
                engine = stack.enter_context(engine_of(given, models, names))
                stack.callback(lambda: spent.append(engine.spent))
                stack.callback(lambda: lost.append(engine.failed))
                total = asked.select("user_id", "transition_index", "pool").n_unique()
                tell = progress_log(context, "pools", total, lambda: said(engine.spent))
                reads = model_reader(engine.model("reader", given.scope("read")), context_tokens, tell)
            made = reads.read(given["readouts"], asked, given["taxonomy"])
        return Made({"readings": made}, extra={**stated, UNANSWERED: sum(lost)}, companions={"pools": asked})

    yield from publish(
        context,
        {"store": store.catalog},
        ["readings"],
        inputs={
            **{name: given.content(name) for name in ("readouts", "pools", "taxonomy")},
            "users": list(given.own_users),
            "pools asked": given.spec.slice.pools,
            **stated,
            # An arm whose prompts are those of another one needed the same calls, and its account says so.
            **({"account": given.scope("read")} if names else {}),
        },
        code=("pipelines.evaluation.readers",),
        settings=given.settings,
        make=make,
        show=lambda _: spent_metadata(spent),
    )


@arm_step(deps=[readings, readouts, any_of(pools), any_of(cohort)], code=("pipelines.evaluation.scores",))
def units(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """Every reading held against the gold; a pool that was not read is a miss, never left out."""
    given = GivenArm(store, {"store": store.catalog, "gold": gold.catalog}, axes_of(context))
    stated = {"evaluator": EVALUATOR_VERSION}

    def make() -> Made:
        roles = given.sampled("pool_gold").collect()
        made = score(
            given["readings"],
            roles,
            given["readouts"],
            given["cohort"],
            method=given.arm.label,
            reader=given.arm.reader,
            budget=given.arm.budget,
        )
        return Made({"units": made}, extra=stated, companions={"pool_gold": roles})

    yield from publish(
        context,
        {"gold": gold.catalog},
        ["units"],
        inputs={
            **{name: given.content(name) for name in ("readings", "readouts", "pool_gold", "cohort")},
            **stated,
            "pools asked": given.spec.slice.pools,
            "arm": [given.arm.label, given.arm.reader, given.arm.budget],
            "users": list(given.own_users),
        },
        code=("pipelines.evaluation.scores",),
        settings=given.settings,
        make=make,
    )
