"""What the tables of the on-chain evaluation promise beyond what the registry says."""

from expectations.suites.kinds import AtLeast, Between, Expectation, InSet, Length
from pipelines.onchain.board_tables import PREDICTION_STATUSES, STATUSES

_NAMED = (Length("method", 1), Length("reader", 1), Between("event", 0))
_NUMBERS = ("value", "low", "high", "by_wallet", "by_wallet_low", "by_wallet_high", "best")

PREDICTIONS: dict[str, tuple[Expectation, ...]] = {
    "predictions": (
        *_NAMED,
        InSet("status", PREDICTION_STATUSES),
        Between("side", -1),
        Between("confidence", 0.0, 1.0),
        Between("amount", 0),
    ),
    "prediction_units": (*_NAMED, InSet("status", STATUSES), Between("error", 0.0), Between("error_all", 0.0)),
    "prediction_board": (
        *(Length(name, 1) for name in ("board", "group", "method", "reader")),
        Between("rank", 1),
        Between("band", 1),
        Between("coverage", 0.0, 1.0),
        *(Between(name, 0.0) for name in _NUMBERS),
        AtLeast("high", "low"),
        AtLeast("by_wallet_high", "by_wallet_low"),
        AtLeast("n_units", "n_wallets"),
    ),
    "prediction_differences": (
        *(Length(name, 1) for name in ("board", "method", "other")),
        Between("p", 0.0, 1.0),
        Between("p_holm", 0.0, 1.0),
        AtLeast("p_holm", "p"),
        AtLeast("high", "low"),
        AtLeast("n_units", "n_users"),
    ),
}
