"""A folder that leaves the project: it appears whole, says what it holds, and takes nobody else's place."""

import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from resources.documents import sync
from resources.store import StoreError

LISTING = "trailbench.json"
"""File of an exported folder that says what it is, with the sha256 of every other file."""
_BLOCK = 1 << 20


class FolderRefused(StoreError):
    """A folder that an export will not replace; names what stands in the way."""


@contextmanager
def export_folder(to: Path, says: Mapping[str, Any]) -> Iterator[Path]:
    """Hand out an empty folder to write in; it becomes `to` when the block ends without an error.

    `says` goes into `LISTING`, beside the files. An earlier export is replaced whole; what is cut off leaves it as it
    was. Raises `FolderRefused` when `to` is a file, holds a file that no export wrote or that was changed since, is
    being written by another export, or where something else stands in the places that an export needs beside it.
    """
    to = to.absolute()
    if to.name in ("", "..") or Path.cwd().is_relative_to(to.parent.resolve() / to.name):
        raise FolderRefused(f"{to} is where you are, or above it; name a folder in it, or another one")
    part, old = to.with_name(f".{to.name}.partial"), to.with_name(f".{to.name}.replaced")
    with _alone(to):
        # Not before: a folder that another export is replacing moves while one looks into it.
        _refuse_others(part, old)
        _restore(to, old)
        refuse_foreign(to)
        _remove(part)
        part.mkdir()
        try:
            # Says of what is cut off that it is an export.
            (part / LISTING).touch()
            yield part
            files = (path for path in sorted(part.rglob("*")) if path.is_file() and path != part / LISTING)
            found = {path.relative_to(part).as_posix(): path for path in files}
            listing = {**says, "files": {name: _sha256(path) for name, path in found.items()}}
            (part / LISTING).write_text(json.dumps(listing, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            for path in (*part.rglob("*"), part):
                sync(path)
            # Again: writing may have taken long.
            refuse_foreign(to)
            if to.exists():
                to.rename(old)
            part.rename(to)
            sync(to.parent)
        finally:
            _remove(part)
            _restore(to, old)


@contextmanager
def _alone(to: Path) -> Iterator[None]:
    """Keep other exports from a folder: of two with one place to write in, one would hand on files of the other."""
    lock = to.with_name(f".{to.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        # Asked once: an export that ends takes its lock away.
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(lock.lstat().st_mode):
                raise _in_the_way(lock)
        opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with os.fdopen(opened, "r+b") as handle:
            if os.fstat(opened).st_size:
                raise _in_the_way(lock)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FolderRefused(f"another export writes to {to}; wait for it, or name another folder") from None
            if not _is_at(handle.fileno(), lock):
                # Whoever held it has ended and taken the file away.
                continue
            try:
                yield
            finally:
                lock.unlink()
            return


def _is_at(handle: int, path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(handle), path.stat())


def _in_the_way(path: Path) -> FolderRefused:
    return FolderRefused(f"{path} is in the way; move or remove it, or name another folder")


def _refuse_others(*places: Path) -> None:
    """Raise `FolderRefused` where something stands that no export has left."""
    for place in places:
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise _in_the_way(place)
        if place.is_dir() and any(place.iterdir()) and not (place / LISTING).is_file():
            raise _in_the_way(place)


def refuse_foreign(to: Path) -> None:
    """Raise `FolderRefused` unless `to` is absent, an empty folder, or an export as it was written.

    What Python keeps of exported code that was run is nobody's work.
    """
    if to.is_symlink() or (to.exists() and not to.is_dir()):
        raise FolderRefused(f"{to} is no folder; name another one")
    if not to.is_dir() or not any(to.iterdir()):
        return
    try:
        listed = json.loads((to / LISTING).read_text(encoding="utf-8"))["files"]
        known = {str(name): str(sha256) for name, sha256 in listed.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise FolderRefused(f"{to} is not empty and no export of trailbench; name another folder") from None
    folders = {above.as_posix() for name in known for above in PurePosixPath(name).parents}
    for path in sorted(to.rglob("*")):
        name = path.relative_to(to).as_posix()
        if path.match("__pycache__/*.pyc") and path.is_file() and not path.is_symlink():
            continue
        if path.is_dir() and not path.is_symlink():
            foreign = name not in folders and path.name != "__pycache__" and not any(path.iterdir())
        else:
            foreign = path.is_symlink() or not path.is_file() or (name != LISTING and name not in known)
        if foreign:
            raise FolderRefused(
                f"{path} was not written by the export that lies there; move it, or name another folder"
            )
        if path.is_file() and name != LISTING and _sha256(path) != known[name]:
            raise FolderRefused(f"{path} was changed since it was exported; move it, or name another folder")


def _restore(to: Path, old: Path) -> None:
    """Clear up what was replaced; a run that was cut off between two renames gets its folder back."""
    if old.is_dir() and not to.exists():
        old.rename(to)
    _remove(old)


def _remove(folder: Path) -> None:
    if not folder.is_dir():
        return
    # Last what says that it is an export, for this may be cut off as well.
    for path in sorted(folder.iterdir(), key=lambda path: path.name == LISTING):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    folder.rmdir()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
