"""From raw logs to a frozen release: sources, validate, build."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from trailbench.calling import (
    HomeOption,
    JsonOption,
    MappingOption,
    OptionalSource,
    TrackOption,
    asked,
    configuration,
    errors,
    refuse,
    settings_of,
    source_of,
    use_home,
)
from trailbench.console import err, out, plain, print_frame, print_json, print_table, progress

FUNNELS = {"commerce": ("funnel", "place"), "onchain": ("cohort_funnel", "step"), "applogs": ("applog_funnel", "place")}
"""Track → the table that a person sees after a build, and its column that only puts it in order."""


def sources(as_json: JsonOption = False) -> None:
    """List the log formats that can be read."""
    from pipelines.commerce.sources import SOURCES

    rows = [(name, mapping.description) for name, mapping in SOURCES.items()]
    rows.append(("mapping", "any CSV, TSV, JSONL or Parquet log, described by a YAML file"))
    rows += [
        ("polygon_logs", "logs of Polygon: JSON-RPC lines or arrays, SQD NDJSON, Parquet of cryo or HyperSync"),
        ("polygon_rpc", "logs that were fetched from a node"),
        ("gamma_markets", "descriptions of markets as Gamma gives them, beside drops of logs"),
        ("app_logs", "app logs and task packs of DynamicMem, or logs with timelines as `trailbench synth` writes them"),
    ]
    if as_json:
        print_json({"sources": [{"name": name, "description": text} for name, text in rows]})
    else:
        print_table("Sources", ["name", "reads"], rows)


def validate(
    files: Annotated[list[Path], typer.Argument(help="Files or folders of one drop.")],
    source: OptionalSource = None,
    track: TrackOption = None,
    mapping: MappingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what would be read from a drop, what rejected, and why. Nothing is written."""
    from assets.inputs import mapping_of
    from pipelines.commerce.events import read_drop
    from pipelines.tracks import track_of
    from resources.drops import expand

    with errors():
        log = asked(source_of(source, track), files, mapping)
        kind = track_of(log.source).name
        words = ["trailbench", "build", *map(str, files)]
        for option, value in (("--source", source), ("--track", track), ("--mapping", mapping)):
            words += [option, str(value)] if value is not None else []
        then = f"Next: {shlex.join(words)}"
        if kind != "commerce":
            (_validate_chain if kind == "onchain" else _validate_apps)(log.source, log.paths, as_json)
            if not as_json:
                out.print(plain(then), soft_wrap=True)
            return
        with progress(as_json) as step, log.columns_named():
            step("reading")
            drop = read_drop(expand(log.paths), mapping_of(log.source, log.mapping))
        reasons = drop.rejects.group_by("reason").len("rows").sort("rows", "reason", descending=[True, False])
        span = drop.events.select(first="time", last="time").select(first=_first("first"), last=_last("last")).row(0)
        facts: dict[str, Any] = {
            **drop.counts,
            "users": drop.events["user_id"].n_unique(),
            "items": drop.events["item_id"].n_unique(),
            "first": span[0],
            "last": span[1],
        }
        if as_json:
            rejects = dict(reasons.iter_rows())
            print_json({**facts, "rejected": rejects, "warnings": list(drop.warnings)})
            return
        print_table("Would be read", ["what", "value"], list(facts.items()))
        actions = drop.events.group_by("action").len("events").sort("action")
        print_frame("Actions", actions)
        if drop.rejects.height:
            print_frame("Rejected, by reason", reasons)
            print_frame("The first rejects", drop.rejects.head(10))
        for warning in drop.warnings:
            out.print(plain(f"warning: {warning}"), style="yellow")
        out.print(plain(then), soft_wrap=True)


def _validate_chain(source: str, paths: list[Path], as_json: bool) -> None:
    import polars as pl

    from pipelines.onchain.decoding import decode_logs, decode_markets
    from pipelines.tracks import LOG_SOURCES
    from resources.drops import expand

    with progress(as_json) as step:
        step("reading")
        tables = (decode_logs if source in LOG_SOURCES else decode_markets)(expand(paths))
    counts = tables["log_counts"].group_by("outcome", "event").agg(pl.col("rows").sum()).sort("outcome", "event")
    refused = tables["onchain_rejects"]
    reasons = refused.group_by("reason").len("rows").sort("rows", "reason", descending=[True, False])
    if as_json:
        found = dict(counts.group_by("outcome").agg(pl.col("rows").sum()).sort("outcome").iter_rows())
        rows_in = int(counts["rows"].sum())
        print_json({"rows_in": rows_in, "outcomes": found, "rejected": dict(reasons.iter_rows()), "warnings": []})
        return
    print_frame("Would be read", counts)
    if refused.height:
        print_frame("Rejected, by reason", reasons)
        print_frame("The first rejects", refused.drop("raw").head(10))


def _validate_apps(source: str, paths: list[Path], as_json: bool) -> None:
    import polars as pl

    from pipelines.applogs.reading_drop import read_drop
    from pipelines.applogs.step_tables import DROPPED
    from resources.drops import expand

    with progress(as_json) as step:
        step("reading")
        tables = read_drop(expand(paths))
    users = (
        pl.concat(
            rows.group_by("user_id").len("n").with_columns(table=pl.lit(name.removeprefix(DROPPED)))
            for name, rows in tables.items()
        )
        .pivot("table", index="user_id", values="n")
        .sort("user_id")
    )
    counts = {name.removeprefix(DROPPED): rows.height for name, rows in tables.items() if rows.height}
    times = tables[f"{DROPPED}app_logs"].select(first=_first("time"), last=_last("time")).row(0)
    if as_json:
        facts = {"users": users.height, "rows": counts, "first": times[0], "last": times[1]}
        print_json({**facts, "rejected": {}, "warnings": []})
        return
    print_table("Would be read", ["what", "value"], [*counts.items(), ("first log", times[0]), ("last log", times[1])])
    print_frame("Rows by user", users.rename({"user_id": "user"}))


def _first(column: str) -> Any:
    import polars as pl

    return pl.col(column).min().dt.to_string("%Y-%m-%dT%H:%M:%S%.fZ")


def _last(column: str) -> Any:
    import polars as pl

    return pl.col(column).max().dt.to_string("%Y-%m-%dT%H:%M:%S%.fZ")


def build(
    paths: Annotated[list[Path], typer.Argument(help="Log files or folders; each is one drop.")],
    source: OptionalSource = None,
    track: TrackOption = None,
    home: HomeOption = None,
    shards: Annotated[int | None, typer.Option(min=1, max=256, help="Shards of a new home folder; else 4.")] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file with thresholds to change.")] = None,
    mapping: MappingOption = None,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Go on without drops that cannot be read.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a frozen release from raw logs and print its name and content hash.

    On-chain logs and market descriptions may be named together; they are told apart by what they hold.
    """
    from pipelines.tracks import TRACKS, track_of

    use_home(home)
    with errors():
        from resources.home import open_home

        values = configuration(config)
        log = asked(source_of(source, track), paths, mapping, values, config)
        track = track or track_of(log.source).name
        if track_of(log.source).name != track:
            refuse(f"{log.source} is no source of {track}; its sources are {', '.join(TRACKS[track].all_sources)}")
        settings = settings_of(values, track, config)
        opened = open_home(shards=shards)
        from trailbench.building import build_release, register_apps, register_chain, register_paths, steps_of
        from trailbench.running import dagster_instance

        with dagster_instance(opened.folder) as instance, progress(as_json) as step:
            step("looking at the files")
            refused: dict[str, str] = {}
            if track == "onchain":
                drops = register_chain(opened, log.source, log.paths)
            elif track == "applogs":
                drops = register_apps(opened, log.source, log.paths)
            else:
                with log.columns_named():
                    drops, refused = register_paths(opened, log.source, log.paths, log.mapping, skip_unreadable)
            step.expect(len(drops) + steps_of(track, len(opened.shards)))
            spec, unreadable = build_release(instance, opened, drops, settings, step, skip_unreadable)
        _print_release(opened, spec.key, {**refused, **unreadable}, as_json)


def _print_release(home: Any, key: str, unreadable: dict[str, str], as_json: bool) -> None:
    manifest = home.store.document(f"specs/frozen/{key}.json")
    card = home.store.document(f"releases/{manifest['release']}/card.json")
    result = {
        "release": manifest["release"],
        "content_hash": manifest["content_hash"],
        "key": key,
        "home": str(home.folder),
        "counts": manifest["counts"],
        "refusals": card["refusals"],
        "warnings": card.get("warnings", []),
        "unreadable": unreadable,
    }
    if as_json:
        print_json(result)
        return
    from resources.release_spec import load_release

    kind = load_release(home.store.store, key).track
    table, unshown = FUNNELS[kind]
    print_frame("Funnel", home.store.scan(table, {"release": key}).drop(unshown).collect())
    for name in ("release", "content_hash", "home"):
        out.print(plain(f"{name}: {result[name]}"), soft_wrap=True)
    for drop, message in unreadable.items():
        err.print(plain(f"left out {drop}: {message}"), style="yellow", soft_wrap=True)
    for warning in result["warnings"]:
        err.print(plain(f"warning: {warning}"), style="yellow", soft_wrap=True)
    for what, why in result["refusals"].items():
        err.print(plain(f"{what}: {why}"), style="yellow", soft_wrap=True)
    if "instances" not in result["refusals"]:
        out.print(plain(f"Next: trailbench evaluate --home {shlex.quote(str(home.folder))}"), soft_wrap=True)


COMMANDS = (sources, validate, build)
