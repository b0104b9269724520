"""What assets that ask a model share: how they end, and what they say on the way."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import dagster as dg

from pipelines.models import ModelFailed, ModelStopped
from resources.models.budget import Amount
from resources.models.prices import NANO

SAID_EVERY_SECONDS = 10.0
MADE = {"calls": "model calls made", "tokens": "model tokens spent", "cost": "model cost spent (10⁻⁹ USD)"}
"""What an asset's metadata calls the parts of what its own run spent; a reused partition spent nothing."""


def spent_metadata(spent: Sequence[Amount]) -> dict[str, int]:
    """What the calls of a run took, under the names of `MADE`; nothing for a step without a model."""
    total = sum(spent, Amount())
    return {said: getattr(total, part) for part, said in MADE.items()} if spent else {}


def said(spent: Amount) -> str:
    """What was spent so far, for people."""
    return f"{spent.calls} calls made, {spent.tokens} tokens, {spent.cost / NANO:.4f} USD where a price is known"


@contextmanager
def asking() -> Iterator[None]:
    """A call that cannot be made or fails ends the run with its reason; finished calls are kept for the next one."""
    try:
        yield
    except (ModelStopped, ModelFailed) as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def progress_log(
    context: dg.AssetExecutionContext, what: str, total: int, spent: Callable[[], str]
) -> Callable[[int], None]:
    """Told how many of `total` are done, it logs rate, time left and what was `spent`, not more than every 10 s."""
    started = said = time.monotonic()

    def tell(done: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said < SAID_EVERY_SECONDS and done < total:
            return
        said = now
        rate = done / max(now - started, 1e-9)
        left = (total - done) / rate if rate else 0.0
        context.log.info(f"{done} of {total} {what}, {rate:.2f}/s, {left:.0f} s left; {spent()}")

    return tell
