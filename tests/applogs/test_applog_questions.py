"""From brought tables to what is asked: merging of drops, never-true states, and the rules over a whole release."""

from typing import Any

import polars as pl
import pytest
from applog_drops import COFFEE, GYM, PET, WALK, brought, log_rows
from applog_worlds import USER, as_bytes, log, logs_of
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pipelines.applogs import release_rules as rules
from pipelines.applogs.funnel import UNTOLD, steps
from pipelines.applogs.merging import Contradiction, merged
from pipelines.applogs.questions import never_keys, questions, state_keys
from pipelines.applogs.rederiving import derive, other_future, rederive, rederive_keys
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.step_tables import BROUGHT

SETTINGS = AppLogSettings()


@pytest.fixture(scope="module")
def drops() -> dict[str, dict[str, pl.DataFrame]]:
    return {name: {"d1": rows} for name, rows in brought().items()}


@pytest.fixture(scope="module")
def frozen(drops: dict[str, dict[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    keys = state_keys(drops["state_intervals"]["d1"])
    return {**derive(drops, keys, SETTINGS), "state_keys": keys}


# -- merging ---------------------------------------------------------------------


@examples(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), min_size=1, max_size=4), st.randoms())
def test_parts_of_a_log_make_the_log_however_they_overlap(cuts: list[tuple[int, int]], draw: Any) -> None:
    whole = logs_of(log_rows(20))
    parts = {f"d{n}": whole[min(cut) : max(cut) + 1] for n, cut in enumerate(cuts)}
    expected = pl.concat(parts.values()).unique().sort("position")
    order = list(parts)
    draw.shuffle(order)
    found = merged("app_logs", {name: parts[name].sample(fraction=1, shuffle=True, seed=1) for name in order})
    assert found.drop("position").equals(expected.drop("position"))
    assert found["position"].to_list() == list(range(expected.height))


def test_what_drops_tell_differently_is_refused_by_drop_row_and_remedy() -> None:
    rows = {name: table for name, table in brought(1).items() if name in ("app_logs", "state_intervals", "anchors")}
    for name, change, named in (
        ("app_logs", {"record": pl.lit("{}")}, "000, log_00001"),
        ("state_intervals", {"value": pl.lit('"x"')}, f"000, {WALK}, walk#0"),
        ("anchors", {"log_index": pl.lit(1, pl.Int64)}, f"{USER}, cal_quarterly_001"),
    ):
        other = rows[name][:1].with_columns(**change)
        with pytest.raises(Contradiction, match=f"drops a and b tell {name} of {named} differently .*leave one"):
            merged(name, {"a": rows[name], "b": other})
        assert merged(name, {"a": rows[name], "b": rows[name][:1]}).equals(merged(name, {"a": rows[name]}))


def test_nothing_is_merged_of_nothing() -> None:
    assert merged("app_logs", {}).is_empty() and merged("gold_items", {"a": BROUGHT["gold_items"].empty()}).is_empty()


# -- what is asked ---------------------------------------------------------------


def test_states_that_never_were_true_are_those_imitated_first_then_of_others() -> None:
    rows = brought(4)
    intervals, evidence = rows["state_intervals"], rows["state_evidence"]
    keys = state_keys(intervals)
    assert keys.rows() == [(WALK, "habit", 4), (COFFEE, "preference", 4), (GYM, "attribute", 4), (PET, "attribute", 2)]

    def chosen(**changes: Any) -> dict[str, list[str]]:
        found = never_keys(intervals, evidence, keys, SETTINGS.model_copy(update=changes))
        return {user: found.filter(user_id=user)["state_key"].to_list() for user in intervals["user_id"].unique()}

    cars = [f"user_attributes_state:car_{n}" for n in range(4)]
    assert chosen() == {"000": [cars[0], PET], "001": [cars[1]], "002": [cars[2], PET], "003": [cars[3]]}
    assert chosen(never_keys=1) == {f"{n:03}": [cars[n]] for n in range(4)}
    assert chosen(never_keys=0) == {f"{n:03}": [] for n in range(4)}
    assert never_keys(intervals[::-1], evidence[::-1], keys[::-1], SETTINGS).equals(
        never_keys(intervals, evidence, keys, SETTINGS)
    )


def test_tasks_that_are_not_wanted_are_not_asked_and_packs_are_asked_as_they_are(
    drops: dict[str, dict[str, pl.DataFrame]], frozen: dict[str, pl.DataFrame]
) -> None:
    only = AppLogSettings(tasks=("state_completion",))
    tasks = derive(drops, frozen["state_keys"], only)["tasks"]
    assert tasks["task"].cast(pl.String).unique().to_list() == ["state_completion"]
    own = tasks.filter(user_id=USER)
    assert own.equals(drops["tasks"]["d1"]) and own.height == 1
    assert frozen["gold_items"].filter(user_id=USER)["truth"].cast(pl.String).to_list() == ["published"]


def test_a_user_with_pack_and_timeline_is_asked_the_pack_and_told_by_the_timeline(
    drops: dict[str, dict[str, pl.DataFrame]], frozen: dict[str, pl.DataFrame]
) -> None:
    rows = {name: by["d1"] for name, by in drops.items()}
    both = {
        **rows,
        "state_intervals": pl.concat([
            rows["state_intervals"],
            rows["state_intervals"].filter(user_id="000", state_key=GYM).with_columns(pl.lit(USER).alias("user_id")),
        ]),
    }  # fmt: skip
    made = questions(both, both["app_logs"], frozen["checkpoints"], frozen["state_keys"], SETTINGS)
    assert made["tasks"].filter(user_id=USER).equals(frozen["tasks"].filter(user_id=USER))
    told = made["gold_states"].filter(user_id=USER, state_key=GYM)
    assert told.select(pl.col("truth").cast(pl.String), "value").rows() == [
        ("published", '"Old Gym"'), ("as_of", '"Iron Works 0"')
    ]  # fmt: skip


def test_what_no_visible_log_tells_is_asked_only_where_it_is_wanted(
    drops: dict[str, dict[str, pl.DataFrame]], frozen: dict[str, pl.DataFrame]
) -> None:
    shown = pl.col("state_key") == WALK
    silent = {name: by["d1"] for name, by in drops.items()}
    silent["state_evidence"] = silent["state_evidence"].filter(~(shown & (pl.col("value_id") == "walk#1")))
    args = (silent, frozen["app_logs"], frozen["checkpoints"], frozen["state_keys"])
    made = questions(*args, SETTINGS)
    asked = made["tasks"].filter(user_id="000", state_key=WALK, task="state_completion")["checkpoint_id"].to_list()
    assert asked == ["cal_quarterly_001"], "that the walk is another by then was told by no log"
    truths = made["gold_states"].filter(user_id="000", state_key=WALK)["checkpoint_id"].unique().len()
    assert truths == 3, "it is true all the same"
    every = questions(*args, AppLogSettings(only_told=False))["tasks"]
    assert every.filter(user_id="000", state_key=WALK, task="state_completion").height == 3
    assert _walk_steps(silent, frozen, made, SETTINGS) == {UNTOLD: 2}


def _walk_steps(
    rows: dict[str, pl.DataFrame],
    frozen: dict[str, pl.DataFrame],
    made: dict[str, pl.DataFrame],
    settings: AppLogSettings,
) -> dict[str, int]:
    tables = {**rows, **made, **{name: frozen[name] for name in ("app_logs", "checkpoints")}}
    mine = {name: table.filter(user_id="000") for name, table in tables.items()}
    found = steps({"app_logs": mine["app_logs"].height}, mine["app_logs"]["user_id"], mine, settings)
    return dict(next(step.dropped for step in found if step.step == "state_completion"))


# -- derived again ---------------------------------------------------------------


def test_all_comes_out_of_shuffled_rows_in_any_shards_again(
    drops: dict[str, dict[str, pl.DataFrame]], frozen: dict[str, pl.DataFrame]
) -> None:
    for shards in (1, 2, 7):
        assert rederive(drops, frozen, SETTINGS, shards).is_empty()
    assert rederive_keys(drops, frozen).is_empty()
    for table in ("tasks", "gold_parts", "gold_states", "state_evidence"):
        spoilt = {**frozen, table: frozen[table][1:]}
        assert rederive(drops, spoilt, SETTINGS)["detail"].str.starts_with(f"table {table}: ").to_list() == [True]
    assert rederive_keys(drops, {"state_keys": frozen["state_keys"][1:]}).height == 1


def test_the_future_moves_nothing_and_what_it_moves_is_named(
    drops: dict[str, dict[str, pl.DataFrame]], frozen: dict[str, pl.DataFrame]
) -> None:
    world = {name: by["d1"] for name, by in drops.items()}
    assert other_future(world, frozen, SETTINGS).is_empty()
    # A checkpoint that shows the logs of the next one; an answer that is only true later; evidence from later.
    first = pl.col("checkpoint_index") == 0
    late = pl.col("checkpoint_id") == "cal_quarterly_001"
    gym = late & (pl.col("state_key") == GYM) & (pl.col("user_id") == "000")
    for table, change in (
        ("checkpoints", {"n_visible": pl.when(first).then(200).otherwise("n_visible").cast(pl.Int32)}),
        ("gold_states", {"value": pl.when(gym).then(pl.lit('"Riverside Barbell"')).otherwise("value")}),
        ("gold_items", {"evidence": pl.when(gym).then(pl.lit(["log_00212"])).otherwise("evidence")}),
    ):
        found = other_future(world, {**frozen, table: frozen[table].with_columns(**change)}, SETTINGS)
        assert f"table {table} up to checkpoint 0" in " ".join(found["detail"])


# -- rules over a release --------------------------------------------------------


def test_the_rules_hold(drops: dict[str, dict[str, pl.DataFrame]], frozen: dict[str, pl.DataFrame]) -> None:
    logs = frozen["app_logs"]
    gold = (frozen["tasks"], frozen["gold_items"], frozen["gold_parts"])
    assert rules.conserved(drops["app_logs"]["d1"], logs).is_empty()
    assert rules.whitelisted(logs).is_empty()
    assert rules.cut_right(frozen["checkpoints"], logs).is_empty()
    assert rules.one_answer(*gold).is_empty()
    assert rules.names_no_value(*gold).is_empty() and rules.told_by_publisher(*gold) == 0
    assert rules.shown_by_then(
        frozen["gold_items"], frozen["gold_states"], frozen["checkpoints"], logs
    ).is_empty()  # fmt: skip


def broken(found: pl.DataFrame) -> list[str]:
    return found["rule"].unique().sort().to_list()


def test_lost_made_up_and_doubled_logs_are_named(
    drops: dict[str, dict[str, pl.DataFrame]], frozen: dict[str, pl.DataFrame]
) -> None:
    brought_logs, logs = drops["app_logs"]["d1"], frozen["app_logs"]
    assert broken(rules.conserved(brought_logs, logs[1:])) == ["a log of a drop is not in the release"]
    assert broken(rules.conserved(brought_logs[1:], logs)) == ["a log of the release is in no drop"]
    assert broken(rules.conserved(brought_logs, pl.concat([logs, logs[:1]]))) == ["a log is there twice"]


@pytest.mark.parametrize(
    ("record", "named"),
    [
        ({"chain_id": "c"}, "chain_id"),
        ({"response": {"x": [{"atomic_event_id": 1}]}}, "response.x[0].atomic_event_id"),
        ({"app_log_id": "log_9"}, "another log"),
    ],
)
def test_a_log_that_holds_more_than_a_log_is_named(record: dict[str, Any], named: str) -> None:
    logs = logs_of([log(1, "2024-01-01 10:00:00")])
    spoilt = logs.with_columns(record=pl.lit(as_bytes({**log(1, "2024-01-01 10:00:00"), **record}).decode()))
    (found,) = rules.whitelisted(spoilt)["detail"].to_list()
    assert found.startswith(f"log_00001 of {USER}") and named in found


def test_cuts_that_are_wrong_are_named(frozen: dict[str, pl.DataFrame]) -> None:
    cuts, logs = frozen["checkpoints"].filter(user_id="000"), frozen["app_logs"]
    assert broken(rules.cut_right(cuts.with_columns(last_log_id=pl.lit("x")), logs)) == ["its last log is another"]
    earlier = cuts.with_columns(pl.col("as_of").dt.offset_by("-1us"))
    assert broken(rules.cut_right(earlier, logs)) == ["shows a log later than its moment"]
    fewer = cuts.with_columns(n_visible=pl.lit(10) - pl.col("checkpoint_index")).drop("last_log_id")
    named = fewer.join(
        logs.select("user_id", n_visible=pl.col("position") + 1, last_log_id="app_log_id"), on=["user_id", "n_visible"]
    )
    assert broken(rules.cut_right(named, logs)) == ["shows less than the one before"]


def test_questions_and_answers_that_do_not_pair_are_named(frozen: dict[str, pl.DataFrame]) -> None:
    tasks, items, parts = frozen["tasks"], frozen["gold_items"], frozen["gold_parts"]
    assert "a right answer without its question" in broken(rules.one_answer(tasks[1:], items, parts))
    assert "a question without its right answer" in broken(rules.one_answer(tasks, items[1:], parts))
    assert broken(rules.one_answer(pl.concat([tasks, tasks[:1]]), items, parts)) == ["a question put twice"]
    assert "a right value without parts" in broken(rules.one_answer(tasks, items, parts[:0]))
    assert broken(rules.one_answer(tasks[:0], items[:0], parts)) == ["parts of nothing"]
    other = tasks.with_columns(state_key=pl.when(pl.col("state_key").is_not_null()).then(pl.lit("habits_state:x")))
    assert broken(rules.one_answer(other, items, parts)) == ["a question of another state than its answer"]


@pytest.mark.parametrize("column", ["question_text", "retrieval_query", "scenario", "instruction"])
def test_a_question_that_names_its_value_is_named(column: str, frozen: dict[str, pl.DataFrame]) -> None:
    gym = frozen["gold_items"].filter(user_id="000", state_key=GYM, checkpoint_id="cal_quarterly_001")
    mine = pl.col("item").is_in(gym["item"].implode())
    tasks = frozen["tasks"].with_columns(
        pl.when(mine).then(pl.lit("Still at IRON works 0?")).otherwise(column).alias(column)
    )
    found = rules.names_no_value(tasks, frozen["gold_items"], frozen["gold_parts"])
    assert found.height == gym.height == 3 and found["detail"].str.contains("iron works 0").all()


def test_a_service_that_names_its_routine_is_named_and_a_publisher_is_counted(frozen: dict[str, pl.DataFrame]) -> None:
    walk = frozen["gold_items"].filter(state_key=WALK, task="personalised_service")
    mine = pl.col("item").is_in(walk["item"].implode())
    tasks = frozen["tasks"].with_columns(
        scenario=pl.when(mine).then(pl.lit("Time for the Evening Walk.")).otherwise("scenario")
    )
    assert rules.names_no_value(tasks, frozen["gold_items"], frozen["gold_parts"]).height == walk.height
    published = frozen["gold_items"].with_columns(truth=pl.lit("published"))
    assert rules.names_no_value(tasks, published, frozen["gold_parts"]).is_empty()
    assert rules.told_by_publisher(tasks, published, frozen["gold_parts"]) == walk.height


def test_evidence_beyond_the_cut_is_named_and_only_a_publisher_may_name_lost_logs(
    frozen: dict[str, pl.DataFrame],
) -> None:
    items, states, cuts, logs = (frozen[name] for name in ("gold_items", "gold_states", "checkpoints", "app_logs"))
    for column in ("evidence", "evidence_previous", "distractors"):
        late = items.filter(user_id="000", checkpoint_id="cal_quarterly_001").with_columns(
            pl.lit(["log_00186"]).alias(column)
        )
        assert broken(rules.shown_by_then(late, states, cuts, logs)) == [f"{column} beyond the cut"]
        last = late.with_columns(pl.lit(["log_00185"]).alias(column))
        assert rules.shown_by_then(last, states, cuts, logs).is_empty()
    lost = items.with_columns(evidence=pl.lit(["log_99999"]))
    assert rules.shown_by_then(lost, states, cuts, logs).height == items.height - 1
