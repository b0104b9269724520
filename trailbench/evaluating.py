"""`trailbench evaluate` and `report`: an experiment on a frozen release, through the jobs of the DAG."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import polars as pl

from assets.asking import MADE
from assets.board_inputs import GivenExperiment
from assets.readers import READERS, WITHOUT_MODEL, asks_model, model_reader
from pipelines.applogs.experiment import ASKED as QUESTIONS_ASKED
from pipelines.applogs.experiment import DEFAULT as QUESTIONS
from pipelines.evaluation.demo_experiments import DEMO, DEMO_LLM
from pipelines.evaluation.experiment import BadExperiment, Experiment, refuse_foreign, require_known
from pipelines.evaluation.experiment_arms import Arm
from pipelines.evaluation.experiment_file import located, parse
from pipelines.evaluation.experiment_slice import slice_of
from pipelines.evaluation.judging.drawing import drawn_readouts
from pipelines.evaluation.judging.grounded import GROUNDED
from pipelines.evaluation.readers import Reader
from pipelines.memory.registry import builtin_methods
from pipelines.onchain.experiment import DEFAULT, INTERFACES_ASKED
from resources.dag import GoldStore, InputStore, Models
from resources.experiment_spec import BoundExperiment, bind, save_experiment
from resources.home import Home
from resources.model_access import ModelAccess
from resources.models.budget import Amount
from resources.models.prices import NANO
from resources.plugin_process import plugin_entries
from trailbench.console import Steps
from trailbench.exporting import ExportError, release_key
from trailbench.judging import judged_rows, judges_of
from trailbench.predicting import bind_predictors
from trailbench.questioning import bind_questions
from trailbench.running import dagster_instance
from trailbench.working import WORTH_CELLS, WORTH_USERS, Work, workers, workers_for

BUILT_IN = {one.name: one for one in (DEMO, DEMO_LLM, DEFAULT, INTERFACES_ASKED, QUESTIONS, QUESTIONS_ASKED)}
JOBS = {
    "commerce": ("arm", "judge", "board"),
    "onchain": ("predict", "", "onchain_board"),
    "applogs": ("answer", "judge_answers", "applog_board"),
}
"""Track → the job of an arm's shard, that of its judges (empty where nothing is judged), and that of the board."""
FREEZES = ("release", "onchain_release", "applog_release")
"""Assets that freeze a release."""


def experiment_named(name: str) -> Experiment:
    """A built-in experiment, or the one of a YAML file. Raises `ExportError` when there is neither, `BadExperiment`."""
    return BUILT_IN[name] if name in BUILT_IN else parse(_text(name), name)


def _text(name: str) -> str:
    path = Path(name)
    if not path.is_file():
        raise ExportError(f"no experiment {name!r}: name a YAML file, or one of {', '.join(BUILT_IN)}")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ExportError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8 text") from error


def newest_release(home: Home) -> str:
    """Key of the release that was frozen last. Raises `ExportError` when there is none."""
    with dagster_instance(home.folder) as instance:
        events = [instance.get_latest_materialization_event(dg.AssetKey(asset)) for asset in FREEZES]
    frozen = [
        (event.timestamp, event.asset_materialization.partition)
        for event in events
        if event and event.asset_materialization
    ]
    key = max(frozen)[1] if frozen else None
    if key is None:
        raise ExportError(f"no release in {home.folder} yet; run `trailbench build` or `trailbench demo`")
    return key


def release_track(home: Home, release: str) -> str:
    """Track of a release, by name or key. Raises `ExportError` when there is none."""
    return str(home.store.document(f"specs/release/{release_key(home, release)}.json")["track"])


def asked_for(home: Home, experiment: str | None, release: str | None, readers: list[str] | None) -> BoundExperiment:
    """The experiment that a command asks for: by default that of the release's track, on the newest release.

    Raises `ExportError` as the functions that it is made of, `BadExperiment` with the line of the file.
    """
    named = None if experiment is None else experiment_named(experiment)
    wanted = release or (named.release if named else None) or newest_release(home)
    if named is None:
        named = default_experiment(release_track(home, wanted), readers or [])
    try:
        return bind_to_release(home, named.model_copy(update={"readers": readers}) if readers else named, wanted)
    except BadExperiment as error:
        # Readers of the call are on no line of the file.
        if experiment is None or experiment in BUILT_IN or (readers and error.place[:1] == ("readers",)):
            raise
        raise located(error, _text(experiment), experiment) from error


def require_evaluated(home: Home, bound: BoundExperiment, named: str | None) -> None:
    """Raises `ExportError`, with the command to run (`named` as the call names the experiment), if it never ran."""
    with dagster_instance(home.folder) as instance:
        if instance.has_dynamic_partition("experiment", bound.key):
            return
    which = ["--experiment", named] if named else []
    run = shlex.join(["trailbench", "evaluate", bound.release, *which, "--home", str(home.folder)])
    raise ExportError(f"{bound.experiment.name} was not evaluated on {bound.release}; run `{run}` first")


def default_experiment(track: str, readers: list[str]) -> Experiment:
    """What is run on a release of a track where no experiment is named; small where a model answers."""
    if track == "onchain":
        return INTERFACES_ASKED if readers else DEFAULT
    if track == "applogs":
        return QUESTIONS_ASKED if any(map(asks_model, readers)) else QUESTIONS
    return DEMO


def bind_to_release(home: Home, experiment: Experiment, release: str) -> BoundExperiment:
    """The experiment on a release, its users sampled among those that have an outcome.

    Raises `ExportError` when the release has no pool to ask, `BadExperiment` for what such a release does not know.
    """
    key = release_key(home, release)
    name = home.store.document(f"specs/frozen/{key}.json")["release"]
    card = home.store.document(f"releases/{name}/card.json")
    track = release_track(home, key)
    refuse_foreign(experiment, track)
    if track != "commerce":
        binds = bind_predictors if track == "onchain" else bind_questions
        return binds(home, experiment, key, name, card)
    require_known("reader", experiment.readers, READERS)
    if odd := [one for one in experiment.readers if ":" in one and not asks_model(one)]:
        why = f"reader {odd[0]} names a model and asks none; write {odd[0].partition(':')[0]}"
        raise BadExperiment(why, ("readers", odd[0]))
    require_known("method", experiment.methods, {*builtin_methods(), *(entry.name for entry in plugin_entries())})
    pools = home.store.scan("pools", {"release": key}, home.shards)
    asked = slice_of(pools, experiment)
    if not asked.users:
        why = "; ".join(card["refusals"].values()) or "no user has an outcome to ask for"
        raise ExportError(f"release {name} has no pool to read: {why}")
    models = Models().access
    readers = {reader: _reader(reader, experiment, models).fingerprint for reader in experiment.readers}
    judging = (judges_of(experiment, models, (GROUNDED.name,)), drawn_readouts(pools, asked, experiment))
    return bind(experiment, name, key, asked, readers, models.fingerprint, InputStore().hidden, *judging)


def _reader(reader: str, experiment: Experiment, models: ModelAccess) -> Reader:
    if not asks_model(reader):
        return WITHOUT_MODEL[reader]()
    named = reader.partition(":")[2] or experiment.models.get("reader", "")
    return model_reader(models.unasked("reader", named), models.rules("reader").context_tokens)


def run_experiment(instance: dg.DagsterInstance, home: Home, bound: BoundExperiment, step: Steps) -> Amount:
    """Run every arm shard by shard, then the judges, then the board; returns what the model calls made now took.

    What is published already is reused. Arms that ask a model run one after another: their calls are
    side by side inside an arm, and limits are counted exactly.
    """
    save_experiment(home.store.store, bound)
    instance.add_dynamic_partitions("arm", [spec.key for spec in bound.arms])
    instance.add_dynamic_partitions("experiment", [bound.key])
    of_arm, of_judge, of_board = JOBS[release_track(home, bound.release_key)]
    cells = [
        Work(of_arm, {"arm": spec.key, "shard": shard}, f"{_said(spec.arm)}, {shard}")
        for spec in bound.arms
        for shard in home.shards
    ]
    judged = [Work(of_judge, one.axes, f"judging {one.says}") for one in cells if bound.experiment.judges]
    step.expect(len(cells) + len(judged) + 1)
    worth = len(bound.slice.users) >= WORTH_USERS or len(cells) >= WORTH_CELLS
    with workers(instance, home.folder, workers_for(worth and not asking_models(bound))) as crew:
        ran = crew.run(cells, step) + crew.run(judged, step)
        crew.run([Work(of_board, {"experiment": bound.key}, "leaderboard and report")], step)
    return sum((_spent(metadata) for made in ran for metadata in made.values()), Amount())


def _said(arm: Arm) -> str:
    return ", ".join([arm.label, arm.reader, *([f"{arm.budget} tokens"] if arm.budget else [])])


def _spent(metadata: Mapping[str, Any]) -> Amount:
    return Amount(**{part: metadata.get(said, 0) for part, said in MADE.items()})


def asking_models(bound: BoundExperiment) -> bool:
    """Whether an arm or a judge of the experiment asks a model."""
    builtin = builtin_methods()
    return bool(bound.experiment.judges) or any(
        asks_model(spec.arm.reader) or (spec.arm.method in builtin and builtin[spec.arm.method].needs - {"embedder"})
        for spec in bound.arms
    )


def summary(home: Home, bound: BoundExperiment, made: Amount) -> dict[str, Any]:
    """What an evaluation did: readings (of methods that read something), their statuses, model calls, the report.

    `model_calls`, `tokens` and `cost` (USD; null where a model has no price) are those of calls `made` now;
    `cache_hits` are the calls that it needed and did not make.
    """
    nothing = [name for name, spec in builtin_methods().items() if spec.reads_nothing]
    given = GivenExperiment(InputStore(), GoldStore(), bound.key)
    units = given.units().filter(~pl.col("method").is_in(nothing))
    costs = given.board("costs")
    statuses = dict(units.group_by("status").len().sort("status").iter_rows())
    return {
        "release": bound.release,
        "experiment": bound.experiment.name,
        "users": len(given.users),
        "units": units.height,
        "statuses": statuses,
        "model_calls": made.calls,
        "cache_hits": max(int(costs["n_calls"].sum()) - made.calls, 0),
        "tokens": made.tokens,
        "cost": None if made.calls and costs["cost"].has_nulls() else made.cost / NANO,
        **({"judged": judged_rows(given)} if bound.experiment.judges else {}),
        "report": str(given.results.folder / "report.html"),
        "leaderboard": str(given.results.folder / "leaderboard.csv"),
    }


def board_of(home: Home, bound: BoundExperiment) -> pl.DataFrame:
    """The leaderboard over all units, best first, in the columns that people read first."""
    board = GivenExperiment(InputStore(), GoldStore(), bound.key).board("leaderboard")
    columns = ("method", "recall", "recall_low", "recall_high", "chance", "exposure", "tokens", "flags")
    whole = board.filter(pl.col("group_kind") == "all").select("reader", "budget", "pool", *columns)
    order = ["reader", "budget", "pool", "recall", "method"]
    return whole.sort(order, descending=[name == "recall" for name in order], nulls_last=True)
