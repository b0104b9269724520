"""How much may be spent, and when an endpoint is given up."""

import asyncio
from dataclasses import dataclass, field

from pipelines.models import ModelStopped
from resources.models.prices import NANO
from resources.models.settings import CallRules

_RESUME = "finished calls are kept: start again to go on there"


@dataclass(frozen=True)
class Amount:
    """Calls, tokens and nano-dollars."""

    calls: int = 0
    tokens: int = 0
    cost: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


@dataclass
class Budget:
    """What one engine may spend on calls that it makes (cache hits are free); used in one event loop.

    A call is admitted when its expected most (prompt estimated from its length, reply at
    its limit) fits beside what is spent and in flight. Engines of other processes have
    budgets of their own.
    """

    rules: CallRules
    spent: Amount = Amount()
    _reserved: Amount = Amount()
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def admit(self, most: Amount) -> None:
        """Reserve `most`, waiting for calls in flight where it does not fit; raises `ModelStopped` when it cannot."""
        while name := self._exceeded(self.spent + self._reserved + most):
            if not self._reserved.calls:
                raise ModelStopped(self._message(name))
            self._changed.clear()
            await self._changed.wait()
        self._reserved += most

    def settle(self, most: Amount, spent: Amount) -> None:
        """Replace a reservation by what the call took."""
        self._reserved -= most
        self.spent += spent
        self._changed.set()

    def _exceeded(self, amount: Amount) -> str:
        limits = (
            ("max_calls", self.rules.max_calls, amount.calls),
            ("max_tokens", self.rules.max_tokens, amount.tokens),
            ("max_cost", None if self.rules.max_cost is None else self.rules.max_cost * NANO, amount.cost),
        )
        return next((name for name, most, wanted in limits if most is not None and wanted > most), "")

    def _message(self, name: str) -> str:
        limit = getattr(self.rules, name)
        spent = f"{self.spent.calls} calls, {self.spent.tokens} tokens, {self.spent.cost / NANO:.4f} USD"
        return (
            "the budget of model calls is spent: the next call would exceed "
            f"{name}, of which this step had {limit:g} left (spent since: {spent}); {_RESUME}, "
            f"with a larger TRAILBENCH_MODEL_{name.upper()}, or limits.{name.removeprefix('max_')} of the experiment, "
            "whichever is set"
        )


@dataclass
class Circuit:
    """Counts calls in a row that failed by the endpoint's fault; stays open for the life of the engine."""

    endpoint: str
    failures: int
    _in_a_row: int = 0
    _answered: bool = False
    _last: str = ""

    def count(self, endpoint_fault: bool, reason: str) -> None:
        """Take note of a finished call."""
        if self.open:
            return
        self._in_a_row = self._in_a_row + 1 if endpoint_fault else 0
        self._answered = self._answered or not endpoint_fault
        self._last = reason

    @property
    def open(self) -> bool:
        """Whether the endpoint is given up."""
        return self._in_a_row >= self.failures

    def check(self) -> None:
        """Raise `ModelStopped` when the endpoint is given up."""
        if self.open:
            raise ModelStopped(self._message(f"{self._in_a_row} calls in a row failed"))

    def require_answer(self) -> None:
        """Raise `ModelStopped` when calls have failed and none was answered: too few to give the endpoint up."""
        if self._in_a_row and not self._answered:
            raise ModelStopped(self._message(f"no call was answered ({self._in_a_row} failed)"))

    def _message(self, what: str) -> str:
        return f"{self.endpoint}: {what}, the last with {self._last}; see to the endpoint; {_RESUME}"
