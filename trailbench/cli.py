"""The command line. Every command that builds or evaluates drives the jobs of the DAG."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from trailbench.console import err, out, plain, print_frame, print_json, print_table, progress

app = typer.Typer(
    name="trailbench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Benchmarks of user memory from real behaviour: raw logs in, a frozen leak-proof benchmark out.",
)

FAILED = 1
"""Exit code: it ran and the answer is no (a check failed, a leak was found)."""
REFUSED = 2
"""Exit code: the input or the call cannot be used; the message says what to change."""

HomeOption = Annotated[Path | None, typer.Option("--home", help="Home folder. [env: TRAILBENCH_HOME] [.trailbench]")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def _use(home: Path | None) -> None:
    """The home folder must be known before the DAG is imported: its shard axis comes from there."""
    if home is not None:
        os.environ["TRAILBENCH_HOME"] = str(home.absolute())


@contextmanager
def _errors() -> Iterator[None]:
    """Errors that a person can mend end in one message; others keep their trace."""
    from pydantic import ValidationError

    from pipelines.commerce.mapping import MappingError
    from pipelines.commerce.reading import SourceError
    from resources.drops import DropError
    from resources.home import HomeError
    from resources.store import StoreError
    from trailbench.exporting import ExportError
    from trailbench.running import RunFailed

    try:
        yield
    except (
        SourceError,
        MappingError,
        DropError,
        HomeError,
        StoreError,
        ExportError,
        RunFailed,
        typer.BadParameter,
    ) as e:
        _refuse(str(e))
    except ValidationError as e:
        _refuse("; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in e.errors()))


def _refuse(message: str) -> NoReturn:
    err.print(plain(f"error: {message}"), style="red")
    raise typer.Exit(REFUSED)


def _mapping(source: str, mapping: Path | None) -> dict[str, Any]:
    """The declared mapping of a custom log as plain values; empty for a built-in source."""
    from pipelines.commerce.mapping import load_mapping

    if source != "mapping":
        if mapping is not None:
            raise typer.BadParameter("--mapping goes with --source mapping; built-in sources bring their own")
        return {}
    if mapping is None:
        raise typer.BadParameter("--source mapping needs --mapping FILE.yaml, which says what the columns mean")
    return load_mapping(mapping).model_dump(mode="json")


def _settings(config: Path | None) -> Any:
    import yaml

    from pipelines.commerce.settings import CommerceSettings

    if config is None:
        return CommerceSettings()
    try:
        values = yaml.safe_load(config.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise typer.BadParameter(f"{config}: {error}") from error
    if not isinstance(values, dict):
        raise typer.BadParameter(f"{config}: expected `name: value` lines, one for each setting")
    return CommerceSettings(**values)


SourceOption = Annotated[str, typer.Option("--source", help="Log format; `trailbench sources` lists them.")]
MappingOption = Annotated[Path | None, typer.Option("--mapping", help="YAML mapping, with --source mapping.")]


@app.command()
def sources(as_json: JsonOption = False) -> None:
    """List the log formats that can be read."""
    from pipelines.commerce.sources import SOURCES

    rows = [(name, mapping.description) for name, mapping in SOURCES.items()]
    rows.append(("mapping", "any CSV, TSV, JSONL or Parquet log, described by a YAML file"))
    if as_json:
        print_json({"sources": [{"name": name, "description": text} for name, text in rows]})
    else:
        print_table("Sources", ["name", "reads"], rows)


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(help="Files or folders of one drop.")],
    source: SourceOption,
    mapping: MappingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what would be read from a drop, what rejected, and why. Nothing is written."""
    from assets.inputs import mapping_of
    from pipelines.commerce.events import read_drop
    from resources.drops import expand

    with _errors():
        with progress(as_json) as step:
            step("reading")
            drop = read_drop(expand(files), mapping_of(source, _mapping(source, mapping)))
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


def _first(column: str) -> Any:
    import polars as pl

    return pl.col(column).min().dt.to_string("%Y-%m-%dT%H:%M:%S%.fZ")


def _last(column: str) -> Any:
    import polars as pl

    return pl.col(column).max().dt.to_string("%Y-%m-%dT%H:%M:%S%.fZ")


@app.command()
def build(
    paths: Annotated[list[Path], typer.Argument(help="Log files or folders; each is one drop.")],
    source: SourceOption,
    track: Annotated[str, typer.Option(help="Track.")] = "commerce",
    home: HomeOption = None,
    shards: Annotated[int | None, typer.Option(min=1, max=256, help="Shards of a new home folder. [4]")] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file with thresholds to change.")] = None,
    mapping: MappingOption = None,
    skip_unreadable: Annotated[bool, typer.Option(help="Go on without drops that cannot be read.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a frozen release from raw logs and print its name and content hash."""
    if track != "commerce":
        _refuse(f"no track {track!r}; tracks are commerce")
    _use(home)
    with _errors():
        from resources.home import open_home

        opened = open_home(shards=shards)
        settings, declared = _settings(config), _mapping(source, mapping)
        from trailbench.building import build_release, register_paths
        from trailbench.running import dagster_instance

        with dagster_instance(opened.folder) as instance, progress(as_json) as step:
            step("looking at the files")
            drops, refused = register_paths(opened, source, paths, declared, skip_unreadable)
            step.expect(len(drops) + 2 * len(opened.shards) + 2)
            spec, unreadable = build_release(instance, opened, drops, settings, step, skip_unreadable)
        _print_release(opened, spec.key, {**refused, **unreadable}, as_json)


def _print_release(home: Any, key: str, unreadable: dict[str, str], as_json: bool) -> None:
    manifest = home.store.document(f"specs/frozen/{key}.json")
    result = {
        "release": manifest["release"],
        "content_hash": manifest["content_hash"],
        "key": key,
        "home": str(home.folder),
        "counts": manifest["counts"],
        "unreadable": unreadable,
    }
    if as_json:
        print_json(result)
        return
    print_frame("Funnel", home.store.scan("funnel", {"release": key}).collect())
    print_table("Release", ["what", "value"], [(name, result[name]) for name in ("release", "content_hash", "home")])
    for drop, message in unreadable.items():
        err.print(plain(f"left out {drop}: {message}"), style="yellow")


@app.command()
def export(
    release: Annotated[str, typer.Argument(help="Release name.")],
    table: Annotated[str, typer.Option(help="Table, for example visits, batches, transitions, pools, positives.")],
    to: Annotated[Path, typer.Option(help="File to write, .csv or .parquet.")],
    home: HomeOption = None,
    gold: Annotated[bool, typer.Option("--gold", help="Allow tables that only scoring may read.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write one table of a release to a file."""
    _use(home)
    with _errors():
        from resources.home import open_home
        from trailbench.exporting import exported, write

        rows = write(exported(open_home(), release, table, gold), to)
        if as_json:
            print_json({"release": release, "table": table, "rows": rows, "file": str(to)})
        else:
            out.print(plain(f"{rows:,} rows of {table} written to {to}"))


if __name__ == "__main__":
    app()
