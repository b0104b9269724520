"""Run Dagster's own webserver, daemon and code server for one home folder."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from trailbench.running import dagster_instance


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


def serve(home: Path, port: int) -> int:
    """Serve until interrupted; returns the exit code of the servers."""
    # The instance is made before several processes open it at once, which would damage a fresh one.
    with dagster_instance(home):
        pass
    command = [sys.executable, "-m", "dagster", "dev", "-m", "assets.definitions", "-h", "127.0.0.1", "-p", str(port)]
    environment = {**os.environ, "DAGSTER_HOME": str(home / "dagster"), "TRAILBENCH_HOME": str(home)}
    servers = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        return servers.wait()
    except KeyboardInterrupt:
        servers.send_signal(signal.SIGINT)
        return servers.wait()
