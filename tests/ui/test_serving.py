import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.dagster_run import DagsterRunStatus
from dagster._core.test_utils import create_run_for_test

from resources.home import HomeError
from trailbench.running import PROCESS_TAG, close_orphaned_runs, dagster_instance, this_process
from trailbench.serving import _only_server, free_port


def test_a_wanted_port_is_taken_when_free_and_another_when_not():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        wanted = busy.getsockname()[1]
        chosen = free_port(wanted)
        assert chosen != wanted and chosen > 0
    assert free_port(chosen) == chosen


def test_a_second_server_of_a_home_is_refused_and_told_where_the_first_is(tmp_path):
    with _only_server(tmp_path, 4321), pytest.raises(HomeError) as refused, _only_server(tmp_path, 4322):
        pass
    assert f"http://127.0.0.1:4321 (process {os.getpid()})" in str(refused.value)
    with _only_server(tmp_path, 4322):
        assert json.loads((tmp_path / "ui.lock").read_text())["address"] == "http://127.0.0.1:4322"


def test_runs_of_dead_servers_are_closed_and_those_of_others_left(tmp_path):
    with dagster_instance(tmp_path) as instance:
        statuses = ("STARTED", "STARTING", "CANCELING", "SUCCESS")
        theirs = {name: create_run_for_test(instance, "ingest", status=DagsterRunStatus[name]) for name in statuses}
        tags = {PROCESS_TAG: this_process()}
        ours = create_run_for_test(instance, "ingest", status=DagsterRunStatus.STARTED, tags=tags)
        closed = close_orphaned_runs(instance)
        assert set(closed) == {theirs[name].run_id for name in statuses[:3]}
        after = {name: instance.get_run_by_id(run.run_id).status.value for name, run in theirs.items()}
        assert after == {
            "STARTED": "FAILURE",
            "STARTING": "FAILURE",
            "CANCELING": "CANCELED",
            "SUCCESS": "SUCCESS",
        }
        assert instance.get_run_by_id(ours.run_id).status == DagsterRunStatus.STARTED


def test_a_failed_step_is_not_tried_again_but_a_crash_is(tmp_path):
    with dagster_instance(tmp_path) as instance:
        assert instance.run_retries_enabled and instance.run_retries_max_retries == 2
        assert instance.run_retries_retry_on_asset_or_op_failure is False
        assert isinstance(instance, dg.DagsterInstance) and instance.run_monitoring_enabled


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_every_process_even_those_that_do_not_listen(tmp_path, signum):
    # Stands for the servers: a process with a child, and both ignore what can be ignored.
    stubborn = tmp_path / "stubborn.py"
    stubborn.write_text(
        textwrap.dedent(
            """
            import os, signal, time
            os.fork()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            open(f"{os.environ['MARKS']}/{os.getpid()}", "w").close()
            time.sleep(300)
            """
        )
    )
    program = textwrap.dedent(
        """
        import subprocess, sys
        from pathlib import Path
        from trailbench import serving
        serving.POLITE_SECONDS = serving.LAST_SECONDS = 0.5
        serving.TIDY_SECONDS = 0
        real = subprocess.Popen
        subprocess.Popen = lambda command, **more: real([sys.executable, sys.argv[1]], **more)
        with serving._only_server(Path(sys.argv[2]), 4321) as lock:
            sys.exit(serving._run(Path(sys.argv[2]), 4321, lock, print, Path(sys.argv[2], "tidied").touch))
        """
    )
    marks = tmp_path / "marks"
    marks.mkdir()
    # As a shell's background job: SIGINT is ignored from the start.
    served = subprocess.Popen(
        [sys.executable, "-c", program, str(stubborn), str(tmp_path)],
        env={**os.environ, "MARKS": str(marks)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    from servers import wait_for

    wait_for(lambda: len(list(marks.iterdir())) == 2, 60)
    wait_for((tmp_path / "tidied").exists, 60)
    served.send_signal(signum)
    assert served.wait(60) == 0
    assert [mark.name for mark in marks.iterdir() if _alive(mark.name)] == []


def _alive(number):
    """Whether a process runs; one that ended and was not collected by its parent yet does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
