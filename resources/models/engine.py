"""The engine of model calls: endpoints, file of calls and dispatcher behind the contract `Model`.

The caller's threads look up the cache; one background thread runs the event loop that
calls the endpoints; another commits.
"""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from pipelines.models import Role
from resources.models.budget import Amount
from resources.models.dispatch import Dispatcher
from resources.models.embedding import EndpointEmbedder
from resources.models.endpoint_model import EndpointModel
from resources.models.ledger import Ledger
from resources.models.settings import CallRules, Endpoint, ModelSettingsError, Part


class ModelEngine:
    """Calls of every role, kept and accounted for in the file `path`.

    `endpoints` says who answers in which role; a role without one cannot be asked.
    Budgets and circuits count what this engine does; the calls that it makes are filed under `paid_scope` too where
    it has a `payer`, so that they can be told from those of others in the same scope. Use it as a context manager, or
    `close` it: calls that have not begun are dropped then, finished ones are kept.
    Raises `ModelSettingsError` when a cost budget is set for a model without a price,
    `LedgerError` (a `ModelStopped`) when the file cannot be used.
    """

    def __init__(
        self, endpoints: Mapping[Part, Endpoint], path: Path, rules: CallRules | None = None, payer: str = ""
    ) -> None:
        self.endpoints = dict(endpoints)
        self.rules = rules or CallRules()
        unpriced = sorted({one.model for one in self.endpoints.values()} - set(self.rules.prices))
        if self.rules.max_cost is not None and unpriced:
            raise ModelSettingsError(
                f"a cost budget needs a price for {', '.join(unpriced)}; set TRAILBENCH_MODEL_PRICES, "
                'for instance {"name": {"prompt": 0.15, "reply": 0.6}} (USD for a million tokens)'
            )
        self._ledger = Ledger(path)
        self._dispatcher = Dispatcher(self._ledger, self.rules, payer)

    def model(self, role: Role, scope: str = "") -> EndpointModel:
        """The model of a role; its calls are accounted for under `scope`."""
        return EndpointModel(self._dispatcher, self._endpoint(role), role, scope)

    def embedder(self, scope: str = "") -> EndpointEmbedder:
        """The embeddings; their calls are accounted for under `scope`."""
        return EndpointEmbedder(self._dispatcher, self._endpoint("embedding"), scope)

    def calls(self, scope: str) -> pl.DataFrame:
        """Table `MODEL_CALLS` of a scope: one row for every key that was asked in it."""
        return self._ledger.calls(scope)

    @property
    def spent(self) -> Amount:
        """What this engine has spent on calls that it made; cache hits are free."""
        return self._dispatcher.spent

    @property
    def failed(self) -> int:
        """Calls that this engine made and that got no reply."""
        return self._dispatcher.failed

    def require_answer(self) -> None:
        """Raise `ModelStopped` when calls were made and an endpoint answered none of them."""
        self._dispatcher.require_answer()

    def close(self) -> None:
        """Drop the calls that have not begun, keep those that end within a few seconds, close the file."""
        self._dispatcher.close()
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _endpoint(self, part: Part) -> Endpoint:
        if part not in self.endpoints:
            name = f"{'EMBEDDING_' if part == 'embedding' else ''}NAME"
            raise ModelSettingsError(f"no model is set for role {part}; set TRAILBENCH_MODEL_{name}")
        return self.endpoints[part]
