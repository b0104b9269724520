"""Prediction files of users with a published pack: the pack's own words, standings, what is complete."""

import json
from typing import Any

import polars as pl
from applog_worlds import HABIT, USER, answers, as_bytes, checkpoint, hourly, log, logs_of, pack
from prediction_reader import read_predictions

from pipelines.applogs.answers import standing
from pipelines.applogs.checkpoints import cut
from pipelines.applogs.packs import Pack, read_pack
from pipelines.applogs.prediction_files import Predicted, prediction_files

REVIEW, GYM, COFFEE = "habits_state:budget_review", "user_attributes_state:home_gym", "preferences_state:coffee"
STATES = {REVIEW: HABIT, GYM: "Iron Works", COFFEE: {"statement": "prefers pour-over"}}
SERVICES = {
    REVIEW: {
        "qa_id": "q7", "service_family": "user_communication", "scenario": "It is Sunday at 09:15.",
        "task_instruction": "Draft a reminder.", "answer_scoring_points": [{"point_id": "p", "reference_value": "x"}],
    },
    COFFEE: {
        "qa_id": "q8", "service_family": "information_request_construction", "scenario": "A cafe app is open.",
        "task_instruction": "Fill the filters.", "output_template": {"brew": "<fill>", "size": "<fill>"},
        "reference_output": {"brew": "pour-over", "size": "small"},
    },
}  # fmt: skip
LOGS = logs_of([*hourly(8), log(99, "2024-02-01 00:00:00")])
FIRST, SECOND = "2024-01-01T12:00:00", "2024-01-02 06:00:00"


def read(**head: Any) -> Pack:
    services = {"keys": {key: {"items": [one]} for key, one in SERVICES.items()}}
    places = [
        {"log_index": 2, "app_log_id": "log_00003", "timestamp": FIRST},
        {"log_index": 5, "app_log_id": "log_00006", "timestamp": SECOND},
        {"log_index": 8, "app_log_id": "log_00099", "timestamp": "2024-02-01 00:00:00"},
    ]
    made = [checkpoint(n, at, STATES, rq3_apply_service_qa=services) for n, at in enumerate(places, start=1)]
    made[1]["sampling"] = {"mode": "calendar_time", "params": {"anchor_index": 2}}
    return read_pack(as_bytes(pack(*made, **head)), "task_packs.json", USER)


def item(given: Pack, number: int, task: str, key: str) -> str:
    rows = given.gold.items.filter(checkpoint_id=f"cal_quarterly_{number:03}", task=task, state_key=key)
    return str(rows["item"].item())


def predicted(given: Pack, told: pl.DataFrame, drop: tuple[str, ...] = ()) -> dict[str, Any]:
    """The prediction object, and the text of its file read strictly in passing."""
    items = given.gold.items.filter(~pl.col("item").is_in(drop))
    frames = Predicted(standing(items, told), given.questions, cut(LOGS, given.anchors), given.gold.records)
    ((user, made),) = prediction_files(frames, "memory, reader")
    as_of = {FIRST: "cal_quarterly_001", SECOND: "cal_quarterly_002"}
    back = read_predictions(json.dumps(made), as_of, items)
    run = [one["checkpoint_id"] for one in made["predictions"]]
    assert user == USER and back.height == items.filter(pl.col("checkpoint_id").is_in(run)).height
    return made


def test_answers_stand_in_the_published_form_under_the_words_of_the_pack() -> None:
    given = read(research_frame_version="rq_v2", canonical_research_doc="doc.md")
    said = {"schedule": {"frequency_type": "weekly", "days_of_week": [6, 2], "mood": "x"}, "noise": 1}
    told = answers(**{
        item(given, 1, "state_completion", REVIEW): ("ok", said, ["log_00001", "", "log_00003"]),
        item(given, 1, "state_completion", GYM): ("abstained", None, []),
        item(given, 1, "state_completion", COFFEE): ("parse_error", None, []),
        item(given, 1, "personalised_service", REVIEW): ("ok", "Budget review!", ["log_00002"]),
        item(given, 1, "personalised_service", COFFEE): ("ok", {"brew": "pour-over"}, []),
        item(given, 2, "state_completion", GYM): "Iron Works",
    })  # fmt: skip
    made = predicted(given, told.with_columns(retrieved=pl.lit(["log_00001"], pl.List(pl.String))))
    assert {name: made[name] for name in made if name != "predictions"} == {
        "user_id": USER, "benchmark_path": f"{USER}/task_packs.json", "task_contract_version": "taskabc_v2",
        "research_frame_version": "rq_v2", "canonical_research_doc": "doc.md",
    }  # fmt: skip
    first, second = made["predictions"]
    assert first["snapshot_state"] == {
        REVIEW: {"schedule": {"frequency_type": "weekly", "days_of_week": [6, 2]}, "timing": {"start_time": None}},
        GYM: None, COFFEE: {"statement": None},
    }  # fmt: skip
    cited = [{"app_log_id": one, "evidence_content": ""} for one in ("log_00001", "log_00003")]
    assert first["evidence"] == {REVIEW: cited, GYM: [], COFFEE: []}
    (reminder,) = first["rq3_apply_answers"][REVIEW]["items"]
    assert (reminder["qa_id"], reminder["answer"], reminder["output"]) == ("q7", "Budget review!", "Budget review!")
    (filters,) = first["rq3_apply_answers"][COFFEE]["items"]
    assert filters["answer"] == filters["output"] == {"brew": "pour-over", "size": None}
    about = first["metadata"]
    assert (about["checkpoint_timestamp"], about["checkpoint_date"], about["num_observed_logs"]) == (
        FIRST, "2024-01-01", 3,
    )  # fmt: skip
    assert about["target_key_status"] == {REVIEW: "ok", GYM: "abstained", COFFEE: "parse_error"}
    assert about["per_key_retrieval"][0]["retrieval_metadata"] == {"retrieved_app_log_ids": ["log_00001"]}
    assert second["metadata"]["sampling_params"] == {"anchor_index": 2} and about["sampling_params"] == {}
    assert [one["metadata"]["_checkpoint_complete"] for one in made["predictions"]] == [False, False]
    assert second["rq3_apply_answers"] == {REVIEW: {"items": []}, COFFEE: {"items": []}}
    assert (
        second["snapshot_state"][GYM] == "Iron Works" and second["metadata"]["target_key_status"][COFFEE] == "missing"
    )


def test_a_checkpoint_is_complete_when_all_of_it_was_asked_and_answered() -> None:
    given = read()
    whole = {
        name: ("abstained", None, []) if row["state_key"] == GYM else ("ok", value_of(row), [])
        for row in given.gold.items.filter(checkpoint_id="cal_quarterly_001").to_dicts()
        for name in [row["item"]]
    }
    (one,) = predicted(given, answers(**whole))["predictions"]
    assert one["metadata"]["_checkpoint_complete"] is True
    assert one["metadata"]["per_key_retrieval"][0]["retrieval_metadata"] == {}, "it told no logs, which is not none"
    left = item(given, 1, "personalised_service", COFFEE)
    (part,) = predicted(given, answers(**{name: row for name, row in whole.items() if name != left}), drop=(left,))[
        "predictions"
    ]
    assert part["metadata"]["_checkpoint_complete"] is False and set(part["rq3_apply_answers"]) == {REVIEW}


def value_of(row: dict[str, Any]) -> Any:
    return json.loads(row["reference"]) if row["reference"] else "Budget review at 09:30"


def test_versions_are_those_of_the_pack_wherever_it_states_them() -> None:
    given = read(contract_metadata={"task_contract_version": "taskabc_v3", "research_frame_version": "rq_9"})
    told = answers(**{item(given, 1, "state_completion", GYM): "Iron Works"})
    frames = standing(given.gold.items, told), given.questions, cut(LOGS, given.anchors)

    def versions(records: pl.DataFrame) -> tuple[str, str]:
        ((_, made),) = prediction_files(Predicted(*frames, records), "memory, reader")
        return made["task_contract_version"], made["research_frame_version"]

    records = given.gold.records
    assert versions(records) == ("taskabc_v2", "rq_9"), "the head's own first"
    unnamed = records.filter(pl.col("field") != "task_contract_version")
    assert versions(unnamed) == ("taskabc_v3", "rq_9")
    assert versions(unnamed.filter(pl.col("field") != "contract_metadata")) == ("taskabc_v1", "rq_v2")
    assert versions(records.clear()) == ("taskabc_v2", "rq_v2"), "of users without a pack"
