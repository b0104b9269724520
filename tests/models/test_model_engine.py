"""The engine behind the contract `Model`: what is asked, what comes back, what is kept and what is asked again."""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_server import (
    Answer,
    Call,
    content_filtered,
    empty,
    malformed_body,
    model_server,
    no_choices,
    refused,
    server_error,
    slow,
    too_long,
    two_choices,
    wrong_schema,
)

from pipelines.models import Message, Model, ModelFailed, ModelStopped, Request
from resources.models.engine import ModelEngine
from resources.models.identity import call_keys
from resources.models.ledger import LedgerError
from resources.models.settings import CallRules, Endpoint, ModelSettingsError

Asked = Callable[..., Request]
EngineOf = Callable[..., ModelEngine]
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


def test_a_request_is_sent_as_it_is_and_greedily(engine_of: EngineOf, asked: Asked) -> None:
    with (
        model_server(lambda call: '{"answer": "ä\\u0000"}') as server,
        engine_of(server.base_url, key="sk-1") as engine,
    ):
        model = engine.model("reader")
        assert isinstance(model, Model) and (model.name, model.weak) == ("m", False)
        reply = model.ask(asked("hällo", schema=SCHEMA, schema_name="pick", max_tokens=33))
    (call,) = server.chats
    assert call.key == "sk-1"
    assert call.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hällo"}],
        "temperature": 0,
        "seed": 0,
        "max_tokens": 33,
        "response_format": {"type": "json_schema", "json_schema": {"name": "pick", "schema": SCHEMA, "strict": True}},
    }
    assert (reply.text, reply.status, reply.tokens_in, reply.tokens_out, reply.cached, reply.error) == (
        '{"answer": "ä\\u0000"}',
        "ok",
        11,
        7,
        False,
        "",
    )


@pytest.mark.parametrize(
    ("answer", "status", "text", "kept"),
    [
        (Answer("yes"), "ok", "yes", True),
        (Answer(" \u0000 x\n"), "ok", " \u0000 x\n", True),
        (wrong_schema(), "ok", wrong_schema().text, True),
        (too_long("cut"), "truncated", "cut", True),
        (too_long(""), "empty", "", False),
        (empty(), "empty", "", False),
        (Answer(" \n"), "empty", "", False),
        (Answer(None), "empty", "", False),
        (refused(), "refused", "", False),
        (content_filtered(), "refused", "", False),
        (Answer("half", finish="content_filter"), "refused", "", False),
        (two_choices(), "failed", "", False),
        (no_choices(), "failed", "", False),
        (malformed_body(), "failed", "", False),
        (Answer(body=b'{"choices": [{"message": {"content": "\\ud800"}}]}'), "failed", "", False),
        (Answer(body=b'{"choices": [{"message": {"content": ["a"]}}]}'), "failed", "", False),
        (
            Answer(body=b'{"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 1%s}}' % (b"0" * 30)),
            "failed",
            "",
            False,
        ),
        (Answer(body=b"[]"), "failed", "", False),
        (Answer(body=b""), "failed", "", False),
        (server_error(), "failed", "", False),
    ],
)
def test_only_whole_and_cut_replies_carry_text_and_are_kept(
    engine_of: EngineOf, asked: Asked, answer: Answer, status: str, text: str, kept: bool
) -> None:
    with model_server(lambda call: answer) as server, engine_of(server.base_url, retries=0) as engine:
        model = engine.model("reader", "scope")
        first, second = model.ask(asked()), model.ask(asked())
        assert (first.status, first.text, first.cached) == (status, text, False)
        assert (second.status, second.text, second.cached) == (status, text, kept)
        assert first.key == second.key
        assert server.count == (1 if kept else 2)
        assert (first.error == "") == (status == "ok")
        if status != "ok":
            with pytest.raises(ModelFailed, match=status):
                first.require()
        (row,) = engine.calls("scope").to_dicts()
        assert (row["status"], row["cached"], row["prompt_tokens"]) == (status, False, first.tokens_in * (2 - kept))


def test_many_are_answered_in_order_each_once(engine_of: EngineOf, asked: Asked) -> None:
    many = [asked(f"q{number % 40}") for number in range(100)]

    def answered(call: Call) -> Answer:
        # The first ones wait for each other on a busy machine as well; the others come back in another order.
        return Answer(call.text.upper(), delay=1.0 if call.number < 5 else 0.002 * (call.number % 7))

    with (
        model_server(answered) as server,
        engine_of(server.base_url, concurrency=5) as engine,
    ):
        model = engine.model("reader", "scope")
        replies = model.ask_all(many)
        assert [one.text for one in replies] == [f"Q{number % 40}" for number in range(100)]
        assert server.count == 40 and server.most_in_flight == 5
        assert not any(one.cached for one in replies)
        again = model.ask_all(many[::-1])
        assert [one.text for one in again] == [one.text for one in replies[::-1]]
        assert all(one.cached for one in again) and server.count == 40
        assert model.ask_all([]) == []
        assert engine.spent.calls == 40 and engine.calls("scope").height == 40


def test_replies_outlive_the_engine_and_the_port(engine_of: EngineOf, asked: Asked) -> None:
    with model_server(lambda call: "first") as server, engine_of(server.base_url, alias="embedded") as engine:
        first = engine.model("reader").ask(asked())
    with model_server(lambda call: "second") as server, engine_of(server.base_url, alias="embedded") as engine:
        second = engine.model("reader").ask(asked())
        other = engine.model("judge").ask(asked())
    assert (second.text, second.cached, second.key, second.tokens_out) == ("first", True, first.key, 7)
    assert (other.text, other.cached) == ("second", False)


def test_equal_calls_in_flight_are_made_once(engine_of: EngineOf, asked: Asked) -> None:
    with model_server(lambda call: slow(0.3, "x")) as server, engine_of(server.base_url) as engine:
        replies: list[str] = []

        def ask(scope: str) -> None:
            replies.append(engine.model("reader", scope).ask(asked()).text)

        threads = [threading.Thread(target=ask, args=(f"scope {number % 3}",)) for number in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert replies == ["x"] * 9 and server.count == 1
        rows = [engine.calls(f"scope {number}").to_dicts() for number in range(3)]
        assert [len(one) for one in rows] == [1, 1, 1]
        assert sum(not one[0]["cached"] for one in rows) == 1
        assert [one[0]["prompt_tokens"] for one in rows] == [11, 11, 11]


def test_threads_share_the_limit_of_an_endpoint(engine_of: EngineOf, asked: Asked) -> None:
    with (
        model_server(lambda call: slow(1.0 if call.number < 3 else 0.02, "x")) as server,
        engine_of(server.base_url, concurrency=3) as engine,
    ):
        jobs = [
            threading.Thread(target=engine.model(role).ask_all, args=([asked(f"{role}{n}") for n in range(10)],))
            for role in ("reader", "judge")
        ]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        assert (server.count, server.most_in_flight) == (20, 3)


def test_an_endpoint_may_take_fewer_calls_at_once(asked: Asked, tmp_path: Path) -> None:
    with model_server(lambda call: slow(1.0 if call.number < 2 else 0.01, "x")) as server:
        small = Endpoint(base_url=server.base_url, model="m", concurrency=2, weak=True)
        with ModelEngine({"reader": small}, tmp_path / "calls.sqlite", CallRules(concurrency=9)) as engine:
            assert engine.model("reader").weak
            engine.model("reader").ask_all([asked(f"{n}") for n in range(12)])
        assert server.most_in_flight == 2


def test_replay_answers_from_the_cache_alone(engine_of: EngineOf, asked: Asked) -> None:
    with model_server(lambda call: "kept") as server:
        with engine_of(server.base_url, mode="record") as engine:
            engine.model("reader").ask(asked("known"))
        with engine_of(server.base_url, mode="replay") as engine:
            model = engine.model("reader", "again")
            known, unknown = model.ask_all([asked("known"), asked("unknown")])
            assert (known.text, known.cached) == ("kept", True)
            assert unknown.status == "failed" and "calls.sqlite" in unknown.error and "MODE=live" in unknown.error
            assert engine.calls("again")["error"].sort().to_list() == ["", "ReplayMiss"]
        with engine_of(server.base_url) as engine:
            assert engine.model("reader", "again").ask(asked("unknown")).text == "kept"
            assert engine.calls("again")["status"].to_list() == ["ok", "ok"]
        assert server.count == 2


texts = st.text(st.characters(codec="utf-8"), max_size=6)
requests = st.builds(
    Request,
    messages=st.lists(st.builds(Message, st.sampled_from(("system", "user", "assistant")), texts), max_size=3).map(
        tuple
    ),
    schema=st.sampled_from((None, SCHEMA, {**SCHEMA, "required": []}, {"required": ["answer"], **SCHEMA})),
    schema_name=st.sampled_from(("answer", "pick")),
    max_tokens=st.sampled_from((1, 11, 512)),
    attempt=st.sampled_from((0, 1, 11)),
    unit=texts,
)


@given(requests, requests)
@settings(max_examples=300, deadline=None)
def test_a_key_tells_apart_everything_but_the_unit(one: Request, other: Request) -> None:
    def sent(request: Request) -> tuple[object, ...]:
        # The order of the fields is the order in which they are answered.
        return (request.messages, str(request.schema), request.schema_name, request.max_tokens, request.attempt)

    first, second = call_keys("model", [one, other])
    assert (first.key == second.key) == (sent(one) == sent(other))
    assert (first.prompt == second.prompt) == (one.messages == other.messages)
    assert call_keys("other", [one])[0].key != first.key


def test_fingerprints_tell_apart_role_endpoint_model_and_seed(engine_of: EngineOf, tmp_path: Path) -> None:
    def engine(base_url: str, name: str, **rules: object) -> ModelEngine:
        one = engine_of(base_url, **rules)
        one.endpoints["builder"] = Endpoint(base_url=base_url, model=name)
        return one

    prints = []
    for base_url, name, seed in (("http://a/v1", "m", 0), ("http://b/v1", "m", 0), ("http://a/v1", "n", 0)):
        with engine(base_url, name, seed=seed) as one:
            prints.append(one.model("builder").fingerprint)
    with engine("http://a/v1", "m", seed=1) as one:
        prints.append(one.model("builder").fingerprint)
    with engine("http://a/v1/", "m", seed=0) as one:
        assert one.model("builder").fingerprint == prints[0]
        prints.append(one.model("judge").fingerprint)
        with pytest.raises(ModelSettingsError, match="no model is set for role profile"):
            one.model("profile")
    assert len(set(prints)) == 5


def test_the_first_of_two_processes_decides_the_reply(engine_of: EngineOf, asked: Asked) -> None:
    # Two engines on one file stand for two processes: they share nothing in memory.
    got: dict[str, str] = {}

    def ask(engine: ModelEngine, name: str) -> None:
        got[name] = engine.model("reader", name).ask(asked()).text

    with (
        model_server(lambda call: slow(0.2, f"reply {call.number}")) as server,
        engine_of(server.base_url) as one,
        engine_of(server.base_url) as other,
    ):
        jobs = [threading.Thread(target=ask, args=pair) for pair in ((one, "a"), (other, "b"))]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        assert server.count == 2 and got["a"] == got["b"]
        assert one.model("reader").ask(asked()).text == got["a"]


def test_a_queued_call_that_another_process_has_made_meanwhile_is_not_made(engine_of: EngineOf, asked: Asked) -> None:
    def script(call: Call) -> Answer:
        return slow(0.4 if call.text == "long" else 0.0, "x")

    got = []
    with (
        model_server(script) as server,
        engine_of(server.base_url, concurrency=1) as one,
        engine_of(server.base_url) as other,
    ):
        job = threading.Thread(target=lambda: got.extend(one.model("reader").ask_all([asked("long"), asked("b")])))
        job.start()
        time.sleep(0.1)
        other.model("reader").ask(asked("b"))
        job.join()
        assert [reply.cached for reply in got] == [False, True] and server.count == 2


def test_a_closed_engine_says_so(engine_of: EngineOf, asked: Asked) -> None:
    with model_server(lambda call: "x") as server:
        engine = engine_of(server.base_url)
        model = engine.model("reader")
        engine.close()
        engine.close()
        with pytest.raises(ModelStopped, match="has ended"):
            model.ask(asked())


def test_closing_drops_what_waits_and_keeps_what_is_under_way(engine_of: EngineOf, asked: Asked) -> None:
    with model_server(lambda call: slow(0.3, "late")) as server:
        engine = engine_of(server.base_url, concurrency=2)
        stopped: list[str] = []

        def ask() -> None:
            try:
                engine.model("reader", "scope").ask_all([asked(f"q{number}") for number in range(50)])
            except ModelStopped as error:
                stopped.append(str(error))

        job = threading.Thread(target=ask)
        job.start()
        while server.in_flight < 2:
            time.sleep(0.01)
        engine.close()
        job.join(10)
        assert len(stopped) == 1 and "finished calls are kept" in stopped[0]
        with engine_of(server.base_url) as again:
            assert again.calls("scope")["status"].to_list() == ["ok"] * server.count
            assert server.count in (2, 3)


def test_a_file_that_is_none_of_ours_is_named(engine_of: EngineOf, tmp_path: Path) -> None:
    file = tmp_path / "calls.sqlite"
    file.write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(LedgerError, match=r"calls\.sqlite.*move it away"):
        engine_of("http://a/v1")
    file.unlink()
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match=r"calls\.sqlite.*another version.*99"):
        engine_of("http://a/v1")
