"""Files under one root, local or behind any fsspec URL, with atomic replacement.

Paths are relative to the root and use `/`. A local write goes to a hidden name in
the same folder, is fsynced, and renamed; an object is put in one request. Either
way a reader sees the old bytes or the new ones.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from resources.documents import sync

ORPHAN_AGE = timedelta(hours=1)
"""An object that no sidecar names is garbage once it is older than this: without a
lock, a younger one may belong to a publisher that is about to commit."""


STAGED = ".staged-"
"""How the names of files begin that are not committed yet."""


class Files(Protocol):
    """What the store needs from a place that holds files."""

    def lock(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Hold the place `name` against other publishers, where the medium can."""

    def stage(self, folder: str) -> contextlib.AbstractContextManager[Path]:
        """A local file name to write to, gone afterwards unless it was put."""

    def put(self, staged: Path, path: str) -> None:
        """Move a staged file, durably and at once, to `path`."""

    def write(self, path: str, data: bytes) -> None:
        """Replace the bytes of `path`, durably and at once."""

    def read(self, path: str) -> bytes | None:
        """The bytes of `path`, or None when it does not exist."""

    def size(self, path: str) -> int | None:
        """Bytes of `path`, or None when it does not exist."""

    def find(self, folder: str) -> dict[str, int]:
        """Path → bytes of every file below `folder`; empty when it does not exist."""

    def has_folder(self, folder: str) -> bool:
        """Whether anything lies below `folder`."""

    def orphans(self, folder: str, keep: set[str]) -> list[str]:
        """Files directly in `folder` that are garbage when only the names `keep` are referenced."""

    def remove(self, path: str) -> None:
        """Remove one file; nothing happens when it is gone already."""

    def location(self, path: str) -> str:
        """Path or URL that Polars opens."""

    def unique(self) -> str:
        """Suffix that keeps two publishers from sharing a file name, where no lock does."""


@dataclass(frozen=True)
class LocalFiles:
    """A folder of this machine. One lock file a partition, released by the kernel when a process dies."""

    root: Path

    def _at(self, path: str) -> Path:
        return self.root / path

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        folder = self.root / ".locks"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
        with file.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def stage(self, folder: str) -> Iterator[Path]:
        self._at(folder).mkdir(parents=True, exist_ok=True)
        staged = self._at(folder) / f"{STAGED}{uuid.uuid4().hex}"
        try:
            yield staged
        finally:
            staged.unlink(missing_ok=True)

    def put(self, staged: Path, path: str) -> None:
        sync(staged)
        staged.replace(self._at(path))
        sync(self._at(path).parent)

    def write(self, path: str, data: bytes) -> None:
        folder = path.rpartition("/")[0]
        with self.lock(f"{folder}/documents"), self.stage(folder) as staged:
            staged.write_bytes(data)
            self.put(staged, path)
            # Whoever else staged a document here held this lock, so what is left is of a killed process.
            for left in self._at(folder).glob(f"{STAGED}*"):
                left.unlink(missing_ok=True)

    def read(self, path: str) -> bytes | None:
        try:
            return self._at(path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def size(self, path: str) -> int | None:
        try:
            return self._at(path).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def find(self, folder: str) -> dict[str, int]:
        found = {}
        for base, folders, names in os.walk(self._at(folder)):
            folders.sort()
            for name in sorted(names):
                path = Path(base) / name
                with contextlib.suppress(FileNotFoundError):
                    found[path.relative_to(self.root).as_posix()] = path.stat().st_size
        return found

    def has_folder(self, folder: str) -> bool:
        return self._at(folder).is_dir()

    def orphans(self, folder: str, keep: set[str]) -> list[str]:
        return [f"{folder}/{entry.name}" for entry in self._at(folder).iterdir() if entry.name not in keep]

    def remove(self, path: str) -> None:
        self._at(path).unlink(missing_ok=True)

    def location(self, path: str) -> str:
        return str(self._at(path))

    def unique(self) -> str:
        return ""


@dataclass(frozen=True)
class ObjectFiles:
    """An object store behind an fsspec URL (`s3://bucket/prefix`, …); a put is atomic, there is no lock."""

    root: str
    options: Mapping[str, str] | None = field(default=None, repr=False)

    @cached_property
    def _fs(self) -> Any:
        import fsspec

        protocol = self.root.partition("://")[0]
        extra = _s3fs_options(self.options) if protocol in ("s3", "s3a") else dict(self.options or {})
        return fsspec.filesystem(protocol, use_listings_cache=False, **extra)

    def _at(self, path: str) -> str:
        return f"{self.root.rstrip('/')}/{path}"

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def stage(self, folder: str) -> Iterator[Path]:
        base = Path(tempfile.mkdtemp(prefix="trailbench-"))
        try:
            yield base / "staged"
        finally:
            shutil.rmtree(base, ignore_errors=True)

    def put(self, staged: Path, path: str) -> None:
        self._fs.put_file(str(staged), self._at(path))

    def write(self, path: str, data: bytes) -> None:
        self._fs.pipe_file(self._at(path), data)

    def read(self, path: str) -> bytes | None:
        try:
            data: bytes = self._fs.cat_file(self._at(path))
        except FileNotFoundError:
            return None
        return data

    def size(self, path: str) -> int | None:
        try:
            return int(self._fs.info(self._at(path))["size"])
        except FileNotFoundError:
            return None

    def _list(self, folder: str) -> dict[str, dict[str, Any]]:
        base = self._fs._strip_protocol(self._at("")).rstrip("/") + "/"
        found = self._fs.find(self._at(folder), detail=True)
        return {path.removeprefix(base): info for path, info in sorted(found.items()) if info["type"] == "file"}

    def find(self, folder: str) -> dict[str, int]:
        return {path: int(info["size"]) for path, info in self._list(folder).items()}

    def has_folder(self, folder: str) -> bool:
        return bool(self._fs.isdir(self._at(folder)))

    def orphans(self, folder: str, keep: set[str]) -> list[str]:
        limit = datetime.now(UTC) - ORPHAN_AGE
        return [
            path
            for path, info in self._list(folder).items()
            if path.rpartition("/")[0] == folder
            and path.rpartition("/")[2] not in keep
            and (written := info.get("LastModified")) is not None
            and written < limit
        ]

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._at(path))

    def location(self, path: str) -> str:
        return self._at(path)

    def unique(self) -> str:
        return f"-{uuid.uuid4().hex[:8]}"


def open_files(root: str, options: Mapping[str, str] | None) -> Files:
    """The files below `root`: an object store when it is a URL, else a local folder."""
    scheme, separator, rest = root.partition("://")
    if separator and scheme != "file":
        return ObjectFiles(root, options)
    return LocalFiles(Path(rest if separator else root).expanduser().absolute())


def polars_options(options: Mapping[str, str] | None) -> dict[str, str] | None:
    """Storage options as Polars wants them; a plain-http endpoint is allowed when it was named."""
    if not options:
        return None
    plain = options.get("aws_endpoint_url", "").startswith("http://")
    return {**options, **({"aws_allow_http": "true"} if plain else {})}


def _s3fs_options(options: Mapping[str, str] | None) -> dict[str, Any]:
    """The same options in the words of s3fs; what is not given comes from the environment (AWS_*)."""
    given = dict(options or {})
    names = {
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_session_token": "token",
        "aws_endpoint_url": "endpoint_url",
    }
    result: dict[str, Any] = {new: given[old] for old, new in names.items() if old in given}
    if "aws_region" in given:
        result["client_kwargs"] = {"region_name": given["aws_region"]}
    return result
