"""App-log track: drops of logs and of what is true of their users → users, checkpoints, questions."""

from collections.abc import Iterator
from functools import partial

import dagster as dg
import polars as pl

from assets.partitions import DROPS, RELEASE_SHARDS, RELEASES
from assets.publishing import Made, Result, publish
from assets.steps import OWNERS as OWNERS
from assets.steps import Given, release_step
from expectations import checks
from pipelines.applogs.merging import merged
from pipelines.applogs.questions import ASKED, questions
from pipelines.applogs.questions import state_keys as make_state_keys
from pipelines.applogs.reading_drop import read_drop
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.step_tables import BROUGHT, DROP_TABLES, DROPPED
from pipelines.applogs.users import checkpoints as make_checkpoints
from pipelines.tracks import track_of
from resources.code import code_version
from resources.dag import GoldStore, InputStore


def _modules(*names: str) -> tuple[str, ...]:
    return tuple(f"pipelines.applogs.{name}" for name in names)


applog_step = partial(release_step, track="applogs")
GOLD = tuple(name for name, table in BROUGHT.items() if table.wall == "gold")


def of_drops(given: Given, name: str) -> pl.DataFrame:
    """A table over all drops of the release, every row once; of the step's shard, where it has one."""
    table = f"{DROPPED}{name}"
    rows = (one.collect() for one in given.by_drop(table))
    return merged(name, dict(zip(given.spec.drops, rows, strict=True)))


@dg.asset(
    partitions_def=DROPS,
    check_specs=checks.specs("app_drop", DROPS),
    code_version=code_version(*_modules("reading_drop")),
    pool="read",
    group_name="applogs",
    kinds={"polars", "parquet"},
    owners=["team:trailbench"],
)
def app_drop(context: dg.AssetExecutionContext, store: InputStore, gold: GoldStore) -> Iterator[Result]:
    """One drop of app logs: what a memory may know, and apart from it, in the gold store, what is true."""
    drop = store.register.require(context.partition_key)
    if (track := track_of(drop.source).name) != "applogs":
        raise dg.Failure(f"drop {drop.id} is of {drop.source}, a source of {track}", allow_retries=False)

    def make() -> Made:
        tables = read_drop(drop.verify())
        users = {name: tables[f"{DROPPED}{name}"]["user_id"].n_unique() for name in ("app_logs", "anchors")}
        return Made(tables, extra={"counts": {"users": users["app_logs"], "users with a task pack": users["anchors"]}})

    yield from publish(
        context,
        {"store": store.catalog, "gold": gold.catalog},
        DROP_TABLES,
        inputs={"drop": drop.id},
        code=_modules("reading_drop"),
        settings=AppLogSettings(),
        make=make,
    )


OWNERS.update(dict.fromkeys(DROP_TABLES, app_drop))


@applog_step(RELEASE_SHARDS, reads=(f"{DROPPED}app_logs",), code=_modules("merging"))
def app_logs(given: Given) -> Made:
    """Logs of a shard's users over all drops, every log once, in the order of time and id."""
    return Made({"app_logs": of_drops(given, "app_logs")})


@applog_step(
    RELEASE_SHARDS,
    reads=("app_logs", f"{DROPPED}anchors"),
    thresholds=("checkpoint_months",),
    code=_modules("merging", "users"),
)
def checkpoints(given: Given) -> Made:
    """How much of each user's log may be known at each checkpoint; ids of the packs are held against the log."""
    logs = given["app_logs"]
    made = make_checkpoints(logs, of_drops(given, "anchors"), given.settings)
    return Made({"checkpoints": made}, companions={"app_logs": logs})


@applog_step(RELEASES, reads=(f"{DROPPED}state_intervals",), code=_modules("merging", "questions"))
def state_keys(given: Given) -> Made:
    """Every state that is ever true of anybody: questions for what never was are drawn from them."""
    return Made({"state_keys": make_state_keys(of_drops(given, "state_intervals"))})


@applog_step(
    RELEASE_SHARDS,
    tables=ASKED,
    reads=("app_logs", "checkpoints", "state_keys", *DROP_TABLES[1:]),
    thresholds=("truth", "tasks", "only_told", "never_keys", "most_listed", "seed"),
    code=_modules("merging", "questions"),
)
def tasks(given: Given) -> Made:
    """What is asked at each checkpoint, and apart from it, in the gold store, what is true and what shows it."""
    brought = {name: of_drops(given, name) for name in BROUGHT if name != "app_logs"}
    read = {name: given[name] for name in ("app_logs", "checkpoints", "state_keys")}
    made = questions(brought, read["app_logs"], read["checkpoints"], read["state_keys"], given.settings)
    return Made(made, companions=read)
