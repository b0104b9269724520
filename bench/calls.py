"""What the engine of model calls costs beside the SDK alone, and how fast a cached evaluation is scored again.

    python -m bench.calls [--calls 1500] [--rounds 5] [--cached 100000]

The endpoint is a loopback server in a process of its own that answers at once. Bare SDK
and engine take turns over the same requests, at the same concurrency, so that what else
the machine does falls on both; the medians over the rounds are compared. CPU is that of
this process, all threads.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import openai

from pipelines.models import Message, Request
from resources.models.endpoint_model import EndpointModel
from resources.models.engine import ModelEngine
from resources.models.identity import body, call_keys
from resources.models.ledger import Entry, Kept, Ledger
from resources.models.settings import CallRules, Endpoint
from tests.models.model_server import model_server

CONCURRENCY = 32
PROMPT = "Here is what is known about a user, and a pool of candidates to choose from. " * 20
REPLY = '{"chosen": ["a1", "b2", "c3", "d4", "e5"]}'


class Took(NamedTuple):
    """Milliseconds a call."""

    wall: float
    cpu: float


def requests(count: int, name: str) -> list[Request]:
    """Prompts of about 1,600 characters, all different."""
    system = Message("system", "Choose five of the candidates.")
    return [Request((system, Message("user", f"{PROMPT}{name} {i}")), unit=f"{name} {i}") for i in range(count)]


def serve(pipe: Connection) -> None:
    """Answer until the parent says stop, then tell the number of calls."""
    with model_server(lambda call: REPLY, keep=False) as server:
        pipe.send(server.base_url)
        while pipe.recv() == "count":
            pipe.send(server.count)


def timed(count: int, act: Callable[[], object]) -> Took:
    """How long `act` takes, a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    act()
    return Took((time.perf_counter() - wall) / count * 1000, (time.process_time() - cpu) / count * 1000)


def bare(base_url: str, asked: Sequence[Request]) -> Took:
    """The SDK alone, as its documentation uses it."""

    async def run() -> Took:
        async with openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as sdk:
            left = iter([body(one, "m", 0) for one in asked[1:]])

            async def worker() -> None:
                for sent in left:
                    await sdk.chat.completions.create(**sent)

            await sdk.chat.completions.create(**body(asked[0], "m", 0))
            wall, cpu = time.perf_counter(), time.process_time()
            await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
            count = len(asked) - 1
            return Took((time.perf_counter() - wall) / count * 1000, (time.process_time() - cpu) / count * 1000)

    return asyncio.run(run())


def engine(base_url: str, asked: Sequence[Request], path: Path) -> Took:
    """The same calls through the engine, every reply and row on disk before it is handed out."""
    endpoint = Endpoint(base_url=base_url, model="m")
    with ModelEngine({"reader": endpoint}, path, CallRules(concurrency=CONCURRENCY)) as one:
        model = one.model("reader", "bench")
        model.ask(asked[0])
        return timed(len(asked) - 1, lambda: model.ask_all(asked[1:]))


def fill(path: Path, model: EndpointModel, asked: Sequence[Request]) -> None:
    """Put replies to all of `asked` into the cache, as finished calls would have."""
    ledger, last = Ledger(path), threading.Event()
    keys = call_keys(model.fingerprint, asked)
    for number, one in enumerate(keys):
        done = (lambda entry, error: last.set()) if number == len(keys) - 1 else (lambda entry, error: None)
        ledger.submit(Entry(done, (), Kept(one.key, REPLY, "ok", 400, 20, 100.0, "")))
    last.wait()
    ledger.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cached", type=int, default=100_000)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there,), daemon=True)
    server.start()
    base_url = here.recv()
    with tempfile.TemporaryDirectory() as folder:
        overhead(base_url, Path(folder), options.calls, options.rounds)
        single = bare(base_url, requests(201, "single"))
        here.send("count")
        before = here.recv()
        again(base_url, Path(folder), options.cached, single)
        here.send("count")
        print(f"calls made for the cached ones: {here.recv() - before}")
    here.send("stop")
    server.join()


def overhead(base_url: str, folder: Path, calls: int, rounds: int) -> None:
    """Print what the engine adds to a call of the bare SDK."""
    pairs = []
    for number in range(rounds):
        asked = requests(calls + 1, f"round {number}")
        path = folder / f"{number}.sqlite"
        # They take turns at going first.
        if number % 2:
            ours = engine(base_url, asked, path)
            pairs.append((bare(base_url, asked), ours))
        else:
            pairs.append((bare(base_url, asked), engine(base_url, asked, path)))
    print(f"{calls} calls x {rounds} rounds at concurrency {CONCURRENCY}, medians, ms a call")
    print(f"{'':8}{'bare SDK':>10}{'engine':>10}{'ratio':>8}{'overhead':>10}")
    for name in Took._fields:
        alone = statistics.median(getattr(one, name) for one, _ in pairs)
        ours = statistics.median(getattr(one, name) for _, one in pairs)
        print(f"{name:8}{alone:10.3f}{ours:10.3f}{ours / alone:8.2f}{ours - alone:10.3f}")


def again(base_url: str, folder: Path, count: int, single: Took) -> None:
    """Print how long an evaluation takes whose replies are all in the cache."""
    path = folder / "cached.sqlite"
    asked = requests(count, "cached")
    with ModelEngine({"reader": Endpoint(base_url=base_url, model="m")}, path, CallRules()) as one:
        fill(path, one.model("reader"), asked)
        for name in ("first time", "again"):
            took = timed(count, lambda: one.model("reader", "scope").ask_all(asked))
            seconds = took.wall * count / 1000
            print(f"{count} cached units, {name}: {seconds:.2f} s, {single.wall / took.wall:.0f} x a bare SDK call")
        assert one.calls("scope").height == count


if __name__ == "__main__":
    main()
