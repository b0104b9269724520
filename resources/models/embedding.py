"""Embeddings of an OpenAI-compatible endpoint, as unit vectors, kept text by text."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from pipelines.hashing import digest
from pipelines.models import ModelFailed
from resources.models.client import EndpointClient, Outcome
from resources.models.dispatch import Call, Dispatcher
from resources.models.identity import fingerprint
from resources.models.settings import Endpoint

_TEXTS_AT_ONCE = 64


class EndpointEmbedder:
    """Turns texts into unit vectors; made by `ModelEngine.embedder`.

    A text is sent once ever, in a batch with others; the vector of its first batch
    stays. A blank text is the zero vector and never sent.
    """

    def __init__(self, dispatcher: Dispatcher, endpoint: Endpoint, scope: str) -> None:
        self._dispatcher = dispatcher
        self._endpoint = endpoint
        self._scope = scope
        self._fingerprint = fingerprint("embedding", endpoint, 0)

    @property
    def fingerprint(self) -> str:
        """Hash of endpoint identity and model; the weights are the endpoint's own."""
        return self._fingerprint

    def embed(self, texts: Sequence[str]) -> "np.typing.NDArray[np.float32]":
        """One unit vector a text, in order; one zero column where all texts are blank.

        Raises `ModelFailed` when the endpoint gives no usable vectors, `ModelStopped` as any call.
        """
        keys = {text: digest(self._fingerprint, text) for text in sorted(set(texts)) if text.strip()}
        ledger = self._dispatcher.ledger
        found = ledger.find_vectors(list(keys.values()))
        batches = sorted({batch for batch, _ in found.values()})
        kept = ledger.find(batches)
        ledger.note([self._dispatcher.hit(self._call(batch, {}), kept[batch]) for batch in batches if batch in kept])
        missing = [(text, key) for text, key in keys.items() if key not in found]
        some = [dict(missing[at : at + _TEXTS_AT_ONCE]) for at in range(0, len(missing), _TEXTS_AT_ONCE)]
        calls = [self._call(digest(*batch.values()), batch) for batch in some]
        for answer in self._dispatcher.make(calls) if calls else []:
            if answer.outcome.status != "ok":
                raise ModelFailed(f"embeddings of {self._endpoint.model}: {answer.outcome.reason}")
        found |= ledger.find_vectors([key for _, key in missing])
        return self._rows(texts, {text: found[key][1] for text, key in keys.items()})

    def _rows(self, texts: Sequence[str], vectors: dict[str, bytes]) -> "np.typing.NDArray[np.float32]":
        lengths = {len(vector) // 4 for vector in vectors.values()}
        if len(lengths) > 1:
            raise ModelFailed(f"embeddings of {self._endpoint.model} have changed their length: {sorted(lengths)}")
        rows = np.zeros((len(texts), lengths.pop() if lengths else 1), dtype=np.float32)
        for place, text in enumerate(texts):
            if text in vectors:
                rows[place] = np.frombuffer(vectors[text], dtype="<f4")
        return rows

    def _call(self, key: str, batch: dict[str, str]) -> Call:
        texts = list(batch)
        return Call(
            *("embedding", self._endpoint, self._scope, f"{len(texts)} texts", key, key),
            most_tokens_in=sum(len(text) // 3 + 8 for text in texts),
            most_tokens_out=0,
            send=partial(_send, self._endpoint.model, texts),
            vectors=partial(_kept_vectors, key, list(batch.values())),
        )


async def _send(model: str, texts: list[str], client: EndpointClient, _: frozenset[str]) -> Outcome:
    return await client.embed(model, texts)


def _kept_vectors(batch: str, keys: Sequence[str], outcome: Outcome) -> list[tuple[str, str, bytes]]:
    vectors = np.asarray(outcome.vectors, dtype=np.float64)
    norms = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    unit = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0).astype("<f4")
    return [(key, batch, row.tobytes()) for key, row in zip(keys, unit, strict=True)]
