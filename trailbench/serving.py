"""Run Dagster's own webserver, daemon and code server for one home folder."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from resources.home import HomeError
from trailbench.running import close_dead_runs, close_orphaned_runs, dagster_instance

POLITE_SECONDS = 30
"""How long the servers may take to end by themselves; a run in flight is interrupted and marked so."""


TIDY_SECONDS = 30
"""How often runs of killed commands are closed: each would keep one of the queue's places."""
LAST_SECONDS = 5
"""How long a process may take after SIGTERM."""


def free_port(wanted: int) -> int:
    """The wanted port of 127.0.0.1 if nothing listens there, else a free one."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")


def address_of(port: int) -> str:
    """Where a person finds the UI."""
    return f"http://127.0.0.1:{port}"


def lineage(address: str) -> str:
    """The page that shows the DAG of the UI at `address`; its first page, a timeline of runs, may be empty."""
    return f"{address}/asset-groups"


def serve(home: Path, port: int, announce: Callable[[str], None]) -> int:
    """Serve until interrupted or terminated, then stop every process that was started; returns the exit code.

    `announce` is told the address as soon as the webserver answers there.

    Raises `HomeError` when the home folder is being served already: two daemons would
    launch everything twice.
    """
    # The instance is made before several processes open it at once, which would damage a fresh one.
    with _only_server(home, port) as lock, dagster_instance(home) as instance:
        close_orphaned_runs(instance)
        return _run(home, port, lock, announce, lambda: close_dead_runs(instance))


@contextmanager
def _only_server(home: Path, port: int) -> Iterator[IO[str]]:
    path = home / "ui.lock"
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise HomeError(f"{home} is served already: {_server(lock.read())}; stop it first, or open that") from None
        lock.truncate(0)
        lock.write(json.dumps({"process": os.getpid(), "address": address_of(port)}))
        lock.flush()
        yield lock


def _server(text: str) -> str:
    try:
        known = json.loads(text)
        return f"{known['address']} (process {known['process']})"
    except (ValueError, KeyError, TypeError):
        return "by another process"


def _run(home: Path, port: int, lock: IO[str], announce: Callable[[str], None], tidy: Callable[[], object]) -> int:
    command = [sys.executable, "-W", "ignore:Function `dev_command`", "-m", "dagster", "dev"]
    command += ["-m", "assets.definitions", "-h", "127.0.0.1", "-p", str(port)]
    # At level `info` the terminal would scroll with every look into the inbox; the UI keeps them all.
    command += ["--log-level", "warning"]
    environment = {**os.environ, "DAGSTER_HOME": str(home / "dagster"), "TRAILBENCH_HOME": str(home)}
    asked: list[int] = []
    # Set before the servers start: a shell's background job ignores SIGINT, and they would inherit that.
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, lambda number, _: asked.append(number))
    # The servers hold the lock as well, for as long as they outlive this process.
    servers = subprocess.Popen(command, env=environment, start_new_session=True, pass_fds=[lock.fileno()])
    ready, tidied = False, time.monotonic()
    while servers.poll() is None and not asked:
        time.sleep(0.2)
        if not ready and (ready := _answers(port)):
            announce(address_of(port))
        if time.monotonic() > tidied + TIDY_SECONDS:
            tidy()
            tidied = time.monotonic()
    if asked:
        servers.send_signal(signal.SIGINT)
    _end(servers)
    return 0 if asked else servers.returncode


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _end(servers: subprocess.Popen[bytes]) -> None:
    """Wait for the servers and for what they started; what does not leave by itself is ended."""
    deadline = time.monotonic() + POLITE_SECONDS
    for last_word in (0, signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(servers.pid, last_word)
            while time.monotonic() < deadline:
                servers.poll()
                os.killpg(servers.pid, 0)
                time.sleep(0.2)
        except ProcessLookupError:
            break
        deadline = time.monotonic() + LAST_SECONDS
    servers.wait()
