"""The wall: nothing that a pack says of the truth can be reached from what is asked."""

import copy
import json
from typing import Any

import polars as pl
import pytest
from applog_worlds import DATA, HABIT, USER, as_bytes, checkpoint, pack
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.applogs.packs import Pack, read_pack
from pipelines.applogs.state_values import BLANK
from pipelines.commerce.reading import SourceError

CANARY = "canary-"
ASKED = {
    "checkpoint_id", "timestamp", "question_text", "retrieval_query", "answer_template", "scenario",
    "task_instruction", "output_template", "log_index", "app_log_id",
}  # fmt: skip
"""Fields that may be shown, or that the harness cuts with."""
ENUMERATED = {"service_family", "point_role", "point_type", "qa_id", "checkpoints"}


def whole_pack() -> dict[str, Any]:
    states = {
        "habits_state:budget_review": HABIT,
        "user_attributes_state:home_gym": {"from": "Old Gym", "to": "Iron Works, Penn Avenue"},
        "preferences_state:coffee": {"statement": "prefers pour-over to espresso"},
    }
    items = {
        "habits_state:budget_review": {
            "qa_id": "q1", "service_family": "user_communication", "scenario": "It is Sunday at 09:15.",
            "task_instruction": "Draft a reminder.", "reference_answer": "Budget review at 09:30!",
            "answer_scoring_points": [
                {"point_id": "g", "point_role": "identity_gate", "point_text": "about the budget review"},
                {"point_id": "p1", "point_text": "at 09:30", "source_field_path": "timing.start_time",
                 "reference_value": "09:30"},
            ],
            "gold_memory_evidence_app_log_ids": ["log_00177"], "item_validation": {"verdict": "fine"},
        },
        "preferences_state:coffee": {
            "qa_id": "q1", "service_family": "information_request_construction", "scenario": "A cafe app is open.",
            "task_instruction": "Fill the filters.", "output_template": {"brew": "<fill>"},
            "reference_output": {"brew": "pour-over"}, "reference_anchors": [{"basis": "statement"}],
            "answer_scoring_points": [{"point_id": "p1", "output_field_path": "brew", "reference_value": "pour-over"}],
            "gold_memory_evidence_app_log_ids": ["log_00011"],
        },
    }  # fmt: skip
    one = checkpoint(
        1,
        {"log_index": 3, "app_log_id": "log_00004", "timestamp": "2024-01-01 18:00:00", "window_id": "w0",
         "domain": "Leisure", "completed_chain_ids": ["leisure_w0_3"]},
        states,
        rq3_apply_service_qa={"version": "v9", "keys": {key: {"items": [item]} for key, item in items.items()}},
        expected_snapshot_state={"habits_state": {"secret_run": {"timing": {"start_time": "06:00"}}}},
        state_questionability={"habits_state:budget_review": {"validated_state_value": "x"}},
        sampling={"mode": "calendar_time"},
    )  # fmt: skip
    one["state_completion_pack"]["keys"]["habits_state:budget_review"] |= {
        "pack_identity": "weekly|6|09:30",
        "scoring_points": [{"point_id": "a1", "point_text": "it is weekly", "reference_value": "weekly"}],
    }
    return pack(one, sampling_strategy={"stage": "benchmark_build"})


def planted(value: Any, path: tuple[str, ...], canaries: dict[str, tuple[str, ...]]) -> Any:
    """The pack with every text that is none of the shown fields made a canary."""
    name = path[-1] if path else ""
    if name in ASKED:
        return value
    if isinstance(value, dict):
        return {key: planted(inner, (*path, key), canaries) for key, inner in value.items()}
    if isinstance(value, list):
        return [planted(inner, path, canaries) for inner in value]
    if isinstance(value, str) and name not in ENUMERATED and name not in ("user_id",):
        canary = f"{CANARY}{len(canaries)}-"
        canaries[canary] = path
        return canary
    return value


def shown(given: Pack) -> str:
    return given.questions.write_json() + given.anchors.write_json()


def test_no_gold_text_is_reachable_from_the_question_side() -> None:
    canaries: dict[str, tuple[str, ...]] = {}
    value = planted(whole_pack(), (), canaries)
    read = read_pack(as_bytes(value), "task_packs.json", USER)
    assert len(canaries) > 30
    assert read.questions.height == 5
    side = shown(read)
    assert [path for canary, path in canaries.items() if canary in side] == []
    # Yet nothing is lost: the gold side has them all.
    gold = read.gold.records.write_json()
    assert [path for canary, path in canaries.items() if canary not in gold] == []


places = st.sampled_from(["head", "checkpoint", "as_of", "pack", "item", "service", "services"])


@settings(deadline=None)
@given(places, st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=10).filter(
    lambda name: name not in ASKED | ENUMERATED | {"user_id", "items", "keys"}), st.booleans())  # fmt: skip
def test_unknown_fields_go_to_gold_alone(place: str, name: str, nested: bool) -> None:
    value = whole_pack()
    one = value["checkpoints"][0]
    key = "habits_state:budget_review"
    holder = {
        "head": value,
        "checkpoint": one,
        "as_of": one["as_of"],
        "pack": one["state_completion_pack"],
        "item": one["state_completion_pack"]["keys"][key],
        "service": one["rq3_apply_service_qa"]["keys"][key]["items"][0],
        "services": one["rq3_apply_service_qa"],
    }[place]
    if name in holder:
        return
    holder[name] = {"deep": ["canary-x"]} if nested else "canary-x"
    read = read_pack(as_bytes(value), "p", USER)
    assert "canary-x" not in shown(read)
    assert "canary-x" in read.gold.records.write_json()


def test_services_do_not_name_their_state() -> None:
    read = read_pack(as_bytes(whole_pack()), "p", USER)
    services = read.questions.filter(pl.col("task") == "personalised_service")
    assert services.height == 2 and services["state_key"].null_count() == 2
    assert "budget" not in services.write_json() and "coffee" not in services.write_json()
    assert "q1" not in services.write_json()


def test_renaming_the_state_changes_no_service_question_but_its_name() -> None:
    value = whole_pack()
    other = json.loads(json.dumps(value).replace("budget_review", "long_run"))
    sides = [
        read_pack(as_bytes(one), "p", USER).questions.filter(pl.col("task") == "personalised_service").drop("item")
        for one in (value, other)
    ]
    assert sides[0].sort("scenario").equals(sides[1].sort("scenario"))


def test_a_template_that_tells_a_value_is_refused() -> None:
    value = whole_pack()
    item = value["checkpoints"][0]["state_completion_pack"]["keys"]["habits_state:budget_review"]
    item["answer_template"]["schedule"]["days_of_week"] = [6]
    with pytest.raises(SourceError, match=r"answer_template\.schedule\.days_of_week\[0\] is a value"):
        read_pack(as_bytes(value), "p", USER)
    service = whole_pack()
    service["checkpoints"][0]["rq3_apply_service_qa"]["keys"]["preferences_state:coffee"]["items"][0][
        "output_template"] = {"brew": "pour-over"}  # fmt: skip
    with pytest.raises(SourceError, match=r"output_template\.brew"):
        read_pack(as_bytes(service), "p", USER)


def test_what_gold_holds() -> None:
    read = read_pack(as_bytes(whole_pack()), "p", USER)
    items = {row["state_key"]: row for row in read.gold.items.filter(task="state_completion").to_dicts()}
    assert items["user_attributes_state:home_gym"]["reference"] == '"Iron Works, Penn Avenue"'
    assert items["habits_state:budget_review"]["evidence"] == ["log_00001"]
    parts = read.gold.parts.join(read.gold.items.select("item", "state_key", "task"), on="item")
    told = {
        (row["task"], row["state_key"].partition(":")[2], row["part"]): (row["judged"], row["gate"], row["kind"])
        for row in parts.to_dicts()
    }
    assert told == {
        ("personalised_service", "budget_review", "g"): (True, True, "identity"),
        ("personalised_service", "budget_review", "p1"): (True, False, "time of day"),
        ("personalised_service", "coffee", "brew"): (True, False, "entity"),
        ("personalised_service", "coffee", "p1"): (False, False, "entity"),
        ("state_completion", "budget_review", "schedule.days_of_week"): (True, False, "weekdays"),
        ("state_completion", "budget_review", "schedule.frequency_type"): (True, False, "frequency"),
        ("state_completion", "budget_review", "timing.start_time"): (True, False, "time of day"),
        ("state_completion", "budget_review", "a1"): (False, False, "entity"),
        ("state_completion", "coffee", "statement"): (True, False, "entity"),
        ("state_completion", "home_gym", "value"): (True, False, "entity"),
    }


def test_nested_and_flat_states_read_alike_and_a_list_of_one_pack_too() -> None:
    value = whole_pack()
    nested = copy.deepcopy(value)
    flat = nested["checkpoints"][0]["validated_snapshot_state"]
    by_category: dict[str, dict[str, Any]] = {}
    for key, state in flat.items():
        category, name = key.split(":")
        by_category.setdefault(category, {})[name] = state
    nested["checkpoints"][0]["validated_snapshot_state"] = by_category
    first, second = (read_pack(as_bytes(one), "p", USER) for one in (value, [nested]))
    assert first.gold.items.equals(second.gold.items) and first.questions.equals(second.questions)


def test_a_key_without_a_right_answer_is_not_asked() -> None:
    states = {"habits_state:walk": {"priority": 1, "schedule_dates": ["2024-01-01"]}, "habits_state:run": HABIT}
    one = checkpoint(1, {"timestamp": "2024-01-01 00:00:00"}, {"habits_state:run": HABIT})
    one["validated_snapshot_state"] = states
    one["state_completion_pack"]["keys"]["habits_state:walk"] = {"question_text": "?", "answer_template": BLANK}
    read = read_pack(as_bytes(pack(one)), "p", USER)
    assert read.questions["state_key"].to_list() == ["habits_state:run"] == read.gold.states["state_key"].to_list()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda one: one["as_of"].update(timestamp="then"), r"checkpoints\[0\].as_of.timestamp 'then'"),
        (lambda one: one["as_of"].pop("timestamp"), "as_of.timestamp is absent"),
        (lambda one: one["as_of"].update(log_index=True), "log_index is no whole number"),
        (lambda one: one["as_of"].update(log_index=2**63), "log_index is no whole number"),
        (lambda one: one.update(checkpoint_id=3), "checkpoint_id is no text"),
        (lambda one: one["state_observability"].update(x=3), "state_observability"),
        (lambda one: one["state_completion_pack"]["keys"].update({"nonsense": {}}), "no state key"),
        (lambda one: one["state_completion_pack"].update(keys=[]), "keys is no object"),
    ],
)
def test_bad_packs_name_the_field(change: Any, named: str) -> None:
    value = whole_pack()
    change(value["checkpoints"][0])
    with pytest.raises(SourceError, match=named):
        read_pack(as_bytes(value), "task_packs.json", USER)


def test_a_point_named_like_a_field_is_refused() -> None:
    value = whole_pack()
    item = value["checkpoints"][0]["state_completion_pack"]["keys"]["habits_state:budget_review"]
    item["scoring_points"] = [{"point_id": "p", "point_text": 3}]
    with pytest.raises(SourceError, match=r"scoring_points\[0\]\.point_text is no text"):
        read_pack(as_bytes(value), "p", USER)
    item["scoring_points"] = [{"point_id": "timing.start_time"}]
    with pytest.raises(SourceError, match="names a point like a field"):
        read_pack(as_bytes(value), "p", USER)


def test_twice_the_same_checkpoint_is_refused() -> None:
    value = whole_pack()
    value["checkpoints"] *= 2
    with pytest.raises(SourceError, match="twice"):
        read_pack(as_bytes(value), "p", USER)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared real logs are not beside this checkout")
def test_the_published_example_is_split() -> None:
    read = read_pack((DATA / "user001_task_packs_excerpt.json").read_bytes(), "excerpt", USER)
    assert read.questions["task"].to_list() == ["personalised_service", "state_completion"]
    assert read.gold.items["evidence"].list.len().to_list() == [14, 14]
    side = shown(read)
    assert not [text for text in ("log_00003", "log_00177", "leisure", "w0", "aqp_", "scp_") if text in side]
    assert '"09:30"' not in side and "weekly" not in side
