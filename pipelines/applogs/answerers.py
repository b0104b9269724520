"""Answers without a model, from the logs alone: the floor that a memory has to beat (ours).

- `routine`: habits by when logs recur; for a reminder, the routine that is due at the moment of the scenario.
- `last_value`: what the newest log that speaks of the question names, or chooses.
- `majority_choice`: what most of the logs that speak of it name, or choose.

They know the logs up to the checkpoint and the question, and abstain where they find nothing. Where no state is named
they list what they find (`listing`).
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from math import log
from typing import Any

import polars as pl

from pipelines.applogs.json_text import JsonObject, dump
from pipelines.applogs.known import Known
from pipelines.applogs.listing import Entry, routines_kept, sides_taken, things_named
from pipelines.applogs.phrases import stems
from pipelines.applogs.question_forms import NO_KEY, most_asked
from pipelines.applogs.reminding import reminder, subject, topic, values
from pipelines.applogs.routines import Routine
from pipelines.applogs.schedules import WEEKDAYS, occurs
from pipelines.applogs.services import STOP_WORDS
from pipelines.applogs.state_values import ROOT, family_of, fields, humanised, says_nothing
from pipelines.applogs.tables import table_of
from pipelines.applogs.told_values import axis_of, chosen_in, named, preference, side_taken

MOST_CITED, MOST_CITED_OF_LIST = 20, 100
"""Logs that an answer cites at most, the newest; and a list of many."""
SOON, MISSED = 120, 60
"""A routine is due from so many minutes before its start until so many after it."""
TOLD = 0.3
"""The log that says most of a question must say this share of it, else nothing speaks of it."""
NEWEST = 0.5
"""The newest log counts whose phrase is worth this share of the best one's."""
MEMBERS = 4
"""Members of a collection at most, where the question does not tell how many it has."""
_MOMENT = re.compile(rf"\b({'|'.join(WEEKDAYS)})\b.*?\b(\d{{1,2}}):(\d{{2}})\b", re.IGNORECASE | re.DOTALL)
_WITHOUT = frozenset({"avoid", "exclude", "excluded", "without", "not", "no", "instead"})


@dataclass(frozen=True)
class Found:
    """An answer, and the positions of the logs that show it."""

    value: Any
    positions: tuple[int, ...] = ()


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
    cited = [] if found is None else sorted(set(found.positions))[-most_cited(question) :]
    return {
        "user_id": question["user_id"],
        "item": question["item"],
        "status": "abstained" if found is None else "ok",
        "answer": None if found is None else dump(found.value),
        "evidence": [known.row(position)["app_log_id"] for position in cited],
    }


def most_cited(question: JsonObject) -> int:
    """Logs that an answer to the question cites at most."""
    return MOST_CITED_OF_LIST if question["task"] == NO_KEY else MOST_CITED


def _list_of(entries: list[Entry]) -> Found | None:
    positions = tuple(position for _, shown in entries for position in shown)
    return Found([entry for entry, _ in entries], positions) if entries else None


def _routine(known: Known, question: JsonObject) -> Found | None:
    if question["task"] == NO_KEY:
        most = most_asked(question["question_text"])
        return _list_of(routines_kept(known, most)) if question["asked_family"] == "habit" else None
    if question["task"] == "personalised_service":
        return _reminder(known, question) if question["service_family"] == "user_communication" else None
    if not question["state_key"].startswith("habits_state:"):
        return None
    shape = json.loads(question["answer_template"] or dump({"schedule": {"frequency_type": ""}, "start_time": ""}))
    routine = _of_key(known, question["state_key"])
    if routine is None:
        return None
    told = values(known, routine)
    return Found(filled(shape, lambda path, _: told.get(path[-1]) if path else None), routine.positions)


def _of_key(known: Known, state_key: str) -> Routine | None:
    """The routine whose logs say most of the key's words, a log in the mean.

    None when no log says any, unless the logs were chosen for the question: then the one seen most often.
    """
    said = known.overlap(words_of_key(state_key))
    scored = [
        (sum(said.get(known.places[one], 0.0) for one in found.positions) / len(found.positions), found)
        for found in known.routines
    ]
    best = max(scored, key=lambda one: one[0], default=(0.0, None))
    if best[0] <= 0 and known.chosen:
        return known.routines[0] if known.routines else None
    return best[1] if best[0] > 0 else None


def _reminder(known: Known, question: JsonObject) -> Found | None:
    """The due routine, nearest start first, of which logs say what it is; else the nearest, by what its app is about.

    Its schedule is told, for a reminder is about when as well.
    """
    if (moment := _MOMENT.search(question["scenario"])) is None:
        return None
    weekday = WEEKDAYS.index(moment[1].capitalize())
    now = int(moment[2]) * 60 + int(moment[3])
    ahead = (weekday - question["as_of"].weekday()) % 7
    day = question["as_of"].date() + timedelta(days=ahead)
    due = [
        (abs(routine.minute - now), place, routine)
        for place, routine in enumerate(known.routines)
        if -MISSED <= routine.minute - now <= SOON and _due(routine.schedule, day)
    ]
    told = [(subject(known, routine), routine) for _, _, routine in sorted(due, key=lambda one: one[:2])]
    if not told:
        return None
    names, routine = next((one for one in told if one[0]), told[0])
    return Found(reminder(known, routine, names or [topic(known, routine)]), routine.positions)


def _due(schedule: JsonObject, day: date) -> bool:
    """Whether a routine may occur on the weekday of `day`; of those of a month it is not known which."""
    if schedule["frequency_type"] in ("daily", "weekly"):
        return occurs(schedule, day)
    if "days_of_week" in schedule:
        return bool(day.weekday() in schedule["days_of_week"])
    return bool(schedule.get("day_of_week", day.weekday()) == day.weekday())


def _by_value(newest: bool) -> Rule:
    def find(known: Known, question: JsonObject) -> Found | None:
        if question["task"] == NO_KEY:
            most = most_asked(question["question_text"])
            tell_all = {"preference": sides_taken, "attribute": things_named}.get(question["asked_family"])
            return _list_of(tell_all(known, newest, most)) if tell_all else None
        family = _family(question)
        shape = json.loads(question["answer_template"] or question["output_template"] or "null")
        wanted = _wanted(question, shape)
        if family == "habit" or not wanted or not (related := _related(known, wanted, bool(question["state_key"]))):
            return None
        tell = _choosing if family == "preference" else _naming
        slot, cited = tell(known, related, wanted, question, newest, sum(1 for _ in fields(shape)) == 1)
        value = filled(shape, slot)
        return None if says_nothing(value) else Found(value, tuple(known.logs[one]["position"] for one in cited))

    return find


def _family(question: JsonObject) -> str:
    of_service = {"user_communication": "habit", "information_request_construction": "preference"}
    if service := question["service_family"]:
        return of_service.get(service, "attribute")
    return family_of(question["state_key"])


def _wanted(question: JsonObject, shape: Any) -> frozenset[str]:
    """Stems of the state's name, else of the scenario and the names of what is to be filled."""
    if question["state_key"]:
        return words_of_key(question["state_key"])
    names = " ".join(path for path, _, _ in fields(shape))
    return frozenset(stems(f"{question['scenario'] or ''} {humanised(names)}")) - STOP_WORDS


def _related(known: Known, wanted: frozenset[str], named: bool) -> dict[int, float]:
    """Logs that speak of the wanted words; none where no log says enough of them.

    A word of a state's name (`named`) that no log says is as rare as can be; one of a scenario does not count.
    """
    scores = known.overlap(wanted)
    unsaid = log(1 + len(known.logs)) if named else 0.0
    whole = sum(known.rarity(word) or unsaid for word in sorted(wanted))
    if max(scores.values(), default=0.0) >= TOLD * whole > 0:
        return known.related(wanted)
    return dict.fromkeys(range(len(known.logs)), 1.0) if known.chosen else {}


Slot = Callable[[tuple[str, ...], Any], Any]


def _naming(
    known: Known, related: dict[int, float], wanted: frozenset[str], question: JsonObject, newest: bool, alone: bool
) -> tuple[Slot, list[int]]:
    scores = known.named(related, wanted)
    cited: list[int] = []

    def chosen(n: int) -> list[str]:
        if newest and n == 1:
            top = max(scores.values(), default=0.0)
            for place in sorted(related, reverse=True):
                best = known.best(place, scores)
                if best is not None and scores[best] >= NEWEST * top:
                    return [best]
        ranked: list[str] = []
        for key in sorted(scores, key=lambda one: (-scores[one], one)):
            if len(ranked) < n and not any(key in held or held in key for held in ranked):
                ranked.append(key)
        return ranked

    def shown(key: str) -> str:
        places = [place for place in related if key in known.said[place].phrases]
        cited.extend(places)
        return named(known, places, key)

    def slot(path: tuple[str, ...], blank: Any) -> Any:
        name = path[-1] if path else ROOT
        if isinstance(blank, list):
            return [shown(key) for key in chosen(len(blank))] or None
        if not (alone or name in (ROOT, "value", "name")):
            rows = [(p, text) for p, text in known.leaves.get(name.lower(), ()) if known.places[p] in related]
            cited.extend(known.places[position] for position, _ in rows)
            return (rows[-1][1] if newest else Counter(text for _, text in rows).most_common(1)[0][0]) if rows else None
        # Of a free form it is not told whether one thing is asked for or several.
        many = question["task"] == "free_form" and humanised(question["state_key"]).endswith("s")
        told = [shown(key) for key in (_strong(scores, chosen(MEMBERS)) if many else chosen(1))]
        return (told if many else told[0]) if told else None

    return slot, cited


def _strong(scores: dict[str, float], keys: list[str]) -> list[str]:
    return [key for key in keys if 2 * scores[key] >= scores[keys[0]]]


def _choosing(
    known: Known, related: dict[int, float], wanted: frozenset[str], question: JsonObject, newest: bool, alone: bool
) -> tuple[Slot, list[int]]:
    made = chosen_in(known, related)
    axes = Counter(axis_of(one) for _, one in made)
    last = {axis_of(one): place for place, one in made}
    axis = max(axes, key=lambda one: (axes[one], last[one], sorted(one)), default=None)
    # Once it is known between what, any log tells which.
    everywhere = chosen_in(known, range(len(known.said)))
    own = [(place, one) for place, one in everywhere if axis is not None and axis_of(one) == axis]
    cited = [place for place, _ in own]
    if not own:
        # What is named again and again is taken for what is liked.
        return _naming(known, related, wanted, question, newest, alone)
    votes = side_taken(own, newest)
    statement = preference(votes)

    def slot(path: tuple[str, ...], blank: Any) -> Any:
        name = path[-1] if path else ROOT
        if question["task"] == "personalised_service":
            value = votes[-1].rejected if _WITHOUT & set(re.split(r"[^a-z]+", name.lower())) else votes[-1].chosen
            return [value] if isinstance(blank, list) else value
        return statement if alone or name in (ROOT, "value", "statement") else None

    return slot, cited


def filled(shape: Any, slot: Slot, path: tuple[str, ...] = ()) -> Any:
    """A template with its blanks filled; a list of blanks takes a list as it is."""
    if isinstance(shape, dict):
        return {name: filled(inner, slot, (*path, name)) for name, inner in shape.items()}
    value = slot(path, shape)
    return [value] if isinstance(shape, list) and not isinstance(value, list) and value is not None else value


def words_of_key(state_key: str) -> frozenset[str]:
    """Stems of the words of a state's name."""
    return frozenset(stems(humanised(state_key)))


RULES: dict[str, Rule] = {"routine": _routine, "last_value": _by_value(True), "majority_choice": _by_value(False)}
"""Answerer by name."""
