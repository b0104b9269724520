"""A run that is killed or interrupted among thousands of calls: nothing finished is lost, doubled or paid again."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from model_server import Answer, Call, ModelServer, model_server

from resources.models.accounting import MODEL_CALLS
from resources.models.engine import ModelEngine
from resources.models.ledger import Ledger
from resources.models.settings import Endpoint

RUN = """
import sys
from pathlib import Path
from pipelines.models import Message, Request
from resources.models.engine import ModelEngine
from resources.models.settings import CallRules, Endpoint

base_url, path, count, at_once = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
many = [Request((Message("user", f"question {n}"),), unit=f"{n:05}") for n in range(count)]
with ModelEngine({"reader": Endpoint(base_url=base_url, model="m")}, path, CallRules(concurrency=32)) as engine:
    model = engine.model("reader", "run")
    for start in range(0, count, at_once):
        replies = model.ask_all(many[start : start + at_once])
        assert [one.text for one in replies] == [f"answer to {m.messages[0].text}" for m in many[start:start + at_once]]
        print(start + len(replies), flush=True)
"""


def start(server: ModelServer, path: Path, count: int, at_once: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", RUN, server.base_url, str(path), str(count), str(at_once)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[str]", seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def units(path: Path) -> list[str]:
    ledger = Ledger(path)
    frame = ledger.calls("run")
    ledger.close()
    assert frame["key"].n_unique() == frame.height
    assert set(frame["status"].unique()) <= {"ok"} and not frame["cached"].any()
    return frame["unit"].to_list()


@pytest.mark.slow
def test_kill_9_among_5000_calls_loses_and_doubles_nothing(tmp_path: Path) -> None:
    count, path = 5_000, tmp_path / "calls.sqlite"
    seen: Counter[str] = Counter()

    def script(call: Call) -> str:
        seen[call.text] += 1
        return f"answer to {call.text}"

    with model_server(script, keep=False) as server:
        told = 0
        for stop_at in (1_000, 2_600):
            process = start(server, path, count, 100)
            wait_for(lambda at=stop_at: server.count >= at, process)
            process.send_signal(signal.SIGKILL)
            out, _ = process.communicate()
            told = max([told, *(int(line) for line in out.split())])
            finished = units(path)
            assert stop_at - 200 < len(finished) < count
            # What was handed out is there, and only calls under way were lost.
            assert set(finished) >= {f"{n:05}" for n in range(told)}
            before = Counter({text: times for text, times in seen.items() if f"{int(text.split()[1]):05}" in finished})
            assert sum(seen.values()) - len(finished) <= 32 * 2
        process = start(server, path, count, count)
        out, errors = process.communicate(timeout=240)
        assert (process.returncode, out.split()) == (0, [str(count)]), errors
        assert units(path) == [f"{n:05}" for n in range(count)]
        assert {text: seen[text] for text in before} == before, "a finished call was made again"
        made = server.count
        process = start(server, path, count, count)
        out, errors = process.communicate(timeout=240)
        assert (process.returncode, server.count) == (0, made), errors
        assert units(path) == [f"{n:05}" for n in range(count)]


def test_an_interrupt_ends_the_run_soon_and_keeps_what_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    with model_server(lambda call: Answer(f"answer to {call.text}", delay=0.1)) as server:
        process = start(server, path, 3_000, 3_000)
        wait_for(lambda: server.count >= 100, process)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        _, errors = process.communicate(timeout=30)
        assert process.returncode != 0 and "KeyboardInterrupt" in errors
        assert time.monotonic() - begun < 8
        assert 100 <= server.count < 1_000
        assert len(units(path)) == server.count
        assert Counter(call.text for call in server.chats).most_common(1)[0][1] == 1


def test_a_second_run_makes_no_call(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    with model_server(lambda call: f"answer to {call.text}") as server:
        for _ in range(2):
            process = start(server, path, 50, 50)
            _, errors = process.communicate(timeout=60)
            assert (process.returncode, server.count) == (0, 50), errors
        with ModelEngine({"reader": Endpoint(base_url=server.base_url, model="m")}, path) as engine:
            assert engine.calls("run").schema == MODEL_CALLS.schema
            assert engine.spent.calls == 0
