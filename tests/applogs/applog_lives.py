"""Users with two habits, a preference and an attribute that change, asked at three checkpoints."""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
from applog_drops import write_gold, write_logs
from applog_worlds import log, logs_of

from pipelines.applogs.checkpoints import cut
from pipelines.applogs.no_key import no_key
from pipelines.applogs.services import Moment, services
from pipelines.applogs.tables import table_of
from pipelines.applogs.tasks import Asked, free_form, state_completion
from pipelines.tables import TIME

USERS = ("u1", "u2", "u3")
START = datetime(2024, 1, 1, tzinfo=UTC)
CUTS = (8, 16, 24)
"""Weeks after the start at which something is asked."""
REVIEW, RESTAURANT, GENRE = (
    "habits_state:budget_review",
    "user_attributes_state:takeout_restaurant",
    "preferences_state:music_genre",
)
TRUE: dict[str, list[Any]] = {
    REVIEW: [{"schedule": {"frequency_type": "weekly", "days_of_week": [6]}, "timing": {"start_time": "09:30"}}] * 3,
    RESTAURANT: ["Thai Garden", "Olive Hill", "Olive Hill"],
    GENRE: [{"statement": "calm jazz"}] * 2 + [{"statement": "loud rock"}],
}
"""State → what is true of it at each cut."""
MOMENTS = {
    key: Moment("An order app is open at noon.", {"venue": "value"})
    if key == RESTAURANT
    else Moment("A car is started.", {"style": "statement"})
    for key in (RESTAURANT, GENRE)
}


def rows(user: str, shift: int = 0) -> list[dict[str, Any]]:
    """The user's raw logs over 26 weeks; what happens after a cut is another with another `shift` (weeks)."""
    draw, made = random.Random(f"{user}:{shift}"), []

    def at(week: int, day: int, clock: str, app: str, api: str, request: Any, response: Any = None) -> None:
        moment = f"{START + timedelta(weeks=week, days=day):%Y-%m-%d} {clock}"
        made.append(log(0, moment, app, api, request=request, response=response or {}))

    for week in range(26):
        at(week, 6, "09:30:00", "Chase", "GetTransactions", {"account_id": "Checking-1"})
        venue = "Thai Garden" if week < 12 else "Olive Hill"
        order = {"order": {"restaurant_name": venue, "note": f"takeout restaurant order {week}"}}
        at(week, 4, f"12:{draw.randrange(10, 50)}:00", "UberEats", "PlaceOrder", {"restaurant_id": "r1"}, order)
        genre = "calm jazz" if week < 18 else "loud rock"
        song = {"song": {"title": genre, "about": "music genre"}}
        for day in (1, 3):
            at(week, day, f"18:{draw.randrange(10, 59)}:{draw.randrange(60):02}", "Spotify", "PlaySong", {}, song)
        for _ in range(3):
            clock = f"{draw.randrange(24):02}:{draw.randrange(60):02}:{draw.randrange(60):02}"
            at(week, draw.randrange(7), clock, "Google", "Search", {"query": f"thing {draw.randrange(90)} of {user}"})
    ordered = sorted(made, key=lambda row: (row["timestamp"], json.dumps(row)))
    return [{**row, "app_log_id": f"log_{n + 1:05}"} for n, row in enumerate(ordered)]


def logs(users: tuple[str, ...] = USERS) -> pl.DataFrame:
    return pl.concat([logs_of(rows(user), user) for user in users])


def another_future(after: int, users: tuple[str, ...] = USERS) -> pl.DataFrame:
    """The logs of `logs`, but from so many weeks on those of another life, of which there are more."""
    moment = f"{START + timedelta(weeks=after):%Y-%m-%d %H:%M:%S}"
    parts = []
    for user in users:
        before = [row for row in rows(user) if row["timestamp"] < moment]
        later = [row for other in (1, 2) for row in rows(user, other) if row["timestamp"] >= moment]
        for number, row in enumerate(sorted(later, key=lambda row: (row["timestamp"], json.dumps(row)))):
            row["app_log_id"], row["request"] = f"log_{90_000 + number}", row["request"] | {"query": "night swim pool"}
        parts.append(logs_of(before + later, user))
    return pl.concat(parts)


def checkpoints(given: pl.DataFrame) -> pl.DataFrame:
    anchors = pl.DataFrame(
        [
            {"user_id": user, "checkpoint_id": f"c{n + 1}", "as_of": START + timedelta(weeks=weeks)}
            for user in given["user_id"].unique().sort()
            for n, weeks in enumerate(CUTS)
        ],
        schema={"user_id": pl.String, "checkpoint_id": pl.String, "as_of": TIME},
    ).with_columns(log_index=pl.lit(None, pl.Int64), app_log_id=pl.lit(None, pl.String))
    return cut(given, anchors)


def states(given: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """`gold_states`: values and the newest visible logs that show them; the habit of nobody is never true."""
    shows = {REVIEW: "GetTransactions", RESTAURANT: "PlaceOrder", GENRE: "PlaySong"}
    made = []
    for place in places.to_dicts():
        seen = given.filter((pl.col("user_id") == place["user_id"]) & (pl.col("position") < place["n_visible"]))
        for key, values in TRUE.items():
            proof = seen.filter(pl.col("api") == shows[key])["app_log_id"].to_list()
            made.append(_state(place, key, "value", json.dumps(values[place["checkpoint_index"]]), proof[-9:]))
        made.append(_state(place, "habits_state:night_swim", "never", None, []))
    return table_of("gold_states", made)


def _state(place: dict[str, Any], key: str, expectation: str, value: str | None, evidence: list[str]) -> dict[str, Any]:
    family = {"habits": "habit", "user": "attribute", "preferences": "preference"}[key.partition("_")[0]]
    named = {"user_id": place["user_id"], "checkpoint_id": place["checkpoint_id"], "truth": "as_of"}
    told = {"state_key": key, "family": family, "expectation": expectation, "value": value, "evidence": evidence}
    return named | told


def asked(given: pl.DataFrame, places: pl.DataFrame) -> Asked:
    """Questions of the four tasks with their gold."""
    true = states(given, places)
    moments = {(user, key): moment for user in given["user_id"].unique() for key, moment in MOMENTS.items()}
    parts = (
        state_completion(true, places, "as_of"),
        free_form(true, places, "as_of"),
        services(true, places, "as_of", moments),
        no_key(true, places, "as_of", 30),
    )
    return Asked(
        pl.concat([one.questions for one in parts]).sort("user_id", "item"),
        pl.concat([one.gold_items for one in parts]).sort("user_id", "item"),
        pl.concat([one.gold_parts for one in parts]).sort("user_id", "item", "place"),
    )


def write_drop(folder: Path, users: tuple[str, ...] = USERS) -> Path:
    """The users as files: logs, and the gold of their states as timelines with the logs that show them."""
    starts = {REVIEW: (0,), RESTAURANT: (0, 12), GENRE: (0, 18)}
    shows = {REVIEW: "GetTransactions", RESTAURANT: "PlaceOrder", GENRE: "PlaySong"}
    for user in users:
        own = rows(user)
        write_logs(folder, user, {"app_logs": own})
        gold: dict[str, list[dict[str, Any]]] = {
            "state_intervals": [], "state_evidence": [], "state_changes": [],
            "state_moments": [
                {"state_key": key, "scenario": one.scenario, "slots": json.dumps(dict(one.slots))}
                for key, one in MOMENTS.items()
            ],
        }  # fmt: skip
        for key, weeks in starts.items():
            values = [one for n, one in enumerate(TRUE[key]) if one not in TRUE[key][:n]]
            for n, (week, value) in enumerate(zip(weeks, values, strict=True)):
                begin = START + timedelta(weeks=week)
                end = START + timedelta(weeks=weeks[n + 1]) if n + 1 < len(weeks) else None
                name = f"{key}#{n}"
                gold["state_intervals"].append(
                    {"state_key": key, "value_id": name, "member": None, "value": json.dumps(value),
                     "valid_from": _stamp(begin), "valid_to": end and _stamp(end)}
                )  # fmt: skip
                for position, row in enumerate(own):
                    when = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC)
                    if row["api_name"] == shows[key] and begin <= when < (end or START + timedelta(weeks=99)):
                        gold["state_evidence"].append(
                            {"state_key": key, "value_id": name, "app_log_id": row["app_log_id"],
                             "position": position, "role": "supports", "fields": []}
                        )  # fmt: skip
        write_gold(folder, user, gold)
    return folder


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"
