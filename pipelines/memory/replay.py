"""`readouts`: what each memory says before each outcome (ours).

A memory is fed its user's batches in order; after batch t its readout is taken for
transition t. The state hash is compared around the readout, and the budget is
enforced here whatever the method says.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Protocol

import polars as pl
from pydantic import BaseModel

from pipelines.hashing import digest, frame_hash, key64
from pipelines.memory.contract import (
    Batch,
    Claim,
    Claimant,
    Method,
    MethodSpec,
    Readout,
    StateChanged,
    Tokens,
    within_budget,
)
from pipelines.memory.side_by_side import side_by_side
from pipelines.memory.timeline import Arrived, Histories, Question, timeline
from pipelines.models import Model
from pipelines.schema import TABLES


@dataclass(frozen=True)
class Served:
    """What the harness has for methods that call a model or an embedder; None where the run has none."""

    builder: Model | None = None
    profile: Model | None = None
    embedder: Any = None

    def llm(self, spec: MethodSpec) -> Model | None:
        """The model of the role that the method needs."""
        return self.profile if "profile" in spec.needs else self.builder if "builder" in spec.needs else None


NOTHING = Served()


class Checkpoints(Protocol):
    """Where snapshots are kept between runs, by a key of all that the state depends on."""

    def find(self, key: str) -> Path | None:
        """Folder of a whole snapshot, or None."""
        ...

    def keep(self, key: str, write: Callable[[Path], None]) -> None:
        """Let `write` fill a folder and keep it under `key`: whole, or not at all."""
        ...


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
    served: Served = NOTHING,
    checkpoints: Checkpoints | None = None,
    threads: int = 1,
    closed: Callable[[str, Mapping[str, int]], None] | None = None,
    claimed: Callable[[str, int, Sequence[Claim]], None] | None = None,
) -> pl.DataFrame:
    """Readouts (table `readouts`) of one method for every transition of `users` (all of `given` by default).

    `budget` is in tokens. `donors` are the streams the shuffled control draws from, `given` by default; they must be
    the same for every shard. `seed` keys that draw. `progress` is told the number of transitions done so far, and
    `closed` the counts (`Method.stats`) of each user at the end of its stream, `claimed` what the memory claims at
    every transition where it is a `Claimant`.

    With `checkpoints` the memory is kept after every batch, and a batch whose memory is kept is not taken in again:
    a run that was killed goes on at the last one. `threads` users are replayed at once; the rows are the same.

    Raises `StateChanged` when a readout changed the memory, and whatever the method raises.
    """
    chosen = sorted(given.users if users is None else users)
    lend = donor_of((donors or given).users, seed) if spec.stream == "other_user" else {}
    lock, done = Lock(), 0

    def asked() -> None:
        nonlocal done
        with lock:
            done += 1
            if progress is not None:
                progress(done)

    def rows_of(user: str, stopped: Callable[[], bool]) -> _Replayed:
        borrowed = spec.stream == "other_user"
        owner = lend.get(user, user) if borrowed else user
        steps = _borrowed(given, donors or given, user, lend.get(user)) if borrowed else timeline(given, [user])
        memory = _Resumed(opened(spec, config, owner, tokens, served), _root(spec, config, owner, served), checkpoints)
        rows: list[tuple[Any, ...]] = []
        held: list[tuple[int, Sequence[Claim]]] = []
        for step in steps:
            if stopped():
                break
            if isinstance(step, Arrived):
                memory.take(step.batch)
            elif isinstance(step, Question):
                readout, state = pure_readout(spec.name, memory.current(), budget, tokens)
                said = (readout.description, readout.tree, readout.tokens, readout.tokens_cut)
                rows.append((user, step.transition_index, *said, state))
                if claimed is not None and isinstance(current := memory.current(), Claimant):
                    held.append((step.transition_index, current.claims()))
                asked()
        return _Replayed(rows, memory.current().stats(), held)

    found = side_by_side(chosen, rows_of, threads)
    for user, own in zip(chosen, found, strict=True):
        if closed is not None:
            closed(user, own.stats)
        if claimed is not None:
            for transition, claims in own.claims:
                claimed(user, transition, claims)
    rows = [row for own in found for row in own.rows]
    return pl.DataFrame(rows, schema=TABLES["readouts"].schema, orient="row").sort("user_id", "transition_index")


class _Replayed(NamedTuple):
    """What the replay of one user gave."""

    rows: list[tuple[Any, ...]]
    stats: Mapping[str, int]
    claims: list[tuple[int, Sequence[Claim]]]


class _Resumed:
    """One user's memory that leaves out the batches whose outcome is kept."""

    def __init__(self, memory: Method, root: str, kept: Checkpoints | None) -> None:
        self._memory, self._key, self._kept = memory, root, kept
        self._waiting: Path | None = None

    def take(self, batch: Batch) -> None:
        if self._kept is None:
            self._memory.ingest(batch)
            return
        self._key = digest(self._key, batch.batch_id, frame_hash(batch.visits))
        if (found := self._kept.find(self._key)) is not None:
            self._waiting = found
            return
        self.current().ingest(batch)
        self._kept.keep(self._key, self._memory.snapshot)

    def current(self) -> Method:
        if self._waiting is not None:
            self._memory.restore(self._waiting)
            self._waiting = None
        return self._memory


def _root(spec: MethodSpec, config: BaseModel, user: str, served: Served) -> str:
    """What a snapshot depends on besides the batches taken in."""
    model = served.llm(spec)
    embedder = served.embedder.fingerprint if "embedder" in spec.needs and served.embedder is not None else ""
    return digest(spec.fingerprint(config), user, model.fingerprint if model else "", embedder)


def opened(spec: MethodSpec, config: BaseModel, user: str, tokens: Tokens, served: Served = NOTHING) -> Method:
    """A fresh memory of `user`; a method is given only the model and the embedder that it says it needs."""
    memory = spec.factory(tokens)
    memory.open(user, config, served.llm(spec), served.embedder if "embedder" in spec.needs else None)
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
