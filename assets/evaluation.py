"""Evaluation: memories → readouts → readings → scored units → leaderboard and report."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import dagster as dg

from assets.arms import GivenArm
from assets.commerce import batches, cohort, pools, taxonomy, transitions, visits
from assets.freezing import release
from assets.partitions import ARM_SHARDS, any_of, axes_of
from assets.publishing import Made, Result, publish
from expectations import checks
from pipelines.evaluation.readers.embedding import EmbeddingReader
from pipelines.evaluation.readers.lexical import LexicalReader
from pipelines.evaluation.scores import EVALUATOR_VERSION, score
from pipelines.memory.replay import replay
from pipelines.memory.timeline import histories
from resources.code import code_version
from resources.dag import GoldStore, InputStore
from resources.embedder import StaticEmbedder
from resources.plugin_process import open_method
from resources.tokenizer import load_tokens

GROUP = "evaluation"
READERS: dict[str, Callable[[], EmbeddingReader | LexicalReader]] = {
    "embedding": lambda: EmbeddingReader(StaticEmbedder()),
    "lexical": LexicalReader,
}
"""Reader → how it is made. A reader sees readouts and pools; never a method's name, never gold."""


@dg.asset(
    partitions_def=ARM_SHARDS,
    deps=[any_of(asset) for asset in (visits, batches, transitions, taxonomy, release)],
    check_specs=checks.specs("readouts", ARM_SHARDS),
    code_version=code_version("pipelines.memory"),
    pool="memory",
    group_name=GROUP,
    kinds={"polars", "parquet"},
    owners=["team:trailbench"],
)
def readouts(context: dg.AssetExecutionContext, store: InputStore) -> Iterator[Result]:
    """What an arm's memory says of each user after each batch. Arms that share a memory share these."""
    given = GivenArm(store, {"store": store.catalog}, axes_of(context))
    with ExitStack() as stack:
        method = stack.enter_context(open_method(given.arm.method, hidden=store.hidden))
        config = method.config_model(**given.arm.config)
        stated = {
            "method": method.fingerprint(config),
            "version": method.version,
            "wall": method.wall,
            "budget": given.arm.budget,
            "tokens": load_tokens().sha256,
        }
        read = {name: given.histories_table(name, method.stream) for name in ("visits", "batches", "transitions")}

        def make() -> Made:
            streams = histories(**{name: table.collect() for name, table in read.items()}, taxonomy=given["taxonomy"])
            made = replay(
                method, config, streams, given.arm.budget, load_tokens(), users=given.own_users, seed=given.spec.seed
            )
            return Made({"readouts": made}, extra=stated)

        yield from publish(
            context,
            {"store": store.catalog},
            ["readouts"],
            inputs={
                **stated,
                "users": list(given.own_users),
                "seed": given.spec.seed,
                **{name: given.histories_content(name, method.stream) for name in (*read, "taxonomy")},
            },
            code=("pipelines.memory",),
            settings=given.settings,
            make=make,
        )


@dg.asset(
    partitions_def=ARM_SHARDS,
    deps=[readouts, any_of(pools)],
    check_specs=checks.specs("readings", ARM_SHARDS),
    code_version=code_version("pipelines.evaluation.readers"),
    pool="reader",
    group_name=GROUP,
    kinds={"polars", "parquet"},
    owners=["team:trailbench"],
)
def readings(context: dg.AssetExecutionContext, store: InputStore) -> Iterator[Result]:
    """What the arm's reader chooses from every pool, given the readout and nothing else."""
    given = GivenArm(store, {"store": store.catalog}, axes_of(context))
    reader = READERS[given.arm.reader]()
    # These readers have no prompt; one that has states its hash.
    stated = {"reader": reader.fingerprint, "prompt": ""}

    def make() -> Made:
        asked = given.sampled("pools").collect()
        made = reader.read(given["readouts"], asked, given["taxonomy"])
        return Made({"readings": made}, extra=stated, companions={"pools": asked})

    yield from publish(
        context,
        {"store": store.catalog},
        ["readings"],
        inputs={
            **{name: given.content(name) for name in ("readouts", "pools", "taxonomy")},
            "users": list(given.own_users),
            **stated,
        },
        code=("pipelines.evaluation.readers",),
        settings=given.settings,
        make=make,
    )


@dg.asset(
    partitions_def=ARM_SHARDS,
    deps=[readings, readouts, any_of(pools), any_of(cohort)],
    check_specs=checks.specs("units", ARM_SHARDS),
    code_version=code_version("pipelines.evaluation.scores"),
    group_name=GROUP,
    kinds={"polars", "parquet"},
    owners=["team:trailbench"],
)
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
            "arm": [given.arm.label, given.arm.reader, given.arm.budget],
            "users": list(given.own_users),
        },
        code=("pipelines.evaluation.scores",),
        settings=given.settings,
        make=make,
    )
