"""What every command shares: options, exit codes, and errors as messages."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from trailbench.console import err, plain

FAILED = 1
"""Exit code: it ran and the answer is no (a check failed, a leak was found)."""
REFUSED = 2
"""Exit code: the input or the call cannot be used; the message says what to change."""

HomeOption = Annotated[Path | None, typer.Option("--home", help="Home folder. [env: TRAILBENCH_HOME] [.trailbench]")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def use_home(home: Path | None) -> None:
    """The home folder must be known before the DAG is imported: its shard axis comes from there."""
    if home is not None:
        os.environ["TRAILBENCH_HOME"] = str(home.absolute())


@contextmanager
def errors() -> Iterator[None]:
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
        refuse(str(e))
    except ValidationError as e:
        refuse("; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in e.errors()))


def refuse(message: str) -> NoReturn:
    err.print(plain(f"error: {message}"), style="red")
    raise typer.Exit(REFUSED)


def declared_mapping(source: str, mapping: Path | None) -> dict[str, Any]:
    """The declared mapping of a custom log as plain values; empty for a built-in source."""
    from pipelines.commerce.mapping import load_mapping

    if source != "mapping":
        if mapping is not None:
            raise typer.BadParameter("--mapping goes with --source mapping; built-in sources bring their own")
        return {}
    if mapping is None:
        raise typer.BadParameter("--source mapping needs --mapping FILE.yaml, which says what the columns mean")
    return load_mapping(mapping).model_dump(mode="json")


def settings_of(config: Path | None) -> Any:
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
