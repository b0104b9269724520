"""The child's side of a plug-in: one JSON line asks, one JSON line answers (ours).

Run as a script by `resources.plugin_process`. The two pipes are moved away from
descriptors 0 and 1 before any foreign code runs, so that what a plug-in prints goes
to the error log and what it reads is empty.
"""

import json
import os
import resource
import sys
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

_LARGEST_FILE = 1 << 30


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer until the requests end."""
    first = json.loads(requests.readline())
    sys.path[:0] = [path for path in first["paths"] if path not in sys.path]
    from resources.wall import tripwire

    guard = tripwire(*([Path(path) for path in first[name]] for name in ("hidden", "shown")))
    server: Server | None = None
    for line in chain([b""], requests):
        try:
            if server is None:
                server = Server(first["target"])
                answer: dict[str, Any] = {"value": server.describe()}
            else:
                answer = {"value": server.call(**json.loads(line))}
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            answer = {"error": type(error).__name__, "message": str(error)}
        answer["breaches"] = guard.breaches
        replies.write(json.dumps(answer).encode() + b"\n")
        replies.flush()


class Server:
    """The plug-in's method and its open memories."""

    def __init__(self, target: str) -> None:
        from pipelines.memory.contract import MethodSpec
        from resources.tokenizer import load_tokens

        module, _, attribute = target.partition(":")
        found: Any = import_module(module)
        for name in filter(None, attribute.split(".")):
            found = getattr(found, name)
        if not isinstance(found, MethodSpec) and callable(found):
            found = found()
        if not isinstance(found, MethodSpec):
            raise TypeError(f"entry point {target!r} is a {type(found).__name__}; a MethodSpec was expected")
        self.spec = found
        self.tokens = load_tokens()
        self.memories: dict[int, Any] = {}

    def describe(self) -> dict[str, Any]:
        """What the parent lists."""
        fields = {
            name: None if field.is_required() else {"default": field.get_default(call_default_factory=True)}
            for name, field in self.spec.config_model.model_fields.items()
        }
        return {
            "name": self.spec.name,
            "description": self.spec.description,
            "version": self.spec.version,
            "reads_nothing": self.spec.reads_nothing,
            "batch_invariant": self.spec.batch_invariant,
            "retrieves": callable(getattr(self.spec.factory(self.tokens), "retrieve", None)),
            "fields": json.loads(json.dumps(fields)),
        }

    def call(self, name: str, memory: int, done: list[int], **given: Any) -> Any:
        """One call of one memory; memories in `done` are dropped first."""
        from pipelines.memory import wire

        for old in done:
            self.memories.pop(old, None)
        if name == "open":
            fresh = self.spec.factory(self.tokens)
            fresh.open(given["user"], self.spec.config_model.model_validate(given["config"]), None, None)
            self.memories[memory] = fresh
            return None
        method = self.memories[memory]
        calls: dict[str, Callable[[], Any]] = {
            "ingest": lambda: method.ingest(wire.batch_from_json(given["batch"])),
            "readout": lambda: wire.readout_to_json(method.readout(given["budget"])),
            "retrieve": lambda: wire.readout_to_json(method.retrieve(given["query"], given["budget"])),
            "state_hash": lambda: str(method.state_hash()),
            "stats": lambda: method.stats(),
            "snapshot": lambda: _packed(method.snapshot),
            "restore": lambda: _unpacked(given["files"], method.restore),
        }
        return calls[name]()


def _packed(write: Callable[[Path], None]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as name:
        write(Path(name))
        files = sorted(path for path in Path(name).rglob("*") if path.is_file())
        return {path.relative_to(name).as_posix(): b64encode(path.read_bytes()).decode() for path in files}


def _unpacked(files: dict[str, str] | None, read: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "snapshot"
        if files is not None:
            folder.mkdir()
        for path, content in (files or {}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(b64decode(content))
        read(folder)


def main() -> None:
    """Move the pipes, then serve."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    with os.fdopen(requests, "rb") as reading, os.fdopen(replies, "wb") as writing:
        serve(reading, writing)


if __name__ == "__main__":
    main()
