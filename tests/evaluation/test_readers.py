"""The readers: right on plain cases, at chance without a readout, the same on every run."""

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from evaluation_world import public, random_gold, readouts, table, taxonomy

from pipelines.evaluation.readers import lines, words
from pipelines.evaluation.readers.embedding import EmbeddingReader
from pipelines.evaluation.readers.lexical import LexicalReader
from pipelines.schema import TABLES
from resources.embedder import EmbedderUnavailable, StaticEmbedder

EMBEDDER = StaticEmbedder()
READERS = [EmbeddingReader(EMBEDDER), LexicalReader()]
by_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)

NAMES = table(
    "taxonomy",
    [
        {"l1": "grocery", "l2": "soft drinks", "l1_name": "GROCERY", "l2_name": "SOFT DRINKS"},
        {"l1": "grocery", "l2": "cheese", "l1_name": "GROCERY", "l2_name": "CHEESE"},
        {"l1": "drug gm", "l2": "shampoo", "l1_name": "DRUG GM", "l2_name": "SHAMPOO"},
        {"l1": None, "l2": "dog food", "l1_name": None, "l2_name": "Dog Food"},
    ],
)
POOL = table(
    "pools",
    [
        {
            "user_id": "u",
            "transition_index": 0,
            "pool": "remember",
            "position": place,
            "l1": l1,
            "l2": l2,
            "n_choose": 2,
        }
        for place, (l1, l2) in enumerate(
            [("drug gm", "shampoo"), ("grocery", "cheese"), (None, "dog food"), ("grocery", "soft drinks")]
        )
    ],
)


def read(reader, text, pool=POOL, names=NAMES):
    return reader.read(readouts({("u", 0): text}), pool, names).row(0, named=True)


@by_reader
def test_candidates_named_in_the_readout_are_chosen_best_first(reader):
    got = read(reader, "- Grocery › soft drinks: 14 visits\n- dog food: 2 visits, the last on day 31")
    assert (got["status"], set(got["chosen"])) == ("ok", {2, 3})
    assert max(got["scores"]) <= 1.0
    assert read(reader, "GROCERY › CHEESE")["chosen"][0] == 1
    assert read(reader, "GROCERY › CHEESE")["scores"][1] == 1.0


@by_reader
@pytest.mark.parametrize("text", ["", "(unused)", " \n \n(unused)", "123 456\n---"])
def test_a_readout_that_says_nothing_scores_all_alike_and_takes_the_keyed_order(reader, text):
    got = read(reader, text)
    assert got["scores"] == [0.0] * 4 and got["chosen"] == [0, 1]


@by_reader
def test_both_slots_are_read(reader):
    frame = readouts({("u", 0): "shampoo"}).with_columns(pl.lit("dog food").alias("tree"))
    assert set(reader.read(frame, POOL, NAMES)["chosen"][0].to_list()) == {0, 2}


@by_reader
def test_only_pools_with_a_readout_are_read(reader):
    pools = pl.concat([POOL, POOL.with_columns(pl.lit(1, dtype=pl.Int32).alias("transition_index"))])
    assert reader.read(readouts({("u", 0): "cheese", ("v", 1): "cheese"}), pools, NAMES).height == 1
    assert reader.read(TABLES["readouts"].empty(), POOL, NAMES).equals(TABLES["readings"].empty())


@by_reader
def test_categories_that_are_numbers_can_be_read_and_counts_are_no_category(reader):
    names = table(
        "taxonomy",
        [{"l1": str(n), "l2": str(n + 1), "l1_name": str(n), "l2_name": str(n + 1)} for n in (982926, 4756105)],
    )
    pool = names.select(
        pl.lit("u").alias("user_id"),
        pl.lit(0, dtype=pl.Int32).alias("transition_index"),
        pl.lit("remember").cast(TABLES["pools"].schema["pool"]).alias("pool"),
        pl.int_range(2, dtype=pl.Int32).alias("position"),
        "l1",
        "l2",
        pl.lit(1, dtype=pl.Int32).alias("n_choose"),
    )
    assert read(reader, "4756105 › 4756106: 982 visits", pool, names)["chosen"] == [1]


@by_reader
def test_readings_do_not_depend_on_row_order_or_company(reader):
    gold = random_gold(users=8)
    keys = sorted(gold.select("user_id", "transition_index").unique().iter_rows())
    names = taxonomy()
    said = readouts(
        {key: "\n".join(names["l2_name"].gather([(7 * i + j) % 60 for j in range(5)])) for i, key in enumerate(keys)}
    )
    whole = reader.read(said, public(gold), names)
    shuffled = reader.read(
        said.sample(fraction=1, shuffle=True, seed=1),
        public(gold).sample(fraction=1, shuffle=True, seed=2),
        names.sample(fraction=1, shuffle=True, seed=3),
    )
    assert shuffled.equals(whole)
    alone = [
        reader.read(said.filter(pl.col("user_id") == user), public(gold), names)
        for user in sorted({k[0] for k in keys})
    ]
    assert pl.concat(alone).sort("user_id", "transition_index", "pool").equals(whole)
    assert whole.height == gold.select("user_id", "transition_index", "pool").n_unique()


def test_lines_are_distinct_and_sorted():
    frame = readouts({("u", 0): "Tea: 99\ntea  98 \n\nCorn", ("a", 0): "Salt"})
    assert lines(frame, taxonomy()).rows() == [(0, "salt"), (1, "corn"), (1, "tea")]


def test_words_keep_letters_of_any_script():
    text = pl.DataFrame({"t": ["GROCERY › Käse & Brot", "日本茶—7", "<b>x</b>"]}).select(words(pl.col("t")))
    assert text["t"].to_list() == ["grocery käse brot", "日本茶 7", "b x b"]


def test_rare_words_weigh_more_than_common_ones():
    common, rare = (read(LexicalReader(), text)["scores"] for text in ("grocery", "cheese"))
    # ln(1 + 4/2) and ln(1 + 4/1) of the two words of GROCERY › CHEESE
    assert (common[1], rare[1]) == pytest.approx((1.098612 / 2.708050, 1.609438 / 2.708050), abs=1e-6)
    assert common[0] == rare[3] == 0.0


def test_embeddings_are_unit_vectors_of_the_mean_token_and_independent_of_the_batch(monkeypatch):
    texts = ["soft drinks", "", "cheese", "milk and bread of the day"] * 3
    vectors = EMBEDDER.embed(texts)
    assert vectors.dtype == np.float32 and vectors.shape == (12, 256)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1, 1] * 3, abs=1e-6)
    monkeypatch.setattr("resources.embedder._BATCH", 5)
    assert (EMBEDDER.embed(texts) == vectors).all()
    assert EMBEDDER.embed([]).shape == (0, 256)
    cola, tea, shampoo = EMBEDDER.embed(["soft drinks", "tea beverage", "shampoo"])
    assert cola @ tea > cola @ shampoo


def test_embeddings_equal_the_packages_own():
    from wordllama import WordLlamaInference

    own = WordLlamaInference(EMBEDDER._weights, EMBEDDER._tokenizer).embed(["soft drinks", "cheese"], norm=True)
    EMBEDDER._tokenizer.no_padding()
    assert EMBEDDER.embed(["soft drinks", "cheese"]) == pytest.approx(own, abs=1e-6)


def test_missing_weights_name_the_remedy(tmp_path):
    with pytest.raises(EmbedderUnavailable, match="make env"):
        StaticEmbedder(tmp_path).embed(["x"])
    assert len(EMBEDDER.fingerprint) == 64


SCRIPT = """
import json, hashlib
from resources.embedder import StaticEmbedder
texts = [f"word {i} soft drinks and bread {i * 7}" for i in range(300)]
print(json.dumps(hashlib.sha256(StaticEmbedder().embed(texts).tobytes()).hexdigest()))
"""


def test_vectors_are_the_same_under_other_threads_and_hash_seeds():
    seen = set()
    for threads, seed in (("1", "0"), ("2", "7")):
        env = os.environ | {
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
            "RAYON_NUM_THREADS": threads,
            "PYTHONHASHSEED": seed,
        }
        out = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
        seen.add(json.loads(out.stdout))
    assert len(seen) == 1
