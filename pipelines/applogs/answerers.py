"""Answers without a model, from the logs alone: the floor that a memory has to beat (ours).

- `routine`: habits by when logs recur; for a reminder, the routine that is due at the moment of the scenario.
- `last_value`: what the newest log that speaks of the question names.
- `majority_choice`: what most of the logs that speak of it name.

They know the logs up to the checkpoint and the question, and abstain where they find nothing.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log
from typing import Any

import polars as pl

from pipelines.applogs.json_text import JsonObject, dump
from pipelines.applogs.routines import Routine, routines
from pipelines.applogs.schedules import WEEKDAYS
from pipelines.applogs.services import STOP_WORDS
from pipelines.applogs.state_values import ROOT, fields, humanised
from pipelines.applogs.tables import APPLOG_TABLES, table_of

MOST_CITED = 20
"""Logs that an answer cites at most, the newest."""
LONGEST = 120
"""Characters of a value at most; longer texts are prose."""
SOON, MISSED = 120, 60
"""A routine is due from so many minutes before its start until so many after it."""
CACHED = 1 << 12
"""Logs whose words are remembered: more than a user has, who is asked again at every checkpoint."""
TOPICS = {
    "Amazon": "shopping order buy product",
    "Spotify": "music song listening playlist artist",
    "Fitbit": "exercise workout run running walk walking gym training fitness sleep yoga ride",
    "Chase": "budget bank banking finance finances money spending bill bills account payment savings",
    "Robinhood": "investing investment stock stocks portfolio market trading",
    "WhatsApp": "call chat message family friend check",
    "Gmail": "mail email inbox correspondence newsletter",
    "LinkedIn": "career job network networking professional",
    "Notion": "notes journal planning plan writing study project review",
    "Netflix": "film movie series show watching watch television",
    "Goodreads": "book books reading read",
    "Instagram": "photo post social",
    "Google": "search research",
    "LLM Assistant": "learning practice writing lesson study language",
    "Google Maps": "commute trip visit drive place",
    "UberEats": "dinner lunch meal food takeout restaurant",
}
"""What each app is about, in words: general knowledge of apps, none of a user."""
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MOMENT = re.compile(rf"\b({'|'.join(WEEKDAYS)})\b.*?\b(\d{{1,2}}):(\d{{2}})\b", re.IGNORECASE | re.DOTALL)
_NO_VALUE = re.compile(r"(?:^|_)(?:id|ids|timestamp|at|created|updated|date)$")


@dataclass(frozen=True)
class Found:
    """An answer, and the positions of the logs that show it."""

    value: Any
    positions: tuple[int, ...] = ()


class Known:
    """Logs of one user, laid out to be searched: rows of `app_logs` (their user apart) in the order of `position`."""

    def __init__(self, logs: Sequence[JsonObject]) -> None:
        self.logs = logs
        self._by_position = {row["position"]: row for row in logs}

    @cached_property
    def said(self) -> dict[str, list[int]]:
        """Word → places of the logs that say it, its app's topics among the words."""
        found: dict[str, list[int]] = {}
        for place, row in enumerate(self.logs):
            for word in _said(row["record"], row["api"], row["app"]):
                found.setdefault(word, []).append(place)
        return found

    @cached_property
    def leaves(self) -> dict[str, list[tuple[int, str]]]:
        """Name of a field → (position, text) of its values, oldest first."""
        found: dict[str, list[tuple[int, str]]] = {}
        for row in self.logs:
            for name, text in _values(row["record"]):
                found.setdefault(name, []).append((row["position"], text))
        return found

    @cached_property
    def routines(self) -> list[Routine]:
        """Routines in the logs."""
        schema = {name: APPLOG_TABLES["app_logs"].schema[name] for name in ("position", "time", "app")}
        return routines(pl.DataFrame([{name: row[name] for name in schema} for row in self.logs], schema=schema))

    def overlap(self, wanted: Iterable[str]) -> dict[int, float]:
        """Position → how much of the wanted words the log says, by their rarity; logs that say none are left out.

        A word weighs the log of all logs over those that have it.
        """
        scores: dict[int, float] = {}
        # In a fixed order, for sums of floats depend on theirs.
        for word in sorted(wanted):
            places = self.said.get(word, ())
            for place in places:
                scores[place] = scores.get(place, 0.0) + log((1 + len(self.logs)) / len(places))
        return {self.logs[place]["position"]: score for place, score in scores.items()}

    def row(self, position: int) -> JsonObject:
        """The log at a position."""
        return self._by_position[position]


Rule = Callable[[Known, JsonObject], Found | None]


def answer(rule: str, logs: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Table `answers` by one of `RULES`: one row a question of one user at one checkpoint.

    `logs` are the visible logs and nothing else (`checkpoints.visible`). Raises `ValueError` for several users or
    checkpoints, `KeyError` for an unknown rule.
    """
    if max(questions["user_id"].n_unique(), questions["checkpoint_id"].n_unique(), logs["user_id"].n_unique()) > 1:
        raise ValueError("answers are given for one user at one checkpoint at a time")
    known, find = Known(logs.sort("position").to_dicts()), RULES[rule]
    rows = []
    for question in questions.to_dicts():
        told = answered(question, known, find(known, question))
        rows.append({**told, "retrieved": told["evidence"]})
    return table_of("answers", rows)


def answered(question: JsonObject, known: Known, found: Found | None) -> JsonObject:
    """A row of `answers` from what was found: its newest logs are cited; what was not found is abstained from."""
    cited = [] if found is None else sorted(set(found.positions))[-MOST_CITED:]
    return {
        "user_id": question["user_id"],
        "item": question["item"],
        "status": "abstained" if found is None else "ok",
        "answer": None if found is None else dump(found.value),
        "evidence": [known.row(position)["app_log_id"] for position in cited],
    }


def _routine(known: Known, question: JsonObject) -> Found | None:
    if question["task"] == "personalised_service":
        return _reminder(known, question) if question["service_family"] == "user_communication" else None
    if not question["state_key"].startswith("habits_state:"):
        return None
    shape = json.loads(question["answer_template"] or dump({"schedule": {"frequency_type": ""}, "start_time": ""}))
    routine = _of_key(known, question["state_key"])
    if routine is None:
        return None
    values = {**routine.schedule, "start_time": routine.start_time}
    return Found(filled(shape, lambda path: values.get(path[-1]) if path else None), routine.positions)


def _of_key(known: Known, state_key: str) -> Routine | None:
    """The routine whose logs say most of the key's words, a log in the mean; none when no log says any."""
    said = known.overlap(words_of_key(state_key))
    scored = [
        (sum(said.get(one, 0.0) for one in found.positions) / len(found.positions), found) for found in known.routines
    ]
    best = max(scored, key=lambda one: one[0], default=(0.0, None))
    return best[1] if best[0] > 0 else None


def _reminder(known: Known, question: JsonObject) -> Found | None:
    """The due routine, nearest start first. Its schedule is told, for a reminder is about when as well."""
    if (moment := _MOMENT.search(question["scenario"])) is None:
        return None
    weekday = WEEKDAYS.index(moment[1].capitalize())
    now = int(moment[2]) * 60 + int(moment[3])
    due = [
        (abs(routine.minute - now), place, routine)
        for place, routine in enumerate(known.routines)
        if -MISSED <= routine.minute - now <= SOON and weekday in _weekdays(routine.schedule)
    ]
    if not due:
        return None
    routine = min(due)[2]
    rows = [known.row(position) for position in routine.positions]
    what = Counter(row["object"] for row in rows).most_common(1)[0][0]
    how = Counter(_CAMEL.sub(" ", row["api"]).lower() for row in rows).most_common(1)[0][0]
    app = Counter(row["app"] for row in rows).most_common(1)[0][0]
    topic = TOPICS.get(app, "").split(" ")[0]
    often = "every day" if routine.schedule["frequency_type"] == "daily" else f"every {WEEKDAYS[weekday]}"
    when = f"{often[0].upper()}{often[1:]} at {routine.start_time}"
    return Found(f"{when}: time for your {topic} routine, {how} in {app} ({what}).", routine.positions)


def _weekdays(schedule: JsonObject) -> list[int]:
    if "days_of_week" in schedule:
        return list(schedule["days_of_week"])
    return [schedule["day_of_week"]] if "day_of_week" in schedule else list(range(7))


def _by_value(choose: Callable[[list[tuple[int, str]]], str]) -> Rule:
    def find(known: Known, question: JsonObject) -> Found | None:
        if question["service_family"] == "user_communication":
            return None
        shape = json.loads(question["answer_template"] or question["output_template"] or "null")
        key = question["state_key"]
        cited: list[int] = []
        alone = sum(1 for _ in fields(shape)) == 1

        def slot(path: tuple[str, ...]) -> str | None:
            rows = known.leaves.get(path[-1].lower(), []) if path else []
            # What was acted on stands for the value itself, not for when or where.
            if not rows and (alone or path[-1] in (ROOT, "statement")):
                rows = _speaking(known, words_of_key(key) if key else frozenset(words(" ".join(path))))
            if not rows and alone and question["scenario"]:
                rows = _speaking(known, frozenset(words(question["scenario"])) - STOP_WORDS)
            if not rows:
                return None
            value = choose(rows)
            cited.extend(position for position, text in rows if text == value)
            return value

        value = filled(shape, slot)
        return Found(value, tuple(cited)) if cited else None

    return find


def _speaking(known: Known, wanted: frozenset[str]) -> list[tuple[int, str]]:
    """(position, what was acted on) of the logs that say most of the wanted words, oldest first."""
    scores = known.overlap(wanted)
    most = max(scores.values(), default=0.0)
    if most <= 0:
        return []
    rows = [known.row(position) for position, score in sorted(scores.items()) if score >= most / 2]
    return [(row["position"], row["object"]) for row in rows if row["object"] != f"{row['app']}.{row['api']}"]


def _last(rows: list[tuple[int, str]]) -> str:
    return rows[-1][1]


def _majority(rows: list[tuple[int, str]]) -> str:
    """The most frequent value; of equally frequent ones the one named last."""
    counts = Counter(text for _, text in rows)
    last = {text: place for place, (_, text) in enumerate(rows)}
    return max(counts, key=lambda text: (counts[text], last[text]))


def filled(shape: Any, slot: Callable[[tuple[str, ...]], Any], path: tuple[str, ...] = ()) -> Any:
    """A template with its blanks filled; a list of blanks takes a list as it is."""
    if isinstance(shape, dict):
        return {name: filled(inner, slot, (*path, name)) for name, inner in shape.items()}
    value = slot(path)
    return [value] if isinstance(shape, list) and not isinstance(value, list) and value is not None else value


def words_of_key(state_key: str) -> frozenset[str]:
    """Words of a state's name."""
    return frozenset(words(humanised(state_key)))


def words(text: str) -> list[str]:
    """Words of a text in lower case, bare numbers left out."""
    return [word for word in _WORD.findall(text.lower()) if not word.isdigit()]


@lru_cache(maxsize=CACHED)
def _said(record: str, api: str, app: str) -> frozenset[str]:
    return frozenset(words(f"{record} {_CAMEL.sub(' ', api)} {TOPICS.get(app, '')}"))


@lru_cache(maxsize=CACHED)
def _values(record: str) -> tuple[tuple[str, str], ...]:
    """(name, text) of a log's values, in its order."""
    log = json.loads(record)
    return tuple(_leaves({body: log.get(body) for body in ("request", "response")}))


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _leaves(one, inner.lower())
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one, name)
    elif isinstance(value, str) and 0 < len(value.strip()) <= LONGEST and not _NO_VALUE.search(name):
        yield name, value.strip()


RULES: dict[str, Rule] = {"routine": _routine, "last_value": _by_value(_last), "majority_choice": _by_value(_majority)}
"""Answerer by name."""
