"""Generated chains: what is decoded from them is what happened on them."""

import importlib.util
from collections import defaultdict

import chain_oracle
import numpy as np
import polars as pl
import pytest

from pipelines.hashing import frame_hash
from pipelines.onchain import generator, ids
from pipelines.onchain.decode import decode
from pipelines.onchain.generator import Plan, generate, names
from pipelines.onchain.generator_logs import FILLED
from pipelines.onchain.tables import EXCHANGES, ONCHAIN_TABLES
from pipelines.onchain.trades import attach_markets

PLAN = Plan(seed=3, wallets=30, markets=9, neg_risk_markets=4, operations=3_000)


@pytest.fixture(autouse=True, scope="module")
def keccak():
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("Crypto") is None:
            patch.setattr(ids, "keccak256", chain_oracle.keccak256)
        yield


@pytest.fixture(scope="module")
def chain(keccak):
    pieces = list(generate(PLAN))
    logs = pl.concat([piece.logs for piece in pieces])
    decoded = decode(logs.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("__line")))
    return pieces, logs, decoded


def test_logs_are_in_the_order_of_the_chain(chain):
    _, logs, decoded = chain
    assert logs.schema == ONCHAIN_TABLES["logs"].schema
    places = logs["block_number"] * 2**20 + logs["log_index"]
    assert (places.diff().drop_nulls() > 0).all()
    assert decoded.refused.is_empty() and "foreign" not in set(decoded.counts["outcome"])
    seen = set(decoded.counts["event"])
    assert {"ctf_split", "adapter_split", "ctf_merge", "conversion", "ctf_redemption", "adapter_redemption"} <= seen
    assert {"fee_charged_v1", "transfer_single", "orders_matched_v1", "condition_resolution"} <= seen


def test_trades_are_the_fills_that_happened(chain):
    pieces, _, decoded = chain
    known = names(PLAN)
    truth = pl.concat([piece.truth for piece in pieces]).filter(pl.col("kind") == FILLED)
    trades = decoded.tables["trades"]
    assert trades["amount"].to_list() == truth["amount"].to_list()
    assert trades["collateral"].to_list() == truth["collateral"].to_list()
    assert trades["fee"].to_list() == truth["fee"].to_list()
    assert (trades["direction"] == "BUY").to_list() == (truth["buys"] == 1).to_list()
    assert (trades["role"] == "taker").to_list() == (truth["other"] < 0).to_list()
    assert trades["wallet"].to_list() == [known.wallets[i].tobytes() for i in truth["wallet"]]
    assert trades["token_id"].to_list() == [
        known.tokens[m, o].tobytes() for m, o in truth.select("market", "outcome").iter_rows()
    ]
    assert trades["exchange"].to_list() == [EXCHANGES[1 if m < 4 else 0] for m in truth["market"]]
    assert trades["price"].is_between(0, 1, closed="right").all()
    assert 0 < (trades["fee_asset"] == "outcome_token").sum() < trades.height


def test_mint_and_merge_pay_one_dollar_for_a_pair_and_invent_nothing(chain):
    trades = attach_markets(
        chain[2].tables["trades"], ids.derive_tokens(ids.conditions_of(chain[2].tables["preparations"]))
    )
    assert trades["condition_id"].null_count() == 0
    kinds = set()
    for _, match in trades.group_by("block_number", "tx_index"):
        maker, taker = (match.filter(pl.col("role") == role).row(0, named=True) for role in ("maker", "taker"))
        assert match.height == 2 and maker["condition_id"] == taker["condition_id"]
        assert maker["amount"] == taker["amount"]
        if maker["direction"] == taker["direction"]:
            kinds.add("mint" if maker["direction"] == "BUY" else "merge")
            assert maker["outcome"] != taker["outcome"]
            assert maker["collateral"] + taker["collateral"] == maker["amount"]
        else:
            kinds.add("swap")
            assert (maker["outcome"], maker["collateral"]) == (taker["outcome"], taker["collateral"])
    assert kinds == {"mint", "merge", "swap"}


def test_a_ledger_of_the_logs_gives_back_balances_and_payouts(chain):
    pieces, _, decoded = chain
    known = names(PLAN)
    market_of = {known.conditions[m].tobytes(): m for m in range(PLAN.markets)}
    token_of = {known.tokens[m, o].tobytes(): (m, o) for m in range(PLAN.markets) for o in (0, 1)}
    wallet_of = {known.wallets[w].tobytes(): w for w in range(PLAN.wallets)}
    winner = {market_of[r["condition_id"]]: r["numerators"].index(1) for r in decoded.tables["resolutions"].to_dicts()}
    events = [("trade", row) for row in decoded.tables["trades"].to_dicts()]
    events += [(row["kind"], row) for row in decoded.tables["position_changes"].to_dicts()]
    events.sort(key=lambda pair: (pair[1]["block_number"], pair[1]["log_index"], pair[1].get("leg", 0)))
    held = np.zeros((PLAN.wallets, PLAN.markets, 2), np.int64)
    payouts = defaultdict(int)
    for kind, row in events:
        wallet = wallet_of[row["wallet"]]
        if kind == "trade":
            net = row["amount"] - row["fee"] if row["direction"] == "BUY" else -row["amount"]
            held[wallet][token_of[row["token_id"]]] += net
        elif kind == "transfer":
            held[wallet][token_of[row["token_id"]]] -= row["amount"]
            held[wallet_of[row["counterparty"]]][token_of[row["token_id"]]] += row["amount"]
        elif kind == "convert":
            first = next(m for m in range(4) if int.from_bytes(row["index_set"], "big") == 1 << m)
            held[wallet, first, 1] -= row["amount"]
            held[wallet, [m for m in range(4) if m != first], 0] += row["amount"]
        else:
            market = market_of[row["condition_id"]]
            if kind == "redeem":
                balance = int(held[wallet, market, row["outcome"]])
                assert row["amount"] in (None, balance)
                held[wallet, market, row["outcome"]] = 0
                key = (row["block_number"], row["log_index"])
                payouts[key] += balance * (row["outcome"] == winner[market])
                if row["leg"] == 0:
                    payouts[key] -= row["collateral"]
            else:
                held[wallet, market, row["outcome"]] += row["amount"] * (1 if kind == "split" else -1)
        assert (held >= 0).all() or kind == "merge"
    assert (held == pieces[-1].balances).all() and (held >= 0).all()
    assert len(payouts) > 10 and set(payouts.values()) == {0}


def test_ids_on_the_chain_are_derived(chain):
    tables = chain[2].tables
    for name in ("preparations", "resolutions"):
        assert tables[name].height > 0 and ids.wrong_conditions(tables[name]).is_empty()
    tokens = ids.derive_tokens(ids.conditions_of(tables["preparations"]))
    assert set(tables["trades"]["token_id"]) <= set(tokens["token_id"])


def test_equal_plans_give_equal_chains_in_any_pieces(chain, monkeypatch):
    monkeypatch.setattr(generator, "OPERATIONS", 500)
    again = pl.concat([piece.logs for piece in generate(PLAN)])
    assert again.equals(chain[1]) and frame_hash(again) == frame_hash(chain[1])
    other = pl.concat([piece.logs for piece in generate(Plan(**{**PLAN.__dict__, "seed": 4}))])
    assert not other.equals(chain[1])


@pytest.mark.parametrize(
    "fault", [{"wallets": 1}, {"operations": 0}, {"neg_risk_markets": 3}, {"markets": 8, "neg_risk_markets": 12}]
)
def test_a_plan_that_cannot_be(fault):
    with pytest.raises(ValueError):
        Plan(**fault)
