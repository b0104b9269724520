"""Budgets: what fits is called, what would exceed them is not, and the message says what was spent."""

from collections.abc import Callable

import pytest
from model_server import Answer, error, model_server, slow

from pipelines.models import ModelStopped, Request
from resources.models.engine import ModelEngine
from resources.models.prices import Price, cost
from resources.models.settings import ModelSettingsError

Asked = Callable[..., Request]
EngineOf = Callable[..., ModelEngine]
PRICES = {"m": {"prompt": "1.5", "reply": "2"}}


def test_calls_stop_at_their_number_and_go_on_in_the_next_run(engine_of: EngineOf, asked: Asked) -> None:
    many = [asked(f"q{number}") for number in range(12)]
    with model_server(lambda call: call.text) as server:
        for run, made in enumerate((5, 10)):
            with engine_of(server.base_url, max_calls=5) as engine:
                model = engine.model("reader", "scope")
                with pytest.raises(
                    ModelStopped,
                    match=r"max_calls, of which this step had 5 left \(spent since: 5 calls, 90 tokens, 0.0000 USD\)",
                ) as stop:
                    model.ask_all(many)
                assert "start again" in str(stop.value)
                assert "TRAILBENCH_MODEL_MAX_CALLS, or limits.calls of the experiment" in str(stop.value)
                assert server.count == made, run
                assert engine.calls("scope").height == made
                # Finished calls stay free of charge, also after the stop.
                assert model.ask(many[0]).cached
                with pytest.raises(ModelStopped):
                    engine.model("judge").ask(asked("short"))
        with engine_of(server.base_url, max_calls=2) as engine:
            assert [one.text for one in engine.model("reader", "scope").ask_all(many)] == [f"q{n}" for n in range(12)]
            assert engine.spent.calls == 2
            assert engine.calls("scope")["cached"].sum() == 0
        assert server.count == 12


@pytest.mark.parametrize(("limit", "made"), [(17, 0), (18, 1), (35, 1), (36, 2)])
def test_tokens_count_the_expected_most_before_and_the_true_ones_after(
    engine_of: EngineOf, asked: Asked, limit: int, made: int
) -> None:
    # Expected at most, and used: 8 tokens for each of two short messages and 2 of the reply.
    with (
        model_server(lambda call: Answer("x", tokens_in=16, tokens_out=2)) as server,
        engine_of(server.base_url, max_tokens=limit) as engine,
    ):
        many = [Request((m, m), max_tokens=2, attempt=n) for n, m in enumerate([asked("x").messages[1]] * 5)]
        with pytest.raises(ModelStopped, match=f"max_tokens, of which this step had {limit} left"):
            engine.model("reader").ask_all(many)
        assert (server.count, engine.spent.tokens) == (made, 18 * made)


def test_calls_in_flight_are_waited_for_before_the_budget_is_called_spent(engine_of: EngineOf, asked: Asked) -> None:
    # At most 1,000 tokens are expected of each, 18 are used: all fit, though no two do at once.
    with (
        model_server(lambda call: slow(0.01, "x")) as server,
        engine_of(server.base_url, max_tokens=1_300, concurrency=8) as engine,
    ):
        replies = engine.model("reader").ask_all([asked(f"{n}", max_tokens=980) for n in range(10)])
        assert len(replies) == 10 and server.most_in_flight == 1 and engine.spent.tokens == 180


def test_cost_stops_by_the_price_table(engine_of: EngineOf, asked: Asked) -> None:
    # 11 x 1.5 + 7 x 2 = 30.5 micro-dollars a call.
    with (
        model_server(lambda call: "x") as server,
        engine_of(server.base_url, max_cost=100e-6, prices=PRICES, concurrency=1) as engine,
    ):
        model = engine.model("reader", "scope")
        with pytest.raises(
            ModelStopped,
            match=r"max_cost, of which this step had 0\.0001 left \(spent since: 2 calls, 36 tokens, 0\.0001 USD\)",
        ):
            model.ask_all([asked("x", max_tokens=7, attempt=n) for n in range(9)])
        assert server.count == 2 and engine.spent.cost == 61_000
        assert engine.calls("scope")["cost"].to_list() == [30_500, 30_500]


def test_a_cost_budget_without_a_price_is_refused(engine_of: EngineOf) -> None:
    with pytest.raises(ModelSettingsError, match="a price for m; set TRAILBENCH_MODEL_PRICES"):
        engine_of("http://a/v1", max_cost=1.0)


def test_a_call_counts_once_however_often_it_is_tried(engine_of: EngineOf, asked: Asked) -> None:
    with (
        model_server(lambda call: "x" if call.number % 3 == 2 else error(500, "x")) as server,
        engine_of(server.base_url, max_calls=2) as engine,
    ):
        assert [one.text for one in engine.model("reader").ask_all([asked("a")])] == ["x"]
        assert [one.text for one in engine.model("reader").ask_all([asked("b")])] == ["x"]
        assert (server.count, engine.spent.calls, engine.spent.tokens) == (6, 2, 36)


def test_costs_are_whole_nano_dollars_and_unknown_without_a_price() -> None:
    prices = {"m": Price(prompt="0.15", reply="0.6"), "odd": Price(prompt="0.0005")}
    assert cost(prices, "m", 1_000_000, 500_000) == 450_000_000
    assert cost(prices, "m", 0, 0) == 0
    assert [cost(prices, "odd", n, 9) for n in (0, 1, 2, 3)] == [0, 1, 1, 2]
    assert cost(prices, "other", 5, 5) is None
