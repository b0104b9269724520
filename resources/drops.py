"""The register of raw-log drops: what came in, under which identity, from which files."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pipelines.applogs.drop_files import user_file
from pipelines.commerce.mapping import Mapping as Mapped
from pipelines.commerce.sources import SOURCES
from pipelines.hashing import digest_json
from pipelines.tracks import APP_SOURCE
from resources.documents import write_atomic


class DropError(ValueError):
    """A drop that cannot be registered or read; names the file and the remedy."""


@dataclass(frozen=True)
class DropFile:
    """One file of a drop: where it lies, its size in bytes and the SHA-256 of its bytes."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Drop:
    """A set of files that arrived together from one source.

    `id` is made from the source, its mapping and the bytes of the files, not from
    their names (but for a domain or user that the source reads off a name): the same
    drop under another name is the same drop. `mapping` is the
    declarative mapping of a `mapping` source, else empty. `supersedes` names drops
    that a release must leave out when it holds this one.
    """

    id: str
    source: str
    files: tuple[DropFile, ...]
    mapping: Mapping[str, Any] = field(default_factory=dict)
    supersedes: tuple[str, ...] = ()

    def verify(self) -> list[Path]:
        """Paths of the files, each proven to hold the registered bytes.

        Raises `DropError` naming a file that vanished or changed.
        """
        for file in self.files:
            path = Path(file.path)
            if not path.is_file():
                raise DropError(f"{path}: the file of drop {self.id} is gone; put it back, or drop it again elsewhere")
            if path.stat().st_size != file.bytes or sha256(path) != file.sha256:
                raise DropError(
                    f"{path}: changed since drop {self.id} was registered; the changed file is a new drop, register it"
                )
        return [Path(file.path) for file in self.files]


def _telling(source: str, mapping: Mapping[str, Any] | None) -> Callable[[Path], str | None]:
    """What of a file's place says what its rows mean: there, other names are other rows, and elsewhere nothing."""
    if source == APP_SOURCE:
        return lambda path: user_file(path).label
    declared = Mapped.model_validate(mapping) if mapping else SOURCES.get(source)
    return lambda path: declared.domain_of(path.name) if declared else None


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def expand(paths: Sequence[Path]) -> list[Path]:
    """Files named by `paths`, folders expanded, hidden and unfinished files left out; sorted by path.

    Raises `DropError` for a path that does not exist or a folder without files.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = [file for file in sorted(path.rglob("*")) if file.is_file() and is_data(file)]
            if not inside:
                raise DropError(f"{path}: the folder holds no file; name a folder with log files, or the files")
            found += inside
        elif path.is_file():
            found.append(path)
        else:
            raise DropError(f"{path}: no such file or folder")
    return sorted(file.resolve() for file in found)


def is_data(file: Path) -> bool:
    """Whether a file may belong to a drop: not hidden, not unfinished, not a manifest."""
    return not (
        any(part.startswith(".") for part in file.parts[-2:])
        or file.name.endswith((".partial", ".tmp", ".part", ".crdownload", MANIFEST))
    )


MANIFEST = ".manifest.json"


class DropRegister:
    """Drops as small JSON documents in one folder; registering is idempotent and atomic."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def register(
        self,
        source: str,
        files: Sequence[Path],
        *,
        mapping: Mapping[str, Any] | None = None,
        supersedes: Sequence[str] = (),
    ) -> Drop:
        """Record the files as one drop and return it; the same bytes give the same drop.

        A drop whose files moved is pointed at the files named last.
        """
        found = [DropFile(str(path), path.stat().st_size, sha256(path)) for path in expand(files)]
        names = _telling(source, mapping)
        contents = sorted(f"{file.sha256} {names(Path(file.path)) or ''}".strip() for file in found)
        identity = {"source": source, "mapping": dict(mapping or {}), "files": contents}
        drop = Drop(
            f"{source}-{digest_json(identity, size=6)}", source, tuple(found), dict(mapping or {}), tuple(supersedes)
        )
        known = self.get(drop.id)
        if known and not drop.supersedes:
            drop = replace(drop, supersedes=known.supersedes)
        if drop != known:
            write_atomic(self.folder / f"{drop.id}.json", json.dumps(asdict(drop), indent=1, sort_keys=True))
        return drop

    def get(self, drop_id: str) -> Drop | None:
        """The drop, or None when it is not registered."""
        path = self.folder / f"{drop_id}.json"
        if not path.is_file():
            return None
        raw = json.loads(path.read_text())
        files = tuple(DropFile(**file) for file in raw["files"])
        return Drop(raw["id"], raw["source"], files, raw["mapping"], tuple(raw["supersedes"]))

    def require(self, drop_id: str) -> Drop:
        """The drop; raises `DropError` when it is not registered."""
        if drop := self.get(drop_id):
            return drop
        raise DropError(f"drop {drop_id} is not registered in {self.folder}; put its file into the inbox or build it")

    def __iter__(self) -> Iterator[Drop]:
        for path in sorted(self.folder.glob("*.json")):
            yield self.require(path.stem)


def current(drops: Sequence[Drop]) -> list[Drop]:
    """Drops that no other drop of the sequence supersedes, sorted by id."""
    superseded = {old for drop in drops for old in drop.supersedes}
    return sorted((drop for drop in drops if drop.id not in superseded), key=lambda drop: drop.id)
