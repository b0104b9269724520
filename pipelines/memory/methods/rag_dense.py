"""`rag_dense`: one document a visit, ranked by the cosine of embeddings (ours).

As `rag_bm25`, but by meaning: a document scores its best match among the lines of the
question. The readout asks a fixed question, the categories of the newest batch, so that
it does not depend on what a reader is asked; `retrieve` answers any question, for a
separate board. Equal cosines go to the newer visit. A visit is embedded by its category
and brand, because item numbers and the words for actions, alike everywhere, would blur
it; a record that the log wrote as a text, by that text.

Only texts are kept; their vectors are made again after a restore, by the same weights.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from pipelines.embeddings import Embedder, Grid, best_cosines, on_grid
from pipelines.hashing import digest
from pipelines.memory.contract import Batch, MethodSpec, Readout, Settings, fit, setting
from pipelines.memory.rendering import category, category_names, plain, visit_lines
from pipelines.memory.state import JsonMemory

_WORD = re.compile(r"\w+")


class RagDenseConfig(Settings):
    """How many documents are returned."""

    k: int = setting(100, "documents returned at most", unit="visits", origin="ours: two batches of the paper", ge=1)


class RagDense(JsonMemory):
    """Keeps every visit as a line and as what is embedded of it, and the newest batch's categories as the question."""

    name = "rag_dense"

    def open(self, user: str, config: BaseModel, llm: Any, embedder: Any) -> None:
        """See `Method`. Raises `ValueError` without an embedder."""
        if embedder is None:
            raise ValueError("rag_dense needs an embedder")
        super().open(user, config, llm, embedder)
        self._embedder: Embedder = embedder
        self._vectors: dict[str, np.typing.NDArray[np.int32]] = {}
        # Documents as places among the distinct ones, and the vectors of these: follows from the state.
        self._searched: tuple[np.typing.NDArray[np.intp], Grid] | None = None
        # Another embedder reads the same memory differently, so it is part of the state and of who wrote it.
        self.state = {"embedder": embedder.fingerprint}
        self._owner = digest(self._owner, embedder.fingerprint)

    def take(self, batch: Batch) -> None:
        """Append the batch's lines and documents; its categories become the question."""
        names = [category(*name) for name in category_names(batch.visits)]
        brands, texts = batch.visits["brand"].to_list(), batch.visits["text"].to_list()
        documents = [
            f"{name} {brand or ''}" if text is None else text
            for name, brand, text in zip(names, brands, texts, strict=True)
        ]
        self.state["lines"] = self.state.get("lines", []) + visit_lines(batch.visits)
        self.state["documents"] = self.state.get("documents", []) + [words(document) for document in documents]
        self.state["question"] = sorted(set(names))

    def restore(self, folder: Path) -> None:
        """See `Method`."""
        super().restore(folder)
        self._searched = None

    def readout(self, budget: int) -> Readout:
        """The visits most like the newest batch, best first, with their time."""
        return self.retrieve("\n".join(self.state.get("question", [])), budget)

    def retrieve(self, query: str, budget: int) -> Readout:
        """The visits most like a line of `query`, best first; one unlike all of them (cosine ≤ 0) is not returned."""
        lines, documents = self.state.get("lines", []), self.state.get("documents", [])
        asked = sorted({words(line) for line in query.splitlines()} - {""})
        if not asked or not documents:
            return fit([], budget, self.tokens)
        if self._searched is None or len(self._searched[0]) != len(documents):
            distinct, places = np.unique(np.array(documents, dtype=object), return_inverse=True)
            self._searched = places, self._of(distinct.tolist())
        places, vectors = self._searched
        scored = best_cosines(vectors, self._of(asked))[places]
        order = np.lexsort((-np.arange(len(scored)), -scored))
        return fit([lines[place] for place in order if scored[place] > 0][: self.config.k], budget, self.tokens)

    def _of(self, texts: list[str]) -> Grid:
        """Their vectors, each embedded once in this process."""
        if new := [text for text in texts if text not in self._vectors]:
            self._vectors |= dict(zip(new, on_grid(self._embedder, new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


def words(text: str) -> str:
    """What is embedded of a text: its words in lower case."""
    return " ".join(_WORD.findall(plain(text).casefold()))


SPEC = MethodSpec(
    name=RagDense.name,
    kind="retrieval",
    description="The visits most like the newest batch by embeddings, one document a visit.",
    factory=RagDense,
    config_model=RagDenseConfig,
    version=RagDense.version,
    needs=frozenset({"embedder"}),
)
