"""What the tables of evaluations promise beyond what the registry says."""

from expectations.suites.judging import JUDGING
from expectations.suites.kinds import AtLeast, Between, Expectation, InSet, Length
from pipelines.commerce.tables import FAMILIARITIES
from pipelines.evaluation.tables import READING_STATUSES, STATUSES
from pipelines.models import REPLY_STATUSES

_SHARES = ("expected_recall", "chance", "missed", "average_precision", "coverage", "bound_low", "bound_high")

EVALUATION: dict[str, tuple[Expectation, ...]] = {
    "readouts": (Length("state_hash", 1),),
    "builds": (Length("count", 1), Between("n", 0)),
    "claims": (Length("claim", 1), Length("line", 1), Between("confidence", 0, 100)),
    "readings": (InSet("status", READING_STATUSES),),
    "model_calls": (
        Length("key", 1),
        Length("model", 1),
        InSet("status", REPLY_STATUSES),
        Between("prompt_tokens", 0),
        Between("reply_tokens", 0),
        Between("latency_ms", 0.0),
        Between("retries", 0),
        Between("cost", 0),
    ),
    "costs": (
        Length("model", 1),
        Between("n_calls", 1),
        AtLeast("n_calls", "n_cached"),
        AtLeast("n_calls", "n_failed"),
        Between("prompt_tokens", 0),
        Between("reply_tokens", 0),
        Between("seconds", 0.0),
        Between("cost", 0.0),
    ),
    "units": (
        InSet("status", STATUSES),
        Length("method", 1),
        Length("reader", 1),
        Between("budget", 0),
        Between("n_positives", 1),
        Between("n_batches", 2),
        Between("average_precision", 0.0, 1.0),
        Between("expected_hits", 0.0),
        AtLeast("n_positives", "expected_hits"),
        AtLeast("n_positives", "n_hit"),
        *(AtLeast(f"n_{group}", f"hit_{group}") for group in FAMILIARITIES[:-1]),
        AtLeast("n_eligible", "n_exposed"),
        AtLeast("n_candidates", "n_positives"),
        AtLeast("n_candidates", "n_eligible"),
    ),
    "leaderboard": (
        Length("reader", 1),
        Length("group", 1),
        Length("method", 1),
        Between("budget", 0),
        Between("rank", 1),
        Between("band", 1),
        *(
            Between(share, 0.0, 1.0)
            for name in ("recall", "user_recall", "exposure")
            for share in (name, f"{name}_low", f"{name}_high")
        ),
        *(Between(name, 0.0, 1.0) for name in _SHARES),
        Between("adjusted_recall", None, 1.0),
        Between("exposure_units", 0),
        Between("tokens", 0.0),
        *(AtLeast(f"{name}_high", f"{name}_low") for name in ("recall", "user_recall", "exposure", "bound")),
        AtLeast("n_units", "n_users"),
        AtLeast("n_units", "exposure_units"),
        AtLeast("n_positives", "n_units"),
        AtLeast("n_positives", "n_hit"),
    ),
    "differences": (
        Length("reader", 1),
        Length("method", 1),
        Length("other", 1),
        Between("budget", 0),
        *(Between(name, -1.0, 1.0) for name in ("difference", "low", "high")),
        Between("p", 0.0, 1.0),
        Between("p_holm", 0.0, 1.0),
        AtLeast("p_holm", "p"),
        AtLeast("high", "low"),
        AtLeast("n_units", "n_users"),
    ),
    "positions": (
        Length("method", 1),
        Length("reader", 1),
        Between("budget", 0),
        Between("n_shown", 1),
        AtLeast("n_shown", "n_chosen"),
        AtLeast("n_shown", "n_positives"),
        AtLeast("n_chosen", "n_hit"),
        AtLeast("n_positives", "n_hit"),
    ),
    **JUDGING,
}
"""By table."""
