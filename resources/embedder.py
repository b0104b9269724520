"""Static word embeddings and their tokenizer, from the files inside the installed `wordllama` package.

Nothing is downloaded: the weights (32,000 tokens × 256, half precision) and the
tokenizer ship in the wheel and are read from there. A text is the mean of its
tokens' vectors. Half-precision values add up exactly in double precision, so a
vector depends on neither batch size, thread count nor summation order.
"""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numba import njit
from safetensors.numpy import load_file
from tokenizers import Tokenizer

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_BATCH = 4096
"""Texts embedded at once; bounds memory, changes no value."""


class EmbedderUnavailable(RuntimeError):
    """The embedding files are not where the installed package should hold them."""


def package_folder() -> Path:
    """Folder of the installed `wordllama` package (located, not imported)."""
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable("package wordllama is not installed; run `make env`")
    return Path(next(iter(spec.submodule_search_locations)))


class StaticEmbedder:
    """Mean of static token vectors, L2-normalised; loaded on first use.

    `folder` is the folder that holds `weights/` and `tokenizers/`, by default the installed package.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the weights file and the tokenizer file."""
        h = hashlib.sha256()
        for name in (WEIGHTS, TOKENIZER):
            h.update(hashlib.sha256(self._file(name).read_bytes()).digest())
        return h.hexdigest()

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self._weights.shape[1])

    def embed(self, texts: Sequence[str]) -> "np.typing.NDArray[np.float32]":
        """One unit vector a text, in order; a text without tokens (empty) is the zero vector."""
        out = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        position = 0
        for batch in _batches(texts, _BATCH):
            out[position : position + len(batch)] = self._embed_batch(batch)
            position += len(batch)
        return out

    def _embed_batch(self, texts: list[str]) -> "np.typing.NDArray[np.float32]":
        encoded = [e.ids for e in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        ends = np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)))
        ids = np.fromiter(chain.from_iterable(encoded), dtype=np.int64, count=int(ends[-1]))
        sums = _sum_vectors(self._weights, ids, ends)
        norms = np.sqrt(np.square(sums).sum(axis=1, keepdims=True))
        unit: np.typing.NDArray[np.float64] = np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)
        return unit.astype(np.float32)

    @cached_property
    def _weights(self) -> "np.typing.NDArray[np.float32]":
        return load_file(self._file(WEIGHTS))["embedding.weight"].astype(np.float32)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._file(TOKENIZER)))
        if tokenizer.get_vocab_size() > len(self._weights):
            raise EmbedderUnavailable(
                "tokenizer and weights of wordllama do not fit each other; reinstall it (`make env`)"
            )
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _file(self, name: str) -> Path:
        path = (self._folder or package_folder()) / name
        if not path.is_file():
            raise EmbedderUnavailable(
                f"embedding file {name} is missing; reinstall the package wordllama>=0.4.0.post1 (`make env`)"
            )
        return path


@njit(cache=True)
def _sum_vectors(
    weights: "np.typing.NDArray[np.float32]", ids: "np.typing.NDArray[np.int64]", ends: "np.typing.NDArray[np.int64]"
) -> "np.typing.NDArray[np.float64]":
    out = np.zeros((len(ends), weights.shape[1]))
    token = 0
    for text in range(len(ends)):
        while token < ends[text]:
            for k in range(weights.shape[1]):
                out[text, k] += weights[ids[token], k]
            token += 1
    return out


def _batches(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    stream = iter(texts)
    while batch := list(islice(stream, size)):
        yield batch
