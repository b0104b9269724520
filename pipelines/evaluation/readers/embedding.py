"""Reader `embedding`: a candidate's score is its best cosine match among the readout's lines (ours)."""

import numpy as np
import polars as pl

from pipelines.embeddings import Embedder, Grid, best_cosines, on_grid
from pipelines.evaluation.readers import UNIT, candidates, lines, offsets, readings_from_scores, words
from pipelines.hashing import digest


class EmbeddingReader:
    """Ranks candidates by static word embeddings; a readout without lines scores all alike."""

    name = "embedding"
    version = "1"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        """Hash of name, version and weights."""
        return digest(self.name, self.version, self._embedder.fingerprint)

    def read(self, readouts: pl.DataFrame, pools: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
        """Table `readings`, with a score in [−1, 1] for every candidate; see `Reader`."""
        asked = candidates(pools, readouts, names).sort("state", *UNIT, "position").with_columns(words(pl.col("text")))
        said = lines(readouts, names)
        texts = pl.concat([asked["text"], said["text"]]).unique().sort()
        vectors = on_grid(self._embedder, texts.to_list())
        scores = _best_matches(
            vectors,
            texts.search_sorted(asked["text"]).to_numpy(),
            offsets(asked["state"], readouts.height),
            texts.search_sorted(said["text"]).to_numpy(),
            offsets(said["state"], readouts.height),
        )
        return readings_from_scores(asked.with_columns(pl.Series("score", scores)))


def _best_matches(
    vectors: Grid,
    asked: "np.typing.NDArray[np.uint32]",
    asked_at: "np.typing.NDArray[np.int64]",
    said: "np.typing.NDArray[np.uint32]",
    said_at: "np.typing.NDArray[np.int64]",
) -> "np.typing.NDArray[np.float64]":
    scores = np.zeros(len(asked))
    # One turn a readout (both its pools at once), not a row: the matrix product inside is the work.
    for state in range(len(asked_at) - 1):
        rows = slice(asked_at[state], asked_at[state + 1])
        heard = slice(said_at[state], said_at[state + 1])
        if rows.start == rows.stop or heard.start == heard.stop:
            continue
        scores[rows] = best_cosines(vectors[asked[rows]], vectors[said[heard]])
    return scores
