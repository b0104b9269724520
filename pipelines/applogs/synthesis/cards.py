"""The statistics card: what synthetic users come to, beside what is published of the real set (reference 1, 2)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import polars as pl

from pipelines.applogs.anchors import calendar_anchors
from pipelines.applogs.app_logs import read_app_logs
from pipelines.applogs.askable import askable
from pipelines.applogs.checkpoints import cut
from pipelines.applogs.json_text import dump
from pipelines.applogs.retention import value_histories
from pipelines.applogs.services import moments_by_state, services, telling_words
from pipelines.applogs.state_values import family_of, humanised
from pipelines.applogs.synthesis.trajectories import Trajectory, log_file
from pipelines.applogs.synthesis.world import WINDOW_MONTHS
from pipelines.applogs.tables import FAMILIES
from pipelines.applogs.truth import as_of_truth, finished_chain_truth, truth_differences

CARD = {"measure": pl.String, "here": pl.Float64, "least": pl.Float64, "most": pl.Float64, "published": pl.String}
PUBLISHED = {
    "logs a user": "1,772 (user 001: 1,455)",
    "apps a user": "16",
    "APIs over all users": "79",
    "checkpoints a user": "5",
    "logs at the first checkpoint": "180 (user 001)",
    "keys asked at a checkpoint": "37.8 (user 001: 30 to 45)",
    "evidence logs of a habit at the first checkpoint": "14 (a weekly one)",
}
"""Measure → what is published of it; nothing is told of the others."""
_CHANGED = ("updated", "changed_earlier")


@dataclass(frozen=True)
class Measured:
    """What one user comes to: measure → value, and the (app, API) pairs of its log."""

    measures: dict[str, float]
    apis: list[tuple[str, str]]


def measured(one: Trajectory) -> Measured:
    """The measures of one user."""
    return Measured(_of_user(one), sorted({(log["app_name"], log["api_name"]) for log in one.app_logs}))


def card(users: Sequence[Measured]) -> pl.DataFrame:
    """Measures of some users: their mean (`here`), the least and the most of a user, and the published figure.

    Shares are between 0 and 1. Evidence and distractors are counted at the last checkpoint, over the keys asked there.
    A surface is the words of a request without digits and without the names that the user's states hold.
    """
    rows = []
    for measure in users[0].measures:
        values = [one.measures[measure] for one in users]
        rows.append((measure, fsum(values) / len(values), min(values), max(values), PUBLISHED.get(measure)))
    apis = float(len({api for one in users for api in one.apis}))
    measure = "APIs over all users"
    rows.append((measure, apis, apis, apis, PUBLISHED[measure]))
    return pl.DataFrame(rows, schema=CARD, orient="row")


def _of_user(one: Trajectory) -> dict[str, float]:
    logs = read_app_logs(log_file(one), "app_log_large.json", one.user_id)
    checkpoints = cut(logs, calendar_anchors(logs, WINDOW_MONTHS))
    true = as_of_truth(one.intervals, one.evidence, checkpoints)
    asked = askable(true, one.intervals, one.evidence, logs, checkpoints)
    values = asked.filter(pl.col("expectation") == "value")
    histories = value_histories(values, checkpoints).filter(pl.col("checkpoint_index") > 0)
    differ = truth_differences(pl.concat([values, finished_chain_truth(one.changes, checkpoints)]))
    differ = differ.join(values, on=["user_id", "checkpoint_id", "state_key"], how="semi")
    last = values.filter(pl.col("checkpoint_id") == checkpoints["checkpoint_id"][-1])
    first = values.filter(pl.col("checkpoint_id") == checkpoints["checkpoint_id"][0])
    sizes = {family: rows["evidence"].list.len() for (family,), rows in last.group_by(pl.col("family").cast(pl.String))}
    first_habits = first.filter(pl.col("family") == "habit")["evidence"].list.len()
    n_checkpoints = checkpoints.height
    of_an_api, own = surfaces(one)
    return {
        "logs a user": logs.height,
        "apps a user": logs["app"].n_unique(),
        "APIs a user": logs.select("app", "api").n_unique(),
        "checkpoints a user": n_checkpoints,
        "logs at the first checkpoint": checkpoints["n_visible"][0],
        "keys asked at a checkpoint": values.height / n_checkpoints,
        "keys asked at the first checkpoint": first.height,
        "keys asked at the last checkpoint": last.height,
        "keys true but not told, at a checkpoint": (
            true.filter(pl.col("expectation") == "value").height - values.height
        )
        / n_checkpoints,
        "keys no longer true, at a checkpoint": (asked.height - values.height) / n_checkpoints,
        "share of keys that changed since the first checkpoint": _mean(histories["history"].is_in(_CHANGED)),
        "evidence logs of an attribute": _mean(sizes.get("attribute")),
        "evidence logs of a habit": _mean(sizes.get("habit")),
        "evidence logs of a preference": _mean(sizes.get("preference")),
        "evidence logs of a habit at the first checkpoint": _mean(first_habits),
        "distractors of a key": _mean(last["distractors"].list.len()),
        **_served(one, values, checkpoints),
        **_naming(one),
        "keys never held that are imitated": one.evidence.join(one.intervals, on="state_key", how="anti")[
            "state_key"
        ].n_unique(),
        "surfaces of an API": of_an_api,
        "share of texts with a surface of their own": own,
        "keys asked where as_of and finished_chain differ, at a checkpoint": differ.height / n_checkpoints,
    }


def _served(one: Trajectory, values: pl.DataFrame, checkpoints: pl.DataFrame) -> dict[str, float]:
    """States of a family that a service is asked for, and asked states that none is, at a checkpoint on average."""
    items = services(values, checkpoints, "as_of", moments_by_state(one.moments)).gold_items
    count, n = Counter(items["family"].cast(pl.String)), checkpoints.height
    served = {f"{family}s served at a checkpoint": count[family] / n for family in FAMILIES}
    return {**served, "keys asked that no service needs, at a checkpoint": (values.height - items.height) / n}


def _naming(one: Trajectory) -> dict[str, float]:
    """Share of the logs that support a state of a family in which a word of the state's key stands."""
    pairs = one.evidence.filter(pl.col("role").cast(pl.String) == "supports").select("state_key", "position").unique()
    n_logs: Counter[str] = Counter()
    n_naming: Counter[str] = Counter()
    for key, position in pairs.iter_rows():
        log, family = one.app_logs[position], family_of(key)
        n_logs[family] += 1
        words = telling_words(dump([log["request"], log["response"]]))
        n_naming[family] += not words.isdisjoint(telling_words(humanised(key)))
    return {
        f"share of evidence logs of {family}s that hold a word of the key": n_naming[family] / max(n_logs[family], 1)
        for family in FAMILIES
    }


def _mean(values: pl.Series | None) -> float:
    return 0.0 if values is None or values.is_empty() else float(values.cast(pl.Float64).mean())  # type: ignore[arg-type]


def surfaces(one: Trajectory) -> tuple[float, float]:
    """Mean number of distinct surfaces of an API that takes words, and the share of distinct ones among all texts."""
    names = {part for text in one.intervals["value"] for part in re.findall(r"[^\",\[\]{}:]{3,}", text)}
    known = re.compile("|".join([r"\d+", *sorted(map(re.escape, names), key=lambda name: (-len(name), name))]))
    by_api: dict[tuple[str, str], list[str]] = {}
    for log in one.app_logs:
        if words := " ".join(text for text in _texts(log["request"]) if " " in text):
            by_api.setdefault((log["app_name"], log["api_name"]), []).append(known.sub("", words))
    counts = [len(set(texts)) for texts in by_api.values()]
    return sum(counts) / len(counts), sum(counts) / sum(map(len, by_api.values()))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
