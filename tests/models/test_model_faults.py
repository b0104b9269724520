"""What the engine does when an endpoint fails: it waits, tries again, concedes, gives up; and it never tells a key."""

import json
import logging
import re
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server import (
    Answer,
    Call,
    connection_reset,
    error,
    key_echoed,
    malformed_body,
    model_server,
    rate_limited,
    schema_unsupported,
    server_error,
    slow,
    two_choices,
)

from pipelines.models import ModelStopped, Request
from resources.models.engine import ModelEngine
from resources.models.settings import CallRules
from resources.models.waits import asked_wait, wait_before

Asked = Callable[..., Request]
EngineOf = Callable[..., ModelEngine]
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        (rate_limited(), "HTTP 429 scripted"),
        (rate_limited(None), "HTTP 429 scripted"),
        (server_error(500), "HTTP 500 scripted"),
        (server_error(503), "HTTP 503 scripted"),
        (error(408, "x"), "HTTP 408 scripted"),
        (error(409, "x"), "HTTP 409 scripted"),
        (connection_reset(), "ConnectionError"),
        (malformed_body(), "MalformedReply"),
        (slow(5), "Timeout"),
    ],
)
def test_passing_faults_are_tried_again_until_the_limit(
    engine_of: EngineOf, asked: Asked, fault: Answer, named: str
) -> None:
    def script(call: Call) -> str | Answer:
        return fault if call.text == "never" or call.number < 2 else "at last"

    with (
        model_server(script) as server,
        engine_of(server.base_url, retries=2, timeout_seconds=0.5 if named == "Timeout" else 20) as engine,
    ):
        model = engine.model("reader", "scope")
        assert model.ask(asked("twice")).text == "at last"
        assert server.count == 3
        assert model.ask(asked("never")).status == "failed"
        assert server.count == 6
        rows = engine.calls("scope").rows_by_key("unit", named=True, unique=True)
        assert (rows["twice"]["retries"], rows["twice"]["status"], rows["twice"]["error"]) == (2, "ok", "")
        assert (rows["never"]["retries"], rows["never"]["status"], rows["never"]["error"]) == (2, "failed", named)
        assert engine.spent.calls == 2


@pytest.mark.parametrize("status", [300, 307, 400, 401, 403, 404, 413, 422])
def test_lasting_faults_are_not_tried_again(engine_of: EngineOf, asked: Asked, status: int) -> None:
    where = {"location": "http://elsewhere.invalid/v1"}
    with model_server(lambda call: error(status, "no", where)) as server, engine_of(server.base_url) as engine:
        reply = engine.model("reader").ask(asked())
        assert (reply.status, server.count) == ("failed", 1)
        assert f"HTTP {status} scripted" in reply.error


def test_a_spent_quota_is_not_tried_again(engine_of: EngineOf, asked: Asked) -> None:
    body = json.dumps({"error": {"message": "x", "type": "x", "code": "insufficient_quota"}}).encode()
    with model_server(lambda call: Answer(status=429, body=body)) as server, engine_of(server.base_url) as engine:
        reply = engine.model("reader").ask(asked())
        assert (reply.error, server.count) == ("HTTP 429 insufficient_quota (rate limit or quota reached)", 1)


def test_a_body_that_drips_meets_the_limit(engine_of: EngineOf, asked: Asked) -> None:
    import socket
    import threading

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        try:
            for _ in range(100):
                connection.sendall(b"x")
                time.sleep(0.05)
        except OSError:
            pass
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=drip, args=(listening,), daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        with engine_of(url, retries=0, timeout_seconds=0.4) as engine:
            start = time.monotonic()
            assert engine.model("reader").ask(asked()).error == "no reply within 0.4 s"
            assert time.monotonic() - start < 3


def test_a_server_of_our_own_is_waited_for_beyond_the_limit_of_others(engine_of: EngineOf, asked: Asked) -> None:
    with (
        model_server(lambda call: slow(1, "late")) as server,
        engine_of(server.base_url, alias="embedded", retries=0, timeout_seconds=0.3) as own,
        engine_of(server.base_url, retries=0, timeout_seconds=0.3) as other,
    ):
        assert own.model("reader").ask(asked()).text == "late"
        assert other.model("reader").ask(asked()).error == "no reply within 0.3 s"


def test_retry_after_is_honoured_and_keeps_every_call_from_the_endpoint(engine_of: EngineOf, asked: Asked) -> None:
    arrived: list[tuple[int, float]] = []

    def script(call: Call) -> str | Answer:
        arrived.append((call.number, time.monotonic()))
        return rate_limited("0.6") if call.number == 0 else slow(0.1, "x")

    with model_server(script) as server, engine_of(server.base_url, concurrency=2) as engine:
        replies = engine.model("reader").ask_all([asked(name) for name in "abcd"])
        assert [one.text for one in replies] == ["x"] * 4
    # The second was under way when the first was told to wait; the others had not begun.
    assert server.count == 5
    assert min(when for number, when in arrived if number > 1) - arrived[0][1] >= 0.6


def test_a_date_is_honoured_up_to_the_longest_wait(engine_of: EngineOf, asked: Asked) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    with (
        model_server(lambda call: rate_limited(until) if call.number == 0 else "x") as server,
        engine_of(server.base_url, longest_wait_seconds=0.5) as engine,
    ):
        start = time.monotonic()
        assert engine.model("reader").ask(asked()).text == "x"
        assert 0.5 <= time.monotonic() - start < 10


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7.0),
        ("0.25", 0.25),
        ("-3", 0.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2026 12:00:30", 30.0),
        ("soon", None),
        ("", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(said: str, seconds: float | None) -> None:
    assert asked_wait({"retry-after": said}, NOW) == seconds
    assert asked_wait({}, NOW) is None


@given(st.text(max_size=8), st.integers(0, 200), st.none() | st.floats(0, 1e9))
def test_waits_grow_are_bounded_and_depend_on_the_call_alone(key: str, retry: int, said: float | None) -> None:
    rules = CallRules(backoff_seconds=0.5, longest_wait_seconds=60)
    wait = wait_before(rules, key, retry, said)
    assert wait == wait_before(rules, key, retry, said)
    if said is None:
        assert min(0.25 * 2.0**retry, 60) <= wait <= min(0.5 * 2.0**retry, 60)
    else:
        assert min(said, 60) <= wait <= min(said * 1.1, 60)


def test_calls_spread_their_waits() -> None:
    waits = {round(wait_before(CallRules(), f"key {number}", 0, None), 3) for number in range(100)}
    assert len(waits) > 60


@pytest.mark.parametrize("fault", [server_error(), connection_reset(), error(401, "x"), malformed_body()])
def test_an_endpoint_is_left_after_calls_that_fail_in_a_row(engine_of: EngineOf, asked: Asked, fault: Answer) -> None:
    with (
        model_server(lambda call: "fine" if call.text == "good" else fault) as server,
        engine_of(server.base_url, retries=0, circuit_failures=3, concurrency=1) as engine,
    ):
        model = engine.model("reader", "scope")
        assert [model.ask(asked(name)).status for name in ("a", "b", "good", "c", "d")] == [
            *("failed", "failed", "ok", "failed", "failed")
        ]
        with pytest.raises(ModelStopped, match=r"3 calls in a row failed.*finished calls are kept"):
            model.ask_all([asked(f"e{number}") for number in range(20)])
        assert server.count == 6
        # The cache still answers; no row is there for calls that were not made.
        assert model.ask(asked("good")).cached
        assert engine.calls("scope").height == 6
        with pytest.raises(ModelStopped):
            engine.model("judge").ask(asked("other"))
        assert server.count == 6


@pytest.mark.parametrize("proxy", ["socks5h://127.0.0.1:9", "nonsense://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used_is_named_and_nobody_waits_for_ever(
    engine_of: EngineOf, asked: Asked, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with engine_of("http://endpoint.invalid/v1") as engine, pytest.raises(ModelStopped, match="ALL_PROXY take http"):
        engine.model("reader").ask_all([asked("one"), asked("two")])


def test_an_engine_tells_whether_anything_was_answered(engine_of: EngineOf, asked: Asked) -> None:
    with (
        model_server(lambda call: server_error() if call.text == "bad" else "good") as server,
        engine_of(server.base_url, retries=0) as engine,
    ):
        engine.require_answer()
        engine.model("reader").ask(asked("bad"))
        with pytest.raises(ModelStopped, match=r"no call was answered \(1 failed\), the last with HTTP 500"):
            engine.require_answer()
        engine.model("reader").ask_all([asked("good"), asked("bad", attempt=1)])
        engine.require_answer()
        assert engine.failed == 2


@pytest.mark.parametrize("fault", [error(400, "too long"), two_choices(), Answer("")])
def test_faults_of_one_request_say_nothing_about_the_endpoint(engine_of: EngineOf, asked: Asked, fault: Answer) -> None:
    with (
        model_server(lambda call: fault) as server,
        engine_of(server.base_url, circuit_failures=2, concurrency=1) as engine,
    ):
        statuses = {one.status for one in engine.model("reader").ask_all([asked(f"{n}") for n in range(6)])}
        assert len(statuses) == 1 and server.count == 6


def test_an_endpoint_without_structured_output_gets_the_schema_in_the_prompt(engine_of: EngineOf, asked: Asked) -> None:
    def script(call: Call) -> str | Answer:
        return schema_unsupported() if "response_format" in call.body else '{"answer": "x"}'

    with model_server(script) as server, engine_of(server.base_url) as engine:
        model = engine.model("reader", "scope")
        first, second = (model.ask(asked(name, schema=SCHEMA)) for name in ("a", "b"))
        plain = model.ask(asked("free"))
    assert [one.status for one in (first, second, plain)] == ["ok"] * 3
    assert ["response_format" in call.body for call in server.chats] == [True, False, False, False]
    assert server.chats[2].text.startswith("b\n\n") and server.chats[2].text.endswith(json.dumps(SCHEMA))
    assert server.chats[3].text == "free"
    with engine_of(server.base_url) as engine:
        rows = engine.calls("scope").rows_by_key("unit", named=True, unique=True)
    assert {unit: row["conceded"] for unit, row in rows.items()} == {
        "a": "response_format",
        "b": "response_format",
        "free": "response_format",
    }
    assert {row["retries"] for row in rows.values()} == {0}


def test_other_parameters_that_an_endpoint_does_not_know_are_conceded_alike(engine_of: EngineOf, asked: Asked) -> None:
    def script(call: Call) -> str | Answer:
        if "max_tokens" in call.body:
            return error(400, "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
        return error(422, "extra field: seed") if "seed" in call.body else "x"

    with model_server(script) as server, engine_of(server.base_url) as engine:
        assert [engine.model("reader", "s").ask(asked(name, max_tokens=9)).text for name in "ab"] == ["x", "x"]
        assert server.count == 4 and server.chats[3].body["max_completion_tokens"] == 9
        assert engine.calls("s")["conceded"].unique().to_list() == ["max_tokens,seed"]


def test_a_schema_that_the_endpoint_calls_invalid_is_not_conceded(engine_of: EngineOf, asked: Asked) -> None:
    refusal = error(400, "Invalid schema for response_format 'answer': In context=(), ...")
    with model_server(lambda call: refusal) as server, engine_of(server.base_url) as engine:
        assert engine.model("reader").ask(asked(schema=SCHEMA)).status == "failed"
        assert server.count == 1


KEY = "sk-planted-4711-abcdef"


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_a_key_that_the_endpoint_repeats_goes_nowhere(
    engine_of: EngineOf, asked: Asked, status: int, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx2", "httpcore2", "asyncio"):
        logging.getLogger(name).propagate = True
    said: list[str] = []
    with (
        model_server(lambda call: key_echoed(call, status)) as server,
        engine_of(server.base_url, key=KEY, retries=1, circuit_failures=2) as engine,
    ):
        model = engine.model("reader", "scope")
        reply = model.ask(asked("a"))
        said += [repr(reply), repr(model), repr(engine), repr(vars(engine)), repr(engine.calls("scope").to_dicts())]
        try:
            for name in "bcd":
                model.ask(asked(name)).require()
        except Exception as raised:
            said.append("".join(traceback.format_exception(raised, chain=True)))
            context = raised.__cause__ or raised.__context__
            said.append(repr(vars(context)) if context else "")
        assert server.requests[0].key == KEY
    assert {record.name for record in caplog.records} & {"openai._base_client", "asyncio"}
    said += [record.getMessage() + repr(record.args) for record in caplog.records]
    assert len(said) > 5
    assert not [one for one in said if KEY in one or "4711" in one]
    files = list(tmp_path.iterdir())
    assert [file.name for file in files] == ["calls.sqlite"]
    assert b"4711" not in files[0].read_bytes()


def test_error_codes_with_anything_but_words_are_not_repeated(engine_of: EngineOf, asked: Asked) -> None:
    def script(call: Call) -> Answer:
        body = {"error": {"message": call.key, "type": call.key.removeprefix("sk_long_"), "code": call.key}}
        return Answer(status=400, body=json.dumps(body).encode())

    for key in (KEY, "onlyletters", "with_under_scores", "sk_long_with_parts"):
        with model_server(script) as server, engine_of(server.base_url, key=key) as engine:
            reply = engine.model("reader", "scope").ask(asked())
            assert (reply.error, engine.calls("scope")["error"].unique().to_list()) == ("HTTP 400", ["HTTP 400"])


def test_errors_name_the_remedy(engine_of: EngineOf, asked: Asked) -> None:
    for status, remedy in ((401, "TRAILBENCH_MODEL_API_KEY"), (404, "TRAILBENCH_MODEL_NAME")):
        with model_server(lambda call, s=status: error(s, "x")) as server, engine_of(server.base_url) as engine:
            assert re.search(remedy, engine.model("reader").ask(asked()).error)
    with engine_of("http://127.0.0.1:9/v1", retries=0) as engine:
        assert "TRAILBENCH_MODEL_BASE_URL" in engine.model("reader").ask(asked()).error
