"""Memories of app logs at checkpoints: what they deliver, what they can know, and that they come back as they were."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from applog_lives import CUTS, GENRE, REVIEW, USERS, another_future, asked, checkpoints, logs
from polars.testing import assert_frame_equal

from pipelines.applogs.answerers import RULES, answer
from pipelines.applogs.checkpoints import visible
from pipelines.applogs.contexts import WHOLE, Streams, contexts, query_of, with_ids
from pipelines.applogs.extracting import extract
from pipelines.applogs.peers import TOP, oracle, rag_top20
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.memory.contract import Batch, MethodSpec, Readout, SnapshotError, StateChanged
from pipelines.memory.methods import rag_bm25, recent_k
from pipelines.memory.registry import builtin_methods
from pipelines.memory.replay import Served, donor_of
from resources.embedder import StaticEmbedder
from resources.memories import KeptMemories
from resources.tokenizer import load_tokens

sys.path.insert(0, str(Path(__file__).parents[1] / "memory"))
from scripted_models import Scripted

TOKENS, EMBEDDER = load_tokens(), StaticEmbedder()
BUDGET = 2_000
LOGS = logs()
PLACES = checkpoints(LOGS)
ASKED = asked(LOGS, PLACES)
QUESTIONS = ASKED.questions
METHODS = builtin_methods()
DELIVER_LOGS = ("recent_k", "long_context", "rag_bm25", "rag_dense")
RETRIEVE = ("rag_bm25", "rag_dense")


def told(request: Any) -> Any:
    """A model that says what it was shown last, in the form of the step."""
    seen = str(len(request.messages[-1].text))
    if request.schema_name == "profile":
        names = ("interests", "habits", "preferences", "current_needs", "circumstances")
        return {"summary": f"saw {seen}", **{name: [] for name in names}}
    return {
        "patterns": {"patterns": []},
        "themes": {"themes": []},
        "characteristics": {"characteristics": []},
        "placement": {"placements": []},
        "maintenance": {"verdicts": []},
    }[request.schema_name]


def delivered(
    name: str | MethodSpec, given: pl.DataFrame, folder: Path, budget: int = BUDGET, **more: Any
) -> pl.DataFrame:
    spec = METHODS[name] if isinstance(name, str) else name
    model = Scripted(told)
    served = Served(builder=model, profile=model, embedder=EMBEDDER)
    streams = Streams.of(given, checkpoints(given))
    settings = {"served": served, "kept": KeptMemories(folder), **more}
    questions = settings.pop("questions", QUESTIONS)
    return contexts(spec, spec.config_model(), streams, questions, budget, TOKENS, **settings)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_delivers_at_every_checkpoint_within_the_budget(name: str, tmp_path: Path) -> None:
    table = delivered(name, LOGS, tmp_path)
    assert dict(table.schema) == dict(APPLOG_TABLES["contexts"].schema)
    if name in RETRIEVE:
        assert table.select("user_id", "item").equals(QUESTIONS.select("user_id", "item").sort("user_id", "item"))
    else:
        assert table["item"].unique().to_list() == [WHOLE]
        assert table.select("user_id", "checkpoint_id").equals(PLACES.select("user_id", "checkpoint_id"))
    counted = [TOKENS.count(text) for text in table["text"]]
    assert table["tokens"].to_list() == counted and max(counted) <= BUDGET
    assert (table["state_hash"].str.len_chars() == 32).all()
    if name == "empty":
        assert table["retrieved"].to_list() == [[]] * 9
    elif name in DELIVER_LOGS:
        rows = table.explode("retrieved").join(PLACES, on=["user_id", "checkpoint_id"])
        seen = rows.join(LOGS, left_on=["user_id", "retrieved"], right_on=["user_id", "app_log_id"])
        assert seen.height == rows.height > 0, "every id is that of a log of the user"
        assert (seen["position"] < seen["n_visible"]).all()
        stands = seen.filter(pl.col("text").str.contains(pl.col("record"), literal=True))
        assert stands.height == seen.height, "the raw log stands in the text as it is"
    elif name != "behaviormem":
        assert table["retrieved"].null_count() == table.height


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("name", sorted(METHODS))
def test_another_future_changes_nothing_before_it(name: str, cut: int, tmp_path: Path) -> None:
    future = another_future(CUTS[cut - 1])
    past = pl.col("checkpoint_id").is_in([f"c{n + 1}" for n in range(cut)])
    first = delivered(name, LOGS, tmp_path / "a")
    second = delivered(name, future, tmp_path / "b")
    assert_frame_equal(first.filter(past), second.filter(past))
    early = QUESTIONS.filter(past)
    assert_frame_equal(extract(first, early), extract(second, early))
    later = [table.filter(~past).unique(["user_id", "checkpoint_id"])["state_hash"] for table in (first, second)]
    assert not set(later[0]) & set(later[1]), "and something after it"


@pytest.mark.parametrize("cut", [1, 2])
def test_another_future_changes_nothing_before_it_for_peers_and_rules(cut: int) -> None:
    future = another_future(CUTS[cut - 1])
    places = checkpoints(future)
    past = pl.col("checkpoint_id").is_in([f"c{n + 1}" for n in range(cut)])
    rag = [rag_top20(one, at, QUESTIONS, EMBEDDER, TOKENS) for one, at in ((LOGS, PLACES), (future, places))]
    assert_frame_equal(rag[0].filter(past), rag[1].filter(past))
    assert not rag[0].equals(rag[1])
    proof = [oracle(one, at, QUESTIONS, ASKED.gold_items, TOKENS) for one, at in ((LOGS, PLACES), (future, places))]
    assert_frame_equal(proof[0].filter(past), proof[1].filter(past))
    for rule in RULES:
        answers = [by_rule(rule, one, at, QUESTIONS.filter(past)) for one, at in ((LOGS, PLACES), (future, places))]
        assert_frame_equal(*answers)


def by_rule(rule: str, given: pl.DataFrame, places: pl.DataFrame, questions: pl.DataFrame) -> pl.DataFrame:
    parts = []
    for (user, checkpoint), asked_ in questions.group_by("user_id", "checkpoint_id"):
        place = places.filter((pl.col("user_id") == user) & (pl.col("checkpoint_id") == checkpoint))
        parts.append(answer(rule, visible(given, place), asked_))
    return pl.concat(parts).sort("user_id", "item")


class Dies(RuntimeError):
    pass


def watched(die_after: int | None = None) -> tuple[MethodSpec, list[tuple[int, str, str]]]:
    """`rag_bm25`, with what was done to each of its memories, in order; it dies after so many batches."""
    done: list[tuple[int, str, str]] = []
    made: Iterator[int] = iter(range(10_000))

    class Watched(rag_bm25.RagBm25):
        def open(self, user: str, config: Any, llm: Any, embedder: Any) -> None:
            super().open(user, config, llm, embedder)
            self.number = next(made)

        def take(self, batch: Batch) -> None:
            if die_after is not None and sum(what == "took" for _, what, _ in done) >= die_after:
                raise Dies
            done.append((self.number, "took", batch.batch_id))
            super().take(batch)

        def restore(self, folder: Path) -> None:
            super().restore(folder)
            done.append((self.number, "restored", str(self.journal.visits)))

        def retrieve(self, query: str, budget: int) -> Readout:
            done.append((self.number, "asked", query))
            return super().retrieve(query, budget)

    return replace(rag_bm25.SPEC, factory=Watched), done


def test_no_memory_that_is_built_meets_a_question_and_each_is_asked_at_its_own_checkpoint(tmp_path: Path) -> None:
    spec, done = watched()
    delivered(spec, LOGS, tmp_path)
    built = {number for number, what, _ in done if what == "took"}
    answering = {number for number, what, _ in done if what == "asked"}
    assert built and answering and not built & answering
    sizes = dict(PLACES.group_by("user_id").agg("n_visible").iter_rows())
    for number, user in zip(sorted(answering), USERS, strict=True):
        steps = [(what, said) for owner, what, said in done if owner == number]
        assert [int(said) for what, said in steps if what == "restored"] == sizes[user], "in order of time, never ahead"
        queries = [said for what, said in steps if what == "asked"]
        assert sorted(queries) == sorted(query_of(row) for row in QUESTIONS.filter(user_id=user).to_dicts())


@pytest.mark.parametrize("threads", [1, 3])
def test_a_run_that_died_goes_on_at_the_last_checkpoint(tmp_path: Path, threads: int) -> None:
    whole = delivered("rag_bm25", LOGS, tmp_path / "whole")
    n_batches = sum(len(batches) for user in USERS for _, batches in Streams.of(LOGS, PLACES).segments(user))
    taken: list[str] = []
    for die_after in (60, None):
        spec, done = watched(die_after)
        if die_after is not None:
            with pytest.raises(Dies):
                delivered(spec, LOGS, tmp_path / "kept", threads=threads)
        else:
            assert_frame_equal(delivered(spec, LOGS, tmp_path / "kept", threads=threads), whole)
        taken += [said for _, what, said in done if what == "took"]
    assert len(set(taken)) == n_batches
    kept = len(list((tmp_path / "kept").glob("*/*")))
    assert kept == 9 and not list(tmp_path.rglob(".partial-*"))
    if threads == 1:
        assert n_batches < len(taken) < n_batches + 60, "what was kept is not taken in again"
    spec, done = watched()
    assert_frame_equal(delivered(spec, LOGS, tmp_path / "kept"), whole)
    assert not [1 for _, what, _ in done if what == "took"]


def test_a_memory_that_is_gone_is_an_error_and_no_other_takes_its_place(tmp_path: Path) -> None:
    class Forgets(KeptMemories):
        """Keeps everything but what is given to it second."""

        def keep(self, key: str, write: Callable[[Path], None]) -> None:
            given.append(key)
            if len(given) != 2:
                super().keep(key, write)

    given: list[str] = []
    with pytest.raises(SnapshotError, match="u1 at c2 is not kept"):
        delivered("recent_k", LOGS, tmp_path / "a", kept=Forgets(tmp_path / "kept"))
    # Gone between two runs, it is built anew from the one before it.
    first = delivered("recent_k", LOGS, tmp_path / "b")
    for folder in sorted((tmp_path / "b").glob("*/*"))[::2]:
        shutil.rmtree(folder)
    assert_frame_equal(delivered("recent_k", LOGS, tmp_path / "b"), first)


def test_asking_that_changes_the_memory_is_refused(tmp_path: Path) -> None:
    class Learns(rag_bm25.RagBm25):
        def retrieve(self, query: str, budget: int) -> Readout:
            self.state["question"] = [query]
            return super().retrieve(query, budget)

    with pytest.raises(StateChanged, match="asking changed"):
        delivered(replace(rag_bm25.SPEC, factory=Learns), LOGS, tmp_path)


def test_a_memory_that_says_too_much_is_cut_and_counted(tmp_path: Path) -> None:
    class Boasts(recent_k.RecentK):
        def readout(self, budget: int) -> Readout:
            return Readout("one line\n" * 40, "and a tree\n" * 40, 3)

    table = delivered(replace(recent_k.SPEC, factory=Boasts), LOGS, tmp_path, budget=50)
    assert table["tokens"].max() <= 50 and table["tokens_cut"].min() > 100
    assert table["text"].str.starts_with("one line\none line").all()


def test_the_shuffled_control_knows_another_user_until_the_same_moment(tmp_path: Path) -> None:
    lent = donor_of(USERS, 7)
    own = delivered("frequency_profile", LOGS, tmp_path / "own").select("user_id", "checkpoint_id", "text")
    table = delivered("shuffled_user", LOGS, tmp_path / "other", seed=7)
    theirs = table.select(pl.col("user_id").replace_strict(lent), "checkpoint_id", "text")
    # The cuts of all users are at the same moments here.
    assert_frame_equal(theirs.sort("user_id", "checkpoint_id"), own)
    assert set(lent) == set(USERS) and all(lender != user for user, lender in lent.items())
    alone = LOGS.filter(user_id="u1")
    nobody = delivered("shuffled_user", alone, tmp_path / "alone", questions=QUESTIONS.filter(user_id="u1"))
    assert set(nobody["text"]) == {""}


def test_neither_order_of_rows_nor_who_else_is_asked_matters(tmp_path: Path) -> None:
    whole = delivered("rag_bm25", LOGS, tmp_path / "a")
    mixed = LOGS.sample(fraction=1, shuffle=True, seed=3)
    questions = QUESTIONS.sample(fraction=1, shuffle=True, seed=4)
    assert_frame_equal(delivered("rag_bm25", mixed, tmp_path / "b", questions=questions, threads=3), whole)
    few = QUESTIONS.filter((pl.col("user_id") == "u2") & (pl.col("checkpoint_id") == "c2"))
    part = delivered("rag_bm25", LOGS, tmp_path / "c", questions=few)
    assert_frame_equal(part, whole.join(few, on=["user_id", "item"], how="semi", maintain_order="left"))


def test_ids_are_read_from_the_text_and_only_those_of_visible_logs_count() -> None:
    row = LOGS.filter(user_id="u1").row(3, named=True)
    late = LOGS.filter(user_id="u1").row(-1, named=True)
    forged = json.dumps(json.loads(row["record"]) | {"app_log_id": "log_99999"})
    texts = {
        "bare": (row["record"], [row["app_log_id"]]),
        "behind a time, twice": (f"2024 | {row['record']}\n- {row['record']}", [row["app_log_id"]]),
        "too late": (f"{row['record']}\n{late['record']}", [row["app_log_id"]]),
        "made up": (f"{forged}\n{row['record']}", [row["app_log_id"]]),
        "in words": (f"The user liked {row['app_log_id']}.", None),
        "cut": (row["record"][:-3], None),
        "nothing": ("", []),
    }
    rows = [{"checkpoint_id": "c1", "text": text} for text, _ in texts.values()]
    got = with_ids(rows, LOGS.filter(user_id="u1"), PLACES.filter(user_id="u1"))
    assert dict(zip(texts, [one["retrieved"] for one in got], strict=True)) == {k: ids for k, (_, ids) in texts.items()}


class Planes:
    """Embeds a text as the direction of its first listed word."""

    fingerprint = "planes"
    words = ("GetTransactions", "PlaceOrder", "PlaySong", "Search")

    def embed(self, texts: Any) -> Any:
        found = np.zeros((len(texts), 5), dtype=np.float32)
        for row, text in enumerate(texts):
            found[row, next((n for n, word in enumerate(self.words) if word in text), 4)] = 1.0
        return found


def test_the_peers_retrieval_delivers_the_20_nearest_visible_logs_the_newer_of_equals_first() -> None:
    questions = QUESTIONS.with_columns(retrieval_query=pl.lit("what PlaySong says"))
    table = rag_top20(LOGS, PLACES, questions, Planes(), TOKENS)
    assert table.height == QUESTIONS.height
    for user, checkpoint in (("u1", "c1"), ("u3", "c3")):
        at = (pl.col("user_id") == user) & (pl.col("checkpoint_id") == checkpoint)
        n = PLACES.filter(at)["n_visible"].item()
        seen = LOGS.filter((pl.col("user_id") == user) & (pl.col("position") < n)).sort("position", descending=True)
        songs = [*seen.filter(api="PlaySong").to_dicts(), *seen.filter(pl.col("api") != "PlaySong").to_dicts()]
        for text, ids in table.filter(at).select("text", "retrieved").iter_rows():
            assert ids == [one["app_log_id"] for one in songs[:TOP]]
            assert text == "\n".join(one["record"] for one in songs[:TOP])
    assert set(table["tokens_cut"]) == {0}
    assert table["tokens"].to_list() == [TOKENS.count(text) for text in table["text"]]


def test_the_oracle_is_shown_the_proof_and_nothing_after_the_cut() -> None:
    gold = ASKED.gold_items.with_columns(pl.lit(["log_00003", "log_00180", "log_99999", "log_00001"]).alias("evidence"))
    table = oracle(LOGS, PLACES, QUESTIONS, gold, TOKENS)
    assert {tuple(ids) for ids in table["retrieved"]} == {("log_00001", "log_00003")}, "in order; what is late is out"
    own = oracle(LOGS, PLACES, QUESTIONS, ASKED.gold_items, TOKENS).join(ASKED.gold_items, on=["user_id", "item"])
    assert own.filter(pl.col("retrieved") != pl.col("evidence")).height == 0
    assert own.filter(expectation="never")["text"].unique().to_list() == [""]


def test_a_question_is_searched_with_its_published_query_else_with_its_body() -> None:
    rows = {row["task"]: row for row in QUESTIONS.filter(user_id="u1").to_dicts()}
    assert query_of(rows["state_completion"]) == rows["state_completion"]["question_text"]
    service = rows["personalised_service"] | {"retrieval_query": None, "output_template": '{"a":"<fill>"}'}
    assert query_of(service) == f"{service['scenario']}\n{service['instruction']}\n{service['output_template']}"


def test_the_weak_reader_answers_from_the_whole_log_as_the_rules_do() -> None:
    whole = visible(LOGS, PLACES).group_by("user_id", "checkpoint_id").agg(pl.col("record").sort_by("position"))
    told_all = whole.select(
        "user_id", "checkpoint_id", item=pl.lit(WHOLE), text=pl.col("record").list.join("\n"),
        retrieved=pl.lit(None, pl.List(pl.String)),
    )  # fmt: skip
    columns = ["user_id", "item", "status", "answer", "evidence"]
    rules = {"routine": REVIEW, "last_value": "user_attributes", "majority_choice": GENRE}
    for rule, key in rules.items():
        mine = QUESTIONS.filter(pl.col("state_key").str.starts_with(key))
        assert_frame_equal(extract(told_all, mine).select(columns), by_rule(rule, LOGS, PLACES, mine).select(columns))
    due = QUESTIONS.filter(pl.col("service_family").cast(pl.String) == "user_communication")
    assert_frame_equal(extract(told_all, due).select(columns), by_rule("routine", LOGS, PLACES, due).select(columns))
