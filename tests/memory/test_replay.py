"""Time as data, readouts, the budget, donors and samples."""

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given as some
from hypothesis import settings
from hypothesis import strategies as st
from memory_streams import tables
from polars.testing import assert_frame_equal

from pipelines.memory.contract import Batch, Readout, StateChanged, within_budget
from pipelines.memory.contract_models import PARROTS
from pipelines.memory.methods.recent_k import SPEC, RecentK
from pipelines.memory.registry import builtin_methods
from pipelines.memory.replay import donor_of, replay, sample_users
from pipelines.memory.timeline import Arrived, Histories, Outcome, Question, histories, timeline
from pipelines.schema import TABLES
from resources.tokenizer import load_tokens

METHODS = builtin_methods()


def test_an_outcome_comes_after_its_question_and_before_the_next_batch(given: Histories) -> None:
    steps = list(timeline(given, ["u2"]))
    kinds = [type(step).__name__ for step in steps]
    assert kinds == ["Arrived", "Question", "Outcome"] * 3 + ["Arrived"]
    for arrived, question, outcome in zip(steps[::3], steps[1::3], steps[2::3], strict=False):
        assert isinstance(arrived, Arrived) and isinstance(question, Question) and isinstance(outcome, Outcome)
        assert question.now == arrived.batch.end < outcome.target_start
        assert question.transition_index == arrived.batch.index == outcome.transition_index


def test_a_batch_is_its_visits_with_display_names(frames: dict[str, pl.DataFrame], given: Histories) -> None:
    batch = given.batch("u1", 1)
    rows = frames["visits"].filter(pl.col("visit_index").is_between(7, 13), user_id="u1")
    assert_frame_equal(batch.visits.select("start", "item_id", "l1", "l2"), rows.select("start", "item_id", "l1", "l2"))
    expected = [None if l2 is None else l2.upper() for l2 in rows["l2"].to_list()]
    assert batch.visits["l2_name"].to_list() == expected
    assert (batch.batch_id, batch.start, batch.end) == ("u1:1", rows["start"][0], rows["end"][-1])
    assert batch.end.tzinfo is not None and batch.end.utcoffset() == timedelta(0)


def test_visits_and_batches_that_differ_are_refused(frames: dict[str, pl.DataFrame]) -> None:
    short = frames["visits"].filter((pl.col("user_id") != "u1") | (pl.col("visit_index") < 9))
    with pytest.raises(ValueError, match="batch 1 of user 'u1' reaches beyond"):
        histories(**{**frames, "visits": short})


@pytest.mark.parametrize("name", METHODS)
def test_the_table_is_that_of_the_registry_and_independent_of_row_order(
    name: str, frames: dict[str, pl.DataFrame], given: Histories
) -> None:
    spec = METHODS[name]
    table = replay(spec, spec.config_model(), given, 150, load_tokens(), served=PARROTS)
    assert table.schema == TABLES["readouts"].schema
    keys = frames["transitions"].select("user_id", "transition_index").sort("user_id", "transition_index")
    assert_frame_equal(table.select("user_id", "transition_index"), keys)
    assert table["tokens"].max() <= 150
    exact = [
        load_tokens().count(d) + load_tokens().count(t) for d, t in table.select("description", "tree").iter_rows()
    ]
    assert table["tokens"].to_list() == exact
    shuffled = {name: frame.sample(fraction=1, shuffle=True, seed=3) for name, frame in frames.items()}
    assert_frame_equal(
        replay(spec, spec.config_model(), histories(**shuffled), 150, load_tokens(), served=PARROTS), table
    )


@pytest.mark.parametrize("name", METHODS)
def test_shards_change_nothing_when_donors_are_the_same(name: str, given: Histories) -> None:
    spec = METHODS[name]
    whole = replay(spec, spec.config_model(), given, 150, load_tokens(), served=PARROTS)
    parts = [
        replay(spec, spec.config_model(), given, 150, load_tokens(), users=users, served=PARROTS)
        for users in (given.users[1::2], given.users[::2])
    ]
    assert_frame_equal(pl.concat(parts).sort("user_id", "transition_index"), whole)


class WritesOnRead(RecentK):
    def readout(self, budget: int) -> Readout:
        self.state["asked"] = budget
        return super().readout(budget)


def test_a_readout_that_writes_stops_the_replay(given: Histories) -> None:
    with pytest.raises(StateChanged, match="recent_k"):
        replay(replace(SPEC, factory=WritesOnRead), SPEC.config_model(), given, 50, load_tokens())


class Boasts(RecentK):
    def readout(self, budget: int) -> Readout:
        return Readout("one two three\nfour five six", "seven\neight", tokens=1, tokens_cut=5)


def test_the_budget_is_enforced_whatever_the_method_says(given: Histories) -> None:
    tokens = load_tokens()
    spec = replace(SPEC, factory=Boasts)
    full = tokens.count("one two three\nfour five six") + tokens.count("seven\neight")
    for budget, description, tree in (
        (full, "one two three\nfour five six", "seven\neight"),
        (full - 1, "one two three\nfour five six", "seven"),
        (tokens.count("one two three"), "one two three", ""),
        (0, "", ""),
    ):
        row = replay(spec, spec.config_model(), given, budget, tokens).row(0, named=True)
        assert (row["description"], row["tree"]) == (description, tree)
        kept = tokens.count(description) + tokens.count(tree)
        assert (row["tokens"], row["tokens_cut"]) == (kept, 5 + full - kept)


@settings(max_examples=100, deadline=None)
@some(st.text("ab \n›", max_size=40), st.text("cd \n", max_size=40), st.integers(0, 30))
def test_within_budget_loses_no_token_uncounted(description: str, tree: str, budget: int) -> None:
    tokens = load_tokens()
    kept = within_budget(Readout(description, tree), budget, tokens)
    assert kept.tokens == tokens.count(kept.description) + tokens.count(kept.tree) <= budget
    assert kept.tokens + kept.tokens_cut == tokens.count(description) + tokens.count(tree)


@some(st.sets(st.text(min_size=1, max_size=4), min_size=2, max_size=30), st.integers(0, 5))
def test_donors_are_a_derangement(users: set[str], seed: int) -> None:
    lend = donor_of(users, seed)
    assert set(lend) == set(lend.values()) == users
    assert all(user != donor for user, donor in lend.items())
    assert lend == donor_of(sorted(users, reverse=True), seed)


def test_the_shuffled_control_holds_only_what_its_donor_had_done_by_then(
    monkeypatch: pytest.MonkeyPatch, given: Histories
) -> None:
    spec = METHODS["shuffled_user"]
    fed: list[Batch] = []

    class Notes(spec.factory):  # type: ignore[name-defined,misc]
        def take(self, batch: Batch) -> None:
            fed.append(batch)
            super().take(batch)

    lend = donor_of(given.users, 0)
    for user in given.users:
        fed.clear()
        replay(replace(spec, factory=Notes), spec.config_model(), given, 100, load_tokens(), users=[user])
        assert {batch.user_id for batch in fed} <= {lend[user]}
        limit = given.batch(user, len(given.batches[user]) - 1).end
        ends = [batch[4] for batch in given.batches[lend[user]]]
        assert [batch.end for batch in fed] == [end for end in ends if end <= limit]


def test_the_donor_border_from_both_sides() -> None:
    frames = tables(n_users=2, n_batches=1, n_visits=4)
    user, donor = "u0", "u1"
    for seconds, shown in ((0, True), (1, False)):
        moved = dict(frames)
        end = frames["batches"].filter(user_id=user)["end"][0]
        late = end + timedelta(seconds=seconds)
        moved["batches"] = frames["batches"].with_columns(
            end=pl.when((pl.col("user_id") == donor) & (pl.col("batch_index") == 0)).then(late).otherwise("end")
        )
        table = replay(
            METHODS["shuffled_user"],
            METHODS["shuffled_user"].config_model(),
            histories(**moved),
            100,
            load_tokens(),
            users=[user],
        )
        assert bool(table["description"][0]) is shown


def test_a_single_user_has_no_donor_and_an_empty_memory() -> None:
    frames = tables(n_users=1)
    spec = METHODS["shuffled_user"]
    table = replay(spec, spec.config_model(), histories(**frames), 100, load_tokens())
    assert table.height == 1 and table["description"].to_list() == [""]


def test_no_users_give_an_empty_table(frames: dict[str, pl.DataFrame]) -> None:
    none = {name: frame if name == "taxonomy" else frame.clear() for name, frame in frames.items()}
    for spec in METHODS.values():
        table = replay(spec, spec.config_model(), histories(**none), 100, load_tokens())
        assert table.schema == TABLES["readouts"].schema and table.is_empty()


def test_a_sample_is_the_same_whatever_the_order_and_grows_by_adding() -> None:
    users = [f"u{i}" for i in range(50)]
    assert sample_users(users, 10, 1) == sample_users(users[::-1], 10, 1)
    assert set(sample_users(users, 10, 1)) < set(sample_users(users, 11, 1))
    assert sample_users(users, 10, 1) != sample_users(users, 10, 2)
    assert sample_users(users, 99, 1) == sorted(users)
