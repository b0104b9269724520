"""Tests of model calls see no settings of the machine they run on."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.models import Message, Request
from resources.models.engine import ModelEngine
from resources.models.settings import CallRules, Endpoint


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("TRAILBENCH_MODEL_", "OPENAI_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def engine_of(tmp_path: Path) -> Callable[..., ModelEngine]:
    """`engine_of(server.base_url, key=…, **rules)`: reader, judge and embeddings there, quick retries, one file."""

    def make(
        base_url: str, key: str | None = None, weak: bool = False, alias: str = "", **rules: object
    ) -> ModelEngine:
        endpoint = Endpoint(base_url=base_url, model="m", api_key=key, weak=weak, alias=alias)
        return ModelEngine(
            {"reader": endpoint, "judge": endpoint, "embedding": endpoint},
            tmp_path / "calls.sqlite",
            CallRules(**{"backoff_seconds": 0.001, "retries": 3, "timeout_seconds": 20, **rules}),
        )

    return make


@pytest.fixture
def asked() -> Callable[..., Request]:
    """`asked("text", **options)`: a request with one user message, its unit the text."""

    def make(text: str = "hello", **options: object) -> Request:
        return Request((Message("system", "be brief"), Message("user", text)), **{"unit": text, **options})

    return make
