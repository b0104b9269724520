"""Commerce track: raw log drops → visits, batches, transitions, labels, pools."""

from collections.abc import Iterator
from dataclasses import asdict

import dagster as dg

from assets.inputs import domain_hashes, mapping_of, vocabulary_hash
from assets.partitions import DROPS, RELEASE_SHARDS, RELEASES
from assets.publishing import Made, Result, publish
from assets.steps import OWNERS as OWNERS
from assets.steps import Given, release_step
from expectations import checks
from pipelines.commerce.batches import batches as make_batches
from pipelines.commerce.cohort import cohort as make_cohort
from pipelines.commerce.domains import domains as make_domains
from pipelines.commerce.events import read_drop
from pipelines.commerce.pools import pools as make_pools
from pipelines.commerce.popularity import popularity as make_popularity
from pipelines.commerce.positives import positives as make_positives
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.signals import signals as make_signals
from pipelines.commerce.taxonomy import category_names
from pipelines.commerce.taxonomy import taxonomy as make_taxonomy
from pipelines.commerce.transitions import transitions as make_transitions
from pipelines.commerce.visits import visits as make_visits
from pipelines.hashing import frame_hash
from pipelines.tracks import track_of
from resources.code import code_version
from resources.dag import InputStore


def _modules(*names: str) -> tuple[str, ...]:
    return tuple(f"pipelines.commerce.{name}" for name in names)


READING = _modules("events", "mapping", "sources", "reading", "reading_delimited", "reading_json", "reading_parquet")
LABELLING = _modules("positives", "signals", "familiarity")


@dg.asset(
    partitions_def=DROPS,
    check_specs=checks.specs("events", DROPS),
    code_version=code_version(*READING),
    pool="read",
    group_name="commerce",
    kinds={"polars", "parquet"},
    owners=["team:trailbench"],
)
def events(context: dg.AssetExecutionContext, store: InputStore) -> Iterator[Result]:
    """One drop of raw log files in the vocabulary of events; what could not be read is in `rejects`."""
    drop = store.register.require(context.partition_key)
    if (track := track_of(drop.source).name) != "commerce":
        raise dg.Failure(f"drop {drop.id} is of {drop.source}, a source of {track}", allow_retries=False)

    def make() -> Made:
        read = read_drop(drop.verify(), mapping_of(drop.source, drop.mapping))
        facts = {
            "counts": dict(read.counts),
            "warnings": list(read.warnings),
            "capabilities": asdict(read.capabilities),
        }
        return Made({"events": read.events, "rejects": read.rejects}, extra=facts, counts=read.counts)

    yield from publish(
        context,
        {"store": store.catalog},
        ["events", "rejects"],
        inputs={"drop": drop.id},
        code=READING,
        settings=CommerceSettings(),
        make=make,
    )


OWNERS["events"] = OWNERS["rejects"] = events


@release_step(
    RELEASE_SHARDS,
    tables=("visits", "category_names"),
    reads=("events",),
    thresholds=("visit_gap_minutes",),
    code=_modules("visits", "codes", "events", "taxonomy"),
)
def visits(given: Given) -> Made:
    """Consecutive events of a user on one item, at most 30 minutes apart, over all drops of the release."""
    merged = given["events"]
    actions = dict(merged.group_by("action").len().sort("action").iter_rows())
    frames = {
        "visits": make_visits(merged.lazy(), given.settings),
        "category_names": category_names(merged.lazy()),
    }
    extra = {"actions": {str(action): count for action, count in actions.items()}}
    return Made(frames, extra=extra, companions={"events": merged})


@release_step(
    RELEASE_SHARDS,
    reads=("visits",),
    thresholds=("batch_visits", "batch_days", "batch_gap_minutes"),
    code=_modules("batches"),
)
def batches(given: Given) -> Made:
    """Consecutive visits, closed at the first pause over 15 minutes after 50 visits or 120 days."""
    rows = given["visits"]
    return Made({"batches": make_batches(rows, given.settings)}, companions={"visits": rows})


@release_step(
    RELEASE_SHARDS,
    reads=("events", "visits", "batches"),
    thresholds=("cohort_visits",),
    code=_modules("cohort", "events"),
)
def cohort(given: Given) -> Made:
    """Every user with its counts, and why it is not in the benchmark."""
    read = {"visits": given["visits"], "batches": given["batches"]}
    events = given["events"]
    made = make_cohort(events.lazy(), **read, settings=given.settings)
    return Made({"cohort": made}, companions={**read, "events": events})


@release_step(RELEASE_SHARDS, reads=("batches", "cohort"), code=_modules("transitions"))
def transitions(given: Given) -> Made:
    """History → outcome: one row a pair of consecutive batches of a cohort user."""
    read = {"batches": given["batches"], "cohort": given["cohort"]}
    return Made({"transitions": make_transitions(**read)}, companions=read)


@release_step(RELEASES, reads=("category_names",), code=_modules("taxonomy"))
def taxonomy(given: Given) -> Made:
    """The catalogue of categories with their most frequent spelling."""
    names = given.lazy("category_names")
    return Made({"taxonomy": make_taxonomy(names)}, companions={"category_names": names})


@release_step(RELEASES, reads=("visits", "batches"), thresholds=("connected_domains",), code=_modules("domains"))
def domains(given: Given) -> Made:
    """Which domains are connected, one table a quarter, from visits that ended before it."""
    rows = given.comparable("visits")
    made = make_domains(rows, given.comparable("batches"), given.settings)
    tables = made.partition_by("quarter", as_dict=True)
    hashes = {str(key[0]): frame_hash(table) for key, table in tables.items()}
    return Made({"domains": made}, extra={"quarters": hashes}, companions={"visits": rows})


@release_step(RELEASES, reads=("visits",), tables=("popularity",), code=_modules("popularity"))
def popularity(given: Given) -> Made:
    """Visits of all users to every category before each quarter; a baseline of the scoring side."""
    rows = given.comparable("visits")
    return Made({"popularity": make_popularity(rows)}, companions={"visits": rows})


@release_step(
    RELEASE_SHARDS,
    reads=("visits", "batches", "transitions", "domains"),
    hashes={"domains": domain_hashes},
    thresholds=(
        "deep_browse_events",
        "deep_browse_seconds",
        "deep_browse_visits",
        "familiar_visits",
        "max_positives",
        "seed",
    ),
    code=LABELLING,
)
def positives(given: Given) -> Made:
    """What the user strongly signalled in batch t+1, how familiar it was at t, and which pool asks for it."""
    read = {name: given[name] for name in ("visits", "batches", "transitions")}
    strong = make_signals(**read, settings=given.settings)
    past = {name: given.lazy(name) for name in (*read, "domains")}
    made = make_positives(strong, **past, settings=given.settings)
    return Made({"positives": made}, companions=past)


@release_step(
    RELEASE_SHARDS,
    tables=("pools", "pool_gold", "pool_counts"),
    reads=("visits", "batches", "transitions", "domains", "taxonomy", "positives"),
    hashes={"domains": domain_hashes, "taxonomy": vocabulary_hash},
    thresholds=("familiar_visits", "distractors_per_positive", "seed"),
    code=(*_modules("pools"), *LABELLING),
)
def pools(given: Given) -> Made:
    """What a reader will be shown, and apart from it the role of every candidate."""
    past = {name: given.lazy(name) for name in ("visits", "batches", "transitions", "domains")}
    asked, vocabulary = given["positives"], given["taxonomy"]
    made = make_pools(asked, **past, taxonomy=vocabulary, settings=given.settings)
    frames = {"pools": made.pools, "pool_gold": made.pool_gold, "pool_counts": made.pool_counts}
    return Made(frames, companions={**past, "positives": asked, "taxonomy": vocabulary})
