"""What a run will ask of its models, before it asks: calls, tokens, cost and time from counts."""

from collections.abc import Mapping
from dataclasses import dataclass

from resources.models.prices import cost
from resources.models.settings import CallRules, Endpoint, Part


@dataclass(frozen=True)
class Workload:
    """Calls of one role, with the prompt and reply tokens of all of them together."""

    calls: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True)
class Estimate:
    """What a role's workload takes when nothing of it is in the cache."""

    role: Part
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: int | None
    """Nano-dollars; None for a model without a price."""
    seconds: float
    """At the rates of the rules, with as many calls in flight as the endpoint takes."""


def estimate(
    work: Mapping[Part, Workload], endpoints: Mapping[Part, Endpoint], rules: CallRules | None = None
) -> list[Estimate]:
    """One estimate a role, in the order of `work`. Raises `KeyError` for a role without an endpoint."""
    rules = rules or CallRules()
    return [_estimate(part, one, endpoints[part], rules) for part, one in work.items()]


def _estimate(part: Part, work: Workload, endpoint: Endpoint, rules: CallRules) -> Estimate:
    at_once = max(1, min(endpoint.concurrency or rules.concurrency, work.calls))
    seconds = (work.tokens_in / rules.prompt_rate + work.tokens_out / rules.reply_rate) / at_once
    price = cost(rules.prices, endpoint.model, work.tokens_in, work.tokens_out)
    return Estimate(part, endpoint.model, work.calls, work.tokens_in, work.tokens_out, price, seconds)
