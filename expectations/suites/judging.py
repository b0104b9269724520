"""What the tables of judging promise beyond what the registry says."""

from expectations.suites.kinds import AtLeast, Between, Expectation, InSet, Length
from pipelines.evaluation.judging.tables import CALIBRATIONS, SUMMARY, VERDICT_STATUSES

_SHARES = tuple(name for name, column in SUMMARY.items() if column.unit == "share")
_INTERVALS = tuple(name.removesuffix("_low") for name in _SHARES if name.endswith("_low"))

JUDGING: dict[str, tuple[Expectation, ...]] = {
    "verdicts": (
        Length("rubric", 1),
        Length("judge", 1),
        Length("part", 1),
        Length("line", 1),
        Length("content", 1),
        InSet("status", VERDICT_STATUSES),
        Between("specific", 0, 2),
    ),
    "verdict_summary": (
        Length("method", 1),
        Length("reader", 1),
        Length("judge", 1),
        Length("model", 1),
        Between("budget", 0),
        Between("evidence_tokens", 1),
        InSet("calibration", CALIBRATIONS),
        *(Between(name, 0.0, 1.0) for name in _SHARES),
        Between("kappa", -1.0, 1.0),
        *(AtLeast(f"{name}_high", f"{name}_low") for name in _INTERVALS),
        AtLeast("n_readouts", "n_items"),
        AtLeast("n_items", "n_users"),
        AtLeast("n_parts", "n_items"),
        AtLeast("n_parts", "n_errors"),
    ),
}
"""By table."""
