"""Truth at checkpoints by both definitions, against slow oracles; retention and update; why answers fail."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from applog_worlds import USER, answers, gold_item
from hypothesis import given
from hypothesis import strategies as st

from pipelines.applogs.answers import standing
from pipelines.applogs.attribution import attribute, shown_fields
from pipelines.applogs.gold_parts import state_parts
from pipelines.applogs.retention import retention, value_histories
from pipelines.applogs.tables import table_of
from pipelines.applogs.truth import BadTimeline, as_of_truth, finished_chain_truth, never_true, truth_differences

START = datetime(2024, 1, 1, tzinfo=UTC)
GYM, RUN = "user_attributes_state:gym", "habits_state:run"


def day(n: int) -> datetime:
    return START + timedelta(days=n)


def checkpoints(*days: int) -> pl.DataFrame:
    """Checkpoints at these days; one log a day, so that day n shows logs 0 to n."""
    return table_of(
        "checkpoints",
        [
            {"user_id": USER, "checkpoint_index": i, "checkpoint_id": f"c{i + 1}", "as_of": day(n), "n_visible": n + 1,
             "last_log_id": f"log_{n}", "cut_by": "index"}
            for i, n in enumerate(days)
        ],
    )  # fmt: skip


def interval(key: str, value: Any, begins: int, ends: int | None = None, member: str | None = None) -> dict[str, Any]:
    return {
        "user_id": USER, "state_key": key, "value_id": f"{key}@{begins}{member or ''}", "member": member,
        "value": json.dumps(value), "valid_from": day(begins), "valid_to": None if ends is None else day(ends),
    }  # fmt: skip


def evidence(key: str, begins: int | str, *logs: int, role: str = "supports", **more: Any) -> list[dict[str, Any]]:
    value_id = begins if isinstance(begins, str) else f"{key}@{begins}"
    return [
        {"user_id": USER, "state_key": key, "value_id": value_id, "app_log_id": f"log_{n}", "position": n, "role": role,
         "fields": [], **more}
        for n in logs
    ]  # fmt: skip


def as_of(rows: list[dict[str, Any]], shown: list[dict[str, Any]], *days: int) -> pl.DataFrame:
    return as_of_truth(table_of("state_intervals", rows), table_of("state_evidence", shown), checkpoints(*days))


def test_an_interval_holds_its_beginning_and_not_its_end() -> None:
    rows = [interval(GYM, "Old", 1, 5), interval(GYM, "New", 5)]
    shown = [*evidence(GYM, 1, 1, 3), *evidence(GYM, 5, 5, 9), *evidence(GYM, "", 2, role="distractor")]
    states = as_of(rows, shown, 0, 1, 4, 5, 8)
    told = states.select("checkpoint_id", "value", "evidence", "evidence_previous", "distractors").rows()
    assert told == [
        ("c2", '"Old"', ["log_1"], [], []),
        ("c3", '"Old"', ["log_1", "log_3"], [], ["log_2"]),
        ("c4", '"New"', ["log_5"], ["log_1", "log_3"], ["log_2"]),
        ("c5", '"New"', ["log_5"], ["log_1", "log_3"], ["log_2"]),
    ]


def test_a_set_keeps_all_its_members_and_their_own_evidence() -> None:
    rows = [interval(GYM, "mat", 1, None, "mat"), interval(GYM, "shoes", 2, 6, "shoes")]
    shown = [*evidence(GYM, f"{GYM}@1mat", 1), *evidence(GYM, f"{GYM}@2shoes", 2)]
    states = as_of(rows, shown, 3, 7)
    assert states["value"].to_list() == ['["mat","shoes"]', '["mat"]']
    assert states["evidence"].to_list() == [["log_1", "log_2"], ["log_1"]]
    assert states["evidence_previous"].to_list() == [[], ["log_2"]]


def test_what_ended_is_asked_for_abstention_and_what_never_was_too() -> None:
    rows = [interval(RUN, {"timing": {"start_time": "06:00"}}, 1, 4)]
    table = checkpoints(0, 2, 5)
    states = as_of_truth(table_of("state_intervals", rows), table_of("state_evidence", evidence(RUN, 1, 1)), table)
    assert states.select("checkpoint_id", "expectation", "value", "evidence", "evidence_previous").rows() == [
        ("c2", "value", '{"timing":{"start_time":"06:00"}}', ["log_1"], []),
        ("c3", "no_longer", None, [], ["log_1"]),
    ]
    keys = pl.DataFrame({"user_id": [USER, USER], "state_key": [RUN, "habits_state:swim"]})
    never = never_true(states, keys, table, "as_of")
    assert never.select("checkpoint_id", "state_key", "expectation", "family").rows() == [
        (name, "habits_state:swim", "never", "habit") for name in ("c1", "c2", "c3")
    ]


def test_timelines_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadTimeline, match="overlap"):
        as_of([interval(GYM, "a", 1, 5), interval(GYM, "b", 4)], [], 6)
    with pytest.raises(BadTimeline, match="overlap"):
        as_of([interval(GYM, "a", 1), interval(GYM, "b", 4)], [], 6)
    with pytest.raises(BadTimeline, match="before they begin"):
        as_of([interval(GYM, "a", 5, 5)], [], 6)
    assert as_of([interval(GYM, "a", 1, 4), interval(GYM, "b", 4)], [], 4)["value"].to_list() == ['"b"']


def change(key: str, chain: str, end: int, value: Any, kind: str = "modify", **more: Any) -> dict[str, Any]:
    return {
        "user_id": USER, "state_key": key, "chain_id": chain, "place": 0, "end_position": end, "change_type": kind,
        "value": None if value is None else json.dumps(value), "evidence": [f"log_{end - 1}", f"log_{end}"],
        "valid": True, **more,
    }  # fmt: skip


def test_a_chain_counts_once_its_last_log_is_visible() -> None:
    changes = table_of(
        "state_changes",
        [
            change(GYM, "a", 2, "Old"),
            change(GYM, "b", 6, {"from": "Old", "to": "New"}),
            change(GYM, "c", 9, None, "drop"),
        ],
    )
    table = checkpoints(1, 2, 5, 6, 9)
    states = finished_chain_truth(changes, table)
    assert states.select("checkpoint_id", "expectation", "value", "evidence").rows() == [
        ("c2", "value", '"Old"', ["log_1", "log_2"]),
        ("c3", "value", '"Old"', ["log_1", "log_2"]),
        ("c4", "value", '"New"', ["log_1", "log_2", "log_5", "log_6"]),
        ("c5", "no_longer", None, []),
    ]
    true = as_of_truth(
        table_of("state_intervals", [interval(GYM, "Old", 1, 5), interval(GYM, "New", 5, 8)]),
        table_of("state_evidence", []),
        table,
    )
    assert truth_differences(pl.concat([states, true])).rows() == [
        (USER, "c1", GYM, '"Old"', None),
        (USER, "c3", GYM, '"New"', '"Old"'),
    ]


def test_a_state_stays_only_if_the_chain_of_its_value_is_valid() -> None:
    changes = [change(GYM, "a", 2, "Old"), change(GYM, "b", 4, "New", valid=False), change(GYM, "c", 6, None)]
    states = finished_chain_truth(table_of("state_changes", changes), checkpoints(2, 4, 6))
    assert states["checkpoint_id"].to_list() == ["c1"], "a change without a value leaves value and validity alone"


steps = st.lists(
    st.tuples(
        st.sampled_from([GYM, RUN]), st.integers(0, 20), st.sampled_from(["set", "drop", "touch"]), st.booleans()
    ),
    max_size=10,
)


@given(steps, st.lists(st.integers(0, 21), min_size=1, max_size=5, unique=True))
def test_the_replay_against_a_slow_oracle(changes: list[tuple[str, int, str, bool]], days: list[int]) -> None:
    rows = [
        change(key, f"chain{i:02}", end, f"v{i}" if kind == "set" else None, kind, valid=valid)
        for i, (key, end, kind, valid) in enumerate(changes)
    ]
    table = checkpoints(*sorted(days))
    states = finished_chain_truth(table_of("state_changes", rows), table)
    told = {(row["checkpoint_id"], row["state_key"]): row["value"] for row in states.to_dicts()}
    expected: dict[tuple[str, str], str | None] = {}
    for name, visible in table.select("checkpoint_id", "n_visible").iter_rows():
        held: dict[str, tuple[str, bool]] = {}
        dropped: set[str] = set()
        for row in sorted(rows, key=lambda row: (row["end_position"], row["chain_id"])):
            if row["end_position"] >= visible:
                continue
            if row["change_type"] == "drop":
                held.pop(row["state_key"], None)
                dropped.add(row["state_key"])
            elif row["value"] is not None:
                held[row["state_key"]] = (row["value"], row["valid"])
                dropped.discard(row["state_key"])
        expected |= {(name, key): value for key, (value, valid) in held.items() if valid}
        expected |= {(name, key): None for key in dropped}
    assert told == expected


spans = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 3)), min_size=1, max_size=5)


@given(spans, st.lists(st.integers(0, 30), min_size=1, max_size=5, unique=True))
def test_intervals_against_a_slow_oracle(lengths: list[tuple[int, int]], days: list[int]) -> None:
    rows, at = [], 1
    for i, (length, gap) in enumerate(lengths):
        rows.append(interval(GYM, f"v{i}", at, at + length))
        at += length + gap
    table = checkpoints(*sorted(days))
    states = as_of_truth(table_of("state_intervals", rows[::-1]), table_of("state_evidence", []), table)
    told = {row["checkpoint_id"]: row["value"] for row in states.to_dicts()}
    expected: dict[str, str | None] = {}
    for name, moment in table.select("checkpoint_id", "as_of").iter_rows():
        if begun := [row for row in rows if row["valid_from"] <= moment]:
            expected[name] = next((row["value"] for row in begun if moment < row["valid_to"]), None)
    assert told == expected


def state(key: str, name: str, value: str | None) -> dict[str, Any]:
    return {
        "user_id": USER, "checkpoint_id": name, "truth": "as_of", "state_key": key, "family": "attribute",
        "expectation": "no_longer" if value is None else "value", "value": value, "evidence": [],
    }  # fmt: skip


def test_histories_of_values() -> None:
    timeline = {
        "same": ["a", "a", "a", "a", "a"],
        "once": ["a", "a", "b", "b", "b"],
        "back": ["a", "b", "a", "a", None],
        "late": [None, None, "a", "a", "b"],
        "gap": ["a", None, "a", "a", "a"],
    }
    rows = [
        state(f"user_attributes_state:{key}", f"c{i + 1}", value)
        for key, values in timeline.items()
        for i, value in enumerate(values)
    ]
    table = value_histories(table_of("gold_states", rows), checkpoints(1, 2, 3, 4, 5))
    told: dict[str, list[str]] = {}
    for row in table.sort("checkpoint_index").to_dicts():
        told.setdefault(row["state_key"].partition(":")[2], []).append(row["history"])
    assert told == {
        "same": ["first", "retained", "retained", "retained", "retained"],
        "once": ["first", "retained", "updated", "changed_earlier", "changed_earlier"],
        "back": ["first", "updated", "updated", "changed_earlier"],
        "late": ["new", "changed_earlier", "updated"],
        "gap": ["first", "new", "changed_earlier", "changed_earlier"],
    }


def units_of(*rows: tuple[str, str, float, str]) -> pl.DataFrame:
    return table_of(
        "applog_units",
        [
            {"user_id": USER, "item": f"{key}{name}", "checkpoint_id": name, "task": "state_completion",
             "state_key": f"user_attributes_state:{key}", "family": "attribute", "expectation": "value",
             "status": status, "score": score}
            for key, name, score, status in rows
        ],
    )  # fmt: skip


def test_retention_and_update_over_checkpoints() -> None:
    states = [state(f"user_attributes_state:{key}", name, value) for key, name, value in (
        ("k", "c1", "a"), ("k", "c2", "a"), ("m", "c1", "a"), ("m", "c2", "b"), ("n", "c1", "a"), ("n", "c2", "a"),
    )]  # fmt: skip
    histories = value_histories(table_of("gold_states", states), checkpoints(1, 2))
    units = units_of(
        ("k", "c1", 1.0, "ok"), ("m", "c1", 1.0, "ok"), ("n", "c1", 0.0, "ok"),
        ("k", "c2", 0.5, "ok"), ("m", "c2", 0.25, "ok"), ("n", "c2", 0.0, "missing"),
    )  # fmt: skip
    table = retention(units, histories, truth="as_of", score="score").filter(family="all")
    assert table.select("checkpoint_index", "history", "n_items", "n_missing", "value").rows() == [
        (0, "first", 3, 0, pytest.approx(2 / 3)),
        (1, "retained", 2, 1, pytest.approx(0.25)),
        (1, "updated", 1, 0, 0.25),
    ]
    gone = units.with_columns(
        pl.when(checkpoint_id="c2")
        .then(pl.lit("missing"))
        .otherwise("status")
        .cast(units.schema["status"])
        .alias("status")
    )
    table = retention(gone, histories, truth="as_of", score="score").filter(family="all")
    assert table["value"].to_list() == [pytest.approx(2 / 3), None, None], "not run is not zero"


def labelled(retrieved: list[str] | None, fields: dict[str, list[str]] | None = None, **changes: Any) -> list[str]:
    right = {"gym": "Iron", "town": "Erie"}
    item = gold_item("a", right, evidence=["log_1", "log_2"], evidence_previous=["log_5"], distractors=["log_8"])
    items = table_of("gold_items", [item | changes])
    given = answers(a="x").with_columns(retrieved=pl.Series([retrieved], dtype=pl.List(pl.String)))
    shown = None
    if fields is not None:
        rows = [one for n, paths in fields.items() for one in evidence(item["state_key"], "v", int(n), fields=paths)]
        shown = shown_fields(items, table_of("state_evidence", rows))
    parts = table_of("gold_parts", state_parts(USER, "a", right))
    scores = pl.DataFrame({"user_id": [USER], "item": ["a"], "score": [0.3]})
    return attribute(standing(items, given), scores, parts, shown)["label"].to_list()


@pytest.mark.parametrize(
    ("retrieved", "label"),
    [
        (None, "untold"),
        ([], "irrelevant"),
        (["log_77"], "irrelevant"),
        (["log_8", "log_77"], "identity_miss"),
        (["log_5"], "identity_miss"),
        (["log_1", "log_5"], "conflated"),
        (["log_1", "log_8"], "conflated"),
        (["log_1"], "detail_miss"),
        (["log_2", "log_1"], "all_clear"),
    ],
)
def test_why_an_answer_fails(retrieved: list[str] | None, label: str) -> None:
    assert labelled(retrieved, {"1": ["gym"], "2": ["town"]}) == [label]


def test_a_log_that_shows_the_whole_value_clears_it() -> None:
    assert labelled(["log_1"], {"1": [], "2": ["town"]}) == ["all_clear"]
    assert labelled(["log_1"]) == ["all_clear"]
    assert labelled(["log_1"], {"1": ["gym"]}, distractors=None) == ["untold"]
    assert labelled(["log_1"], expectation="never", reference=None) == []
