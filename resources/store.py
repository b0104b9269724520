"""Published tables: Parquet partitions under one root, each committed by its sidecar.

Layout: `<table>/<axis>=<key>/…/part-<hash>.parquet` and `part.json` beside it. The
sidecar names the one file that belongs to it and is replaced atomically as the last
step of `publish`; readers resolve files through sidecars only. So a crash at any
moment leaves the old partition or the new one, and what a crash left behind is
removed by the next publication of that partition.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.findings import Finding, failed_errors
from pipelines.schema import TABLES
from resources.files import Files, open_files, polars_options

SIDECAR = "part.json"
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+,~-]{0,199}")

Audit = Callable[[pl.LazyFrame], Sequence[Finding]]
Extra = Mapping[str, Any] | Callable[[pl.LazyFrame], Mapping[str, Any]]


class StoreError(Exception):
    """Base of what the store refuses."""


class NotPublished(StoreError):
    """A table or partition that was asked for does not exist yet."""


class DamagedPartition(StoreError):
    """A partition differs from what its sidecar or the registry says."""


class SchemaMismatch(StoreError):
    """A frame has not the columns or types of its table."""


class AuditFailed(StoreError):
    """An error-level expectation failed; nothing was published. `findings` holds all of the audit."""

    def __init__(self, table: str, keys: Mapping[str, str], findings: Sequence[Finding]) -> None:
        self.findings = list(findings)
        lines = "\n".join(f"  {finding}" for finding in failed_errors(findings))
        super().__init__(f"{_named(table, keys)} was not published, the audit failed:\n{lines}")


@dataclass(frozen=True)
class Published:
    """The sidecar of a partition: what was published, from what, and the file's own hash."""

    table: str
    keys: dict[str, str]
    file: str
    sha256: str
    bytes: int
    rows: int
    schema: dict[str, str]
    fingerprint: str
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Folder of the partition, relative to the store."""
        return _folder(self.table, self.keys)

    @property
    def path(self) -> str:
        """File of the partition, relative to the store."""
        return f"{self.folder}/{self.file}"


@dataclass(frozen=True)
class Store:
    """Tables under `root`: a folder, or a URL that fsspec and Polars both read (`s3://bucket/prefix`).

    `storage_options` use the names of Polars (`aws_access_key_id`,
    `aws_secret_access_key`, `aws_session_token`, `aws_region`, `aws_endpoint_url`);
    without them both libraries read the environment.
    """

    root: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)

    @cached_property
    def _files(self) -> Files:
        return open_files(self.root, self.storage_options)

    # -- writing -----------------------------------------------------------------

    def publish(
        self,
        table: str,
        frame: pl.DataFrame | pl.LazyFrame,
        *,
        keys: Mapping[str, str],
        fingerprint: str,
        audit: Audit | None = None,
        extra: Extra | None = None,
    ) -> Published:
        """Write, audit and commit one partition; the previous one stays until the commit.

        `audit` and a callable `extra` are given a scan of the written file. Of two
        publishers of one partition the last to commit wins.
        Raises `SchemaMismatch`, or `AuditFailed` when an error-level finding failed.
        """
        folder = _folder(table, keys)
        files = self._files
        with files.lock(folder), files.stage(folder) as staged:
            frame.lazy().sink_parquet(staged, compression="zstd")
            scan = pl.scan_parquet(staged, glob=False, hive_partitioning=False)
            _check_schema(table, keys, scan.collect_schema())
            findings = list(audit(scan)) if audit else []
            if failed_errors(findings):
                raise AuditFailed(table, keys, findings)
            sha256 = _sha256(staged)
            published = Published(
                table=table,
                keys=dict(sorted(keys.items())),
                file=f"part-{sha256[:16]}{files.unique()}.parquet",
                sha256=sha256,
                bytes=staged.stat().st_size,
                rows=scan.select(pl.len()).collect().item(),
                schema=_schema_text(TABLES[table].schema),
                fingerprint=fingerprint,
                extra=dict(extra(scan) if callable(extra) else extra or {}),
            )
            sidecar = _json(asdict(published))
            previous = self._sidecar(folder)
            files.put(staged, published.path)
            files.write(f"{folder}/{SIDECAR}", sidecar)
            stale = set(files.orphans(folder, {published.file, SIDECAR}))
            if previous and previous.file != published.file:
                stale.add(previous.path)
            for path in stale:
                files.remove(path)
        return published

    def remove_partition(self, table: str, keys: Mapping[str, str]) -> None:
        """Withdraw a partition: sidecar first, so that no reader finds a half of it."""
        folder = _folder(table, keys)
        with self._files.lock(folder):
            self._files.remove(f"{folder}/{SIDECAR}")
            for path in self._files.find(folder):
                if path.rpartition("/")[0] == folder:
                    self._files.remove(path)

    def write_json(self, path: str, value: Any) -> None:
        """Replace a small document (manifest, card) atomically; `path` is relative, like `releases/x/card.json`."""
        self._files.write(_safe_path(path), _json(value))

    def holding(self, path: str) -> AbstractContextManager[None]:
        """Hold a document against other holders while it is read, changed and written; for media that can lock."""
        return self._files.lock(f"{_safe_path(path)}/holding")

    # -- reading -----------------------------------------------------------------

    def read_json(self, path: str) -> Any:
        """A document written by `write_json`; raises `NotPublished` when there is none."""
        data = self._files.read(_safe_path(path))
        if data is None:
            raise NotPublished(f"{path} does not exist in {self.root}; materialise the asset that writes it")
        return json.loads(data)

    def documents(self, folder: str) -> list[str]:
        """Paths of all documents under a folder, sorted."""
        return sorted(path for path in self._files.find(_safe_path(folder)) if path.endswith(".json"))

    def published(self, table: str, keys: Mapping[str, str]) -> Published | None:
        """The partition's sidecar, or None when it is missing or its file is not of the size it says."""
        sidecar = self._sidecar(_folder(table, keys))
        return sidecar if sidecar and self._files.size(sidecar.path) == sidecar.bytes else None

    def reusable(self, table: str, keys: Mapping[str, str], fingerprint: str) -> Published | None:
        """The partition when it was made from the same inputs, settings and code, and by today's schema."""
        found = self.published(table, keys)
        same = found and found.fingerprint == fingerprint and found.schema == _schema_text(TABLES[table].schema)
        return found if same else None

    def partitions(self, table: str, **partial: str | Sequence[str]) -> list[Published]:
        """All published partitions whose keys agree with `partial`, in key order.

        Raises `DamagedPartition` when a sidecar's file is missing or of another size:
        leaving it out in silence would lose rows.
        """
        _known(table)
        wanted = _wanted(partial)
        folder = table
        for axis in sorted(wanted):
            deeper = f"{folder}/{axis}={wanted[axis][0]}"
            if len(wanted[axis]) != 1 or not self._files.has_folder(deeper):
                break
            folder = deeper
        listed = self._files.find(folder)
        found = []
        for path in listed:
            at, _, name = path.rpartition("/")
            if name != SIDECAR or not _agrees(at, wanted):
                continue
            sidecar = self._sidecar(at)
            if sidecar is None:
                continue
            # A partition republished since the listing is judged by a fresh look.
            if listed.get(sidecar.path) != sidecar.bytes and (sidecar := self.published(table, sidecar.keys)) is None:
                raise DamagedPartition(f"{at}: the file is missing or of another size; rebuild this partition")
            found.append(sidecar)
        return sorted(found, key=lambda one: sorted(one.keys.items()))

    def scan(
        self,
        table: str,
        *,
        keys: Mapping[str, str | Sequence[str]] | None = None,
        with_keys: Sequence[str] = (),
        missing_ok: bool = False,
    ) -> pl.LazyFrame:
        """Rows of all published partitions under `keys`, in key order; `with_keys` adds axes as text columns.

        A list of keys asks for each of them. Raises `NotPublished` when one has no
        partition (with `missing_ok` it contributes no rows), `DamagedPartition` when
        a file is not what its sidecar or the registry says.
        """
        _known(table)
        wanted = _wanted(keys or {})
        found = self.partitions(table, **wanted)
        if not missing_ok:
            self._require(table, wanted, found)
        schema = TABLES[table].schema
        for one in found:
            if one.schema != _schema_text(schema):
                raise DamagedPartition(f"{one.folder} was published with another schema; rebuild this partition")
        if not found:
            return pl.LazyFrame(schema={**schema, **dict.fromkeys(with_keys, pl.String())})
        options = polars_options(self.storage_options)
        locations = [self.location(one) for one in found]
        if not with_keys:
            return pl.scan_parquet(locations, storage_options=options, glob=False, hive_partitioning=False)
        return pl.concat(
            pl.scan_parquet(location, storage_options=options, glob=False, hive_partitioning=False).with_columns(
                pl.lit(one.keys[axis], dtype=pl.String).alias(axis) for axis in with_keys
            )
            for location, one in zip(locations, found, strict=True)
        )

    def location(self, published: Published) -> str:
        """Path or URL of the partition's file."""
        return self._files.location(published.path)

    def verify(self, table: str, keys: Mapping[str, str]) -> list[str]:
        """What differs between the partition and its sidecar, by full recomputation; empty when nothing does."""
        sidecar = self._sidecar(_folder(table, keys))
        if sidecar is None:
            return [f"{_named(table, keys)} is not published"]
        data = self._files.read(sidecar.path)
        if data is None:
            return [f"{sidecar.path} is missing"]
        problems = []
        if len(data) != sidecar.bytes:
            problems.append(f"{sidecar.path}: {len(data)} bytes, sidecar says {sidecar.bytes}")
        if (found := hashlib.sha256(data).hexdigest()) != sidecar.sha256:
            problems.append(f"{sidecar.path}: sha256 {found}, sidecar says {sidecar.sha256}")
        try:
            frame = pl.read_parquet(data)
        except pl.exceptions.PolarsError as error:
            return [*problems, f"{sidecar.path}: unreadable ({error})"]
        if frame.height != sidecar.rows:
            problems.append(f"{sidecar.path}: {frame.height} rows, sidecar says {sidecar.rows}")
        if not _schema_text(frame.schema) == sidecar.schema == _schema_text(TABLES[table].schema):
            problems.append(f"{sidecar.path}: schema of file, sidecar and registry differ")
        return problems

    def _sidecar(self, folder: str) -> Published | None:
        data = self._files.read(f"{folder}/{SIDECAR}")
        return Published(**json.loads(data)) if data else None

    def _require(self, table: str, wanted: Mapping[str, Sequence[str]], found: Sequence[Published]) -> None:
        axes = sorted(wanted)
        present = {tuple(one.keys.get(axis, "") for axis in axes) for one in found}
        for values in itertools.product(*(wanted[axis] for axis in axes)):
            if values not in present:
                raise NotPublished(
                    f"{_named(table, dict(zip(axes, values, strict=True)))} is not published in {self.root}; "
                    f"materialise the asset `{table}` for it"
                )


def _known(table: str) -> None:
    if table not in TABLES:
        raise StoreError(f"no table `{table}` in the registry; known: {', '.join(TABLES)}")


def _safe(text: str) -> str:
    if not isinstance(text, str) or not _SAFE.fullmatch(text) or ".." in text:
        raise StoreError(
            f"{text!r} cannot name a partition: letters, digits and _ . @ + , ~ - only, not `..`, not empty"
        )
    return text


def _safe_path(path: str) -> str:
    return "/".join(_safe(part) for part in path.split("/"))


def _folder(table: str, keys: Mapping[str, str]) -> str:
    _known(table)
    return "/".join([table, *(f"{_safe(axis)}={_safe(key)}" for axis, key in sorted(keys.items()))])


def _named(table: str, keys: Mapping[str, str]) -> str:
    return f"{table} ({', '.join(f'{axis} {key}' for axis, key in sorted(keys.items())) or 'whole'})"


def _wanted(keys: Mapping[str, str | Sequence[str]]) -> dict[str, list[str]]:
    return {
        _safe(axis): [_safe(value)] if isinstance(value, str) else [_safe(one) for one in value]
        for axis, value in keys.items()
    }


def _agrees(folder: str, wanted: Mapping[str, Sequence[str]]) -> bool:
    keys = dict(part.split("=", 1) for part in folder.split("/") if "=" in part)
    return all(keys.get(axis) in values for axis, values in wanted.items())


def _check_schema(table: str, keys: Mapping[str, str], found: pl.Schema) -> None:
    expected = TABLES[table].schema
    if found != expected or found.names() != expected.names():
        wrong = [
            f"{name}: {found.get(name, 'missing')} instead of {expected.get(name, 'nothing')}"
            for name in {**expected, **found}
            if found.get(name) != expected.get(name)
        ] or [f"column order {found.names()}"]
        raise SchemaMismatch(f"{_named(table, keys)}: {'; '.join(wrong)}")


def _schema_text(schema: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(dtype) for name, dtype in schema.items()}


def _json(value: Any) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
