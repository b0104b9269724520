"""The rubric Grounded: the lines of a readout, the user's own past beside them, nothing of the future."""

import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.commerce.tables import POOL
from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.experiment_slice import Slice
from pipelines.evaluation.judging.drawing import drawn_readouts
from pipelines.evaluation.judging.grounded import GROUNDED, Room, evidence, grounded_parts, room_of, verdict_rows
from pipelines.evaluation.judging.rubric import JudgeSettings, RubricJudge, contents
from pipelines.memory.rendering import visit_lines
from pipelines.memory.timeline import Histories, histories
from pipelines.schema import TABLES

sys.path.insert(0, str(Path(__file__).parents[1] / "memory"))
from memory_streams import tables
from scripted_model import ScriptedModel

READ = tables(n_users=3, n_batches=5)
"""u0, u1, u2 have 2, 3, 4 batches of 7 visits, the first batch at index 0."""


class Words:
    """Counts words."""

    sha256 = "words"

    def count(self, text: str) -> int:
        return len(text.split())

    def counts(self, texts: list[str]) -> list[int]:
        return [self.count(text) for text in texts]


def streams(**changed: pl.DataFrame) -> Histories:
    return histories(**{**READ, **changed})


def readouts(*rows: tuple[str, int, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["user_id", "transition_index", "description", "tree"], orient="row").with_columns(
        pl.col("transition_index").cast(pl.Int32)
    )


SAID = readouts(
    ("u1", 0, "likes bread\n\n  buys tools \n", "food\n  bread: often"),
    ("u1", 1, "", ""),
    ("u2", 1, "likes bread\nlikes bread", ""),
)


def parts_of(given: Histories, asked: list[tuple[str, int]], lines: int = 9) -> pl.DataFrame:
    return grounded_parts(SAID, given, asked, Words(), Room(10_000, lines))


def test_the_parts_are_the_lines_of_description_and_tree() -> None:
    parts = parts_of(streams(), [("u2", 1), ("u1", 1), ("u1", 0)])
    assert parts.select("item", "part", "given").rows() == [
        ("u1/0/0", "description 001", "likes bread"),
        ("u1/0/0", "description 002", "buys tools"),
        ("u1/0/0", "tree 001", "food"),
        ("u1/0/0", "tree 002", "bread: often"),
        ("u2/1/0", "description 001", "likes bread"),
        ("u2/1/0", "description 002", "likes bread"),
    ]
    assert set(parts["gate"]) == {False} and parts["expected"].null_count() == parts.height
    assert contents(parts)["content"].n_unique() == 6, "a line that stands twice is two parts"
    with pytest.raises(ValueError, match="user 'u0' has no readout after batch 0"):
        parts_of(streams(), [("u0", 0)])


def test_a_long_readout_is_asked_about_in_several_calls_that_all_show_it() -> None:
    whole, parts = parts_of(streams(), [("u1", 0)]), parts_of(streams(), [("u1", 0)], lines=3)
    assert parts["item"].to_list() == ["u1/0/0"] * 3 + ["u1/0/1"]
    assert parts.drop("item").equals(whole.drop("item"))
    # A quarter of the context is reply: 256 tokens, and 80 a line.
    for context, lines in ((4 * (256 + 3 * 80), 3), (4 * (256 + 3 * 80) - 1, 2), (256, 1), (32_768, 99)):
        assert room_of(JudgeSettings(context_tokens=context, part_tokens=80)) == Room(context // 4, lines)


def test_the_evidence_is_the_users_own_past_newest_first() -> None:
    world = streams()
    expected = [line for place in (1, 0) for line in visit_lines(world.batch("u2", place).visits)[::-1]]
    assert evidence(world, "u2", 1, Words(), 10_000).split("\n") == expected and len(expected) == 14
    # 14 lines need their words and one for each line's end; one word less leaves the oldest out.
    need = sum(Words().counts(expected)) + len(expected)
    assert evidence(world, "u2", 1, Words(), need).split("\n") == expected
    assert evidence(world, "u2", 1, Words(), need - 1).split("\n") == [
        *expected[:-1], "(1 older visits are not shown)"
    ]  # fmt: skip
    assert evidence(world, "u2", 1, Words(), 0) == "(14 older visits are not shown)"


@settings(max_examples=25, deadline=None)
@given(
    item=st.text(min_size=1, max_size=8),
    transition=st.integers(0, 1),
    budget=st.integers(0, 200),
    dropped=st.booleans(),
)
def test_nothing_after_the_transition_enters(item: str, transition: int, budget: int, dropped: bool) -> None:
    """The visits of every later batch are replaced, or all but the next batch dropped: the parts stay the same."""
    said = readouts(("u2", transition, "a\nb", "c"))
    first_later = READ["batches"].filter((pl.col("user_id") == "u2") & (pl.col("batch_index") == transition + 1))
    border = first_later["first_visit"].item()
    later = (pl.col("user_id") == "u2") & (pl.col("visit_index") >= border)
    other = READ["visits"].with_columns(
        pl.when(later).then(pl.lit(item)).otherwise("item_id").alias("item_id"),
        pl.when(later).then(pl.lit("toys")).otherwise("l1").alias("l1"),
        pl.when(later).then(99).otherwise("n_purchase").cast(pl.Int32).alias("n_purchase"),
    )
    changed = {"visits": other}
    if dropped:
        gone = (pl.col("user_id") == "u2") & (pl.col("batch_index") > transition + 1)
        changed["batches"] = READ["batches"].filter(~gone)
    asked = [("u2", transition)]
    before = grounded_parts(said, streams(), asked, Words(), Room(budget, 9))
    after = grounded_parts(said, streams(**changed), asked, Words(), Room(budget, 9))
    assert before.equals(after) and before.height == 3


def test_a_changed_past_is_another_content() -> None:
    early = (pl.col("user_id") == "u2") & (pl.col("visit_index") == 0)
    other = READ["visits"].with_columns(pl.when(early).then(pl.lit("x")).otherwise("item_id").alias("item_id"))
    same, changed = (contents(parts_of(world, [("u2", 1)]))["content"] for world in (streams(), streams(visits=other)))
    assert set(same).isdisjoint(changed)


def test_verdicts_become_rows_of_the_table() -> None:
    def script(request: object) -> str:
        one = '{{"part": "{}", "analysis": "seen", "supported": true, "specific": {}}}'
        labels = request.schema["properties"]["judgments"]["items"]["properties"]["part"]["enum"]  # type: ignore[attr-defined]
        said = ", ".join(one.format(label, 3 if label == "p04" else 1) for label in labels)
        return f'{{"judgments": [{said}]}}'

    parts = parts_of(streams(), [("u1", 0), ("u2", 1)])
    judge = RubricJudge(ScriptedModel(script), GROUNDED, Words())
    rows = verdict_rows(judge.verdicts(parts), parts)
    assert rows.schema == TABLES["verdicts"].schema
    found = rows.select("user_id", "transition_index", "part", "line", "status", "reason", "supported", "specific")
    # A number out of range spoils the whole reply: which of its verdicts were meant is not known.
    broken = ("judge_error", "reply_wrong_schema", None, None)
    assert found.rows() == [
        ("u1", 0, "description 001", "likes bread", *broken),
        ("u1", 0, "description 002", "buys tools", *broken),
        ("u1", 0, "tree 001", "food", *broken),
        ("u1", 0, "tree 002", "bread: often", *broken),
        ("u2", 1, "description 001", "likes bread", "ok", "", True, 1),
        ("u2", 1, "description 002", "likes bread", "ok", "", True, 1),
    ]


POOLS = pl.DataFrame(
    [(f"u{user}", t, pool) for user in range(9) for t in range(5) for pool in ("remember", "infer")],
    schema={"user_id": pl.String, "transition_index": pl.Int32, "pool": POOL},
    orient="row",
)


def test_the_sample_of_readouts_is_keyed_nested_and_within_the_slice() -> None:
    asked = Slice(tuple(f"u{user}" for user in range(6)), batches=3)

    def drawn(n: int, pools: pl.DataFrame = POOLS, part: Slice = asked, **more: int) -> tuple[tuple[str, int], ...]:
        experiment = Experiment(name="a", methods={"m": [{}]}, judges=["grounded"], judged=n, **more)
        return drawn_readouts(pools.lazy(), part, experiment)

    assert len(drawn(5)) == 5 and set(drawn(5)) < set(drawn(10)) and drawn(5) == tuple(sorted(drawn(5)))
    assert drawn(99) == tuple((f"u{user}", t) for user in range(6) for t in range(3))
    assert drawn(5, POOLS.sample(fraction=1, shuffle=True, seed=1)) == drawn(5) != drawn(5, seed=2)
    few = Slice(("u1", "u2"), pools=(("u1", 2, "infer"), ("u1", 2, "remember"), ("u2", 4, "infer")))
    assert drawn(99, part=few) == (("u1", 2), ("u2", 4))
    assert drawn_readouts(POOLS.lazy(), asked, Experiment(name="a", methods={"m": [{}]})) == ()
