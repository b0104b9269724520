"""Whole trajectories: logs the reader takes, gold that follows from them, the same bytes wherever they are made."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

import polars as pl
import pytest
from synth_worlds import GYM, REVIEW, RUN, SHOES, day, ontology, world

from pipelines.applogs.anchors import calendar_anchors
from pipelines.applogs.app_logs import read_app_logs
from pipelines.applogs.askable import askable
from pipelines.applogs.checkpoints import cut
from pipelines.applogs.state_values import normalised
from pipelines.applogs.synthesis.apps.entities import slug
from pipelines.applogs.synthesis.apps.phone import projected
from pipelines.applogs.synthesis.cards import CARD, card, measured, surfaces
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.trajectories import Trajectory, lived, log_file, trajectory
from pipelines.applogs.synthesis.world import Span, World
from pipelines.applogs.synthesis.worlds import world_of
from pipelines.applogs.tables import APPLOG_TABLES, table_of
from pipelines.applogs.truth import as_of_truth, finished_chain_truth, truth_differences

Json = dict[str, Any]


@cache
def by_hand(seed: int = 7) -> Trajectory:
    return lived(world(seed=seed), ontology())


@cache
def user(index: int) -> Trajectory:
    return trajectory(3, index)


def read(made: Trajectory) -> pl.DataFrame:
    return read_app_logs(log_file(made), "app_log_large.json", made.user_id)


def checkpoints(made: Trajectory) -> pl.DataFrame:
    logs = read(made)
    return cut(logs, calendar_anchors(logs, 3))


@pytest.mark.parametrize("index", range(3))
def test_every_log_is_read_in_the_order_of_its_id_and_lies_in_the_span(index: int) -> None:
    made, span = user(index), Span()
    logs = read(made)
    assert logs["app_log_id"].to_list() == [f"log_{n + 1:05}" for n in range(logs.height)]
    assert logs["position"].to_list() == list(range(logs.height))
    assert logs["time"].is_sorted() and logs["app"].n_unique() == 16
    first, last = logs["time"][0], logs["time"][-1]
    assert span.start.replace(tzinfo=UTC) <= first and last < span.end.replace(tzinfo=UTC)
    assert {tuple(log) for log in made.app_logs} == {
        ("app_log_id", "timestamp", "app_name", "api_name", "request", "response")
    }


@pytest.mark.parametrize("index", range(3))
def test_the_gold_holds_to_its_tables_and_names_logs_that_exist(index: int) -> None:
    made = user(index)
    for name, frame in (("intervals", made.intervals), ("changes", made.changes), ("evidence", made.evidence)):
        table = APPLOG_TABLES[f"state_{name}"]
        assert frame.schema == table.schema and frame.height == frame.select(table.key).n_unique() > 0
    positions = {log["app_log_id"]: n for n, log in enumerate(made.app_logs)}
    assert all(positions[name] == n for name, n in made.evidence.select("app_log_id", "position").iter_rows())
    for row in made.changes.iter_rows(named=True):
        assert max(positions[name] for name in row["evidence"]) <= row["end_position"]
    values = set(made.intervals.select("state_key", "value_id").iter_rows())
    named = made.evidence.filter(pl.col("value_id") != "").select("state_key", "value_id")
    assert set(named.iter_rows()) <= values and made.changes["valid"].all()


@pytest.mark.parametrize("index", range(6))
def test_evidence_shows_in_the_log_what_it_is_said_to_show(index: int) -> None:
    """What supports an attribute names its entity; a habit's location and length stand where they are claimed."""
    made = user(index)
    held = {one.value_id: one for one in world_of(3, index).intervals}
    n_entities = n_places = 0
    for row in made.evidence.filter(pl.col("role").cast(pl.String) == "supports").iter_rows(named=True):
        one, log = held[row["value_id"]], made.app_logs[row["position"]]
        text = json.dumps([log["request"], log["response"]], ensure_ascii=False)
        if one.family == "attribute":
            # In its own words, or as part of an id (External-clear_rivers_fund), or as a number (a goal).
            digits = "".join(filter(str.isdigit, one.facts["entity"]))
            assert slug(one.facts["entity"]) in slug(text) or (log["api_name"] == "SetGoals" and digits in text), log
            n_entities += 1
        elif one.family == "habit" and "location" in row["fields"]:
            assert one.facts["place"] in text, log
            n_places += 1
        elif one.family == "preference":
            pools, poles = one.facts["pools"][one.facts["pole"]], one.facts["poles"][one.facts["pole"]]
            assert any(slug(name) in slug(text) for name in (*pools, poles)), log
    assert n_entities > 5 and n_places > 5


def test_the_truth_at_every_checkpoint_is_what_the_world_says() -> None:
    """Both definitions against slow oracles over the world and over the chains' logs."""
    for seed in range(5):
        made, life = by_hand(seed), world(seed=seed)
        at = checkpoints(made)
        states = as_of_truth(made.intervals, made.evidence, at)
        for row in at.iter_rows(named=True):
            moment = row["as_of"].replace(tzinfo=None)
            right = {}
            for key in {one.key for one in life.intervals}:
                if held := life.holding(key, moment):
                    is_set = held[0].member is not None
                    ordered = sorted(held, key=lambda one: (one.valid_from, one.value_id))
                    right[key] = normalised([one.value for one in ordered] if is_set else held[0].value)
            told = states.filter((pl.col("checkpoint_id") == row["checkpoint_id"]) & (pl.col("expectation") == "value"))
            assert {key: json.loads(value) for key, value in told.select("state_key", "value").iter_rows()} == right


def test_a_collection_keeps_its_members_in_the_finished_chains_too() -> None:
    made = by_hand()
    rows = made.changes.filter(pl.col("state_key") == SHOES).sort("end_position").select("change_type", "value")
    lists = [(change, None if value is None else json.loads(value)) for change, value in rows.iter_rows()]
    assert lists == [
        ("unchanged", ["Yoga Mat, blue one"]),
        ("unchanged", ["Brook Shoes, size 41", "Yoga Mat, blue one"]),
        ("modify", ["Yoga Mat, blue one"]),
        ("add", ["Yoga Mat, blue one", "Kettle Bell, eight kilos"]),
    ]
    alone = world(intervals=tuple(one for one in world().intervals if one.member == "Brook Shoes"))
    last = lived(alone, ontology()).changes.sort("end_position").select("change_type", "value").rows()[-1]
    assert last == ("remove", None)


def test_a_window_in_which_a_habit_was_only_made_up_for_is_no_chain() -> None:
    """One occurrence, missed and made up for: it imitates the habit, and the value of the window before stays."""
    found = 0
    review = next(one for one in world().intervals if one.key == REVIEW)
    once = {**review.value, "schedule": {"frequency_type": "monthly_by_date", "days_of_month": [15]}}
    short = replace(review, value=once, valid_to=day(110))
    for seed in range(150):
        made = lived(world(seed=seed, intervals=(short,)), {})
        told = made.evidence.filter(pl.col("role").cast(pl.String) == "supports")
        imitated = made.evidence.filter(pl.col("role").cast(pl.String) == "distractor")
        alone = imitated.filter(pl.col("position") > told["position"].max())
        last = [chain for chain in made.changes["chain_id"] if "_w1_" in chain and chain.endswith("_lasting")]
        found += alone.height > 0 and not last
        assert made.changes["valid"].all()
    assert found > 0


def test_a_change_counts_later_for_the_finished_chain() -> None:
    """A change that comes ten days before a checkpoint is true and told there, but its chain is not finished."""
    near = tuple(
        replace(one, **moved)
        for one in world().intervals
        if one.key == GYM
        for moved in [{"valid_to": day(82)} if one.operation == "initial" else {"valid_from": day(82)}]
    )
    differ = 0
    for seed in range(10):
        made = lived(world(seed=seed, intervals=near), ontology())
        at = checkpoints(made)
        truth = as_of_truth(made.intervals, made.evidence, at)
        rows = truth_differences(pl.concat([truth, finished_chain_truth(made.changes, at)]))
        kept = askable(truth, made.intervals, made.evidence, read(made), at)
        first = kept.filter(pl.col("checkpoint_id") == "cal_quarterly_001")
        assert first["value"].to_list() == ['"Cedar Barn, day pass"']
        differ += rows.filter(pl.col("checkpoint_id") == "cal_quarterly_001").height
        assert set(rows.select("as_of", "finished_chain").iter_rows()) <= {
            ('"Cedar Barn, day pass"', '"Harbor Lane, annual plan"')
        }
    assert differ >= 5


def test_only_what_visible_logs_tell_is_asked() -> None:
    made = by_hand()
    logs, at = read(made), checkpoints(made)
    states = as_of_truth(made.intervals, made.evidence, at)
    assert askable(states, made.intervals, made.evidence, logs, at).equals(states)
    # Without the logs that show one member, the collection is not asked; without the farewells, nothing is over.
    unseen = made.evidence.filter(pl.col("value_id") != "sports_gear/Yoga Mat#0")
    kept = askable(states, made.intervals, unseen, logs, at)
    assert set(states["state_key"]) - set(kept["state_key"]) == {SHOES}
    silent = made.evidence.filter(pl.col("role").cast(pl.String) != "cause")
    kept = askable(states, made.intervals, silent, logs, at)
    assert kept.equals(states.filter(pl.col("expectation") == "value"))
    # A farewell that is not visible yet does not count: all logs after the habit's last occurrence are cut off.
    last = made.evidence.filter((pl.col("value_id") == "canal_run#1") & (pl.col("role").cast(pl.String) == "supports"))
    early = at.head(1).with_columns(
        pl.lit(datetime(2024, 3, 29, 1, tzinfo=UTC)).cast(at.schema["as_of"]).alias("as_of"),
        (last["position"].max() + pl.lit(1)).cast(pl.Int32).alias("n_visible"),
    )
    over = as_of_truth(made.intervals, made.evidence, early)
    assert over.filter(pl.col("state_key") == RUN)["expectation"].to_list() == ["no_longer"]
    kept = askable(over, made.intervals, made.evidence, logs, early)
    assert RUN not in kept["state_key"].to_list() and kept.height == over.height - 1


def digest(made: Trajectory) -> str:
    frames = [frame.write_json() for frame in (made.intervals, made.changes, made.evidence, made.moments)]
    return hashlib.sha256(b"".join([log_file(made), *(text.encode() for text in frames)])).hexdigest()


def test_the_bytes_depend_on_seed_and_index_alone() -> None:
    code = (
        "import sys; sys.path.insert(0, 'tests/applogs')\n"
        "from test_synth_trajectory import digest, trajectory\nprint(digest(trajectory(3, 0)))"
    )
    made = set()
    for hash_seed, zone in (("1", "UTC"), ("77", "Pacific/Auckland")):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": zone, "PYTHONPATH": "."}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        made.add(done.stdout.strip())
    assert made == {digest(user(0))} == {digest(trajectory(3, 0))}
    assert len({digest(user(0)), digest(trajectory(4, 0)), digest(user(1))}) == 3


def test_one_state_more_in_the_ontology_changes_only_its_own_logs() -> None:
    for domain, states in ONTOLOGY.items():
        known = {one.key.partition(":")[2] for one in world_of(3, 0).intervals}
        gone = next(state for state in states if state.name in known)
        rest = {**ONTOLOGY, domain: tuple(state for state in states if state is not gone)}
        whole, less = user(0), trajectory(3, 0, ontology=rest)
        owned = pl.col("state_key").str.ends_with(f":{gone.name}")
        own = whole.evidence.filter(owned)["position"].n_unique()
        assert own > 0
        kept = iter([projected(log) for log in whole.app_logs])
        for log in map(projected, less.app_logs):
            # In the order of the larger one, which has others between them.
            assert any(other == log for other in kept), f"without {gone.name} there is a log that was not there: {log}"
        assert less.intervals.equals(whole.intervals.filter(~owned))
        assert less.moments.equals(whole.moments.filter(~owned))
        assert len(whole.app_logs) - len(less.app_logs) >= own


def test_a_small_user_takes_less() -> None:
    small, large = trajectory(3, 1, Span(windows=2, logs=150)), user(1)
    assert len(small.app_logs) < len(large.app_logs) / 2
    assert read(small)["app"].n_unique() == 16
    assert checkpoints(small).height == 2


def test_the_card_counts_what_is_there() -> None:
    made = by_hand()
    rows = {row["measure"]: row for row in card([measured(made), measured(by_hand(8))]).iter_rows(named=True)}
    assert card([measured(made)]).schema == CARD
    n, m = len(made.app_logs), len(by_hand(8).app_logs)
    logs = rows["logs a user"]
    assert (logs["here"], logs["least"], logs["most"]) == ((n + m) / 2, min(n, m), max(n, m))
    assert logs["published"] == "1,772 (user 001: 1,455)"
    one = {row["measure"]: row["here"] for row in card([measured(made)]).iter_rows(named=True)}
    assert one["apps a user"] == 16 and one["checkpoints a user"] == 3
    assert one["keys asked at the first checkpoint"] == 5 and one["keys asked at the last checkpoint"] == 3
    assert one["keys asked at a checkpoint"] == pytest.approx((5 + 4 + 3) / 3)
    assert one["keys no longer true, at a checkpoint"] == pytest.approx((0 + 1 + 2) / 3)
    # Changed since the first checkpoint: coffee and gear at the second, both again at the third; of seven keys.
    assert one["share of keys that changed since the first checkpoint"] == pytest.approx(4 / 7)
    supports = made.evidence.filter(pl.col("role").cast(pl.String) == "supports")
    assert one["evidence logs of a habit"] == supports.filter(pl.col("value_id") == "budget_review#0").height
    assert one["keys never held that are imitated"] == len(
        {key for key in made.evidence["state_key"] if key not in set(made.intervals["state_key"])}
    )


def test_the_card_counts_services_and_logs_that_name_their_key() -> None:
    """Of the hand-made states gym and habits have a service: 3, 2 and 1 of the 5, 4 and 3 that are asked."""
    made = by_hand()
    one = {row["measure"]: row["here"] for row in card([measured(made)]).iter_rows(named=True)}
    assert made.moments["state_key"].to_list() == [GYM]
    served = [one[f"{family}s served at a checkpoint"] for family in ("attribute", "habit", "preference")]
    assert served == pytest.approx([2 / 3, 4 / 3, 0])
    assert one["keys asked that no service needs, at a checkpoint"] == pytest.approx(2)
    shares = {}
    for text in ("nothing of the kind", "a day at the gym", "gear, for sports"):
        logs = [{**log, "request": {"text": text}, "response": {}} for log in made.app_logs]
        rows = card([measured(replace(made, app_logs=logs))])
        shares[text] = rows.filter(pl.col("measure").str.starts_with("share of evidence logs"))["here"].to_list()
    supports = made.evidence.filter(pl.col("role").cast(pl.String) == "supports")
    gym, gear = (supports.filter(pl.col("state_key") == key).height for key in (GYM, SHOES))
    assert shares["nothing of the kind"] == [0, 0, 0]
    assert shares["a day at the gym"] == pytest.approx([gym / (gym + gear), 0, 0])
    assert shares["gear, for sports"] == pytest.approx([gear / (gym + gear), 0, 0])


def test_most_logs_that_show_an_attribute_do_not_name_its_key() -> None:
    """Neither the key's words nor the label: a search for the name of a state does not find all that is said of it."""
    shares = [measured(user(index)).measures for index in range(6)]
    measure = "share of evidence logs of attributes that hold a word of the key"
    assert 0.1 < sum(one[measure] for one in shares) / 6 < 0.5
    n = n_headed = 0
    for index in range(6):
        labels = {one.value_id: one.facts["label"].lower() for one in world_of(3, index).intervals}
        for row in user(index).evidence.filter(pl.col("value_id") != "").iter_rows(named=True):
            request = user(index).app_logs[row["position"]]["request"]
            if heading := request.get("title") or request.get("subject") or request.get("database_name"):
                n += 1
                n_headed += labels[row["value_id"]] in heading.lower()
    assert n > 500 and 0.05 < n_headed / n < 0.25


def test_surfaces_leave_out_digits_and_what_states_hold() -> None:
    def chat(text: str) -> Json:
        request = {"to": "contact_sister", "message": text}
        return {"app_name": "WhatsApp", "api_name": "SendMessage", "request": request}

    texts = ["off to Harbor Lane at 9", "off to Harbor Lane at 17", "off to Cedar Barn at 9", "something else then"]
    logs = [chat(text) for text in texts]
    made = by_hand()
    held = table_of("state_intervals", made.intervals.filter(pl.col("state_key") == GYM).to_dicts())
    short = replace(made, app_logs=logs, intervals=held)
    assert surfaces(short) == (2.0, 0.5)


def test_a_world_needs_no_ontology_of_its_own() -> None:
    made = lived(World(world().persona, Span(windows=1, logs=80), (), (), seed=1), {})
    assert made.intervals.is_empty() and made.evidence.is_empty() and made.changes.is_empty()
    assert 16 <= len(made.app_logs) < 120
