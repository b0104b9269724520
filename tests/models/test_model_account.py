"""The account of calls: one row a call of a scope, of every kind, in one order, never doubled."""

import multiprocessing
import sqlite3
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from model_server import Answer, model_server, refused, slow

from pipelines.models import ModelStopped, Request
from resources.models.accounting import COLUMNS, MODEL_CALLS, CallRow, calls_frame
from resources.models.engine import ModelEngine
from resources.models.ledger import Ledger, LedgerError

Asked = Callable[..., Request]
EngineOf = Callable[..., ModelEngine]


def row(scope: str = "s", key: str = "k", **values: object) -> CallRow:
    given = {"unit": "u", "role": "reader", "endpoint": "e", "model": "m", "prompt": "p", "status": "ok", **values}
    return CallRow(scope=scope, key=key, **{"cached": False, **given})


def test_rows_have_the_columns_of_the_table() -> None:
    assert tuple(MODEL_CALLS.columns) == COLUMNS
    assert calls_frame([]).schema == MODEL_CALLS.schema
    (name,) = {one for one, column in MODEL_CALLS.columns.items() if column.nullable}
    assert name == "cost"


def test_a_scope_holds_a_row_a_call_made_or_cached(engine_of: EngineOf, asked: Asked) -> None:
    prices = {"m": {"prompt": 2, "reply": 1}}
    with (
        model_server(lambda call: slow(0.05, "x")) as server,
        engine_of(server.base_url, prices=prices) as engine,
    ):
        engine.model("reader", "first").ask_all([asked("b"), asked("a"), asked("a")])
        engine.model("judge", "first").ask(asked("a"))
        engine.model("reader", "second").ask_all([asked("a"), asked("c")])
        first, second = engine.calls("first"), engine.calls("second")
        assert engine.calls("third").equals(MODEL_CALLS.empty())
    assert first.schema == second.schema == MODEL_CALLS.schema
    shown = ["scope", "role", "unit", "status", "cached", "prompt_tokens", "reply_tokens", "cost", "retries"]
    assert pl.concat([first, second]).select(shown).rows() == [
        ("first", "reader", "a", "ok", False, 11, 7, 29_000, 0),
        ("first", "reader", "b", "ok", False, 11, 7, 29_000, 0),
        ("first", "judge", "a", "ok", False, 11, 7, 29_000, 0),
        ("second", "reader", "a", "ok", True, 11, 7, 29_000, 0),
        ("second", "reader", "c", "ok", False, 11, 7, 29_000, 0),
    ]
    assert first["endpoint"].unique().to_list() == [server.base_url]
    assert first["prompt"][0] == first["prompt"][2] != first["prompt"][1]
    assert first["latency_ms"].min() >= 50 and second["latency_ms"][0] == first["latency_ms"][0]
    assert first.select(pl.struct(MODEL_CALLS.key).is_unique().all()).item()


def test_running_a_scope_again_changes_nothing(engine_of: EngineOf, asked: Asked) -> None:
    with model_server(lambda call: "x") as server:
        frames = []
        for _ in range(3):
            with engine_of(server.base_url) as engine:
                engine.model("reader", "scope").ask_all([asked(f"q{n}") for n in range(20)])
                frames.append(engine.calls("scope"))
        assert server.count == 20 and frames[0].equals(frames[1]) and frames[0].equals(frames[2])
        assert frames[0].height == 20 and not frames[0]["cached"].any()


def test_a_model_without_a_price_costs_an_unknown_amount(engine_of: EngineOf, asked: Asked) -> None:
    with model_server(lambda call: "x") as server, engine_of(server.base_url) as engine:
        engine.model("reader", "s").ask(asked())
        assert engine.calls("s")["cost"].to_list() == [None]


def test_a_call_made_again_adds_to_its_row(engine_of: EngineOf, asked: Asked) -> None:
    answers = [refused(), Answer(""), Answer("at last", tokens_in=100)]
    with model_server(lambda call: answers[call.number]) as server, engine_of(server.base_url) as engine:
        model = engine.model("reader", "s")
        assert [model.ask(asked()).status for _ in range(4)] == ["refused", "empty", "ok", "ok"]
        (one,) = engine.calls("s").to_dicts()
        assert (one["status"], one["error"], one["cached"], one["prompt_tokens"], one["retries"]) == (
            *("ok", "", False),
            *(122, 2),
        )


def test_a_hit_replaces_only_a_call_that_had_failed(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.sqlite")
    ledger.note([row(key="failed", status="failed", error="HTTP 500"), row(key="made", prompt_tokens=5)])
    hits = [row(key=key, cached=True, prompt_tokens=9) for key in ("failed", "made", "new")]
    ledger.note(hits)
    ledger.note(hits)
    shown = ledger.calls("s").select("key", "status", "cached", "prompt_tokens", "error").rows()
    assert sorted(shown) == [("failed", "ok", True, 9, ""), ("made", "ok", False, 5, ""), ("new", "ok", True, 9, "")]
    ledger.close()


def test_order_depends_on_no_order_of_arrival(tmp_path: Path) -> None:
    rows = [row(key=f"k{n}", unit=f"u{n % 3}", role=("judge", "reader")[n % 2]) for n in range(12)]
    ledger = Ledger(tmp_path / "calls.sqlite")
    ledger.note(rows[::-1])
    assert ledger.calls("s").equals(calls_frame(rows))
    ledger.close()


def test_a_file_that_cannot_be_written_stops_the_calls_and_says_so(
    engine_of: EngineOf, asked: Asked, tmp_path: Path
) -> None:
    with model_server(lambda call: "x") as server, engine_of(server.base_url) as engine:
        engine.model("reader").ask(asked("a"))
        with sqlite3.connect(tmp_path / "calls.sqlite") as database:
            database.execute("DROP TABLE calls")
        with pytest.raises(ModelStopped, match=r"calls\.sqlite cannot be written: no such table"):
            engine.model("reader").ask(asked("b"))
        # The reply was not kept without its row.
        with sqlite3.connect(tmp_path / "calls.sqlite") as database:
            assert database.execute("SELECT count(*) FROM replies").fetchone() == (1,)


def _write_many(path: Path, name: str, start: "multiprocessing.synchronize.Barrier") -> None:
    start.wait()
    ledger = Ledger(path)
    for number in range(50):
        ledger.note([row(scope=name, key=f"k{number}"), row(scope="shared", key=f"k{number}", cached=True)])
    ledger.close()


def test_several_processes_open_and_write_one_file_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(4)
    path = tmp_path / "new" / "calls.sqlite"
    jobs = [context.Process(target=_write_many, args=(path, f"p{number}", start)) for number in range(4)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
    assert [job.exitcode for job in jobs] == [0] * 4
    ledger = Ledger(path)
    assert [ledger.calls(f"p{number}").height for number in range(4)] == [50] * 4
    assert ledger.calls("shared").height == 50
    ledger.close()


def test_rows_of_the_cache_that_cannot_be_written_are_told_with_the_next_account(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.sqlite")
    ledger.note([row()])
    ledger.flush()
    with sqlite3.connect(tmp_path / "calls.sqlite") as database:
        database.execute("ALTER TABLE calls RENAME TO gone")
    ledger.note([row(key="lost")])
    with pytest.raises(LedgerError, match="no such table"):
        ledger.calls("s")
    with sqlite3.connect(tmp_path / "calls.sqlite") as database:
        database.execute("ALTER TABLE gone RENAME TO calls")
    assert ledger.calls("s")["key"].to_list() == ["k"]
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="is closed"):
        ledger.calls("s")


def test_what_cannot_be_written_takes_nothing_else_with_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "calls.sqlite")
    with sqlite3.connect(tmp_path / "calls.sqlite", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        # While another process writes, these gather to be committed at once.
        for number in range(6):
            ledger.note([row(key=f"k{number}", unit="\ud800" if number == 3 else "u")])
        other.execute("COMMIT")
    with pytest.raises(LedgerError, match="surrogates not allowed"):
        ledger.flush()
    assert ledger.calls("s")["key"].to_list() == ["k0", "k1", "k2", "k4", "k5"]
    ledger.close()
