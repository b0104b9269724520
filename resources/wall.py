"""A tripwire around code of ours that must not open the store or the gold (ours).

While `guarded` is on, any Python-level access below a protected root raises
`WallBreached` and is noted, also when the code swallows the exception. It sees what
Python's audit events tell: `open`, listing, renaming, linking, SQLite, starting a
program. It does not see files opened by compiled code (`polars.read_parquet`,
pyarrow): it is evidence against mistakes, no wall. The wall for code of others is the
child process of `resources.plugin_process`.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

_PATHS = frozenset(
    {
        "open",
        "os.listdir",
        "os.scandir",
        "os.chdir",
        "os.rename",
        "os.link",
        "os.symlink",
        "os.remove",
        "os.truncate",
        "os.mkdir",
        "os.rmdir",
        "os.chmod",
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.move",
        "glob.glob",
        "pathlib.Path.glob",
        "sqlite3.connect",
        "mmap.__new__",
    }
)
_PROGRAMS = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile"})


class WallBreached(RuntimeError):
    """Guarded code reached for a protected root, or started a program that could."""


@dataclass
class Guard:
    """What a guarded block did."""

    roots: tuple[str, ...]
    open_below: tuple[str, ...] = ()
    """Folders and files inside a root that may be used all the same."""
    breaches: list[str] = field(default_factory=list)
    """`event: path` of every attempt, in order."""

    def forbids(self, path: str) -> bool:
        """Whether a resolved path lies below a root, and not in something open inside that root."""
        inside = [root for root in self.roots if _below(path, root)]
        return any(not any(_below(path, way) and _below(way, root) for way in self.open_below) for root in inside)


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _resolved(paths: Sequence[Path]) -> tuple[str, ...]:
    return tuple(os.path.realpath(path) for path in paths)


_guards: list[Guard] = []
_lock = Lock()
_installed = False


def tripwire(roots: Sequence[Path], open_below: Sequence[Path] = ()) -> Guard:
    """Watch from now on; for a process that is guarded all its life. `Guard.breaches` tells what was tried."""
    global _installed
    guard = Guard(_resolved(roots), _resolved(open_below))
    with _lock:
        if not _installed:
            # A hook cannot be taken out again; without a guard it does nothing.
            sys.addaudithook(_hook)
            _installed = True
        _guards.append(guard)
    return guard


@contextmanager
def guarded(roots: Sequence[Path]) -> Iterator[Guard]:
    """Watch the block, in every thread of this process. Raises `WallBreached` at its end if anything was tried."""
    guard = tripwire(roots)
    try:
        yield guard
    finally:
        with _lock:
            _guards.remove(guard)
    if guard.breaches:
        raise WallBreached(f"guarded code reached behind the wall: {'; '.join(guard.breaches[:10])}")


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _guards:
        return
    if event in _PROGRAMS:
        for guard in _guards:
            _note(guard, event, str(arguments[0]) if arguments else "")
    elif event in _PATHS:
        for name in arguments[:2]:
            if isinstance(name, str | bytes | os.PathLike):
                resolved = os.path.realpath(os.fsdecode(name))
                for guard in _guards:
                    if guard.forbids(resolved):
                        _note(guard, event, resolved)


def _note(guard: Guard, event: str, what: str) -> None:
    guard.breaches.append(f"{event}: {what}")
    raise WallBreached(f"guarded code reached behind the wall: {event}: {what}")
