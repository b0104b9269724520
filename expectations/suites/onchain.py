"""What the tables of the on-chain track promise beyond what the registry says."""

from datetime import UTC, datetime

from expectations.suites.kinds import AtLeast, Between, Expectation, InSet, Length, Unique

_PLAUSIBLE = (datetime(2020, 5, 30, tzinfo=UTC), datetime(2040, 1, 1, tzinfo=UTC))
"""The chain began on 2020-05-30."""
Promises = tuple[Expectation, ...]

_PLACE: Promises = (Between("block_number", 0), Between("time", *_PLAUSIBLE, severity="warning"))
_FILL: Promises = (*_PLACE, Between("amount", 0), Between("collateral", 0), Between("price", 0.0), Between("fee", 0))
_CHANGE: Promises = (*_PLACE, Between("amount", 0), Between("collateral", 0), Between("leg", 0))
_FEATURES: Promises = (
    *(Between(name, 0) for name in ("logs", "transactions", "contracts", "active_blocks", "trades", "markets")),
    AtLeast("logs", "transactions"),
    AtLeast("logs", "active_blocks"),
    AtLeast("trades", "markets"),
    AtLeast("trades", "busiest_market_trades"),
    AtLeast("trades", "busiest_window_trades"),
    AtLeast("markets", "kept_markets"),
)
_FILTER: Promises = (
    Length("filter", 1),
    *(Between(name, 0) for name in ("step", "wallets", "sequences", "trades")),
    AtLeast("trades", "sequences"),
)
_BELIEF: Promises = (
    Between("n_trades", 1),
    Between("cut_event", 0),
    Between("side", -1, 255),
    Between("side_full", -1, 255),
    Between("confidence", 0.0, 1.0),
    Between("confidence_full", 0.0, 1.0),
    AtLeast("mass", "top"),
    AtLeast("mass_full", "top_full"),
)
_TRADE: Promises = (Between("event", 0), Between("market_event", 0), Between("amount", 0), Between("shares", 0.0))
_COHORT: Promises = (
    *_PLACE,
    Between("event", 0),
    Between("market_event", 0),
    Between("amount", 0),
    Between("collateral", 0),
)

ONCHAIN: dict[str, Promises] = {
    "decoded_trades": _FILL,
    "decoded_changes": _CHANGE,
    "matches": (*_PLACE, Between("amount", 0), Between("collateral", 0)),
    "fees": (*_PLACE, Between("amount", 0)),
    "preparations": (*_PLACE, Between("outcomes", 2, 256)),
    "resolutions": (*_PLACE, Between("outcomes", 2, 256)),
    "token_registrations": _PLACE,
    "questions": (*_PLACE, Between("index", 0, 255)),
    "fpmm_pools": _PLACE,
    "appearances": (Between("block_number", 0),),
    "removals": (Between("block_number", 0),),
    "market_readings": (Length("file", 1), Between("row", 1)),
    "onchain_rejects": (Length("file", 1), Length("reason", 1), Length("raw", 0, 500), Between("line", 1)),
    "log_counts": (
        Length("file", 1),
        Between("rows", 1),
        InSet("outcome", ("trade", "other", "reject", "foreign", "removed", "duplicate")),
    ),
    "retractions": (Length("reason", 1),),
    "markets": (Length("question", 1),),
    "tokens": (Between("outcome", 0, 255), Unique(("condition_id", "outcome", "neg_risk"))),
    "trades": (*_FILL, Between("outcome", 0, 255)),
    "position_changes": _CHANGE,
    "candidates": _FEATURES,
    "sequences": (Between("rows", 1),),
    "filter_counts": _FILTER,
    "wallets": (*_FEATURES, Between("rank", 0)),
    "cohort_funnel": _FILTER,
    "cohort_trades": _COHORT,
    "holdings": (Between("outcome", 0, 255),),
    "redemptions": (Between("payout", 0),),
    "belief_instances": _BELIEF,
    "trade_instances": _TRADE,
    "support_trades": (*_COHORT, Between("rank", 0)),
    "train_beliefs": _BELIEF,
    "train_trades": _TRADE,
    "histories": (
        *(Between(name, 0) for name in ("event", "direct_first", "all_first", "profile_n")),
        AtLeast("event", "all_n"),
        AtLeast("all_n", "direct_n"),
    ),
}
"""By table."""
