"""`rag_dense`: what it finds, that equal machines agree, and that another embedder never meets an old memory."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pipelines.embeddings import GRID, best_cosines, on_grid
from pipelines.memory.contract import Batch, Method, Retriever, SnapshotError
from pipelines.memory.contract_tests import check_method
from pipelines.memory.contract_worlds import HOSTILE, batch_of, no_network, stream
from pipelines.memory.methods.rag_dense import SPEC, RagDense, RagDenseConfig, words
from pipelines.memory.replay import Served
from resources.embedder import StaticEmbedder
from resources.tokenizer import load_tokens

TOKENS = load_tokens()
STATIC = StaticEmbedder()


class Axes:
    """A word is an axis, a text the direction of its words' sum; every vector can be worked out by hand."""

    def __init__(self, *axes: str, name: str = "axes") -> None:
        self.axes = axes
        self.fingerprint = name
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.embedded += texts
        sums = np.array([[text.split().count(axis) for axis in self.axes] for text in texts], dtype=np.float64)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0).astype(np.float32)


AXES = ("food", "bread", "milk", "garden", "tools", "garlic")


def memory(embedder=None, user: str = "u", **config) -> RagDense:
    made = RagDense(TOKENS)
    made.open(user, RagDenseConfig(**config), None, embedder or Axes(*AXES))
    return made


def visits(*rows: tuple[str | None, str | None, str | None]) -> pl.DataFrame:
    """Visits of (domain, category, brand), an hour apart."""
    shape = pl.concat([stream("u", 1)[0].visits.head(1)] * len(rows))
    names = pl.DataFrame(rows, schema={"l1_name": pl.String, "l2_name": pl.String, "brand": pl.String}, orient="row")
    hour = pl.duration(hours=pl.int_range(pl.len()))
    return shape.with_columns(
        *names.get_columns(),
        pl.Series("item_id", [f"i{place}" for place in range(len(rows))]),
        pl.col("start", "end") + hour,
        l1=pl.lit(None, dtype=pl.String),
        l2=pl.lit(None, dtype=pl.String),
    ).select(shape.columns)


def items(text: str) -> list[str]:
    return [line.split("item ")[1].split(" ")[0] for line in text.splitlines()]


SHOP = visits(
    ("Food", "Bread", None), ("Food", "Milk", None), ("Garden", "Tools", None),
    ("Food", "Bread", "Garlic"), ("Food", "Bread", None),
)  # fmt: skip


def test_the_known_order_of_a_small_shop() -> None:
    made = memory()
    made.ingest(batch_of("u", 0, SHOP))
    # cos with "food bread": i0, i4 1 (the newer first); i3 food bread garlic 2/√6; i1 food milk 1/2; i2 0.
    assert items(made.retrieve("food bread", 10_000).description) == ["i4", "i0", "i3", "i1"]
    # The best of several lines counts, not their mean.
    assert items(made.retrieve("bread food\ngarden tools", 10_000).description) == ["i4", "i2", "i0", "i3", "i1"]
    assert items(made.retrieve("garlic", 10_000).description) == ["i3"]
    assert made.retrieve("telescope", 10_000).description == "" == made.retrieve(" \n", 10_000).description


def test_the_readout_asks_for_the_newest_batch() -> None:
    made = memory()
    made.ingest(batch_of("u", 0, SHOP))
    later = visits(("Garden", "Tools", None)).with_columns(pl.col("start", "end") + pl.duration(days=9))
    made.ingest(batch_of("u", 1, later.with_columns(item_id=pl.lit("new"))))
    assert items(made.readout(10_000).description) == ["new", "i2"]


def test_at_most_k_whole_lines_within_the_budget() -> None:
    made = memory(k=2)
    made.ingest(batch_of("u", 0, SHOP))
    readout = made.retrieve("food bread", 10_000)
    assert items(readout.description) == ["i4", "i0"] and readout.tokens_cut == 0
    first = readout.description.split("\n")[0]
    cut = made.retrieve("food bread", TOKENS.count(first))
    assert cut.description == first and cut.tokens + cut.tokens_cut == readout.tokens


def test_items_and_actions_do_not_blur_a_visit_and_a_record_is_its_text() -> None:
    made = memory(Axes(*AXES, "clicked", "purchased", "i0"))
    text = visits(("Food", "Bread", None)).with_columns(text=pl.lit("garden walk"), item_id=pl.lit("walk"))
    made.ingest(batch_of("u", 0, pl.concat([text, SHOP.with_columns(pl.col("start", "end") + pl.duration(days=1))])))
    assert made.retrieve("purchased clicked i0", 10_000).description == ""
    found = made.retrieve("garden", 10_000).description.split("\n")
    assert found[0].endswith(" | garden walk") and items(found[1]) == ["i2"]


def test_hostile_text_stays_on_its_line() -> None:
    made = memory(STATIC)
    hostile = SHOP.with_columns(pl.lit(HOSTILE).alias(c) for c in ("l1_name", "l2_name", "brand", "item_id"))
    made.ingest(batch_of("u", 0, hostile))
    assert len(made.readout(100_000).description.split("\n")) == SHOP.height


def test_no_machine_changes_a_digit() -> None:
    texts = sorted({words(line) for line in stream("u", 1)[0].visits["l2_name"].drop_nulls()} | {"bread", "a b", ""})
    whole = on_grid(STATIC, texts)
    assert np.abs(whole).max() <= GRID and whole.dtype == np.int32
    exact = np.array([[sum(a * b for a, b in zip(x, y, strict=True)) for y in whole.tolist()] for x in whole.tolist()])
    expected = [max(row) / 2**48 for row in exact.tolist()]
    assert best_cosines(whole, whole).tolist() == expected
    for order in (np.arange(whole.shape[1])[::-1], np.random.default_rng(3).permutation(whole.shape[1])):
        assert best_cosines(whole[:, order], whole[:, order]).tolist() == expected
    assert [best_cosines(row[None], whole)[0] for row in whole] == expected


def test_a_text_is_embedded_once() -> None:
    embedder = Axes(*AXES)
    made = memory(embedder)
    made.ingest(batch_of("u", 0, SHOP))
    made.readout(10_000), made.readout(500), made.retrieve("food bread", 500)
    assert sorted(embedder.embedded) == ["food bread", "food bread garlic", "food milk", "garden tools"]


def test_a_restored_memory_answers_alike_and_goes_on_alike(tmp_path: Path) -> None:
    batches = stream("u", 4)
    whole = memory(STATIC)
    for batch in batches[:2]:
        whole.ingest(batch)
    whole.snapshot(tmp_path)
    again = memory(STATIC)
    again.restore(tmp_path)
    for batch in (None, *batches[2:]):
        if batch is not None:
            whole.ingest(batch), again.ingest(batch)
        assert again.readout(10_000) == whole.readout(10_000)
        assert again.retrieve("garden tools", 99) == whole.retrieve("garden tools", 99)
        assert again.state_hash() == whole.state_hash()


def test_another_embedder_never_meets_an_old_memory(tmp_path: Path) -> None:
    made = memory()
    made.ingest(batch_of("u", 0, SHOP))
    made.snapshot(tmp_path)
    other = memory(Axes(*AXES, name="other axes"))
    empty = other.state_hash()
    with pytest.raises(SnapshotError, match="belongs to another"):
        other.restore(tmp_path)
    assert other.state_hash() == empty
    other.ingest(batch_of("u", 0, SHOP))
    assert other.state_hash() != made.state_hash()


def test_it_cannot_be_opened_without_an_embedder() -> None:
    with pytest.raises(ValueError, match="needs an embedder"):
        RagDense(TOKENS).open("u", RagDenseConfig(), None, None)
    assert SPEC.needs == {"embedder"}


def test_it_is_a_method_that_retrieves_and_touches_no_network() -> None:
    made = memory(STATIC)
    assert isinstance(made, Method) and isinstance(made, Retriever)
    assert made.readout(100).description == "" and made.stats() == {"batches": 0, "visits": 0}
    with no_network() as tried:
        for batch in stream("u", 2):
            made.ingest(batch)
        made.readout(1_000)
    assert tried == [] and made.stats() == {"batches": 2, "visits": 12}


def test_it_keeps_every_rule_with_the_weights_that_ship() -> None:
    assert check_method(SPEC, TOKENS, served=Served(embedder=STATIC)) == []


def test_order_of_the_batch_rows_is_time_and_a_repeat_changes_nothing() -> None:
    made = memory()
    batch: Batch = batch_of("u", 0, SHOP)
    made.ingest(batch)
    before = made.state_hash(), made.readout(10_000)
    made.ingest(replace(batch, visits=batch.visits.reverse()))
    assert (made.state_hash(), made.readout(10_000)) == before
