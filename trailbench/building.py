"""`trailbench build`: from paths to a frozen release, through the jobs of the DAG."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import BaseModel

from assets.automation import READING, STAGES
from assets.inputs import mapping_of
from assets.launching import name_release
from pipelines.applogs.drop_files import tell_apart as app_files
from pipelines.commerce.drop_files import tell_apart
from pipelines.commerce.reading import SourceError
from pipelines.onchain.drop_files import describes_markets
from pipelines.tracks import MARKET_SOURCES, track_of
from resources.drops import Drop, DropError, expand
from resources.home import Home
from resources.release_spec import ReleaseSpec, release_of
from trailbench.running import Progress, RunFailed, run_job
from trailbench.working import WORTH_BYTES, Work, Workers, workers, workers_for


def register_paths(
    home: Home, source: str, paths: Sequence[Path], mapping: Mapping[str, Any], skip_unreadable: bool = False
) -> tuple[list[Drop], dict[str, str]]:
    """One drop for every path, a folder being one drop; look-up files among the paths belong to each of them.

    So a log and its re-sent copy, named together, are two drops of the same rows and not
    one drop that holds every row twice. Returns the drops, and the files that are of no
    kind the source knows; raises `SourceError` for such a file unless `skip_unreadable`.
    """
    declared = mapping_of(source, mapping)
    by_path = [expand([path]) for path in paths]
    files = sorted({file for group in by_path for file in group})
    refused: dict[str, str] = {}
    while True:
        try:
            told = tell_apart(files, declared)
            break
        except SourceError as error:
            known = [file for file in files if file.name != error.file]
            if not skip_unreadable or not known or len(known) == len(files):
                raise
            refused[error.file] = str(error)
            files = known
    tables = [file for group in told.lookups.values() for file in group]
    drops = {}
    for group in by_path:
        if logs := [file for file in group if file in told.logs]:
            drop = home.register.register(source, [*logs, *tables], mapping=mapping)
            drops[drop.id] = drop
    return list(drops.values()), refused


def register_chain(home: Home, source: str, paths: Sequence[Path]) -> list[Drop]:
    """One drop of `source` for the logs of every path, a folder being one, and one for all descriptions of markets.

    Raises `DropError` when there is no log.
    """
    by_path = [expand([path]) for path in paths]
    described = sorted({file for group in by_path for file in group if describes_markets(file)})
    logs = [found for group in by_path if (found := [file for file in group if file not in described])]
    if source in MARKET_SOURCES or not logs:
        raise DropError(f"no file of logs among {', '.join(map(str, paths))}; a release needs logs of the chain")
    drops = [home.register.register(source, files) for files in logs]
    drops += [home.register.register(MARKET_SOURCES[0], described)] if described else []
    return list({drop.id: drop for drop in drops}.values())


def register_apps(home: Home, source: str, paths: Sequence[Path]) -> list[Drop]:
    """One drop for every path, a folder being one; files that say something about the others are passed over.

    Raises `SourceError` for a file of another name.
    """
    by_path = [[file.path for file in app_files(expand([path]))] for path in paths]
    return list({drop.id: drop for files in by_path if (drop := home.register.register(source, files))}.values())


def steps_of(track: str, shards: int) -> int:
    """How many partitions are built to freeze a release."""
    return sum(shards if sharded else 1 for _, sharded, _ in STAGES[track])


def register_files(home: Home, source: str, files: Sequence[Path]) -> Drop:
    """All files as one drop."""
    return home.register.register(source, files)


def build_release(
    instance: dg.DagsterInstance,
    home: Home,
    drops: Sequence[Drop],
    settings: BaseModel,
    progress: Progress,
    skip_unreadable: bool = False,
) -> tuple[ReleaseSpec, dict[str, str]]:
    """Read the drops, then freeze a release over them; returns its specification and what could not be read.

    Raises `RunFailed` when a drop cannot be read (unless `skip_unreadable` and another can) or a step fails.
    """
    unreadable: dict[str, str] = {}
    for drop in drops:
        progress(f"read {Path(drop.files[0].path).name}")
        instance.add_dynamic_partitions("drop", [drop.id])
        try:
            run_job(instance, READING[track_of(drop.source).name], {"drop": drop.id})
        except RunFailed as error:
            if not skip_unreadable:
                raise
            unreadable[drop.id] = str(error)
    if len(unreadable) == len(drops):
        raise RunFailed("no drop could be read:\n" + "\n".join(unreadable.values()))
    spec = release_of([drop for drop in drops if drop.id not in unreadable], settings)
    bytes_in = sum(file.bytes for drop in drops for file in drop.files)
    with workers(instance, home.folder, workers_for(bytes_in >= WORTH_BYTES)) as crew:
        freeze(crew, home, spec.track, name_release(instance, home, spec), progress)
    return spec, unreadable


def freeze(crew: Workers, home: Home, track: str, key: str, progress: Progress) -> None:
    """Run every step of a release of a track, shard by shard; what is published already is reused."""
    for job, sharded, what in STAGES[track]:
        axes = [{"release": key, "shard": shard} for shard in home.shards] if sharded else [{"release": key}]
        crew.run([Work(job, one, f"{what} {one.get('shard', '')}".strip()) for one in axes], progress)
