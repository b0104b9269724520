"""Every table of the on-chain track once: column, type, unit, meaning.

Hashes and ids are raw bytes (`Binary`): 32 for a hash, a token, condition or market
id, 20 for an address; they become text only at the edge (`ids.hex_text`,
`ids.decimal_text`). Amounts are `Int64` base units (10⁻⁶ of a share or of a dollar);
a log whose amount is not below 2⁶³ is refused, never rounded or cut.
"""

import polars as pl

from pipelines.tables import TIME, Column, Table

EXCHANGES = (
    "0x4bfb41d5b3570defd03c39a9a4d8de6bd8b8982e",
    "0xc5d563a36ae78145c45a50134d48a1215220f80a",
    "0xe111180000d2663c0091e4f400237545b87b996b",
    "0xe2222d279d744050d28e00520010520000310f59",
)
"""CTF exchange V1, neg-risk exchange V1, CTF exchange V2, neg-risk exchange V2 (reference B.1)."""
EXCHANGE = pl.Enum(EXCHANGES)
ABIS = ("v1", "v2")
ABI = pl.Enum(ABIS)
TRADE_ROLES = ("maker", "taker")
TRADE_ROLE = pl.Enum(TRADE_ROLES)
DIRECTIONS = ("BUY", "SELL")
DIRECTION = pl.Enum(DIRECTIONS)
FEE_ASSETS = ("outcome_token", "collateral")
FEE_ASSET = pl.Enum(FEE_ASSETS)
CHANGES = (
    "split",
    "merge",
    "redeem",
    "convert",
    "transfer",
    "pool_buy",
    "pool_sell",
    "pool_add",
    "pool_remove",
)
CHANGE = pl.Enum(CHANGES)
VENUES = ("conditional_tokens", "neg_risk_adapter", "pool")
VENUE = pl.Enum(VENUES)
FEE_KINDS = ("charged", "refunded", "withdrawn")
FEE_KIND = pl.Enum(FEE_KINDS)
QUESTION_EVENTS = ("market_prepared", "question_prepared", "outcome_reported")
QUESTION_EVENT = pl.Enum(QUESTION_EVENTS)
ACTIONS = ("accumulate", "reduce", "close")
ACTION = pl.Enum(ACTIONS)
SPLITS = ("train", "validation", "test")
SPLIT = pl.Enum(SPLITS)
LAYERS = ("belief", "trade")
LAYER = pl.Enum(LAYERS)
COHORTS = ("evaluation", "support", "unused", "filtered")
COHORT = pl.Enum(COHORTS)

_BLOCK = Column(pl.Int64, "block number")
_BLOCK_HASH = Column(pl.Binary, "block hash, 32 bytes; null where the source does not give it", nullable=True)
_TX_HASH = Column(pl.Binary, "transaction hash, 32 bytes", nullable=True)
_TX_INDEX = Column(pl.Int32, "position of the transaction in the block; null where unknown", nullable=True)
_LOG_INDEX = Column(pl.Int32, "position of the log in the block")
_TIME = Column(TIME, "block time; null where the source does not give it", "µs UTC", nullable=True)
_WALLET = Column(pl.Binary, "wallet (proxy, Safe or deposit wallet), 20 bytes")
_TOKEN = Column(pl.Binary, "outcome token (ERC-1155 id), 32 bytes")
_CONDITION = Column(pl.Binary, "condition id, 32 bytes")
_SOME_CONDITION = Column(pl.Binary, "condition id, 32 bytes; null while the token is unknown", nullable=True)
_SOME_OUTCOME = Column(pl.Int16, "index of the outcome; null while the token is unknown", nullable=True)
_OUTCOME = Column(pl.Int16, "index of the outcome, from 0")
_PLACE = {
    "block_number": _BLOCK,
    "tx_index": _TX_INDEX,
    "log_index": _LOG_INDEX,
    "time": _TIME,
    "block_hash": _BLOCK_HASH,
    "tx_hash": _TX_HASH,
}
_KEY = ("block_number", "log_index")
_ANY_DROP = "a drop need not hold such logs"
_ANY_SHARD = "a shard may hold no wallet"


def _topic(n: int) -> Column:
    return Column(pl.Binary, f"topic {n}, 32 bytes; null where the log has fewer", nullable=True)


ONCHAIN_TABLES: dict[str, Table] = {
    "logs": Table(
        "One row a log as the chain emitted it, whatever file brought it.",
        {
            "address": Column(pl.Binary, "contract that emitted the log, 20 bytes"),
            "topic0": _topic(0),
            "topic1": _topic(1),
            "topic2": _topic(2),
            "topic3": _topic(3),
            "data": Column(pl.Binary, "ABI-encoded arguments that are not indexed"),
            "block_number": _BLOCK,
            "block_hash": _BLOCK_HASH,
            "time": _TIME,
            "tx_hash": _TX_HASH,
            "tx_index": _TX_INDEX,
            "log_index": _LOG_INDEX,
            "removed": Column(pl.Boolean, "the node took the log back after a reorganisation"),
        },
        key=_KEY,
        may_be_empty="a range of blocks may hold none",
    ),
    "trades": Table(
        "One row an OrderFilled, for the order of its maker topic only; nothing is derived from the taker topic.",
        {
            "wallet": Column(pl.Binary, "maker topic: owner of the filled order, 20 bytes"),
            "counterparty": Column(pl.Binary, "taker topic, 20 bytes; an exchange for a taker's own order"),
            "exchange": Column(EXCHANGE, "address of the exchange, lower case"),
            "abi": Column(ABI, "v1 | v2"),
            "role": Column(TRADE_ROLE, "taker when the taker topic is an exchange, else maker"),
            "direction": Column(DIRECTION, "BUY | SELL of the outcome token by the wallet"),
            "token_id": _TOKEN,
            "condition_id": _SOME_CONDITION,
            "outcome": _SOME_OUTCOME,
            "amount": Column(pl.Int64, "outcome tokens bought or sold, before fee", "10⁻⁶ share"),
            "collateral": Column(pl.Int64, "dollars paid or received, before fee", "10⁻⁶ dollar"),
            "price": Column(pl.Float64, "collateral / amount; null when amount is 0", "dollar a share", nullable=True),
            "fee": Column(pl.Int64, "fee of the log", "10⁻⁶ of fee_asset"),
            "fee_asset": Column(
                FEE_ASSET,
                "what the fee is taken in: V1 the asset received, V2 collateral; null without fee",
                nullable=True,
            ),
            **_PLACE,
            "order_hash": Column(pl.Binary, "hash of the order, 32 bytes"),
        },
        key=_KEY,
        may_be_empty=_ANY_DROP,
    ),
    "position_changes": Table(
        "What moves outcome tokens without a trade: one row a log, one a leg where it lists several tokens.",
        {
            "kind": Column(CHANGE, "what happened"),
            "venue": Column(VENUE, "kind of the contract that emitted the log"),
            "contract": Column(pl.Binary, "contract that emitted the log, 20 bytes"),
            "wallet": Column(
                pl.Binary, "stakeholder, redeemer, buyer, seller, funder; the sender of a transfer, 20 bytes"
            ),
            "counterparty": Column(pl.Binary, "receiver of a transfer, 20 bytes", nullable=True),
            "operator": Column(pl.Binary, "operator of a transfer, 20 bytes", nullable=True),
            "condition_id": Column(pl.Binary, "condition id, where the log names it, 32 bytes", nullable=True),
            "parent_collection": Column(
                pl.Binary, "parent collection, 32 bytes, zero at top level; conditional_tokens only", nullable=True
            ),
            "market_id": Column(pl.Binary, "neg-risk market of a conversion, 32 bytes", nullable=True),
            "collateral_token": Column(pl.Binary, "collateral token, where the log names it, 20 bytes", nullable=True),
            "index_set": Column(
                pl.Binary,
                "bits of this leg, uint256 as 32 bytes: outcomes (split, merge, redeem) or questions (convert)",
                nullable=True,
            ),
            "outcome": Column(
                pl.Int16,
                "outcome of this leg: the single bit of index_set, the place in amounts, outcomeIndex",
                nullable=True,
            ),
            "token_id": Column(pl.Binary, "token of a transfer, 32 bytes", nullable=True),
            "amount": Column(
                pl.Int64,
                "outcome tokens of this leg, unsigned; null for a conditional_tokens redemption: it burns the balance",
                "10⁻⁶ share",
                nullable=True,
            ),
            "collateral": Column(
                pl.Int64,
                "payout (redeem), investment (pool_buy), return (pool_sell), fees (pool_remove); leg 0 only",
                "10⁻⁶ dollar",
                nullable=True,
            ),
            "fee": Column(pl.Int64, "fee of a pool trade", "10⁻⁶ dollar", nullable=True),
            "leg": Column(pl.Int32, "place in the log's list, from 0"),
            **_PLACE,
        },
        key=(*_KEY, "leg"),
        may_be_empty=_ANY_DROP,
    ),
    "preparations": Table(
        "One row a ConditionPreparation.",
        {
            "condition_id": _CONDITION,
            "oracle": Column(pl.Binary, "oracle, 20 bytes; the neg-risk adapter for neg-risk questions"),
            "question_id": Column(pl.Binary, "question id, 32 bytes"),
            "outcomes": Column(pl.Int16, "number of outcome slots"),
            **_PLACE,
        },
        key=_KEY,
        may_be_empty=_ANY_DROP,
    ),
    "resolutions": Table(
        "One row a ConditionResolution.",
        {
            "condition_id": _CONDITION,
            "oracle": Column(pl.Binary, "oracle, 20 bytes"),
            "question_id": Column(pl.Binary, "question id, 32 bytes"),
            "outcomes": Column(pl.Int16, "number of outcome slots"),
            "numerators": Column(pl.List(pl.Int64), "payout numerators; the denominator is their sum"),
            **_PLACE,
        },
        key=_KEY,
        may_be_empty=_ANY_DROP,
    ),
    "token_registrations": Table(
        "One row a TokenRegistered; the order of the two tokens says nothing about their outcome.",
        {
            "exchange": Column(EXCHANGE, "address of the exchange, lower case"),
            "token0": _TOKEN,
            "token1": Column(pl.Binary, "its complement, 32 bytes"),
            "condition_id": _CONDITION,
            **_PLACE,
        },
        key=_KEY,
        may_be_empty=_ANY_DROP,
    ),
    "tokens": Table(
        "Outcome tokens whose condition is known, ids derived by keccak.",
        {
            "token_id": _TOKEN,
            "condition_id": _CONDITION,
            "outcome": _OUTCOME,
            "neg_risk": Column(pl.Boolean, "collateral is the wrapped collateral of neg-risk markets"),
        },
        key=("token_id",),
        may_be_empty=_ANY_DROP,
    ),
    "matches": Table(
        "One row an OrdersMatched; a statement about the taker order, kept for audits only.",
        {
            "exchange": Column(EXCHANGE, "address of the exchange, lower case"),
            "abi": Column(ABI, "v1 | v2"),
            "order_hash": Column(pl.Binary, "hash of the taker order, 32 bytes"),
            "wallet": Column(pl.Binary, "maker of the taker order, 20 bytes"),
            "direction": Column(DIRECTION, "BUY | SELL"),
            "token_id": _TOKEN,
            "amount": Column(pl.Int64, "outcome tokens", "10⁻⁶ share"),
            "collateral": Column(pl.Int64, "dollars", "10⁻⁶ dollar"),
            **_PLACE,
        },
        key=_KEY,
        may_be_empty=_ANY_DROP,
    ),
    "fees": Table(
        "Fees charged, refunded and withdrawn.",
        {
            "kind": Column(FEE_KIND, "charged | refunded | withdrawn"),
            "contract": Column(pl.Binary, "contract that emitted the log, 20 bytes"),
            "wallet": Column(pl.Binary, "receiver, 20 bytes"),
            "order_hash": Column(pl.Binary, "order of a refund, 32 bytes", nullable=True),
            "token_id": Column(
                pl.Binary, "token, 32 bytes, zero for collateral; null under V2 (collateral)", nullable=True
            ),
            "amount": Column(pl.Int64, "amount", "10⁻⁶ of the token"),
            "charged": Column(pl.Int64, "fee charged on the refunded order", "10⁻⁶ of the token", nullable=True),
            **_PLACE,
        },
        key=_KEY,
        may_be_empty=_ANY_DROP,
    ),
    "questions": Table(
        "Neg-risk markets and questions as the adapter prepared and reported them.",
        {
            "event": Column(QUESTION_EVENT, "market_prepared | question_prepared | outcome_reported"),
            "market_id": Column(pl.Binary, "neg-risk market, 32 bytes"),
            "question_id": Column(pl.Binary, "question id, 32 bytes", nullable=True),
            "oracle": Column(pl.Binary, "oracle of a market, 20 bytes", nullable=True),
            "fee_bips": Column(pl.Int64, "fee of conversions in the market", "10⁻⁴", nullable=True),
            "index": Column(pl.Int32, "index of the question in its market", nullable=True),
            "outcome": Column(pl.Boolean, "reported answer", nullable=True),
            **_PLACE,
        },
        key=_KEY,
        may_be_empty=_ANY_DROP,
    ),
    "fpmm_pools": Table(
        "One row a FixedProductMarketMakerCreation: the pools whose trades belong to the protocol.",
        {
            "pool": Column(pl.Binary, "address of the pool, 20 bytes"),
            "creator": Column(pl.Binary, "creator, 20 bytes"),
            "condition_id": _CONDITION,
            "fee": Column(pl.Binary, "fee, uint256 as 32 bytes", "10⁻¹⁸"),
            **_PLACE,
        },
        key=_KEY,
        may_be_empty=_ANY_DROP,
    ),
    "onchain_rejects": Table(
        "One row a log that could not be read or decoded.",
        {
            "file": Column(pl.String, "file name inside the drop"),
            "line": Column(
                pl.Int64, "line (text), element (JSON array) or row (Parquet) in the file, from 1", nullable=True
            ),
            "reason": Column(pl.String, "why it was refused"),
            "event": Column(pl.String, "event by its topic, where known", nullable=True),
            "raw": Column(pl.String, "the data as read, cut at 500 characters", nullable=True),
            "block_number": Column(pl.Int64, "block number, where known", nullable=True),
            "log_index": Column(pl.Int32, "position in the block, where known", nullable=True),
        },
        key=("file", "line", "reason", "block_number", "log_index", "raw"),
        may_be_empty="a clean drop has none",
    ),
    "log_counts": Table(
        "Where every row of every file went; sums to the rows read.",
        {
            "file": Column(pl.String, "file name inside the drop"),
            "outcome": Column(pl.String, "trade | other | reject | foreign | removed | duplicate"),
            "event": Column(pl.String, "event by its topic; empty where unknown"),
            "rows": Column(pl.Int64, "log rows", "rows"),
        },
        key=("file", "outcome", "event"),
        may_be_empty="a file may hold no row",
    ),
    "markets": Table(
        "What a target context may show of a market, and its derived ids (design step 5).",
        {
            "condition_id": _CONDITION,
            "question": Column(pl.String, "the question", nullable=True),
            "outcomes": Column(pl.List(pl.String), "names of the outcomes, by index", nullable=True),
            "category": Column(pl.String, "category, old markets only", nullable=True),
            "start": Column(TIME, "start date", "µs UTC", nullable=True),
            "end": Column(TIME, "end date", "µs UTC", nullable=True),
            "neg_risk": Column(
                pl.Boolean, "whether the collateral is wrapped; derived where the source is silent", nullable=True
            ),
            "token_ids": Column(pl.List(pl.Binary), "token ids by outcome index, derived, 32 bytes each"),
            "ids_match": Column(pl.Boolean, "whether the source's token ids equal the derived ones", nullable=True),
        },
        key=("condition_id",),
        may_be_empty="a drop may bring logs only",
    ),
    "wallets": Table(
        "One row a wallet seen in the address topics, its features and what became of it (design step 6).",
        {
            "wallet": _WALLET,
            "logs": Column(pl.Int64, "logs that name it", "logs"),
            "transactions": Column(pl.Int64, "distinct transactions", "transactions"),
            "contracts": Column(pl.Int32, "distinct contracts", "contracts"),
            "active_blocks": Column(pl.Int64, "distinct blocks", "blocks"),
            "markets": Column(pl.Int32, "distinct conditions traded up to the last block", "markets"),
            "trades": Column(pl.Int64, "trades of known markets up to the last block", "trades"),
            "busiest_market_trades": Column(pl.Int64, "trades in its busiest market", "trades"),
            "busiest_window_trades": Column(pl.Int64, "trades in its busiest window of blocks", "trades"),
            "kept_markets": Column(pl.Int32, "markets left after the filters of its sequences", "markets"),
            "reason": Column(pl.String, "empty when it passed every filter, else the filter that stopped it"),
            "cohort": Column(COHORT, "evaluation | support | unused | filtered"),
            "rank": Column(pl.Int32, "place in its part of the draw, from 0; null outside it", nullable=True),
        },
        key=("wallet",),
        may_be_empty=_ANY_SHARD,
    ),
    "cohort_funnel": Table(
        "What is left of the candidates after each filter, in the order of the filters (design step 6).",
        {
            "step": Column(pl.Int32, "place of the filter; 0 = all that were seen"),
            "filter": Column(pl.String, "the filter"),
            "threshold": Column(pl.String, "what it keeps; empty for step 0"),
            "origin": Column(pl.String, "who set the threshold: paper §… or ours"),
            "wallets": Column(pl.Int64, "wallets left", "wallets"),
            "sequences": Column(pl.Int64, "wallet–markets left", "wallet–markets"),
            "trades": Column(pl.Int64, "trades left", "trades"),
        },
        key=("step",),
    ),
    "cohort_trades": Table(
        "Trades of cohort wallets that passed every filter, numbered; what histories refer to.",
        {
            "wallet": _WALLET,
            "event": Column(pl.Int32, "number of the trade among the wallet's, from 0"),
            "condition_id": _CONDITION,
            "market_event": Column(pl.Int32, "number among the wallet's trades in the market, from 0"),
            "outcome": _OUTCOME,
            "cohort": Column(COHORT, "evaluation | support"),
            "direction": Column(DIRECTION, "BUY | SELL"),
            "amount": Column(pl.Int64, "outcome tokens, before fee", "10⁻⁶ share"),
            "collateral": Column(pl.Int64, "dollars paid or received, before fee", "10⁻⁶ dollar"),
            "price": Column(pl.Float64, "collateral / amount; null when amount is 0", "dollar a share", nullable=True),
            "position_after": Column(pl.Int64, "trade-only position of the outcome after it", "10⁻⁶ share"),
            "block_number": _BLOCK,
            "tx_index": _TX_INDEX,
            "log_index": _LOG_INDEX,
            "time": _TIME,
        },
        key=("wallet", "event"),
        may_be_empty=_ANY_SHARD,
    ),
    "holdings": Table(
        "Final position of every wallet–market–outcome in both ledgers (design step 4).",
        {
            "wallet": _WALLET,
            "condition_id": _CONDITION,
            "outcome": _OUTCOME,
            "trade_only": Column(pl.Int64, "sum of signed trades, before fees; may be negative", "10⁻⁶ share"),
            "full": Column(
                pl.Int64, "with splits, merges, conversions, transfers and pools, net of fees", "10⁻⁶ share"
            ),
        },
        key=("wallet", "condition_id", "outcome"),
        wall="gold",
        may_be_empty=_ANY_SHARD,
    ),
    "belief_instances": Table(
        "One row a wallet–market: which side it finally holds, and how surely (paper; design step 7).",
        {
            "wallet": _WALLET,
            "condition_id": _CONDITION,
            "cohort": Column(COHORT, "evaluation | support"),
            "split": Column(SPLIT, "train | validation | test"),
            "n_trades": Column(pl.Int32, "trades of the wallet in the market", "trades"),
            "cut_block": Column(pl.Int64, "history stops strictly before this place: block"),
            "cut_log_index": Column(pl.Int32, "history stops strictly before this place: log"),
            "cut_event": Column(pl.Int32, "number of the trade at the cut among the wallet's, from 0"),
            "side": Column(pl.Int16, "label: outcome with the largest positive position; −1 = flat"),
            "confidence": Column(pl.Float64, "label: top / mass, 0 when flat"),
            "top": Column(pl.Int64, "largest positive position, 0 when flat", "10⁻⁶ share"),
            "mass": Column(pl.Int64, "sum of positive positions, Z", "10⁻⁶ share"),
            "tie": Column(pl.Boolean, "another outcome held the same; the lowest index stands"),
            "side_full": Column(pl.Int16, "side from the full ledger; −1 = flat"),
            "confidence_full": Column(pl.Float64, "confidence from the full ledger"),
            "top_full": Column(pl.Int64, "largest positive position of the full ledger", "10⁻⁶ share"),
            "mass_full": Column(pl.Int64, "sum of positive positions of the full ledger", "10⁻⁶ share"),
            "tie_full": Column(pl.Boolean, "tie in the full ledger"),
            "flips": Column(pl.Boolean, "the two ledgers name different sides"),
        },
        key=("wallet", "condition_id"),
        wall="gold",
        may_be_empty=_ANY_SHARD,
    ),
    "trade_instances": Table(
        "One row a trade of a cohort wallet (paper; design step 8).",
        {
            "wallet": _WALLET,
            "event": Column(pl.Int32, "number of the trade among the wallet's, from 0"),
            "condition_id": _CONDITION,
            "market_event": Column(pl.Int32, "number among the wallet's trades in the market, from 0"),
            "outcome": _OUTCOME,
            "block_number": _BLOCK,
            "tx_index": _TX_INDEX,
            "log_index": _LOG_INDEX,
            "time": _TIME,
            "cohort": Column(COHORT, "evaluation | support"),
            "split": Column(SPLIT, "train | validation | test"),
            "direction": Column(DIRECTION, "label: BUY | SELL"),
            "amount": Column(pl.Int64, "label: outcome tokens", "10⁻⁶ share"),
            "shares": Column(pl.Float64, "the amount in human units", "share"),
            "action": Column(ACTION, "label: accumulate | reduce | close, from the position after the event"),
            "position_after": Column(pl.Int64, "trade-only position after the event", "10⁻⁶ share"),
        },
        key=("wallet", "event"),
        wall="gold",
        may_be_empty=_ANY_SHARD,
    ),
    "histories": Table(
        "Which trades each interface may show for a target, as ranges of event numbers (design step 10).",
        {
            "layer": Column(LAYER, "belief | trade"),
            "wallet": _WALLET,
            "event": Column(pl.Int32, "number of the trade at the cut: the target, or the market's last for a belief"),
            "condition_id": _CONDITION,
            "split": Column(SPLIT, "train | validation | test"),
            "cut_block": Column(pl.Int64, "every row shown is strictly before this place: block"),
            "cut_log_index": Column(pl.Int32, "every row shown is strictly before this place: log"),
            "direct_first": Column(pl.Int32, "direct, target market: market_event of the oldest trade shown"),
            "direct_n": Column(pl.Int32, "direct, target market: trades shown", "trades"),
            "all_first": Column(pl.Int32, "direct, all markets: event of the oldest trade shown"),
            "all_n": Column(pl.Int32, "direct, all markets: trades shown", "trades"),
            "profile_n": Column(
                pl.Int32,
                "profile: the wallet's trades 0 … n−1 make it; null for a train target, which has none",
                "trades",
                nullable=True,
            ),
            "support": Column(pl.List(pl.Int32), "retrieval: `rank` of the support wallets shown, most similar first"),
            "support_first": Column(pl.List(pl.Int32), "retrieval: market_event of the oldest trade shown of each"),
            "support_n": Column(pl.List(pl.Int32), "retrieval: trades shown of each", "trades"),
        },
        key=("layer", "wallet", "event"),
        may_be_empty=_ANY_SHARD,
    ),
}
