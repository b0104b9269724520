"""Small logs and packs in the published form, for the tests of app logs."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.applogs.app_logs import read_app_logs
from pipelines.applogs.tables import table_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "applogs"
USER = "001_user_001"
HABIT = {"schedule": {"frequency_type": "weekly", "days_of_week": [6]}, "timing": {"start_time": "09:30"}}


def log(number: int, time: str, app: str = "Chase", api: str = "GetBalance", **changes: Any) -> dict[str, Any]:
    row = {
        "app_log_id": f"log_{number:05}",
        "timestamp": time,
        "app_name": app,
        "api_name": api,
        "request": {"account_id": "Checking-1"},
        "response": {"total_balance": 12.5},
    }
    return row | changes


def as_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def logs_of(rows: list[dict[str, Any]], user: str = USER) -> pl.DataFrame:
    return read_app_logs(as_bytes(rows), "app_log_large.json", user)


def hourly(n: int, start: str = "2024-01-01 00:00:00", hours: int = 6) -> list[dict[str, Any]]:
    first = datetime.fromisoformat(start)
    return [log(i + 1, f"{first + timedelta(hours=hours * i):%Y-%m-%d %H:%M:%S}") for i in range(n)]


def state_item(key: str, template: Any) -> dict[str, Any]:
    return {
        "item_id": "scp_1",
        "state_key": key,
        "question_text": f"What is {key}?",
        "retrieval_query": f"What is {key}?",
        "answer_template": template,
        "scoring_points": [],
    }


def pack(*checkpoints: dict[str, Any], **head: Any) -> dict[str, Any]:
    return {"user_id": USER, "task_contract_version": "taskabc_v2", "checkpoints": list(checkpoints), **head}


def checkpoint(number: int, as_of: dict[str, Any], states: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A checkpoint that asks for flat `states`, each with one log of evidence."""
    from pipelines.applogs.state_values import normalised, template

    asked = {key: normalised(value) for key, value in (states or {}).items()}
    return {
        "checkpoint_id": f"cal_quarterly_{number:03}",
        "as_of": as_of,
        "validated_snapshot_state": states or {},
        "state_observability": {key: {"evidence_app_log_ids": ["log_00001"]} for key in states or {}},
        "state_completion_pack": {"keys": {key: state_item(key, template(value)) for key, value in asked.items()}},
        **more,
    }


def answers(**by_item: Any) -> pl.DataFrame:
    """Answers by item name → (status, value, evidence) or a value that is ok."""
    rows = []
    for item, given in by_item.items():
        status, value, evidence = given if isinstance(given, tuple) else ("ok", given, [])
        text = None if value is None else json.dumps(value)
        rows.append({"user_id": USER, "item": item, "status": status, "answer": text, "evidence": evidence})
    return table_of("answers", rows)


def gold_item(item: str, value: Any = "x", **changes: Any) -> dict[str, Any]:
    row = {
        "user_id": USER,
        "item": item,
        "checkpoint_id": "c1",
        "task": "state_completion",
        "truth": "published",
        "state_key": f"user_attributes_state:{item}",
        "family": "attribute",
        "expectation": "value",
        "reference": None if value is None else json.dumps(value, sort_keys=True),
        "evidence": [],
    }
    return row | changes
