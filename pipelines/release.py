"""Release identity for every track: what names a release, and what `verify` says differs (ours).

A release carries two kinds of hash. The logical hash of a table is over its
canonical rows and types; those of the named tables, with the schema version and
the domain settings, name the release. The hash of a file is over its bytes and
only says whether the file is the one that was written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from pipelines.hashing import digest_json
from pipelines.schema import SCHEMA_VERSION

NAME_LENGTH = 12
"""Hex digits of the content hash that name a release."""


@dataclass(frozen=True)
class TableEntry:
    """One table of a release: logical hash, number of rows, and sha256 of each of its files by relative path."""

    logical: str
    rows: int
    files: Mapping[str, str] = field(default_factory=dict)


def content_hash(track: str, settings: BaseModel, tables: Mapping[str, str], required: Iterable[str]) -> str:
    """Hex hash that identifies a release: schema version, track, domain settings (seed included), table hashes.

    `tables` maps table names to logical hashes; exactly those of `required` enter.
    Drop ids, file names, rejects, shard count, code version and times never do.
    Raises `ValueError` when a required table has no hash.
    """
    names = sorted(required)
    if missing := [name for name in names if name not in tables]:
        raise ValueError(
            f"{track}: no logical hash of {', '.join(missing)}; hash every table before naming the release"
        )
    return digest_json(
        {
            "schema_version": SCHEMA_VERSION,
            "track": track,
            "settings": settings.model_dump(mode="json"),
            "tables": {name: tables[name] for name in names},
        },
        size=32,
    )


def release_name(content_hash: str) -> str:
    """Name of a release: the first twelve hex digits of its content hash."""
    return content_hash[:NAME_LENGTH]


def manifest(
    track: str, settings: BaseModel, tables: Mapping[str, TableEntry], required: Iterable[str]
) -> dict[str, Any]:
    """What `manifest.json` of a release holds; no times, so the same content gives the same manifest."""
    names = sorted(required)
    whole = content_hash(track, settings, {name: entry.logical for name, entry in tables.items()}, names)
    return {
        "release": release_name(whole),
        "content_hash": whole,
        "schema_version": SCHEMA_VERSION,
        "track": track,
        "settings": settings.model_dump(mode="json"),
        "tables": {
            name: {
                "logical": entry.logical,
                "rows": entry.rows,
                "names_release": name in names,
                "files": dict(sorted(entry.files.items())),
            }
            for name, entry in sorted(tables.items())
        },
    }


def differences(frozen: Mapping[str, Any], recomputed: Mapping[str, Any]) -> list[str]:
    """What differs between two manifests, in words: other rows, other bytes of the same rows, other settings.

    Empty when the release is what its manifest says.
    """
    found = []
    for name in ("schema_version", "track", "settings", "content_hash", "release"):
        if frozen[name] != recomputed[name]:
            found.append(f"{name}: {frozen[name]} in the manifest, {recomputed[name]} recomputed")
    for name in sorted(frozen["tables"].keys() | recomputed["tables"].keys()):
        old, new = frozen["tables"].get(name), recomputed["tables"].get(name)
        if old is None or new is None:
            found.append(f"table {name}: {'not in the manifest' if old is None else 'missing'}")
            continue
        if old["logical"] != new["logical"]:
            found.append(f"table {name}: other rows ({old['rows']} in the manifest, {new['rows']} now)")
        for path in sorted(old["files"].keys() | new["files"].keys()):
            if path not in new["files"]:
                found.append(f"file {path}: missing")
            elif path not in old["files"]:
                found.append(f"file {path}: not in the manifest")
            elif old["files"][path] != new["files"][path]:
                same = "the rows are the same" if old["logical"] == new["logical"] else "the rows differ too"
                found.append(f"file {path}: other bytes; {same}")
    return found
