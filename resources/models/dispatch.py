"""Making calls: in-flight calls, retries, concessions, budget, circuit; one event loop in a background thread.

A call is handed back only once its reply and its row are on disk.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pipelines.models import ModelStopped
from resources.models.accounting import CallRow, paid_scope
from resources.models.budget import Amount, Budget, Circuit
from resources.models.client import CUT, EndpointClient, Outcome
from resources.models.ledger import Entry, Kept, Ledger
from resources.models.prices import cost
from resources.models.settings import CallRules, Endpoint, Part
from resources.models.waits import wait_before

_GRACE_SECONDS = 5.0
"""Calls in flight get this long to end when the engine is closed."""
_OWN_SECONDS = 1800.0
"""The least patience with a server of our own, whose end shows as a lost connection: a long reply takes minutes on a
busy machine, and a limit would have it made again from its start and let the machine's pace decide what is scored."""


class Answered(NamedTuple):
    """A finished call: what came back, and the reply as it is kept (None when it is not)."""

    outcome: Outcome
    kept: Kept | None
    cached: bool = False


@dataclass(frozen=True)
class Call:
    """One call to make. `send` is one try with the parameters conceded so far."""

    part: Part
    endpoint: Endpoint
    scope: str
    unit: str
    key: str
    prompt: str
    most_tokens_in: int
    most_tokens_out: int
    send: Callable[[EndpointClient, frozenset[str]], Coroutine[Any, Any, Outcome]]
    vectors: Callable[[Outcome], Sequence[tuple[str, str, bytes]]] = lambda _: ()

    def row(self, status: str, cached: bool, **values: Any) -> CallRow:
        """The call's row in the account."""
        return CallRow(
            *(self.scope, self.unit, self.part, self.endpoint.identity, self.endpoint.model, self.key, self.prompt),
            *(status, cached),
            **values,
        )


@dataclass
class _Lane:
    """The way to one endpoint, with one key and so many calls at once."""

    client: EndpointClient
    width: int
    circuit: Circuit
    waiting: deque[tuple[Call, "Future[Answered]"]] = field(default_factory=deque)
    workers: int = 0
    conceded: dict[str, frozenset[str]] = field(default_factory=dict)
    """By model."""
    closed_until: float = 0.0
    """Loop time until which the endpoint asked to be left alone."""


class Dispatcher:
    """Makes the calls of one engine, at most `concurrency` at once for an endpoint; used from any thread."""

    def __init__(self, ledger: Ledger, rules: CallRules, payer: str = "") -> None:
        self.ledger = ledger
        self.rules = rules
        self._payer = payer
        self._running: dict[str, Future[Answered]] = {}
        self._lock = threading.Lock()
        self._lanes: dict[tuple[str, str, int], _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._stopped = ""
        self._failed = 0
        self._budget = Budget(rules)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-calls", daemon=True)
        self._thread.start()

    @property
    def spent(self) -> Amount:
        """What was spent on calls so far."""
        return self._budget.spent

    @property
    def failed(self) -> int:
        """Calls that were made and got no reply."""
        return self._failed

    def require_answer(self) -> None:
        """Raise `ModelStopped` when calls were made and an endpoint answered none of them."""
        for lane in list(self._lanes.values()):
            lane.circuit.require_answer()

    def make(self, calls: Sequence[Call]) -> list[Answered]:
        """Make calls that the cache does not hold; equal ones, also of other threads, are made once.

        Raises `ModelStopped` after the calls in flight have ended.
        """
        if self.rules.mode == "replay":
            return self._replay(calls)
        futures: list[Future[Answered]] = []
        begun: list[tuple[Call, Future[Answered]]] = []
        with self._lock:
            if self._closed:
                raise ModelStopped("the engine of model calls is closed")
            for call in calls:
                future = self._running.get(call.key)
                if future is None:
                    future = self._running[call.key] = Future()
                    begun.append((call, future))
                futures.append(future)
        if begun:
            self._loop.call_soon_threadsafe(self._enqueue, begun)
        try:
            answers = _all_results(futures)
        except BaseException:
            for call, future in begun:
                if future.cancel():
                    self._forget(call, future)
            raise
        own = {call.key for call, _ in begun}
        self.ledger.note([self._shared(c, a) for c, a in zip(calls, answers, strict=True) if c.key not in own])
        return answers

    def hit(self, call: Call, kept: Kept) -> CallRow:
        """The row of a call that the cache answers."""
        return call.row(
            kept.status,
            True,
            prompt_tokens=kept.tokens_in,
            reply_tokens=kept.tokens_out,
            latency_ms=kept.latency_ms,
            cost=cost(self.rules.prices, call.endpoint.model, kept.tokens_in, kept.tokens_out),
            conceded=kept.conceded,
        )

    def close(self) -> None:
        """Drop the calls that have not begun, keep those that end within a few seconds, stop the thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _shared(self, call: Call, answer: Answered) -> CallRow:
        if answer.kept:
            return self.hit(call, answer.kept)
        return call.row(answer.outcome.status, False, error=answer.outcome.error)

    def _replay(self, calls: Sequence[Call]) -> list[Answered]:
        self.ledger.note([call.row("failed", False, error="ReplayMiss") for call in calls])
        reason = f"not in {self.ledger.path.name}; TRAILBENCH_MODEL_MODE=live would call the endpoint"
        return [Answered(Outcome("failed", error="ReplayMiss", reason=reason), None)] * len(calls)

    def _enqueue(self, begun: Sequence[tuple[Call, "Future[Answered]"]]) -> None:
        for call, future in begun:
            try:
                lane = self._lane(call.endpoint)
            except Exception as error:
                # Raised here, it would reach nobody, and who asked would wait for ever.
                self._forget(call, future)
                future.set_exception(error)
                continue
            lane.waiting.append((call, future))
            if lane.workers < lane.width:
                lane.workers += 1
                task = self._loop.create_task(self._work(lane))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _lane(self, endpoint: Endpoint) -> _Lane:
        key = endpoint.api_key.get_secret_value() if endpoint.api_key else ""
        width = endpoint.concurrency or self.rules.concurrency
        if (name := (endpoint.base_url, key, width)) not in self._lanes:
            patience = max(self.rules.timeout_seconds, _OWN_SECONDS if endpoint.alias else 0.0)
            client = EndpointClient(endpoint, width, patience)
            circuit = Circuit(endpoint.identity, self.rules.circuit_failures)
            self._lanes[name] = _Lane(client, width, circuit)
        return self._lanes[name]

    async def _work(self, lane: _Lane) -> None:
        while lane.waiting:
            call, future = lane.waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                answer, row = await self._make(lane, call)
            except BaseException as error:
                self._forget(call, future)
                ended = ModelStopped("the engine of model calls was closed; finished calls are kept")
                future.set_exception(ended if isinstance(error, asyncio.CancelledError) else error)
                if not isinstance(error, Exception):
                    raise
                continue
            # No other call begins before this one is on disk: a kill loses no more than may be in flight.
            await self._commit(call, future, answer, row)
        lane.workers -= 1

    async def _make(self, lane: _Lane, call: Call) -> tuple[Answered, CallRow]:
        # Another process, or a thread that looked up earlier, may have been first.
        if kept := self.ledger.find([call.key]).get(call.key):
            return Answered(outcome_of(kept), kept, cached=True), self.hit(call, kept)
        if self._stopped:
            raise ModelStopped(self._stopped)
        lane.circuit.check()
        most = self._amount(call, call.most_tokens_in, call.most_tokens_out)
        try:
            await self._budget.admit(most)
        except ModelStopped as stopped:
            self._stopped = str(stopped)
            raise
        spent = Amount()
        try:
            outcome, conceded, retries, latency_ms = await self._until_answered(lane, call)
            spent = self._amount(call, outcome.tokens_in, outcome.tokens_out)
        finally:
            self._budget.settle(most, spent)
        self._failed += outcome.status == "failed"
        whole = outcome.status in ("ok", "truncated")
        values = (outcome.tokens_in, outcome.tokens_out, latency_ms, conceded)
        kept = Kept(call.key, outcome.text, outcome.status, *values) if whole else None
        row = call.row(
            outcome.status,
            False,
            prompt_tokens=outcome.tokens_in,
            reply_tokens=outcome.tokens_out,
            latency_ms=latency_ms,
            retries=retries,
            cost=cost(self.rules.prices, call.endpoint.model, outcome.tokens_in, outcome.tokens_out),
            conceded=conceded,
            error=outcome.error,
        )
        return Answered(outcome, kept), row

    async def _until_answered(self, lane: _Lane, call: Call) -> tuple[Outcome, str, int, float]:
        retries = 0
        while True:
            while (pause := lane.closed_until - self._loop.time()) > 0:
                await asyncio.sleep(pause)
            conceded = lane.conceded.get(call.endpoint.model, frozenset())
            start = time.perf_counter()
            outcome = await call.send(lane.client, conceded)
            latency_ms = (time.perf_counter() - start) * 1000
            if outcome.concede and outcome.concede not in conceded:
                known = lane.conceded.get(call.endpoint.model, frozenset())
                lane.conceded[call.endpoint.model] = known | {outcome.concede}
                continue
            if not outcome.again or retries >= self.rules.retries or lane.circuit.open:
                lane.circuit.count(outcome.endpoint_fault, outcome.reason)
                return outcome, ",".join(sorted(conceded)), retries, latency_ms
            pause = wait_before(self.rules, call.key, retries, outcome.wait)
            if outcome.wait is not None:
                lane.closed_until = max(lane.closed_until, self._loop.time() + pause)
            retries += 1
            await asyncio.sleep(pause)

    def _amount(self, call: Call, tokens_in: int, tokens_out: int) -> Amount:
        price = cost(self.rules.prices, call.endpoint.model, tokens_in, tokens_out)
        return Amount(1, tokens_in + tokens_out, price or 0)

    async def _commit(self, call: Call, future: "Future[Answered]", answer: Answered, row: CallRow) -> None:
        ended = asyncio.Event()

        def done(entry: Entry, error: Exception | None) -> None:
            self._forget(call, future)
            with suppress(RuntimeError):  # the loop may be closed by now
                self._loop.call_soon_threadsafe(ended.set)
            if error:
                future.set_exception(error)
            elif entry.reply and entry.reply is not answer.kept:
                future.set_result(Answered(outcome_of(entry.reply), entry.reply))
            else:
                future.set_result(answer)

        new = None if row.cached else answer.kept
        paid = [row._replace(scope=paid_scope(row.scope, self._payer))] if self._payer and not row.cached else []
        self.ledger.submit(Entry(done, [row, *paid], new, call.vectors(answer.outcome) if new else ()))
        await ended.wait()

    def _forget(self, call: Call, future: "Future[Answered]") -> None:
        with self._lock:
            if self._running.get(call.key) is future:
                del self._running[call.key]

    async def _end(self) -> None:
        for lane in self._lanes.values():
            while lane.waiting:
                call, future = lane.waiting.popleft()
                if future.cancel():
                    self._forget(call, future)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=_GRACE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for lane in self._lanes.values():
            await lane.client.close()


def _all_results(futures: Sequence["Future[Answered]"]) -> list[Answered]:
    answers, stopped = [], None
    for future in futures:
        try:
            answers.append(future.result())
        except ModelStopped as error:
            stopped = stopped or str(error)
        except CancelledError:
            stopped = stopped or "the calls were interrupted; finished calls are kept: start again to go on there"
    if stopped:
        raise ModelStopped(stopped)
    return answers


def outcome_of(kept: Kept) -> Outcome:
    """What a kept reply came to."""
    reason = "" if kept.status == "ok" else CUT
    return Outcome(kept.status, kept.text, kept.tokens_in, kept.tokens_out, reason=reason)  # type: ignore[arg-type]
