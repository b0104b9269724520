"""The drop folder: `<inbox>/<source>/…`, watched without ever reading a half-written file.

Three ways in, all ending in a manifest written last by atomic rename:
a producer writes files and then `<name>.manifest.json`; a bare file is adopted once
its size and time stand still between two looks; a bare sub-folder likewise.
Names that start with `_` or `.` are never drops (`_tables/` holds look-up files that
belong to every drop of the source, `mapping.yaml` beside them declares a custom log).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.commerce.mapping import load_mapping
from resources.documents import write_atomic
from resources.drops import MANIFEST, Drop, DropError, DropRegister, expand, is_data

TABLES = "_tables"
MAPPING = "mapping.yaml"


@dataclass(frozen=True)
class Look:
    """What one look at the inbox found.

    `ready` drops are registered; `waiting` maps a path to why it is not taken yet;
    `problems` are texts a person must read; `changed` names files whose content was
    replaced; `memory` is what the next look needs (path → size and time).
    """

    ready: tuple[Drop, ...]
    waiting: Mapping[str, str]
    problems: tuple[str, ...]
    changed: tuple[str, ...]
    memory: Mapping[str, tuple[int, int]]


@dataclass
class _Tally:
    ready: dict[str, Drop] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    memory: dict[str, tuple[int, int]] = field(default_factory=dict)


def look(
    inbox: Path, register: DropRegister, sources: list[str], memory: Mapping[str, tuple[int, int]], limit: int = 50
) -> Look:
    """Register what is complete in the inbox; `limit` bounds the drops hashed in one look."""
    tally = _Tally()
    for folder in sorted(path for path in inbox.glob("*") if path.is_dir() and not path.name.startswith((".", "_"))):
        if folder.name not in sources:
            tally.problems.append(f"{folder}: no source is named {folder.name!r}; sources are {', '.join(sources)}")
            continue
        for entry in sorted(path for path in folder.iterdir() if not path.name.startswith("_")):
            if len(tally.ready) >= limit:
                tally.waiting[str(entry)] = "next look"
                continue
            try:
                if entry.name.endswith(MANIFEST):
                    _manifest(entry, folder.name, memory, tally, register)
                elif entry.name != MAPPING and (entry.is_dir() or is_data(entry)):
                    _bare(entry, memory, tally, register)
            except FileNotFoundError:
                continue  # taken away while it was looked at
            except OSError as error:
                tally.problems.append(f"{entry}: {error.strerror}; the other drops go on")
    return Look(tuple(tally.ready.values()), tally.waiting, tuple(tally.problems), tuple(tally.changed), tally.memory)


def _bare(entry: Path, memory: Mapping[str, tuple[int, int]], tally: _Tally, register: DropRegister) -> None:
    """Adopt a file or folder without manifest once it stands still; notice one that changed under its manifest."""
    manifest = entry.with_name(entry.name + MANIFEST)
    stamp = _stamp(entry)
    if stamp is None:
        return
    stated = _stated_stamp(manifest)
    if stated == stamp or _named_elsewhere(entry):
        return
    tally.memory[str(entry)] = stamp
    if memory.get(str(entry)) != stamp:
        tally.waiting[str(entry)] = "its size or time still changes"
        return
    if manifest.exists():
        tally.changed.append(str(entry))
    document = {"source": entry.parent.name, "files": [entry.name], "stamp": list(stamp)}
    write_atomic(manifest, json.dumps(document, indent=1))
    _manifest(manifest, entry.parent.name, memory, tally, register)


def _stamp(entry: Path) -> tuple[int, int] | None:
    """Bytes and newest modification time (ns) of a file or of all files of a folder; None when there is none."""
    files = [entry] if entry.is_file() else [file for file in entry.rglob("*") if file.is_file() and is_data(file)]
    stats = [file.stat() for file in files]
    return (sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats)) if stats else None


def _stated_stamp(manifest: Path) -> tuple[int, int] | None:
    try:
        size, time = json.loads(manifest.read_text())["stamp"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return int(size), int(time)


def _named_elsewhere(entry: Path) -> bool:
    """Whether a producer's manifest in the folder names this file."""
    for manifest in entry.parent.glob(f"*{MANIFEST}"):
        try:
            document = json.loads(manifest.read_text())
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and "stamp" not in document and entry.name in _names(document):
            return True
    return False


def _names(document: Mapping[str, Any]) -> list[str]:
    files = document.get("files", [])
    return [file["name"] if isinstance(file, dict) else str(file) for file in files]


def _manifest(
    manifest: Path, source: str, memory: Mapping[str, tuple[int, int]], tally: _Tally, register: DropRegister
) -> None:
    """Register the drop of a manifest, wait for files that are not there yet, report what cannot be."""
    try:
        document = json.loads(manifest.read_text())
        if not isinstance(document, dict) or not _names(document):
            raise DropError(f'{manifest}: a manifest is an object with a list "files" of names beside it')
        if document.get("source", source) != source:
            raise DropError(f"{manifest}: says source {document['source']!r} but lies in {source}/; move it")
        files = [manifest.parent / name for name in _names(document)]
        if outside := [file for file in files if manifest.parent.resolve() not in file.resolve().parents]:
            raise DropError(f"{manifest}: {outside[0]} is outside {manifest.parent}; name files beside the manifest")
        if missing := [file.name for file in files if not file.exists()]:
            tally.waiting[str(manifest)] = f"{', '.join(missing)} not there yet"
            return
        if "stamp" in document and _stated_stamp(manifest) != _stamp(files[0]):
            return  # adopted before and being written anew: a bare file again, until it stands still
        if (wait := _incomplete(document, manifest.parent)) is not None:
            tally.waiting[str(manifest)] = wait
            return
        tables = manifest.parent / TABLES
        stamps = [stamp for path in (manifest, *files, tables, manifest.parent / MAPPING) if (stamp := _stamp(path))]
        stamp = (sum(size for size, _ in stamps), max(time for _, time in stamps))
        tally.memory[str(manifest)] = stamp
        if memory.get(str(manifest)) == stamp:
            return  # registered at an earlier look; hashing it again would cost its size at every look
        drop = register.register(
            source,
            expand(files) + (expand([tables]) if tables.is_dir() else []),
            mapping=_mapping(manifest.parent),
            supersedes=document.get("supersedes", ()),
        )
        tally.ready[drop.id] = drop
    except (DropError, ValueError, OSError) as error:
        tally.memory.pop(str(manifest), None)
        tally.problems.append(str(error) if str(manifest) in str(error) else f"{manifest}: {error}")


def _incomplete(document: Mapping[str, Any], folder: Path) -> str | None:
    for file in document["files"]:
        if isinstance(file, dict) and "bytes" in file and (folder / file["name"]).stat().st_size != file["bytes"]:
            return f"{file['name']} has {(folder / file['name']).stat().st_size} of {file['bytes']} bytes"
    return None


def _mapping(folder: Path) -> dict[str, Any]:
    """The declared mapping with all its defaults, so that the same log built by hand is the same drop."""
    path = folder / MAPPING
    return load_mapping(path).model_dump(mode="json") if path.is_file() else {}
