"""The process of a third-party method: what goes wrong in it is said, and nothing of it is left."""

import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import pytest
from plugin_packages import LAST_LINE, install

import resources.plugin_process as plugin_process
from pipelines.memory.replay import replay
from pipelines.memory.timeline import Histories
from resources.plugin_process import PluginError, PluginProcess, open_method, plugin_entries
from resources.sandbox import wall_missing
from resources.tokenizer import load_tokens

MISBEHAVING = """
    import os
    import time

    from trailbench import JsonMemory, MethodSpec, Readout


    class M(JsonMemory):
        name = "misbehaving"

        def take(self, batch):
            pass

        def readout(self, budget):
            if budget == 1:
                time.sleep(60)
            if budget == 2:
                os._exit(5)
            if budget == 3:
                return Readout(7)
            raise KeyError("lost")


    spec = MethodSpec("misbehaving", "statistics", "d", M)
"""


@pytest.mark.parametrize(
    ("budget", "what"),
    [
        (1, "did not answer in time"),
        (2, "status 5"),
        (3, "description of a readout must be str"),
        (4, "KeyError: 'lost'"),
    ],
)
def test_a_hang_a_crash_and_a_wrong_answer_are_errors_that_say_so(
    site: Path, given: Histories, budget: int, what: str
) -> None:
    install(site, "bad-memory", MISBEHAVING, misbehaving=":spec")
    with open_method("misbehaving", timeout=2 if budget == 1 else 60) as spec, pytest.raises(PluginError, match=what):
        replay(spec, spec.config_model(), given, budget, load_tokens())


def processes_of(leader: int) -> set[int]:
    """Living processes in the session of `leader`."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rsplit(")", 1)[1].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.add(int(path.parent.name))
    return found


def wait_until_gone(leader: int) -> None:
    deadline = time.monotonic() + 10
    while processes_of(leader) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_of(leader) == set()


@pytest.mark.parametrize("missing", ["", "switched off"])
def test_no_process_and_no_folder_is_left(site: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    if not missing and wall_missing():
        pytest.skip("no namespaces here")
    monkeypatch.setattr(plugin_process, "wall_missing", lambda: missing)
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    entry = next(entry for entry in plugin_entries() if entry.package == "their-memory")
    with PluginProcess(entry) as process:
        leader, folder = process._child.pid, process._folder
        assert processes_of(leader) and folder.exists()
    wait_until_gone(leader)
    assert not folder.exists()


def test_a_killed_parent_leaves_no_child(site: Path) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    code = f"""
        import os, sys
        sys.path[:0] = [{str(site)!r}, {str(Path(plugin_process.__file__).parents[1])!r}]
        from resources.plugin_process import PluginProcess, plugin_entries
        process = PluginProcess([e for e in plugin_entries() if e.package == "their-memory"][0])
        print(process._child.pid, flush=True)
        os.kill(os.getpid(), 9)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    wait_until_gone(int(done.stdout))
