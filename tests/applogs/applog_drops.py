"""Small drops of app logs with gold beside them, as files: a few users with timelines, and published packs."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
from applog_worlds import USER, as_bytes, checkpoint, pack

from pipelines.applogs.app_logs import read_app_logs
from pipelines.applogs.packs import read_pack
from pipelines.applogs.step_tables import BROUGHT
from pipelines.applogs.timelines import read_timeline

START = datetime(2023, 10, 1, 8)
GYM, WALK, COFFEE = "user_attributes_state:home_gym", "habits_state:evening_walk", "preferences_state:coffee"
PET = "user_attributes_state:pets"
OLD_WALK = {"schedule": {"frequency_type": "weekly", "days_of_week": [1, 3]}, "timing": {"start_time": "18:30"}}
NEW_WALK = {"schedule": {"frequency_type": "daily"}, "timing": {"start_time": "19:45"}}


def stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def log_rows(days: int = 200, each: int = 2, start: datetime = START) -> list[dict[str, Any]]:
    """So many logs a day for so many days, ids in the order of time."""
    return [
        {
            "app_log_id": f"log_{n + 1:05}",
            "timestamp": stamp(start + timedelta(days=n // each, hours=5 * (n % each))),
            "app_name": ("Chase", "Fitbit", "Google")[n % 3],
            "api_name": ("GetBalance", "SyncDevice", "Search")[n % 3],
            "request": {"query": f"thing {n % 11}"} if n % 3 == 2 else {},
            "response": {"n": n},
        }
        for n in range(days * each)
    ]


def gold_rows(logs: list[dict[str, Any]], number: int = 0) -> dict[str, list[dict[str, Any]]]:
    """A timeline over `log_rows`: a gym that moves, a walk that changes, a drink, a pet that comes late."""

    def shown(key: str, value_id: str, position: int, role: str = "supports") -> dict[str, Any]:
        log = logs[position]["app_log_id"]
        return {
            "state_key": key,
            "value_id": value_id,
            "app_log_id": log,
            "position": position,
            "role": role,
            "fields": [],
        }

    def interval(key: str, value_id: str, value: Any, begin: int, end: int | None) -> dict[str, Any]:
        until = None if end is None else logs[end]["timestamp"]
        times = {"valid_from": logs[begin]["timestamp"], "valid_to": until}
        return {"state_key": key, "value_id": value_id, "member": None, "value": json.dumps(value), **times}

    def change(key: str, chain: str, end: int, kind: str, value: Any, evidence: list[int]) -> dict[str, Any]:
        return {"state_key": key, "chain_id": chain, "place": 0, "end_position": end, "change_type": kind,
                "value": None if value is None else json.dumps(value), "valid": True,
                "evidence": [logs[n]["app_log_id"] for n in evidence]}  # fmt: skip

    middle, late = len(logs) // 2 + 10, len(logs) - 20
    rows = {
        "state_intervals": [
            interval(GYM, "gym#0", f"Iron Works {number}", 0, middle),
            interval(GYM, "gym#1", "Riverside Barbell", middle, None),
            interval(WALK, "walk#0", OLD_WALK, 3, middle + 6),
            interval(WALK, "walk#1", NEW_WALK, middle + 6, None),
            interval(COFFEE, "coffee#0", {"statement": "takes pour-over rather than espresso"}, 0, late),
        ],
        "state_evidence": [
            *(shown(GYM, "gym#0", n) for n in (2, 7)), shown(GYM, "gym#1", middle + 1), shown(GYM, "", 9, "distractor"),
            *(shown(WALK, "walk#0", n) for n in (4, 12)), shown(WALK, "walk#1", middle + 8),
            shown(COFFEE, "coffee#0", 5), shown(COFFEE, "coffee#0", late + 2, "cause"),
            shown(f"user_attributes_state:car_{number}", "", 11, "distractor"),
        ],
        "state_changes": [
            change(GYM, "c1", 8, "add", f"Iron Works {number}", [2, 7]),
            change(GYM, "c2", late + 5, "modify", "Riverside Barbell", [middle + 1, late + 5]),
            change(WALK, "c3", 14, "acquire", OLD_WALK, [4, 12]),
            change(WALK, "c4", middle + 9, "adjust", NEW_WALK, [middle + 8]),
            change(COFFEE, "c5", 6, "add", {"statement": "takes pour-over rather than espresso"}, [5]),
        ],
        "state_moments": [
            {"state_key": GYM, "scenario": "A booking form of a sports club is open.", "slots": '{"venue": "value"}'},
            {"state_key": COFFEE, "scenario": "A cafe menu is being searched.", "slots": '{"brew": "statement"}'},
        ],
    }  # fmt: skip
    if number % 2:
        rows["state_intervals"].append(interval(PET, "pets#0", "a beagle", 20, None))
        rows["state_evidence"].append(shown(PET, "pets#0", 21))
        rows["state_changes"].append(change(PET, "c6", 22, "add", "a beagle", [21]))
    return rows


def write_logs(folder: Path, user: str, rows: Any) -> Path:
    file = folder / user / "app_log_large.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows))
    return file


def write_pack(folder: Path, user: str, pack: Any) -> Path:
    file = folder / user / "task_packs.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(pack))
    return file


def write_gold(folder: Path, user: str, rows: dict[str, list[dict[str, Any]]]) -> Path:
    home = folder / "gold" / user
    home.mkdir(parents=True, exist_ok=True)
    for name, lines in rows.items():
        (home / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return home


def write_users(folder: Path, count: int = 3, days: int = 200) -> Path:
    """A drop of so many users with timelines."""
    for number in range(count):
        user, logs = f"{number + 1:03}_user_{number + 1:03}", log_rows(days, start=START + timedelta(minutes=number))
        write_logs(folder, user, {"app_logs": logs})
        write_gold(folder, user, gold_rows(logs, number))
    return folder


def brought(count: int = 3, days: int = 200) -> dict[str, pl.DataFrame]:
    """Tables of one drop of so many users, and of a last one with a task pack."""
    parts: dict[str, list[pl.DataFrame]] = {name: [table.empty()] for name, table in BROUGHT.items()}
    for number in range(count):
        user, logs = f"{number:03}", log_rows(days)
        parts["app_logs"].append(read_app_logs(as_bytes(logs), "f", user))
        for name, lines in gold_rows(logs, number).items():
            parts[name].append(read_timeline(b"\n".join(map(as_bytes, lines)), "f", user, name))
    own = read_pack(
        as_bytes(pack(checkpoint(1, {"log_index": 3, "timestamp": "2023-10-03 00:00:00"}, {GYM: "Old Gym"}))), "p", USER
    )
    parts["app_logs"].append(read_app_logs(as_bytes(log_rows(10)), "f", USER))
    parts["anchors"].append(own.anchors)
    parts["tasks"].append(own.questions)
    for name in ("items", "parts", "states", "records"):
        parts[f"gold_{name}"].append(getattr(own.gold, name))
    return {name: pl.concat(rows) for name, rows in parts.items()}
