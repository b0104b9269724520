"""Invariants of what methods and readers leave behind, on tables small enough to read."""

from typing import Any

import polars as pl
import pytest

from expectations.audits import audit_for
from expectations.invariants import INVARIANTS
from expectations.invariants.readings import funnel_adds_up
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.tables import FAMILIARITIES
from pipelines.schema import TABLES

Frame = pl.DataFrame


def table(name: str, **columns: Any) -> Frame:
    return pl.DataFrame(columns, schema=TABLES[name].schema)


def readings(**changes: Any) -> Frame:
    columns: dict[str, Any] = {
        "user_id": ["u", "u"],
        "transition_index": [0, 1],
        "pool": ["remember", "remember"],
        "status": ["ok", "short"],
        "reason": ["", "too_few"],
        "chosen": [[0, 3], [1]],
        "scores": [[0.1, 0.2, 0.3, 0.4], []],
        "call": ["", ""],
    }
    return table("readings", **columns | changes)


def small_pools() -> Frame:
    return table(
        "pools",
        user_id=["u"] * 8,
        transition_index=[0] * 4 + [1] * 4,
        pool=["remember"] * 8,
        position=[0, 1, 2, 3] * 2,
        l1=["d"] * 8,
        l2=list("abcdefgh"),
        n_choose=[2] * 8,
    )


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("", {}),
        ("", {"status": ["ok", "over"], "chosen": [[0, 3], [1, 2, 3]]}),
        ("", {"status": ["invalid", "failed"], "reason": ["a", "b"], "chosen": [[], []], "scores": [[], []]}),
        ("ordered", {"transition_index": [1, 0]}),
        ("chosen_once", {"chosen": [[1, 1], [1]]}),
        ("of_a_pool", {"transition_index": [0, 2]}),
        ("candidates", {"chosen": [[0, 4], [1]]}),
        ("candidates", {"chosen": [[-1, 3], [1]]}),
        ("candidates", {"scores": [[0.1], []]}),
        ("status", {"chosen": [[0], [1]]}),
        ("status", {"chosen": [[0, 3], [1, 2]]}),
        ("status", {"status": ["over", "short"], "reason": ["too_many", "too_few"], "chosen": [[0], [1]]}),
        ("reason", {"reason": ["too_many", "too_few"]}),
        ("reason", {"reason": ["", ""]}),
    ],
)
def test_readings(name: str, changes: dict[str, Any]) -> None:
    frames = {"readings": readings(**changes).lazy(), "pools": small_pools().lazy()}
    failed = [finding.name for finding in INVARIANTS["readings"](frames, CommerceSettings()) if not finding.passed]
    assert failed == ([name] if name else [])


@pytest.mark.parametrize(("index", "failed"), [(1, []), (7, ["of_a_transition"])])
def test_readouts(index: int, failed: list[str]) -> None:
    steps = pl.LazyFrame({"user_id": "u", "transition_index": [0, 1]}, schema_overrides={"transition_index": pl.Int32})
    readout = table(
        "readouts",
        user_id=["u"],
        transition_index=index,
        description="",
        tree="",
        tokens=0,
        tokens_cut=0,
        state_hash="h",
    )
    frames = {"readouts": readout.lazy(), "transitions": steps}
    assert [f.name for f in INVARIANTS["readouts"](frames, CommerceSettings()) if not f.passed] == failed


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("", {}),
        ("ordered", {"method": ["b", "a"]}),
        ("choices", {"n_exposed": [2, 0]}),
        ("groups", {"n_new": [1, 1]}),
        ("groups", {"hit_seen": [1, 1]}),
        ("parts", {"n_candidates": [7, 7]}),
        ("lost_is_zero", {"status": ["ok", "missing"], "n_exposed": [0, 0]}),
        ("one_pool", {"n_eligible": [6, 5]}),
    ],
)
def test_units(name: str, changes: dict[str, Any]) -> None:
    columns: dict[str, Any] = {
        "method": ["a", "b"],
        "reader": "r",
        "budget": 100,
        "user_id": "u",
        "transition_index": 0,
        "pool": "remember",
        "status": "ok",
        "n_positives": 2,
        "n_candidates": 8,
        "n_eligible": 6,
        "n_hit": [1, 2],
        "n_exposed": [1, 0],
        "expected_hits": None,
        "average_precision": None,
        **{f"{what}_{group}": 0 for group in FAMILIARITIES[:-1] for what in ("n", "hit")},
        "n_seen": 2,
        "hit_seen": [1, 2],
        "tokens": 5,
        "n_batches": 4,
    }
    frame = table("units", **columns | changes).lazy()
    failed = [
        finding.name for finding in INVARIANTS["units"]({"units": frame}, CommerceSettings()) if not finding.passed
    ]
    assert failed == ([name] if name else [])


def funnel_rows(*rows: tuple[str, str, str, int]) -> pl.LazyFrame:
    return pl.LazyFrame([(place, *row) for place, row in enumerate(rows)], TABLES["funnel"].schema, orient="row")


def test_funnel() -> None:
    good = funnel_rows(("cohort", "users", "", 30), ("cohort", "users", "too few", 10))
    assert all(finding.passed for finding in INVARIANTS["funnel"]({"funnel": good}, CommerceSettings()))
    assert funnel_adds_up(good, {"cohort/users": 40}).passed
    assert not funnel_adds_up(good, {"cohort/users": 41}).passed
    assert not funnel_adds_up(good, {"events/rows": 41}).passed
    lost = funnel_rows(("cohort", "users", "too few", 10))
    failed = [f.name for f in INVARIANTS["funnel"]({"funnel": lost}, CommerceSettings()) if not f.passed]
    assert failed == ["steps", "one_kept"]
    for bad in (
        good.with_columns(pl.col("place") + 1),
        funnel_rows(("a", "rows", "", 1), ("b", "rows", "", 1), ("a", "rows", "late", 1)),
        funnel_rows(("cohort", "users", "too few", 10), ("cohort", "users", "", 30)),
    ):
        failed = [f.name for f in INVARIANTS["funnel"]({"funnel": bad}, CommerceSettings()) if not f.passed]
        assert failed == ["steps"]
    for n, passed in ((40, True), (39, False)):
        findings = audit_for("funnel", counts={"cohort/users": n})(good)
        assert [finding.passed for finding in findings if finding.name == "consistent/adds_up"] == [passed]
