"""Reader `extractive`: what a memory delivered, searched by the rules that baselines search the whole log with (ours).

It asks no model and is weak. Lines that hold a log are logs again: habits are answered by when they recur,
preferences by what most of them choose, attributes by what the newest names; services likewise (the due routine, the
filters, the fields of the form). Where these find nothing, the line of other words that says most of the question
tells the answer: the choice or name in it, its times and weekdays. Where nothing is said, it abstains.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import Any

import polars as pl

from pipelines.applogs.answerers import RULES, Found, answered, filled, words_of_key
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.delivered import in_order, logs_of, other_lines
from pipelines.applogs.json_text import JsonObject
from pipelines.applogs.known import Known
from pipelines.applogs.phrases import in_prose, stems
from pipelines.applogs.question_forms import NAME, NO_KEY, most_asked
from pipelines.applogs.schedules import WEEKDAYS
from pipelines.applogs.services import STOP_WORDS
from pipelines.applogs.state_values import ROOT, family_of, fields, says_nothing
from pipelines.applogs.tables import table_of
from pipelines.applogs.told_values import details, preference
from pipelines.applogs.wording import WORD, choices, proper
from pipelines.evaluation.judging.partial import is_preference
from pipelines.hashing import digest

EXTRACTIVE = "extractive"
VERSION = "3"
"""Raised when an answer could come out differently."""
RULE_OF_FAMILY = {"habit": "routine", "preference": "majority_choice", "attribute": "last_value"}
RULE_OF_SERVICE = {
    "user_communication": "routine",
    "information_request_construction": "majority_choice",
    "action_configuration": "last_value",
}
_CLOCK = re.compile(r"\b([01]?\d|2[0-3]):([0-5]\d)\b")
_DAYS = [re.compile(rf"\b{day}s?\b", re.IGNORECASE) for day in WEEKDAYS]
_DAILY = re.compile(r"\b(daily|every day|each day)\b", re.IGNORECASE)
_STAMP = re.compile(r"^\s*\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?\s*(\||:|-)?\s*")


def fingerprint() -> str:
    """Hash of all that decides an answer besides its inputs."""
    return digest(EXTRACTIVE, VERSION)


def extract(contexts: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    """Table `answers` to `questions` (rows of `tasks`) from their `contexts`; a question without one gets no row."""
    delivered = {
        (row["user_id"], row["checkpoint_id"], row["item"]): row
        for row in contexts.select("user_id", "checkpoint_id", "item", "text", "retrieved").iter_rows(named=True)
    }
    rows: list[JsonObject] = []
    # Questions of one checkpoint follow each other, and may share a context.
    last: tuple[JsonObject | None, Known, list[str]] = (None, Known([]), [])
    for question in questions.sort("user_id", "checkpoint_id", "item").iter_rows(named=True):
        place = (question["user_id"], question["checkpoint_id"])
        told = delivered.get((*place, question["item"])) or delivered.get((*place, WHOLE))
        if told is None:
            continue
        if told is not last[0]:
            logs = in_order(logs_of(told["text"]))
            last = told, Known(logs, chosen=told["item"] != WHOLE), other_lines(told["text"])
        _, known, lines = last
        found = by_logs(known, question) or by_words(lines, question)
        rows.append({**answered(question, known, found), "retrieved": told["retrieved"]})
    return table_of("answers", rows)


def by_logs(known: Known, question: JsonObject) -> Found | None:
    """The answer of the rule that the question calls for, from the delivered logs alone."""
    if not known.logs:
        return None
    if service := question["service_family"]:
        return RULES[RULE_OF_SERVICE[service]](known, question)
    family = question["asked_family"] if question["task"] == NO_KEY else family_of(question["state_key"])
    return RULES[RULE_OF_FAMILY[family]](known, question)


def by_words(lines: Sequence[str], question: JsonObject) -> Found | None:
    """The line that says most of the question, by the rarity of its words; nothing when none says any.

    Where no state is named, every line that tells something of the family is an entry.
    """
    if question["task"] == NO_KEY:
        told = list(_entries(lines, question["asked_family"]))[: most_asked(question["question_text"])]
        return Found(told) if told else None
    wanted = _asked(question)
    said = [frozenset(stems(line)) for line in lines]
    counts = Counter(word for one in said for word in one & wanted)
    if not counts:
        return None
    # Sums in a fixed order; of equal lines the one said first.
    scores = [sum(log((1 + len(lines)) / counts[word]) for word in sorted(one & wanted)) for one in said]
    line = _bare(lines[max(range(len(lines)), key=lambda place: (scores[place], -place))])
    shape = json.loads(question["answer_template"] or question["output_template"] or '"message"')
    alone = sum(1 for _ in fields(shape)) == 1
    timing = _timing(line)

    def slot(path: tuple[str, ...], blank: Any) -> Any:
        name = path[-1] if path else ROOT
        if not (alone or name in (ROOT, "statement")):
            return timing.get(name)
        return line if question["service_family"] == "user_communication" else _value(line, wanted)

    value = filled(shape, slot)
    return None if says_nothing(value) else Found(value)


def _entries(lines: Sequence[str], family: str) -> Iterator[JsonObject]:
    """What lines tell of a family, an entry a line: when something takes place, what is preferred, what is named."""
    for line in map(_bare, lines):
        timing, liked = _timing(line), next((preference([one]) for one in choices(line)), None)
        if liked is None and is_preference(line):
            liked = line
        if family == "habit" and timing and liked is None:
            yield {NAME: line, **timing}
        elif family == "preference" and liked is not None:
            yield {NAME: line, "value": liked}
        elif family == "attribute" and not timing and liked is None:
            thing = _named(line, frozenset())
            if any(map(proper, WORD.findall(thing))):
                yield {NAME: line, "value": thing}


def _bare(line: str) -> str:
    return _STAMP.sub("", line).strip(" -*•\t")


def _value(line: str, wanted: frozenset[str]) -> str:
    """What a line says of what is asked: the choice that it tells, else what it names, else the line itself."""
    for one in choices(line):
        return preference([one])
    return _named(line, wanted) or line


def _named(line: str, wanted: frozenset[str]) -> str:
    """What a line names beside the wanted words, with what it adds; empty where it names nothing."""
    weights = {
        phrase.text: phrase.weight * len(own) / len(said)
        for phrase in in_prose(line)
        if (said := set(stems(phrase.text))) and (own := said - wanted)
    }
    best = max(weights, key=lambda text: (weights[text], len(text), text), default="")
    return ", ".join([best, *details(best, line)[:1]]) if best else ""


def _asked(question: JsonObject) -> frozenset[str]:
    if question["state_key"]:
        return words_of_key(question["state_key"])
    shown = (question[name] for name in ("scenario", "instruction", "output_template"))
    return frozenset(stems(" ".join(text for text in shown if text))) - STOP_WORDS - {"fill"}


def _timing(line: str) -> JsonObject:
    """What a line says of a schedule, in the names of a habit's value."""
    days = [day for day, name in enumerate(_DAYS) if name.search(line)]
    clock = _CLOCK.search(line)
    found: JsonObject = {"days_of_week": days} if days else {}
    if days or _DAILY.search(line):
        found["frequency_type"] = "weekly" if days else "daily"
    if clock:
        found["start_time"] = f"{int(clock[1]):02}:{clock[2]}"
    return found
