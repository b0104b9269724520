"""Embeddings of an endpoint: unit vectors in the order of the texts, each text sent once ever."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from model_server import DIMENSIONS, Answer, ModelServer, model_server, vector_of

from pipelines.models import ModelFailed
from resources.models.engine import ModelEngine

EngineOf = Callable[..., ModelEngine]


def unit(text: str) -> "np.typing.NDArray[np.float32]":
    vector = vector_of(text).astype(np.float64)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def sent(server: ModelServer) -> list[str]:
    return [text for call in server.requests for text in call.body["input"]]


def test_vectors_are_of_length_one_and_in_order(engine_of: EngineOf) -> None:
    texts = ["tea pots", "", "cups", "tea pots", " \n"]
    with model_server() as server, engine_of(server.base_url) as engine:
        got = engine.embedder("s").embed(texts)
    assert got.dtype == np.float32 and got.shape == (5, DIMENSIONS)
    for place, text in enumerate(texts):
        expected = unit(text) if text.strip() else np.zeros(DIMENSIONS, np.float32)
        np.testing.assert_allclose(got[place], expected, rtol=0, atol=1e-7)
    assert sent(server) == ["cups", "tea pots"]


def test_a_text_is_sent_once_ever_and_every_scope_has_its_rows(engine_of: EngineOf) -> None:
    texts = [f"text {number}" for number in range(150)]
    with model_server() as server:
        with engine_of(server.base_url) as engine:
            first = engine.embedder("a").embed(texts[:100])
            assert [len(call.body["input"]) for call in server.requests] == [64, 36]
        with engine_of(server.base_url) as engine:
            both = engine.embedder("b").embed(texts)
            again = engine.embedder("b").embed(texts[::-1])
            assert engine.spent.calls == 1
            rows = engine.calls("b").select("role", "cached", "prompt_tokens", "status").rows()
            assert sorted(rows) == [("embedding", False, 100, "ok"), *(("embedding", True, n, "ok") for n in (72, 128))]
            assert engine.calls("a")["cached"].to_list() == [False, False]
    assert sorted(sent(server)) == sorted(texts)
    assert np.array_equal(both[:100], first) and np.array_equal(again[::-1], both)


def test_texts_without_words_are_never_sent(engine_of: EngineOf) -> None:
    with model_server() as server, engine_of(server.base_url) as engine:
        assert engine.embedder().embed(["", " "]).tolist() == [[0.0], [0.0]]
        assert engine.embedder().embed([]).shape == (0, 1)
        assert server.count == 0


def test_replay_needs_no_network(engine_of: EngineOf) -> None:
    with model_server() as server, engine_of(server.base_url) as engine:
        first = engine.embedder().embed(["a", "b"])
    with engine_of(server.base_url, mode="replay") as engine:
        assert np.array_equal(engine.embedder().embed(["b", "a"])[::-1], first)
        with pytest.raises(ModelFailed, match=r"not in calls\.sqlite"):
            engine.embedder().embed(["c"])


def vectors(*rows: object, order: tuple[int, ...] = (0, 1)) -> Answer:
    data = [{"index": index, "embedding": row} for index, row in zip(order, rows, strict=False)]
    return Answer(body=json.dumps({"data": data, "usage": {"prompt_tokens": 2}}).encode())


@pytest.mark.parametrize(
    "answer",
    [
        vectors([1.0, 0.0]),
        vectors([1.0, 0.0], [1.0]),
        vectors([1.0, 0.0], [0.0, 1.0], order=(0, 0)),
        vectors([1.0, 0.0], [0.0, 1.0], order=(1, 2)),
        vectors([1.0, 0.0], [float("nan"), 1.0]),
        vectors([1.0, 0.0], [None, 1.0]),
        vectors([], []),
        Answer(body=b'{"data": []}'),
        Answer(body=b"{}"),
        Answer(status=400, body=b"{}"),
    ],
)
def test_vectors_that_do_not_fit_the_texts_are_refused(
    engine_of: EngineOf, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ModelServer, "answer", lambda self, path, headers, raw: answer)
    with model_server() as server, engine_of(server.base_url, retries=0) as engine:
        with pytest.raises(ModelFailed, match="embeddings of m"):
            engine.embedder("s").embed(["a", "b"])
        assert engine.calls("s")["status"].to_list() == ["failed"]


def test_the_index_decides_the_order(engine_of: EngineOf, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = vectors([0.0, 2.0], [3.0, 0.0], order=(1, 0))
    monkeypatch.setattr(ModelServer, "answer", lambda self, path, headers, raw: answer)
    with model_server() as server, engine_of(server.base_url) as engine:
        assert engine.embedder().embed(["b", "a"]).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_a_model_that_changes_its_length_is_named(engine_of: EngineOf, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server() as server, engine_of(server.base_url) as engine:
        engine.embedder().embed(["a"])
        monkeypatch.setattr(ModelServer, "answer", lambda self, path, headers, raw: vectors([1.0, 0.0]))
        with pytest.raises(ModelFailed, match=r"changed their length: \[2, 8\]"):
            engine.embedder().embed(["a", "b"])
