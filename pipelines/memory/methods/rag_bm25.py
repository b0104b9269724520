"""`rag_bm25`: one document a visit, ranked by BM25 (Lucene's form, package `bm25s`; ours).

The readout asks a fixed question, the categories of the newest batch, so that it does
not depend on what a reader is asked; `retrieve` answers any question, for a separate
board. Equal scores (to a millionth) go to the newer visit.
"""

import logging
import re
from functools import lru_cache
from pathlib import Path

import bm25s
import numpy as np

from pipelines.memory.contract import Batch, MethodSpec, Readout, Settings, fit, setting
from pipelines.memory.rendering import category, category_names, visit_lines
from pipelines.memory.state import JsonMemory

_WORD = re.compile(r"\w+")
# It writes every index it builds to stderr, at DEBUG, through a handler of its own.
logging.getLogger("bm25s").setLevel(logging.WARNING)


class RagBm25Config(Settings):
    """BM25 and how many documents are returned."""

    k: int = setting(100, "documents returned at most", unit="visits", origin="ours: two batches of the paper", ge=1)
    k1: float = setting(1.5, "saturation of term counts", unit="", origin="bm25s default", ge=0)
    b: float = setting(0.75, "normalisation by document length", unit="", origin="bm25s default", ge=0, le=1)


class RagBm25(JsonMemory):
    """Keeps every visit as a line, and the newest batch's categories as the standing question."""

    name = "rag_bm25"
    _index: "Index | None" = None

    def take(self, batch: Batch) -> None:
        """Append the batch's lines; its categories become the question."""
        self.state["lines"] = self.state.get("lines", []) + visit_lines(batch.visits)
        self.state["question"] = sorted({category(*name) for name in category_names(batch.visits)})

    def readout(self, budget: int) -> Readout:
        """The visits most like the newest batch, best first, with their time."""
        return self.retrieve(" ".join(self.state.get("question", [])), budget)

    def retrieve(self, query: str, budget: int) -> Readout:
        """The visits that share words with `query`, best first; a visit that shares none is not returned."""
        lines = self.state.get("lines", [])
        if self._index is None or self._index.n != len(lines):
            self._index = Index([_document(line) for line in lines], self.config.k1, self.config.b)
        return fit([lines[place] for place in self._index.rank(query)[: self.config.k]], budget, self.tokens)

    def restore(self, folder: Path) -> None:
        """See `Method`."""
        super().restore(folder)
        self._index = None


class Index:
    """Documents that can be searched again and again; no part of a memory's state, for it follows from its lines."""

    def __init__(self, documents: list[str], k1: float, b: float) -> None:
        self.n = len(documents)
        self._vocabulary: dict[str, int] = {}
        corpus = [[self._vocabulary.setdefault(word, len(self._vocabulary)) for word in _words(t)] for t in documents]
        self._index = bm25s.BM25(k1=k1, b=b, dtype="float64")
        if self._vocabulary:
            self._index.index((corpus, self._vocabulary), show_progress=False)

    def rank(self, query: str) -> list[int]:
        """Places of the documents with a positive score, best first, then the later one.

        A word counts once in the query, however often it is said.
        """
        asked = [self._vocabulary[word] for word in dict.fromkeys(_words(query)) if word in self._vocabulary]
        if not asked:
            return []
        scores = np.rint(self._index.get_scores_from_ids(sorted(asked)) * 1e6).astype(np.int64)
        order = np.lexsort((-np.arange(len(scores)), -scores))
        return [int(place) for place in order if scores[place] > 0]


def _document(line: str) -> str:
    return line.split(" | ", 1)[1] if " | " in line else ""


@lru_cache(maxsize=200_000)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


SPEC = MethodSpec(
    name=RagBm25.name,
    kind="retrieval",
    description="The visits most like the newest batch by BM25, one document a visit.",
    factory=RagBm25,
    config_model=RagBm25Config,
    version=RagBm25.version,
)
