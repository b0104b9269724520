"""What the tables of an app-log board promise beyond what the registry says."""

from expectations.suites.judging import of_verdicts
from expectations.suites.kinds import AtLeast, Between, Expectation, Length
from pipelines.evaluation.judging.tables import CALIBRATED

Promises = tuple[Expectation, ...]
_ARM: Promises = (Length("method", 1), Length("reader", 1))
_VALUE: Promises = (Between("value", 0.0, 1.0),)

APPLOG_BOARDS: dict[str, Promises] = {
    "applog_verdicts": (*(Length(name, 1) for name in ("judge", "user_id", "item", "part", "content")),
                        Between("detail_quality", 0, 2)),
    "applog_failures": tuple(Length(name, 1) for name in ("judge", "user_id", "item")),
    "applog_judged": (*(Length(name, 1) for name in ("user_id", "item", "state_key")), Between("score", 0.0, 1.0)),
    "applog_board": (*_ARM, *_VALUE, Length("board", 1), Between("coverage", 0.0, 1.0), Between("rank", 1)),
    "applog_differences": (Length("board", 1), Length("method", 1), Length("other", 1), Between("p", 0.0, 1.0)),
    "applog_retention": (*_ARM, *_VALUE, Between("place", 1)),
    "applog_attribution": (*_ARM, Between("n_items", 1), Between("share", 0.0, 1.0)),
    "applog_agreement": (*(Length(name, 1) for name in ("board", "judge")), Between("n_judged", 1),
                         Between("agreement", 0.0, 1.0), Between("kappa", -1.0, 1.0)),
    "applog_calibration": (*_ARM, AtLeast("n_questions", "n_items"), *of_verdicts(CALIBRATED)),
    "applog_compat": (*_ARM, Length("metric", 1), Between("n_users", 1), Between("value", 0.0)),
}  # fmt: skip
"""By table."""
