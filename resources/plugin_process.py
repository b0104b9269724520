"""Memory methods of other packages, each in a child process behind a wall (ours).

A package offers a method through the entry-point group `trailbench.methods`; the
object is a `MethodSpec` or a function that returns one. Its code is never imported
here, not even to list it: a child process does that, talks in JSON lines, has a
scrubbed environment and a folder of its own. Where the system has Linux namespaces
the child sees the interpreter, the packages and its folder, and nothing else
(`resources.sandbox`); elsewhere its results are labelled `unwalled`.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, create_model

from pipelines.memory import wire
from pipelines.memory.contract import (
    Batch,
    MethodSpec,
    OutOfOrder,
    Readout,
    Settings,
    SnapshotError,
)
from pipelines.memory.registry import builtin_methods
from pipelines.memory.rendering import plain
from resources.plugin_view import covered, environment, search_paths, shown
from resources.sandbox import Plan, wall_missing
from resources.wall import WallBreached

GROUP = "trailbench.methods"
_LARGEST_REPLY = 64 << 20
_START_SECONDS = 120.0
"""Time to start, import and describe itself; a busy machine needs longer for this than for any call."""
_ERRORS: dict[str, type[Exception]] = {"OutOfOrder": OutOfOrder, "SnapshotError": SnapshotError}


class PluginError(RuntimeError):
    """A plug-in method cannot be loaded, crashed, did not answer in time, or answered what no method may."""


@dataclass(frozen=True)
class PluginEntry:
    """An installed plug-in, as its package declares it."""

    name: str
    target: str
    """`module:attribute`."""
    package: str
    version: str


@dataclass(frozen=True)
class Listing:
    """What `all_methods` found."""

    methods: dict[str, MethodSpec]
    broken: dict[str, str]
    """Plug-in → why it cannot be used."""


def plugin_entries() -> list[PluginEntry]:
    """The declared plug-ins, by name; nothing of theirs is imported."""
    found = {
        PluginEntry(
            entry.name, entry.value, entry.dist.name if entry.dist else "?", entry.dist.version if entry.dist else "?"
        )
        for entry in metadata.entry_points(group=GROUP)
    }
    return sorted(found, key=lambda entry: (entry.name, entry.package, entry.target))


def all_methods(hidden: Sequence[Path] = ()) -> Listing:
    """Every method that can be run here; a broken plug-in is named, and does not hide the others.

    This is for listing: the child that described a plug-in has ended. `open_method` gives one that runs.
    """
    methods, broken = dict(builtin_methods()), {}
    for entry in plugin_entries():
        if entry.name in methods or entry.name in broken:
            broken[f"{entry.name} ({entry.package})"] = f"the name {entry.name!r} is taken"
            continue
        try:
            with open_plugin(entry, hidden) as spec:
                methods[entry.name] = spec
        except (PluginError, WallBreached) as error:
            broken[entry.name] = str(error)
    return Listing(methods, broken)


@contextmanager
def open_method(
    name: str, hidden: Sequence[Path] = (), timeout: float = 60.0, decoy: Path | None = None
) -> Iterator[MethodSpec]:
    """The method called `name`, ready to run: one of ours, else the installed plug-in (see `open_plugin`).

    Raises `PluginError` when there is none, or when two packages offer it.
    """
    if (ours := builtin_methods().get(name)) is not None:
        yield ours
        return
    found = [entry for entry in plugin_entries() if entry.name == name]
    if len(found) != 1:
        known = sorted({*builtin_methods(), *(entry.name for entry in plugin_entries())})
        packages = ", ".join(entry.package for entry in found)
        what = (
            f"is offered by several packages ({packages})" if found else f"is not known; there are {', '.join(known)}"
        )
        raise PluginError(f"method {name!r} {what}")
    with open_plugin(found[0], hidden, timeout, decoy) as spec:
        yield spec


@contextmanager
def open_plugin(
    entry: PluginEntry, hidden: Sequence[Path] = (), timeout: float = 60.0, decoy: Path | None = None
) -> Iterator[MethodSpec]:
    """The method of `entry`, run by one child until the block ends.

    `hidden` are folders and files that the child must not see even if they lie inside a package's folder (store, gold,
    drops). Behind the wall `decoy`, if given, lies in the place of each folder, so that an audit can see who opens what
    there.
    `timeout` bounds each call, in seconds. One replay a child: what a plug-in keeps of one replay (the future of
    its users) must not reach another. Open and use it in one thread: the child ends with the thread that began it.
    Raises `PluginError`, and `WallBreached` when the plug-in reached for a hidden folder, whether or not there was
    anything to see.
    """
    with PluginProcess(entry, hidden, timeout, decoy) as process:
        yield process.spec()


class PluginProcess:
    """The child process of one plug-in."""

    def __init__(
        self, entry: PluginEntry, hidden: Sequence[Path] = (), timeout: float = 60.0, decoy: Path | None = None
    ) -> None:
        self.entry = entry
        self.timeout = timeout
        self.missing = wall_missing()
        """Why there is no wall; empty when there is one."""
        self.done: list[int] = []
        """Memories no longer in use, told to the child with the next call."""
        self._count = 0
        self._buffer = b""
        self._folder = Path(tempfile.mkdtemp(prefix="trailbench-plugin-"))
        work, root = self._folder / "work", self._folder / "root"
        work.mkdir()
        root.mkdir()
        self._errors = (self._folder / "errors.txt").open("wb")
        command = [sys.executable, "-s", "-P", "-B", str(Path(__file__).with_name("plugin_child.py").resolve())]
        if self.walled:
            decoys = {str(path): str(decoy) for path in hidden if path.is_dir()} if decoy is not None else {}
            command = Plan(
                shown(entry.target), covered(hidden, entry.target), str(work), str(root), command, decoys
            ).argv()
        try:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                cwd=work,
                env=environment(work),
                start_new_session=True,
                bufsize=0,
            )
            assert self._child.stdin is not None
            os.set_blocking(self._child.stdin.fileno(), False)
            self.described: dict[str, Any] = self._ask(
                {
                    "paths": search_paths(),
                    "target": entry.target,
                    "hidden": [str(Path(path).resolve()) for path in hidden],
                    "shown": [*shown(entry.target), str(work)],
                },
                _START_SECONDS,
            )
        except BaseException:
            self.close()
            raise

    @property
    def walled(self) -> bool:
        """Whether store, gold and network are out of the child's view."""
        return not self.missing

    @property
    def wall(self) -> Literal["walled", "unwalled"]:
        """As a label."""
        return "walled" if self.walled else "unwalled"

    def __enter__(self) -> "PluginProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def spec(self) -> MethodSpec:
        """The method, for the registry and the replay."""
        told = self.described
        if told["name"] != self.entry.name:
            raise PluginError(f"plug-in {self.entry.name!r} calls itself {told['name']!r}: use one name in both places")
        fields: dict[str, Any] = {
            name: (Any, ... if field is None else field["default"]) for name, field in told["fields"].items()
        }
        kind = PluginRetriever if told["retrieves"] else PluginMethod
        return MethodSpec(
            name=self.entry.name,
            kind="plugin",
            description=plain(str(told["description"]))[:500],
            factory=lambda tokens: kind(self),
            config_model=create_model("PluginConfig", __base__=Settings, **fields),
            version=f"{self.entry.package} {self.entry.version}: {told['version']}",
            reads_nothing=bool(told["reads_nothing"]),
            batch_invariant=bool(told["batch_invariant"]),
            wall=self.wall,
        )

    def memory(self) -> int:
        """A number for a new memory."""
        self._count += 1
        return self._count

    def call(self, name: str, memory: int, **given: Any) -> Any:
        """One call of one memory. Raises `OutOfOrder` and `SnapshotError` as the contract says, else `PluginError`."""
        done = list(self.done)
        self.done.clear()
        return self._ask({"name": name, "memory": memory, "done": done, **given}, self.timeout)

    def close(self) -> None:
        """End the child and remove its folder."""
        if child := getattr(self, "_child", None):
            self._kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, request: dict[str, Any], seconds: float) -> Any:
        if self._errors.closed or self._child.poll() is not None:
            raise PluginError(f"plug-in {self.entry.name!r} has ended; open it again{self._said()}")
        deadline = time.monotonic() + seconds
        self._send(json.dumps(request).encode() + b"\n", deadline)
        line = self._receive(deadline)
        try:
            answer = json.loads(line)
            if answer["breaches"]:
                tried = plain("; ".join(map(str, answer["breaches"][:10])))[:2_000]
                raise WallBreached(f"plug-in {self.entry.name!r} reached behind the wall: {tried}")
            if "value" in answer:
                return answer["value"]
            kind, message = str(answer["error"]), plain(str(answer["message"]))[:2_000]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise PluginError(f"plug-in {self.entry.name!r} answered no JSON reply: {error}") from error
        if kind in _ERRORS:
            raise _ERRORS[kind](message)
        raise PluginError(f"plug-in {self.entry.name!r} raised {kind}: {message}")

    def _send(self, data: bytes, deadline: float) -> None:
        assert self._child.stdin is not None
        pipe, view = self._child.stdin.fileno(), memoryview(data)
        while view:
            self._wait(deadline, writing=pipe)
            try:
                view = view[os.write(pipe, view) :]
            except BrokenPipeError:
                raise self._crashed() from None

    def _receive(self, deadline: float) -> bytes:
        assert self._child.stdout is not None
        pipe = self._child.stdout.fileno()
        parts = [self._buffer]
        size = len(self._buffer)
        while b"\n" not in parts[-1]:
            self._wait(deadline, reading=pipe)
            if not (part := os.read(pipe, 1 << 20)):
                raise self._crashed()
            size += len(part)
            if size > _LARGEST_REPLY:
                self._kill()
                raise PluginError(f"plug-in {self.entry.name!r} answered more than {_LARGEST_REPLY} bytes")
            parts.append(part)
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        return line

    def _wait(self, deadline: float, *, reading: int | None = None, writing: int | None = None) -> None:
        left = deadline - time.monotonic()
        wanted_in, wanted_out = [fd for fd in (reading,) if fd is not None], [fd for fd in (writing,) if fd is not None]
        if left <= 0 or not any(select.select(wanted_in, wanted_out, [], left)[:2]):
            self._kill()
            raise PluginError(
                f"plug-in {self.entry.name!r} did not answer in time and was ended (a call may take {self.timeout:g} s)"
            )

    def _kill(self) -> None:
        # The child leads a session of its own: what it started goes with it.
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)

    def _crashed(self) -> PluginError:
        status = self._child.wait(timeout=10)
        return PluginError(f"plug-in {self.entry.name!r} ended with status {status}{self._said()}")

    def _said(self) -> str:
        path = self._folder / "errors.txt"
        tail = path.read_bytes()[-2_000:].decode(errors="replace").strip() if path.exists() else ""
        return f"; its last words: {plain(tail)}" if tail else ""


class PluginMethod:
    """One memory inside a plug-in's child; satisfies `pipelines.memory.contract.Method`."""

    def __init__(self, process: PluginProcess) -> None:
        self._process = process
        self._memory = process.memory()
        weakref.finalize(self, process.done.append, self._memory).atexit = False

    @property
    def walled(self) -> bool:
        """Whether the child is behind the wall."""
        return self._process.walled

    def open(self, user: str, config: BaseModel, llm: Any, embedder: Any) -> None:
        """See `Method`. Raises `PluginError` when a model is given: models do not cross into a child."""
        if llm is not None or embedder is not None:
            raise PluginError("a plug-in method is given no model")
        self._process.call("open", self._memory, user=user, config=config.model_dump(mode="json"))

    def ingest(self, batch: Batch) -> None:
        """See `Method`."""
        self._process.call("ingest", self._memory, batch=wire.batch_to_json(batch))

    def snapshot(self, folder: Path) -> None:
        """See `Method`. Raises `PluginError` when a file's name leads out of the folder."""
        files = self._process.call("snapshot", self._memory)
        for name, content in files.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise PluginError(
                    f"plug-in {self._process.entry.name!r} wrote a snapshot file outside its folder: {name}"
                )
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(b64decode(content))

    def restore(self, folder: Path) -> None:
        """See `Method`."""
        files = None
        if folder.is_dir():
            found = sorted(path for path in folder.rglob("*") if path.is_file())
            files = {path.relative_to(folder).as_posix(): b64encode(path.read_bytes()).decode() for path in found}
        self._process.call("restore", self._memory, files=files)

    def readout(self, budget: int) -> Readout:
        """See `Method`. Raises `PluginError` when the answer is no readout."""
        return self._readout(self._process.call("readout", self._memory, budget=budget))

    def state_hash(self) -> str:
        """See `Method`."""
        return str(self._process.call("state_hash", self._memory))

    def stats(self) -> dict[str, int]:
        """See `Method`."""
        return {str(name): int(n) for name, n in self._process.call("stats", self._memory).items()}

    def _readout(self, value: Any) -> Readout:
        try:
            return wire.readout_from_json(value)
        except ValueError as error:
            raise PluginError(f"plug-in {self._process.entry.name!r}: {error}") from error


class PluginRetriever(PluginMethod):
    """A memory that can also be asked."""

    def retrieve(self, query: str, budget: int) -> Readout:
        """See `Retriever`."""
        return self._readout(self._process.call("retrieve", self._memory, query=query, budget=budget))
