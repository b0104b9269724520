"""Jobs, schedules and sensors: what starts by itself and what a person launches."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping

import dagster as dg
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from pydantic import BaseModel, ValidationError

from assets.fetching import FOLDER, range_key
from assets.launching import launch_release, name_release
from assets.partitions import ARM_SHARDS, DROPS, EXPERIMENTS, RANGES, RELEASE_SHARDS, RELEASES
from pipelines.hashing import digest_json
from pipelines.thresholds import wrong_values
from pipelines.tracks import ALL_SOURCES, Track, track_of
from pipelines.yaml_text import read_values
from resources.chain.fetching import SOURCE as FETCHED
from resources.chain.fetching import final_head, finished_ranges, next_range
from resources.chain.settings import ChainError, ChainSettings
from resources.drops import Drop
from resources.home import Home, open_home
from resources.inbox import look
from resources.release_spec import ReleaseSpec, release_of
from resources.store import NotPublished

DROPS_PER_LOOK = 20
"""Bounds the hashing in one look: a sensor has 60 s."""


def _on(name: str, partitions: dg.PartitionsDefinition[str], *assets: str, description: str):  # type: ignore[no-untyped-def]
    return dg.define_asset_job(
        name, dg.AssetSelection.assets(*assets), partitions_def=partitions, description=description
    )


ingest = _on("ingest", DROPS, "events", description="Read one drop into events and rejects.")
trajectories = _on(
    "trajectories",
    RELEASE_SHARDS,
    *("visits", "batches", "cohort", "transitions"),
    description="Rebuild one shard of a release from its drops up to its transitions.",
)
relations = _on(
    "relations",
    RELEASES,
    *("taxonomy", "domains", "popularity"),
    description="Build the tables that all users of a release share.",
)
labels = _on("labels", RELEASE_SHARDS, "positives", "pools", description="Label one shard and draw its pools.")
freeze = _on("freeze", RELEASES, "funnel", "release", description="Freeze a release: funnel, card, manifest.")
arm = _on(
    "arm",
    ARM_SHARDS,
    *("readouts", "readings", "model_calls", "units"),
    description="Build one shard's memories of an arm, read them, score the readings.",
)
judge = _on(
    "judge",
    ARM_SHARDS,
    *("verdicts", "model_calls"),
    description="Judge one shard's sampled readouts of an arm, and account for the calls.",
)
board = _on(
    "board",
    EXPERIMENTS,
    *("leaderboard", "verdict_summary", "report"),
    description="Leaderboard, verdicts and report of an experiment.",
)
predict = _on(
    "predict",
    ARM_SHARDS,
    *("predictions", "model_calls", "prediction_units"),
    description="Ask one shard's on-chain targets of an arm, score the answers.",
)
onchain_board = _on(
    "onchain_board",
    EXPERIMENTS,
    *("onchain_leaderboard", "onchain_report"),
    description="Leaderboard and report of an experiment on an on-chain release.",
)
answer = _on(
    "answer",
    ARM_SHARDS,
    *("contexts", "answers", "oracle_answers", "model_calls", "applog_units"),
    description="Build one shard's memories of app logs of an arm, ask them at their checkpoints, score the answers.",
)
judge_answers = _on(
    "judge_answers",
    ARM_SHARDS,
    *("applog_verdicts", "applog_failures", "model_calls"),
    description="Judge one shard's sampled answers of an arm on app logs, and why they fail; account for the calls.",
)
applog_board = _on(
    "applog_board",
    EXPERIMENTS,
    *("applog_leaderboard", "applog_calibration", "applog_report"),
    description="Leaderboard, calibration and report of an experiment on a release of app logs.",
)
fetch = _on("fetch", RANGES, "fetched", description="Fetch one range of blocks from the node of TRAILBENCH_RPC_URL.")
decode = _on("decode", DROPS, "decoded", description="Decode a drop of chain logs or of market descriptions.")
chain_markets = _on(
    "chain_markets",
    RELEASES,
    "retractions",
    "markets",
    description="What drops contradict; which markets are known.",
)
chain_candidates = _on(
    "chain_candidates",
    RELEASE_SHARDS,
    "trades",
    "candidates",
    description="Merge a shard's trades and judge its wallets.",
)
chain_draw = _on("chain_draw", RELEASES, "wallets", description="Draw evaluation and support wallets.")
chain_instances = _on(
    "chain_instances",
    RELEASE_SHARDS,
    *("cohort_trades", "holdings", "belief_instances", "trade_instances"),
    description="Positions and instances of one shard's drawn wallets.",
)
chain_support = _on("chain_support", RELEASES, "support", description="The support pool that all shards share.")
chain_histories = _on("chain_histories", RELEASE_SHARDS, "histories", description="What each interface may show.")
chain_freeze = _on("chain_freeze", RELEASES, "onchain_release", description="Prove and freeze an on-chain release.")
read_apps = _on("read_apps", DROPS, "app_drop", description="Read one drop of app logs, and the gold beside it.")
app_states = _on("app_states", RELEASES, "state_keys", description="Every state that is ever true of anybody.")
app_questions = _on(
    "app_questions",
    RELEASE_SHARDS,
    *("app_logs", "checkpoints", "tasks"),
    description="Logs, checkpoints and questions of one shard of a release of app logs.",
)
app_freeze = _on(
    "app_freeze", RELEASES, "applog_funnel", "applog_release", description="Prove and freeze a release of app logs."
)
APPLOG_JOBS = [read_apps, app_states, app_questions, app_freeze]
ONCHAIN_JOBS = [
    *(fetch, decode, chain_markets, chain_candidates, chain_draw, chain_instances, chain_support, chain_histories),
    chain_freeze,
]
JOBS = [
    ingest,
    trajectories,
    relations,
    labels,
    freeze,
    *ONCHAIN_JOBS,
    *APPLOG_JOBS,
    arm,
    judge,
    board,
    predict,
    onchain_board,
    answer,
    judge_answers,
    applog_board,
]
STAGES: dict[str, tuple[tuple[str, bool, str], ...]] = {
    "commerce": (
        ("trajectories", True, "visits, batches, transitions"),
        ("relations", False, "taxonomy, domains"),
        ("labels", True, "labels, pools"),
        ("freeze", False, "funnel, manifest"),
    ),
    "onchain": (
        ("chain_markets", False, "markets, tokens"),
        ("chain_candidates", True, "trades, candidates"),
        ("chain_draw", False, "draw of wallets"),
        ("chain_instances", True, "positions, instances"),
        ("chain_support", False, "support pool"),
        ("chain_histories", True, "histories"),
        ("chain_freeze", False, "proofs, manifest"),
    ),
    "applogs": (
        ("app_states", False, "states"),
        ("app_questions", True, "logs, checkpoints, questions"),
        ("app_freeze", False, "funnel, proofs, manifest"),
    ),
}
"""Track → the jobs that freeze a release in their order: name, whether it runs shard by shard, what it makes."""
READERS = {"ingest": "events", "decode": "decoded", "read_apps": "app_drop"}
"""Job that reads a drop → the asset that it materialises."""
READING = {"commerce": "ingest", "onchain": "decode", "applogs": "read_apps"}
"""Track → the job that reads one of its drops."""


@dg.sensor(
    jobs=[ingest, decode, read_apps],
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Watches <home>/inbox/<source>/ for complete drops and reads each of them once.",
)
def drops(context: dg.SensorEvaluationContext) -> dg.SensorResult:
    """Add a partition and request a run for every drop that is complete and was not seen before."""
    home = open_home()
    memory = {path: tuple(stamp) for path, stamp in json.loads(context.cursor or "{}").items()}
    seen = look(home.settings.inbox, home.register, list(ALL_SOURCES), memory, DROPS_PER_LOOK)
    for problem in seen.problems:
        context.log.warning(problem)
    for path in seen.changed:
        context.log.warning(f"{path}: its content changed under the same name; it is read as a new drop")
    for path, reason in seen.waiting.items():
        context.log.info(f"{path}: {reason}")
    for drop in seen.ready:
        if context.instance.has_dynamic_partition("drop", drop.id):
            context.log.info(f"{', '.join(file.path for file in drop.files)}: the content of drop {drop.id}, known")
    # What was fetched from the chain is registered already, and never lay in the inbox.
    known = [drop for drop in home.register if drop.source == FETCHED]
    fresh = [drop for drop in known if not context.instance.has_dynamic_partition("drop", drop.id)]
    ready = {drop.id: drop for drop in (*seen.ready, *fresh)}.values()
    return dg.SensorResult(
        # The run key is the content: the same bytes are never read twice, whatever became of the cursor.
        run_requests=[
            dg.RunRequest(partition_key=drop.id, run_key=drop.id, job_name=READING[track_of(drop.source).name])
            for drop in ready
        ],
        dynamic_partitions_requests=[DROPS.build_add_request([drop.id for drop in ready])],
        cursor=json.dumps(seen.memory),
    )


@dg.sensor(
    job=fetch,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Fetches the next final range of blocks, one at a time; to be started where TRAILBENCH_RPC_URL is set.",
)
def chain_head(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Request a run for the lowest range that is final and not fetched yet."""
    settings = ChainSettings()
    done = [(one.first, one.last) for one in finished_ranges(open_home().folder / FOLDER)]
    unfinished = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    if context.instance.get_runs(filters=dg.RunsFilter(job_name=fetch.name, statuses=unfinished)):
        return dg.SkipReason("a range is being fetched")
    try:
        wanted = next_range(settings, final_head(settings), done)
    except ChainError as error:
        return dg.SkipReason(str(error))
    if wanted is None:
        return dg.SkipReason("every final range is fetched")
    key = range_key(*wanted)
    return dg.SensorResult(
        run_requests=[dg.RunRequest(partition_key=key)], dynamic_partitions_requests=[RANGES.build_add_request([key])]
    )


def home_settings_of(home: Home, track: Track) -> BaseModel:
    """Thresholds of releases that start by themselves: `<home>/<track>.yaml`, else the defaults.

    Raises `ValueError` for a file that is no YAML, and one that holds no settings or a wrong value.
    """
    path = home.folder / f"{track.name}.yaml"
    values = read_values(path) if path.is_file() else {}
    try:
        return track.settings.model_validate(values)
    except ValidationError as error:
        raise ValueError(wrong_values(error, track.settings, path)) from None


def waiting_releases(home: Home) -> Iterator[ReleaseSpec]:
    """A release over all readable drops of each source or family, unless exactly these are frozen already."""
    groups: dict[tuple[str, str], list[Drop]] = defaultdict(list)
    for drop in home.register:
        track = track_of(drop.source)
        try:
            home.store.require(track.read, {"drop": drop.id})
        except NotPublished:
            continue  # unreadable or still in flight: the others go on without it
        groups[track.family or drop.source, digest_json(dict(drop.mapping))].append(drop)
    for _, group in sorted(groups.items()):
        track = track_of(group[0].source)
        if not {drop.source for drop in group} & set(track.sources):
            continue  # descriptions of markets alone make no release
        spec = release_of(group, home_settings_of(home, track))
        try:
            home.store.document(f"specs/frozen/{spec.key}.json")
        except NotPublished:
            yield spec


def _reading(context: dg.SensorEvaluationContext) -> bool:
    """Whether a drop is being read, by the sensor's job or by a run that a person launched on the asset."""
    unfinished = dg.RunsFilter(
        statuses=[dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    )
    readers = {dg.AssetKey(name) for name in READERS.values()}
    return any(
        run.job_name in READERS or readers & set(run.asset_selection or ())
        for run in context.instance.get_runs(filters=unfinished)
    )


def _graph(context: dg.SensorEvaluationContext | dg.ScheduleEvaluationContext) -> BaseAssetGraph:  # type: ignore[type-arg]
    assert context.repository_def is not None
    return context.repository_def.asset_graph


def _freeze_waiting(
    context: dg.SensorEvaluationContext | dg.ScheduleEvaluationContext, launched_by: Mapping[str, str]
) -> list[str]:
    home = open_home()
    launched = []
    for spec in list(waiting_releases(home)):
        key = name_release(context.instance, home, spec)
        started = launch_release(context.instance, _graph(context), key, spec.track, launched_by)
        launched += [key] if started else []
    return launched


@dg.sensor(
    minimum_interval_seconds=20,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Builds a new release as one backfill whenever the readable drops changed and none is being read.",
)
def releases(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    """Launch the release over the drops that are there now."""
    if _reading(context):
        return dg.SkipReason("a drop is being read")
    launched = _freeze_waiting(context, {"dagster/sensor_name": "releases"})
    return dg.SkipReason(f"launched {', '.join(launched)} as backfills" if launched else "the drops did not change")


@dg.schedule(
    cron_schedule="0 2 * * *",
    execution_timezone="UTC",
    job=freeze,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Every night at 02:00 UTC: freeze a new release when the drops changed, as one backfill.",
)
def nightly(context: dg.ScheduleEvaluationContext) -> dg.SkipReason:
    """A schedule cannot launch a backfill by its result, so it requests one from the instance."""
    launched = _freeze_waiting(context, {"dagster/schedule_name": "nightly"})
    return dg.SkipReason(f"launched {', '.join(launched)} as backfills" if launched else "the drops did not change")
