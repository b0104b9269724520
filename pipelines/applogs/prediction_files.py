"""Answers of an arm in the published form of a system's predictions, one object a user (reference 4.4, 5.1).

The form knows state completion and services, neither free form nor lists, and no standing of an
answer: what is no answer has null in every blank of a state's template, and no item in
a service; `metadata` says which standing it is. Such a file names the state of every
service, which is gold.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.applogs.contexts import query_of
from pipelines.applogs.json_text import JsonObject
from pipelines.applogs.state_values import aligned

CONTRACT, FRAME = "taskabc_v2", "rq_v2"
"""Versions of the published tasks, stated where no task pack states its own."""
UNVERSIONED = "taskabc_v1"
"""What a task pack without a version is."""
_HEAD = ("task_contract_version", "research_frame_version", "canonical_research_doc")
_KEPT = (*_HEAD, "contract_metadata", "user_id", "as_of", "sampling")
_PLACE = ["user_id", "checkpoint_id"]
_TASKS = ("state_completion", "personalised_service")
_ANSWERED = ("ok", "abstained")


@dataclass(frozen=True)
class Predicted:
    """The frames behind prediction files.

    `standing` as of `answers.standing`, of the questions that were asked; `questions` all rows of `tasks`; `records` is
    `gold_records`, empty for users without a task pack.
    """

    standing: pl.DataFrame
    questions: pl.DataFrame
    checkpoints: pl.DataFrame
    records: pl.DataFrame


def prediction_files(given: Predicted, baseline: str) -> Iterator[tuple[str, JsonObject]]:
    """(user, prediction object) of every user that was asked, in order; `baseline` names the system.

    A checkpoint at which nothing was answered has no prediction: it was not run.
    """
    published = pl.col("task").cast(pl.String).is_in(_TASKS)
    questions = given.questions.filter(published)
    shown = [name for name in questions.columns if name not in given.standing.columns]
    told = given.standing.filter(published).join(questions.select("user_id", "item", *shown), on=["user_id", "item"])
    rows = told.sort(*_PLACE, "state_key", "item").rows_by_key(_PLACE, named=True, include_key=True)
    n_asked = {(user, checkpoint): n for user, checkpoint, n in questions.group_by(_PLACE).len().rows()}
    heads = _records(given.records)
    own = given.checkpoints.filter(pl.col("user_id").is_in(told["user_id"].unique().implode()))
    for (user,), places in own.sort("user_id", "checkpoint_index").group_by("user_id", maintain_order=True):
        head = heads.get((user, ""), {})
        predictions = []
        for place in places.iter_rows(named=True):
            at = (user, place["checkpoint_id"])
            mine = rows.get(at, [])
            if any(row["status"] != "missing" for row in mine):
                whole = len(mine) == n_asked[at]
                predictions.append(_prediction(mine, place, heads.get(at, {}), baseline, whole))
        yield str(user), {**_head(str(user), head), "predictions": predictions}


def _records(records: pl.DataFrame) -> dict[tuple[str, str], JsonObject]:
    """What of the task packs is no gold and stands in predictions, by (user, checkpoint); their head has none."""
    kept = records.filter(pl.col("field").is_in(_KEPT))
    found: dict[tuple[str, str], JsonObject] = {}
    for user, checkpoint, field, record in kept.select(*_PLACE, "field", "record").iter_rows():
        found.setdefault((user, checkpoint), {})[field] = json.loads(record)
    return found


def _head(user: str, pack: Mapping[str, Any]) -> JsonObject:
    stated = {"task_contract_version": UNVERSIONED if pack else CONTRACT, "research_frame_version": FRAME}
    for holder in (_object(pack.get("contract_metadata")), pack):
        stated |= {name: holder[name] for name in _HEAD if name in holder}
    return {"user_id": user, "benchmark_path": f"{user}/task_packs.json", **stated}


def _prediction(
    rows: list[JsonObject], place: JsonObject, pack: Mapping[str, Any], baseline: str, whole: bool
) -> JsonObject:
    states = {row["state_key"]: row for row in rows if row["task"] == "state_completion"}
    services: dict[str, list[JsonObject]] = {}
    for row in rows:
        if row["task"] == "personalised_service":
            services.setdefault(row["state_key"], []).append(row)
    return {
        "checkpoint_id": place["checkpoint_id"],
        "snapshot_state": {key: aligned(_template(row), _value(row)) for key, row in states.items()},
        "evidence": {key: _evidence(row) for key, row in states.items()},
        "rq3_apply_answers": {
            key: {"items": [_item(row) for row in own if row["status"] == "ok"]} for key, own in services.items()
        },
        "metadata": _metadata(states, services, place, pack, baseline)
        | {"_checkpoint_complete": whole and all(row["status"] in _ANSWERED for row in rows)},
    }


def _metadata(
    states: Mapping[str, JsonObject],
    services: Mapping[str, list[JsonObject]],
    place: JsonObject,
    pack: Mapping[str, Any],
    baseline: str,
) -> JsonObject:
    # As the pack has it, for predictions are aligned by the text.
    timestamp = _object(pack.get("as_of")).get("timestamp") or f"{place['as_of']:%Y-%m-%d %H:%M:%S}"
    sampling = _object(pack.get("sampling"))
    return {
        "checkpoint_timestamp": timestamp,
        "checkpoint_date": f"{place['as_of']:%Y-%m-%d}",
        "history_mode": "full",
        "max_visible_logs": None,
        "num_observed_logs": place["n_visible"],
        "num_memory_pool_logs": place["n_visible"],
        "target_keys": list(states),
        "target_key_count": len(states),
        "target_value_templates": {key: _template(row) for key, row in states.items()},
        "target_key_status": {key: row["status"] for key, row in states.items()},
        "state_completion_pack_used": True,
        "baseline": baseline,
        "concurrency_policy": {"checkpoint_parallelism": "serial", "within_checkpoint_parallelism": "parallel"},
        "sampled_checkpoint_id": place["checkpoint_id"],
        "predict_per_key": True,
        "retrieval_mode": "per_key",
        "sampling_mode": sampling.get("mode"),
        "sampling_params": _object(sampling.get("params")),
        "per_key_retrieval": [{"key": key, **_retrieval(row)} for key, row in states.items()],
        "rq3_apply": {
            "enabled": True,
            "rq3_apply_retrieval_top_k": None,
            "discard_counts": {},
            "records": [
                {"key": key, "qa_id": row["qa_id"], "status": row["status"], **_retrieval(row)}
                for key, own in services.items()
                for row in own
            ],
        },
    }


def _retrieval(row: JsonObject) -> JsonObject:
    """What was searched for and delivered; a memory that tells no logs leaves the ids away, for they are not none."""
    ids = row["retrieved"]
    told = {} if ids is None else {"retrieved_app_log_ids": ids}
    return {"retrieval_query": query_of(row), "retrieval_metadata": told, "context_log_ids": ids or []}


def _item(row: JsonObject) -> JsonObject:
    answer = aligned(_template(row), _value(row)) if row["output_template"] else _value(row)
    named = {name: row[name] for name in ("qa_id", "service_family")}
    # Older readers look for an object under `output`.
    return {**named, "answer": answer, "output": answer, "evidence": _evidence(row), "status": row["status"]}


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _template(row: JsonObject) -> Any:
    return json.loads(row["answer_template"] or row["output_template"] or "null")


def _value(row: JsonObject) -> Any:
    return None if row["answer"] is None else json.loads(row["answer"])


def _evidence(row: JsonObject) -> list[JsonObject]:
    """Readers cite ids alone, so that there is no content."""
    return [{"app_log_id": one, "evidence_content": ""} for one in row["evidence_given"]]
