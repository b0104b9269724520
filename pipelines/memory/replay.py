"""`readouts`: what each memory says before each outcome (ours).

A memory is fed its user's batches in order; after batch t its readout is taken for
transition t. The state hash is compared around the readout, and the budget is
enforced here whatever the method says.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl
from pydantic import BaseModel

from pipelines.hashing import key64
from pipelines.memory.contract import Method, MethodSpec, Readout, StateChanged, Tokens, within_budget
from pipelines.memory.timeline import Arrived, Histories, Question, timeline
from pipelines.schema import TABLES


def replay(
    spec: MethodSpec,
    config: BaseModel,
    given: Histories,
    budget: int,
    tokens: Tokens,
    *,
    users: Iterable[str] | None = None,
    donors: Histories | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Readouts (table `readouts`) of one method for every transition of `users` (all of `given` by default).

    `budget` is in tokens. `donors` are the streams the shuffled control draws from, `given` by default; they must be
    the same for every shard. `seed` keys that draw. `progress` is told the number of transitions done after each user.

    Raises `StateChanged` when a readout changed the memory, and whatever the method raises.
    """
    rows: list[tuple[Any, ...]] = []
    chosen = sorted(given.users if users is None else users)
    lend = donor_of((donors or given).users, seed) if spec.stream == "other_user" else {}
    for user in chosen:
        if spec.stream == "other_user":
            steps = _borrowed(given, donors or given, user, lend.get(user))
            memory = opened(spec, config, lend.get(user, user), tokens)
        else:
            steps = timeline(given, [user])
            memory = opened(spec, config, user, tokens)
        for step in steps:
            if isinstance(step, Arrived):
                memory.ingest(step.batch)
            elif isinstance(step, Question):
                readout, state = pure_readout(spec.name, memory, budget, tokens)
                rows.append(
                    (
                        user,
                        step.transition_index,
                        readout.description,
                        readout.tree,
                        readout.tokens,
                        readout.tokens_cut,
                        state,
                    )
                )
        if progress is not None:
            progress(len(rows))
    return pl.DataFrame(rows, schema=TABLES["readouts"].schema, orient="row").sort("user_id", "transition_index")


def opened(spec: MethodSpec, config: BaseModel, user: str, tokens: Tokens) -> Method:
    """A fresh memory of `user`; no statistical method is given a model."""
    memory = spec.factory(tokens)
    memory.open(user, config, None, None)
    return memory


def pure_readout(name: str, memory: Method, budget: int, tokens: Tokens) -> tuple[Readout, str]:
    """The readout within budget, and the state hash. Raises `StateChanged`."""
    before = memory.state_hash()
    readout = memory.readout(budget)
    if memory.state_hash() != before:
        raise StateChanged(f"method {name!r}: its readout changed the memory; a question must not")
    return within_budget(readout, budget, tokens), before


def sample_users(users: Iterable[str], n: int, seed: int) -> list[str]:
    """The n users of smallest keyed hash, in text order; the same whatever shard or order they come from."""
    ranked = sorted(users, key=lambda user: (key64(user, f"sample:{seed}"), user))
    return sorted(ranked[:n])


def donor_of(users: Iterable[str], seed: int) -> dict[str, str]:
    """User → the next user on a ring in keyed order: nobody gets themselves, everybody lends once.

    Nothing about the users' streams enters, so no future does. A single user has no donor and is left out.
    """
    ring = sorted(users, key=lambda user: (key64(user, f"donor:{seed}"), user))
    return dict(zip(ring, ring[1:] + ring[:1], strict=True)) if len(ring) > 1 else {}


def _borrowed(given: Histories, donors: Histories, user: str, donor: str | None) -> Iterator[Arrived | Question | Any]:
    """The questions of `user` with the batches of `donor` that ended at or before the end of the user's batch t."""
    ends = [batch[4] for batch in donors.batches[donor]] if donor is not None else []
    lent = 0
    for step in timeline(given, [user]):
        if isinstance(step, Arrived):
            until = bisect_right(ends, step.batch.end)
            for position in range(lent, until):
                assert donor is not None
                yield Arrived(donors.batch(donor, position))
            lent = max(lent, until)
        else:
            yield step
