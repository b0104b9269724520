"""Which models a home folder has, and an engine of calls over them (ours).

Where no endpoint is set, the embedded model answers: a small real model that ships as
a package. It is weak, and whatever it answers is labelled so.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from pipelines.evaluation.experiment import Limits
from pipelines.models import ModelStopped, Reply, Request, Role
from resources.models.budget import Amount
from resources.models.engine import ModelEngine
from resources.models.identity import fingerprint
from resources.models.prices import Price
from resources.models.settings import CallRules, Endpoint, ModelSettings, ModelSettingsError, Part, model_settings

EMBEDDED = {"context_tokens": 6_500, "prompt_rate": 200.0, "reply_rate": 40.0}
"""What the embedded model takes, by the counter of the readouts, and does in a second."""
_NOWHERE = "http://127.0.0.1:1/v1"
"""Stands for the embedded server's address where only its identity is asked for."""


@dataclass(frozen=True)
class ModelAccess:
    """The models behind one home folder; endpoints come from `TRAILBENCH_MODEL_*`."""

    home: Path

    @cached_property
    def settings(self) -> ModelSettings:
        """The settings of model calls. Raises `ModelSettingsError`."""
        return model_settings()

    @property
    def ledger(self) -> Path:
        """The file of cached replies and of the account."""
        return self.home / "models" / "calls.sqlite"

    def endpoint(self, role: Role, name: str = "") -> Endpoint:
        """Who answers in a role; `name` asks for another model there. Nothing is started.

        Raises `ModelSettingsError` when a model is named and only the embedded one, which is another, would answer.
        """
        if found := self.settings.endpoint(role, name):
            return found
        embedded = _embedded(_NOWHERE)
        if name and name != embedded.model:
            raise ModelSettingsError(
                f"model {name} is named for role {role} and no endpoint is set: set TRAILBENCH_MODEL_BASE_URL, "
                f"or take the name out to ask the embedded {embedded.model}"
            )
        return embedded

    def fingerprint(self, role: Role, name: str = "") -> str:
        """What a result depends on: role, endpoint, model, decoding."""
        return fingerprint(role, self.endpoint(role, name), self.settings.seed)

    def rules(self, *roles: Role) -> CallRules:
        """The rules of calls in these roles, with what is known of the embedded model where one of them falls to it.

        It answers one call at a time, for nothing, at the rates measured on one machine.
        """
        if all(map(self.settings.is_set, roles)):
            return self.settings
        free = {_embedded(_NOWHERE).model: Price(prompt=Decimal(0))}
        return self.settings.model_copy(update={**EMBEDDED, "prices": {**free, **self.settings.prices}})

    def unasked(self, role: Role, name: str = "") -> "Unasked":
        """The model as far as it is known without asking it."""
        endpoint = self.endpoint(role, name)
        return Unasked(endpoint.model, self.fingerprint(role, name), endpoint.weak)

    @contextmanager
    def open(self, names: Mapping[Role, str], limits: Limits, spent: Amount, payer: str) -> Iterator[ModelEngine]:
        """An engine for the roles of `names` (role → model, empty for the configured one).

        The embedded server is started where a role needs it, and shared with other runs. `limits` are those of an
        experiment, of which `spent` is gone; `payer` is whose calls they are in the account.
        """
        with ExitStack() as stack:
            endpoints: dict[Part, Endpoint] = {role: self.endpoint(role, name) for role, name in names.items()}
            if unset := [role for role in names if not self.settings.is_set(role)]:
                from resources.embedded_model import embedded_server

                server = stack.enter_context(embedded_server(self.home))
                endpoints |= {role: _embedded(server.base_url) for role in unset}
            rules = self.rules(*names).model_copy(update=_left(self.settings, limits, spent))
            yield stack.enter_context(ModelEngine(endpoints, self.ledger, rules, payer))


def _embedded(base_url: str) -> Endpoint:
    from resources.embedded_model import embedded_model

    model = embedded_model()
    alias = f"embedded-{model.fingerprint[:12]}"
    return Endpoint(base_url=base_url, model=model.name, weak=True, alias=alias, concurrency=1)


def _left(settings: ModelSettings, limits: Limits, spent: Amount) -> dict[str, float | None]:
    """The tighter of the process's own budget and what an experiment has left."""
    left = {
        "max_calls": None if limits.calls is None else max(limits.calls - spent.calls, 0),
        "max_tokens": None if limits.tokens is None else max(limits.tokens - spent.tokens, 0),
        "max_cost": None if limits.cost is None else max(limits.cost - spent.cost / 1e9, 0.0),
    }
    return {
        name: min((most for most in (own, getattr(settings, name)) if most is not None), default=None)
        for name, own in left.items()
    }


@dataclass(frozen=True)
class Unasked:
    """A model of which only the identity is wanted: it refuses to be asked."""

    name: str
    fingerprint: str
    weak: bool

    def ask(self, request: Request) -> Reply:
        """Raises `ModelStopped`."""
        raise ModelStopped(f"{self.name} is known here by name only; open an engine to ask it")

    def ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        """Raises `ModelStopped` unless nothing is asked."""
        return [self.ask(request) for request in requests]
