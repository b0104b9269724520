"""Prompts of whole shards under every interface, and replies that become scored predictions."""

from typing import Any

import polars as pl
import pytest
from chain_worlds import market, trades, wallet, world

from pipelines.onchain.beliefs import belief_instances
from pipelines.onchain.histories import INTERFACES, Interface, histories
from pipelines.onchain.markets import TargetContext
from pipelines.onchain.positions import follow, positions
from pipelines.onchain.profiles import profiles
from pipelines.onchain.prompting import contexts, predictions, prompts
from pipelines.onchain.prompts import BeliefInput, TradeInput
from pipelines.onchain.scores import scores, units
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.tables import COHORT
from pipelines.onchain.trade_instances import trade_instances

LIMITS = OnchainSettings(history_events=4, retrieved_wallets=2, retrieved_events=3)
EVALUATED = 3
MARKETS = pl.DataFrame(
    {"condition_id": [market(m) for m in range(4)], "question": ["?"] * 4, "category": ["a", "b", None, "a"]}
).with_columns(
    pl.Series("outcomes", [["One", "Two", "Three"]] * 3 + [None]),
    pl.lit(None, pl.Datetime("us", "UTC")).alias("start"),
    pl.lit(None, pl.Datetime("us", "UTC")).alias("end"),
)


def build(rows: list[dict[str, Any]]) -> dict[str, pl.DataFrame]:
    cohort = pl.DataFrame(
        [(wallet(u), "evaluation" if u < EVALUATED else "support", u % EVALUATED) for u in range(6)],
        schema={"wallet": pl.Binary, "cohort": COHORT, "rank": pl.Int32},
        orient="row",
    )
    followed = follow(trades(*rows).join(cohort, on="wallet"))
    none = followed.select("wallet", "condition_id", "outcome", "position_after", final=pl.lit(False))
    plain = followed.drop("cohort", "rank")
    evaluated = pl.col("cohort") == "evaluation"
    beliefs = belief_instances(followed.drop("cohort", "rank"), positions(followed, none), cohort, LIMITS).filter(
        evaluated
    )
    instances = trade_instances(plain, cohort, LIMITS).filter(evaluated)
    support = followed.filter(pl.col("cohort") == "support")
    table = histories(followed, instances, beliefs, support, LIMITS)
    return {"own": followed, "support": support, "histories": table, "belief": beliefs, "trade": instances}


def asked(made: dict[str, pl.DataFrame], layer: str, interface: Interface, limits: OnchainSettings = LIMITS):
    targets = made["histories"].filter(pl.col("layer") == layer)
    of_layer = profiles(made["own"], made["histories"], MARKETS, layer)
    known = contexts(MARKETS)
    return list(prompts(targets, made["own"], made["support"], of_layer, known, interface, limits))


@pytest.mark.parametrize("layer", ["belief", "trade"])
@pytest.mark.parametrize("interface", INTERFACES)
def test_every_target_is_asked_once_and_shown_only_the_past(layer: str, interface: Interface) -> None:
    rows = world(21, 150, markets=4)
    made = build(rows)
    found = asked(made, layer, interface)
    assert len(found) == made[layer].height
    assert len({key for key, _ in found}) == len(found)
    cuts = {
        (row["wallet"], row["event"]): (row["cut_block"], row["split"], row["condition_id"])
        for row in made["histories"].filter(pl.col("layer") == layer).iter_rows(named=True)
    }
    shown = 0
    for key, prompt in found:
        block, split, condition = cuts[key]
        assert isinstance(prompt, BeliefInput if layer == "belief" else TradeInput)
        assert prompt.context.question == (None if condition == market(3) else "?")
        past = prompt.history.trades + [one for wallet_ in prompt.history.support for one in wallet_.trades]
        assert all(one.block <= block for one in past)
        assert all(one.block < block for wallet_ in prompt.history.support for one in wallet_.trades)
        assert len(prompt.history.trades) <= 4
        assert len(prompt.history.support) <= 2
        assert (prompt.history.profile is not None) <= (split != "train")
        shown += bool(past) or prompt.history.profile is not None
    assert (shown == 0) == (interface == "none")


def test_all_markets_name_the_market_of_each_trade() -> None:
    made = build(world(21, 150, markets=4))
    wide = LIMITS.model_copy(update={"direct_scope": "all_markets", "show_outcome": False})
    found = asked(made, "trade", "direct", wide)
    named = [one.market for _, prompt in found for one in prompt.history.trades]
    assert any(isinstance(one, TargetContext) for one in named)
    assert all(prompt.outcome is None for _, prompt in found)
    assert all(one.market is None for _, prompt in asked(made, "trade", "direct") for one in prompt.history.trades)


def test_an_answering_machine_is_scored_with_its_invalid_replies() -> None:
    rows = world(33, 120, markets=3)
    made = build(rows)
    test = pl.col("split") == "test"
    made["histories"] = made["histories"].filter(test)
    labels = {(row["wallet"], row["event"]): row for row in made["trade"].iter_rows(named=True)}
    replies = []
    for number, (key, prompt) in enumerate(asked(made, "trade", "direct")):
        label = labels[key]
        right = f'{{"direction": "{label["direction"]}", "amount": {label["amount"]}}}'
        replies.append((key, prompt, right if number else "no idea"))
    given = predictions(reversed(replies), "oracle")
    assert given["status"].value_counts().sort("count").rows() == [("invalid", 1), ("ok", len(replies) - 1)]
    board = scores(units(made["trade"].filter(test), given, "trade"), resamples=20)
    values = {(row["reading"], row["metric"]): row["value"] for row in board.iter_rows(named=True)}
    assert values["valid", "accuracy"] == 1.0
    assert values["valid", "medae"] == 0.0
    assert values["all", "accuracy"] == round((len(replies) - 1) / len(replies), 9)
    assert board["interface"].unique().to_list() == ["direct"]
    silent = predictions([(key, prompt, None) for key, prompt in asked(build(rows), "belief", "none")], "silent")
    assert set(silent["status"]) == {"failed"}
