"""What every command shares: options, exit codes, and errors as messages."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from trailbench.console import err, plain

FAILED = 1
"""Exit code: it ran and the answer is no (a check failed, a leak was found)."""
REFUSED = 2
"""Exit code: the input or the call cannot be used; the message says what to change."""

HomeOption = Annotated[
    Path | None, typer.Option("--home", help="Home folder; else $TRAILBENCH_HOME, else .trailbench.")
]
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
    from pipelines.evaluation.experiment import BadExperiment
    from pipelines.models import ModelStopped
    from resources.drops import DropError
    from resources.embedded_model import EmbeddedModelUnavailable
    from resources.home import HomeError
    from resources.models.settings import ModelSettingsError
    from resources.plugin_process import PluginError
    from resources.store import StoreError
    from resources.wall import WallBreached
    from trailbench.exporting import ExportError
    from trailbench.running import RunFailed

    try:
        yield
    except (
        SourceError,
        MappingError,
        BadExperiment,
        DropError,
        HomeError,
        StoreError,
        PluginError,
        WallBreached,
        ModelSettingsError,
        ModelStopped,
        EmbeddedModelUnavailable,
        ExportError,
        RunFailed,
        typer.BadParameter,
    ) as e:
        refuse(str(e))
    except OSError as e:
        refuse(_os_error(e))
    except ValidationError as e:
        refuse("; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in e.errors()))


def _os_error(error: OSError) -> str:
    """What the system said, file first and without its number."""
    if error.errno == errno.ENOSPC:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}no space left on the device; free some and run it again, nothing half-written stays"
    if error.strerror is None or error.filename is None:
        return str(error)
    return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"


def refuse(message: str) -> NoReturn:
    err.print(plain(f"error: {message}"), style="red", soft_wrap=True)
    raise typer.Exit(REFUSED)


@dataclass(frozen=True)
class Asked:
    """What a call says about a log: the source, its declared mapping (custom logs only) and its file, the log paths."""

    source: str
    mapping: dict[str, Any]
    paths: list[Path]
    declared_in: Path | None = None

    @contextmanager
    def columns_named(self) -> Iterator[None]:
        """A column that a log lacks is told with the file that names it."""
        from pipelines.commerce.reading import MissingColumn

        try:
            yield
        except MissingColumn as error:
            if self.declared_in is None:
                raise
            what = f"{error.what}, which {self.declared_in.name} names"
            raise MissingColumn(error.file, error.line, what, error.remedy) from error


def asked(
    source: str,
    paths: list[Path],
    mapping: Path | None,
    config: dict[str, Any] | None = None,
    config_file: Path | None = None,
) -> Asked:
    """The source and paths of a call. A custom log is declared by a YAML file, named by `--mapping`, as the source
    itself, among the paths, or under `mapping:` of the configuration, which was read from `config_file`.
    """
    from pipelines.commerce.mapping import load_mapping
    from pipelines.tracks import ALL_SOURCES

    declared = (config or {}).get("mapping")
    if is_yaml(Path(source)):
        source, mapping = "mapping", Path(source)
    if source not in ALL_SOURCES:
        raise typer.BadParameter(f"no source {source!r}; sources are {', '.join(ALL_SOURCES)}")
    if source != "mapping":
        if mapping is not None or declared is not None:
            raise typer.BadParameter("a mapping goes with --source mapping; built-in sources bring their own")
        return Asked(source, {}, paths)
    files = [path for path in (mapping, *paths) if path is not None and is_yaml(path)]
    if len(files) == 1:
        logs = [path for path in paths if not is_yaml(path)]
        return Asked(source, load_mapping(files[0]).model_dump(mode="json"), logs, files[0])
    if not files and isinstance(declared, str):
        return Asked(source, load_mapping(Path(declared)).model_dump(mode="json"), paths, Path(declared))
    if not files and isinstance(declared, dict) and config_file is not None:
        return Asked(source, load_mapping(config_file, "mapping").model_dump(mode="json"), paths, config_file)
    raise typer.BadParameter("--source mapping needs one --mapping FILE.yaml, which says what the columns mean")


def source_of(source: str | None, track: str | None) -> str:
    """The source of a call: the named one, else the only one of the named track."""
    from pipelines.tracks import TRACKS

    if track is not None and track not in TRACKS:
        raise typer.BadParameter(f"no track {track!r}; tracks are {', '.join(TRACKS)}")
    if source is not None:
        return source
    if track is not None and len(TRACKS[track].all_sources) == 1:
        return TRACKS[track].sources[0]
    alone = " or ".join(f"--track {name}" for name, one in TRACKS.items() if len(one.all_sources) == 1)
    raise typer.BadParameter(f"name the log format: --source NAME (`trailbench sources` lists them), or {alone}")


def is_yaml(path: Path) -> bool:
    """Whether a path names a YAML file."""
    return path.suffix in (".yaml", ".yml")


def configuration(path: Path | None) -> dict[str, Any]:
    """Values of a YAML configuration file; empty without one."""
    from pipelines.yaml_text import BadYaml, read_values

    if path is None:
        return {}
    try:
        return read_values(path)
    except OSError as error:
        raise typer.BadParameter(_os_error(error)) from error
    except BadYaml as error:
        raise typer.BadParameter(str(error)) from error


def settings_of(config: dict[str, Any], track: str, file: Path | None) -> Any:
    """Thresholds of a configuration, read from `file`: its values, or those under `settings:`, over the defaults."""
    from pydantic import ValidationError

    from pipelines.thresholds import wrong_values
    from pipelines.tracks import TRACKS

    model = TRACKS[track].settings
    values = {name: value for name, value in config.items() if name not in ("mapping", "settings")}
    nested = config.get("settings") or {}
    if not isinstance(nested, dict):
        raise typer.BadParameter(f"{file}: settings: expected `name: value` lines, one for each setting")
    try:
        return model.model_validate({**values, **nested})
    except ValidationError as error:
        assert file is not None, "defaults are settings"
        raise typer.BadParameter(wrong_values(error, model, file)) from error


OptionalSource = Annotated[
    str | None, typer.Option("--source", help="Log format; `trailbench sources` lists them; else that of the track.")
]
TrackOption = Annotated[
    str | None, typer.Option("--track", help="Track: commerce, onchain or applogs; else that of the source.")
]
MappingOption = Annotated[Path | None, typer.Option("--mapping", help="YAML mapping, with --source mapping.")]
