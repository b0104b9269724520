"""A strict reader of prediction files as the published benchmark has them (reference 4.4, 5.1): every rule asserted."""

import json
import re
from typing import Any

import polars as pl

from pipelines.applogs.state_values import says_nothing
from pipelines.applogs.tables import SERVICES, table_of

HEAD = {"user_id", "benchmark_path", "task_contract_version", "research_frame_version", "predictions"}
PARTS = {"checkpoint_id", "snapshot_state", "evidence", "rq3_apply_answers", "metadata"}
METADATA = {
    "checkpoint_timestamp", "checkpoint_date", "history_mode", "max_visible_logs", "num_observed_logs",
    "num_memory_pool_logs", "target_keys", "target_key_count", "target_value_templates", "target_key_status",
    "state_completion_pack_used", "baseline", "concurrency_policy", "sampled_checkpoint_id", "predict_per_key",
    "retrieval_mode", "sampling_mode", "sampling_params", "per_key_retrieval", "rq3_apply", "_checkpoint_complete",
}  # fmt: skip
KEY = re.compile(r"(user_attributes_state|habits_state|preferences_state):.+")


def in_shape(shape: Any, value: Any) -> bool:
    """Whether a value has exactly the names of a template at every level, its lists elements of one shape."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and set(value) == set(shape) and all(in_shape(shape[n], value[n]) for n in shape)
    if isinstance(shape, list) and isinstance(value, list):
        return all(in_shape(shape[0], one) for one in value)
    return True


def cited(records: Any) -> list[str]:
    assert isinstance(records, list) and all(set(one) == {"app_log_id", "evidence_content"} for one in records)
    assert all(isinstance(text, str) for one in records for text in one.values()), "an id may be empty, never null"
    return [one["app_log_id"] for one in records]


def read_predictions(text: str, as_of: dict[str, str], items: pl.DataFrame) -> pl.DataFrame:
    """Table `answers` that a prediction file holds, the form asserted.

    `as_of` are the user's checkpoints by their timestamps, `items` the rows of `gold_items` that are asked. Answers
    are found by state, as the published evaluator finds them; a key without a value is an abstention.
    """
    told = json.loads(text)
    assert set(told) - {"canonical_research_doc"} == HEAD and isinstance(told["benchmark_path"], str)
    user, rows, seen = told["user_id"], [], set()
    own = items.filter(user_id=user)
    for one in told["predictions"]:
        assert set(one) == PARTS and set(one["metadata"]) == METADATA
        about = one["metadata"]
        # The first match by the timestamp sets the id; one without a match would be ignored.
        checkpoint = as_of[about["checkpoint_timestamp"]]
        assert checkpoint == one["checkpoint_id"] == about["sampled_checkpoint_id"] and checkpoint not in seen
        seen.add(checkpoint)
        assert about["checkpoint_date"] == about["checkpoint_timestamp"][:10]
        assert isinstance(about["_checkpoint_complete"], bool) and about["num_observed_logs"] > 0
        mine = own.filter(checkpoint_id=checkpoint)
        item = {(row["task"], row["state_key"]): row["item"] for row in mine.to_dicts()}
        keys = [key for task, key in item if task == "state_completion"]
        assert sorted(one["snapshot_state"]) == sorted(one["evidence"]) == sorted(keys) == sorted(about["target_keys"])
        assert about["target_key_count"] == len(keys) and all(map(KEY.fullmatch, keys))
        delivered = {record["key"]: record["retrieval_metadata"] for record in about["per_key_retrieval"]}
        assert set(delivered) == set(about["target_value_templates"]) == set(about["target_key_status"]) == set(keys)
        for key, value in one["snapshot_state"].items():
            assert in_shape(about["target_value_templates"][key], value)
            rows.append(row_of(user, item["state_completion", key], value, one["evidence"][key], delivered[key]))
        services = {key for task, key in item if task == "personalised_service"}
        records = {record["key"]: record for record in about["rq3_apply"]["records"]}
        assert set(one["rq3_apply_answers"]) == services == set(records)
        for key, held in one["rq3_apply_answers"].items():
            assert set(held) == {"items"} and len(held["items"]) <= 1
            value, evidence = None, []
            for answer in held["items"]:
                assert set(answer) == {"qa_id", "service_family", "answer", "output", "evidence", "status"}
                assert answer["answer"] == answer["output"] and answer["qa_id"] == records[key]["qa_id"]
                assert answer["service_family"] in SERVICES and not says_nothing(answer["answer"])
                assert isinstance(answer["answer"], str if answer["service_family"] == SERVICES[0] else dict)
                value, evidence = answer["answer"], answer["evidence"]
            told_of = records[key]["retrieval_metadata"]
            rows.append(row_of(user, item["personalised_service", key], value, evidence, told_of))
    return table_of("answers", rows)


def row_of(user: str, item: str, value: Any, evidence: Any, delivered: dict[str, Any]) -> dict[str, Any]:
    nothing = says_nothing(value)
    answer = {"status": "abstained" if nothing else "ok", "answer": None if nothing else json.dumps(value)}
    return {
        "user_id": user, "item": item, **answer, "evidence": cited(evidence),
        "retrieved": delivered.get("retrieved_app_log_ids"),
    }  # fmt: skip
