"""Reader `lexical`: a candidate's score is its best word overlap with a line of the readout (ours).

The overlap weighs each word by its rarity among the pools' candidates, so that
"food" counts for less than "yoghurt"; it is the share of the candidate's weight
that the line covers, 0 to 1, and the line's other words cost nothing.
"""

import polars as pl

from pipelines.evaluation.readers import UNIT, candidates, lines, readings_from_scores, shown, words
from pipelines.hashing import digest


class LexicalReader:
    """Ranks candidates by rarity-weighted word overlap; a readout without lines scores all alike."""

    name = "lexical"
    version = "1"

    @property
    def fingerprint(self) -> str:
        """Hash of name and version."""
        return digest(self.name, self.version)

    def read(self, readouts: pl.DataFrame, pools: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
        """Table `readings`, with a score in [0, 1] for every candidate; see `Reader`.

        A word's weight is ln(1 + N / n): N distinct category texts of the taxonomy, n of them with the word.
        """
        asked = candidates(pools, readouts, names).with_columns(words(pl.col("text")))
        said = lines(readouts, names)
        wanted = asked.select("state", "text").unique()
        texts = _words_of(pl.concat([_catalogue(names), wanted.select("text")]).unique())
        weights = _weights(texts)
        weighted = texts.join(weights, on="word", how="left")
        total = weighted.group_by("text").agg(pl.col("weight").sum().alias("total"))
        spoken = _words_of(said.select("text").unique()).rename({"text": "line"})
        said_words = said.rename({"text": "line"}).join(spoken, on="line", how="inner")
        best = (
            wanted.join(weighted, on="text", how="inner")
            .join(said_words, on=["state", "word"], how="inner")
            .group_by("state", "text", "line")
            .agg(pl.col("weight").sum().alias("covered"))
            .group_by("state", "text")
            .agg(pl.col("covered").max())
        )
        scored = (
            asked.join(best, on=["state", "text"], how="left")
            .join(total, on="text", how="left")
            .with_columns((pl.col("covered") / pl.col("total")).fill_null(0.0).alias("score"))
            .sort(*UNIT, "position")
        )
        return readings_from_scores(scored)


def _catalogue(names: pl.DataFrame) -> pl.DataFrame:
    return shown(names).to_frame().select(words(pl.col("text")))


def _words_of(texts: pl.DataFrame) -> pl.DataFrame:
    return (
        texts.with_columns(pl.col("text").str.split(" ").alias("word"))
        .explode("word", empty_as_null=False, keep_nulls=False)
        .filter(pl.col("word") != "")
        .unique()
    )


def _weights(texts: pl.DataFrame) -> pl.DataFrame:
    """Integer micro-weights, so that sums do not depend on the order of their terms."""
    n = texts["text"].n_unique()
    rarity = (1.0 + n / pl.len()).log() * 1_000_000
    return texts.group_by("word").agg(rarity.round(0).cast(pl.Int64).alias("weight"))
