"""What the tables of judging promise beyond what the registry says."""

from collections.abc import Collection

from expectations.suites.kinds import AtLeast, Between, Expectation, InSet, Length
from pipelines.evaluation.judging.tables import CALIBRATIONS, SUMMARY, VERDICT_STATUSES


def of_verdicts(columns: Collection[str]) -> tuple[Expectation, ...]:
    """What the columns that sum up verdicts promise, as far as a table has them."""
    shares = [name for name in columns if name in SUMMARY and SUMMARY[name].unit == "share"]
    intervals = [name.removesuffix("_low") for name in columns if name.endswith("_low")]
    return (
        Length("judge", 1),
        InSet("calibration", CALIBRATIONS),
        *(Between(name, 0.0, 1.0) for name in shares),
        Between("kappa", -1.0, 1.0),
        *(AtLeast(f"{name}_high", f"{name}_low") for name in intervals),
        AtLeast("n_items", "n_users"),
        AtLeast("n_parts", "n_items"),
        AtLeast("n_parts", "n_errors"),
    )


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
        Length("model", 1),
        Between("budget", 0),
        Between("evidence_tokens", 1),
        AtLeast("n_readouts", "n_items"),
        *of_verdicts(SUMMARY),
    ),
}
"""By table."""
