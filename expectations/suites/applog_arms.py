"""What the tables of an arm on app logs promise beyond what the registry says."""

from expectations.suites.kinds import Between, Expectation, Length

_ITEM = (Length("user_id", 1), Length("item", 1))
_ANSWER = (*_ITEM, Length("answer", 1), Length("reason", 1), Length("call", 1))
_SHARES = (
    *("score", "compat_score", "score_bound", "points", "mechanical"),
    *("list_precision", "list_recall", "stale_evidence"),
)
_EVIDENCE = ("evidence_precision", "evidence_recall", "evidence_f1")

APPLOG_ARMS: dict[str, tuple[Expectation, ...]] = {
    "contexts": (Length("user_id", 1), Length("checkpoint_id", 1)),
    "answers": _ANSWER,
    "oracle_answers": _ANSWER,
    "applog_units": (*_ITEM, Length("state_key", 3), *(Between(name, 0.0, 1.0) for name in (*_SHARES, *_EVIDENCE))),
}
"""By table."""
