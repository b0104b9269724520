"""What names a release, what its card says, and what verify says differs."""

import json

import polars as pl
import pytest
from pydantic import BaseModel

from pipelines.commerce.release import FACTS, HASHED, card, content_hash, manifest, refusals, warnings
from pipelines.commerce.settings import CommerceSettings
from pipelines.release import TableEntry, differences, release_name
from pipelines.release import content_hash as track_hash
from pipelines.schema import SCHEMA_VERSION, TABLES

HASHES = {name: f"hash of {name}" for name in HASHED}
SETTINGS = CommerceSettings()


def entries(**changed):
    tables = {name: TableEntry(f"hash of {name}", 10, {f"{name}/part": "bytes"}) for name in (*HASHED, "funnel")}
    return tables | changed


def test_every_hashed_table_and_every_setting_names_the_release():
    base = content_hash(HASHES, SETTINGS)
    assert len(base) == 64
    assert release_name(base) == base[:12]
    others = {content_hash(HASHES | {name: "other"}, SETTINGS) for name in HASHED}
    for name in CommerceSettings.model_fields:
        changed = SETTINGS.model_copy(update={name: getattr(SETTINGS, name) + 1})
        others.add(content_hash(HASHES, changed))
    assert base not in others
    assert len(others) == len(HASHED) + len(CommerceSettings.model_fields)


def test_nothing_else_names_it():
    assert content_hash(HASHES | {"rejects": "x", "funnel": "y"}, SETTINGS) == content_hash(HASHES, SETTINGS)
    assert content_hash(dict(reversed(HASHES.items())), SETTINGS) == content_hash(HASHES, SETTINGS)


def test_the_hash_of_a_known_content_never_changes():
    """Equal on every machine and library version; only a new schema version may move it."""

    class Settings(BaseModel):
        seed: int = 1

    known = {1: "90c2a76437b13119cc569309718cdcd953a8dcc28a5bf70471324b3116be5988"}
    assert track_hash("commerce", Settings(), {"visits": "v", "rejects": "r"}, ["visits"]) == known[SCHEMA_VERSION]


def test_gold_and_store_are_both_hashed():
    assert set(HASHED) <= set(TABLES)
    assert {TABLES[name].wall for name in HASHED} == {"store", "gold"}


def test_a_missing_table_is_an_error():
    with pytest.raises(ValueError, match="no logical hash of pool_gold"):
        content_hash({name: "h" for name in HASHED if name != "pool_gold"}, SETTINGS)


def test_manifest_and_differences():
    frozen = manifest(entries(), SETTINGS)
    assert json.loads(json.dumps(frozen)) == frozen
    assert frozen["content_hash"] == content_hash(HASHES, SETTINGS)
    assert frozen["tables"]["funnel"]["names_release"] is False
    assert frozen["tables"]["pools"]["names_release"] is True
    assert differences(frozen, manifest(entries(), SETTINGS)) == []

    bytes_only = manifest(entries(pools=TableEntry("hash of pools", 10, {"pools/part": "other"})), SETTINGS)
    assert differences(frozen, bytes_only) == ["file pools/part: other bytes; the rows are the same"]

    rows = manifest(entries(pools=TableEntry("changed", 9, {"pools/part": "other"})), SETTINGS)
    found = differences(frozen, rows)
    assert [line.split(":")[0] for line in found] == ["content_hash", "release", "table pools", "file pools/part"]
    assert found[2:] == [
        "table pools: other rows (10 in the manifest, 9 now)",
        "file pools/part: other bytes; the rows differ too",
    ]

    fewer = {name: entry for name, entry in entries().items() if name != "funnel"}
    assert differences(frozen, manifest(fewer, SETTINGS)) == ["table funnel: missing"]
    assert differences(manifest(fewer, SETTINGS), frozen) == ["table funnel: not in the manifest"]
    moved = manifest(entries(funnel=TableEntry("hash of funnel", 10, {"funnel/new": "bytes"})), SETTINGS)
    assert differences(frozen, moved) == ["file funnel/new: not in the manifest", "file funnel/part: missing"]


def test_refusals_are_named():
    assert refusals(l1=True, l2=True, clock="real", resolution="second") == {}
    assert set(refusals(l1=False, l2=True, clock="real", resolution="second")) == {"infer"}
    assert set(refusals(l1=True, l2=False, clock="real", resolution="minute")) == {"labels"}
    assert set(refusals(l1=True, l2=True, clock="synthetic", resolution="hour")) == {"cross_user_tables", "gap_rules"}


def test_the_card_shows_every_setting_with_value_and_origin():
    settings = CommerceSettings(familiar_visits=7)
    made = card(
        name="abc",
        settings=settings,
        statistics=[{"name": "users", "value": 3, "paper": 1194}],
        funnel=TABLES["funnel"].empty(),
        refusals=refusals(l1=False, l2=True, clock="real", resolution="second"),
    )
    rows = {row["name"]: row for row in made["settings"]}
    assert set(rows) == set(CommerceSettings.model_fields)
    assert (rows["familiar_visits"]["value"], rows["familiar_visits"]["default"]) == ("7", "5")
    assert rows["familiar_visits"]["origin"] == "ours"
    assert rows["visit_gap_minutes"]["origin"].startswith("paper §")
    assert made["facts"] == list(FACTS)
    assert any("whole log" in fact and "Cohort" in fact for fact in FACTS)
    assert any("whole log" in fact and "taxonomy" in fact for fact in FACTS)
    assert "every infer pool is empty" in made["refusals"]["infer"]
    assert json.loads(json.dumps(made)) == made


def test_a_pool_without_a_distractor_is_warned_of_and_an_empty_one_is_not():
    columns = ("pool", "n_positives", "n_matched", "n_history", "n_random", "n_short")
    told = [
        ("remember", 2, 0, 0, 0, 6), ("remember", 2, 0, 0, 1, 5), ("remember", 1, 0, 0, 0, 3),
        ("remember", 0, 0, 0, 0, 0), ("infer", 1, 3, 0, 0, 0), ("infer", 0, 0, 0, 0, 0),
    ]  # fmt: skip
    counts = pl.LazyFrame(
        [dict(zip(columns, row, strict=True)) for row in told],
        schema_overrides={"pool": TABLES["pool_counts"].schema["pool"]},
    )
    (said,) = warnings(counts)
    assert said.startswith("2 of 3 remember pools have no distractor: whatever is chosen there is right")
    assert warnings(counts.filter(pl.col("n_random") + pl.col("n_matched") > 0)) == warnings(counts.clear()) == []
