"""What every memory method must pass; authors of other packages run it on theirs (ours).

`check_method` returns the broken rules as sentences. Each rule answers a defect seen
in published memory systems: state shared between users, queries that write, snapshots
that fall back to another one, the wall clock in the state, events merged away.
"""

import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import polars as pl
from pydantic import BaseModel

from pipelines.memory.contract import Batch, Method, MethodSpec, OutOfOrder, Readout, Retriever, SnapshotError, Tokens
from pipelines.memory.contract_models import PARROTS
from pipelines.memory.contract_worlds import HOSTILE, batch_of, no_network, shifted_clock, stream
from pipelines.memory.replay import Served, opened

BUDGETS = (0, 1, 7, 60, 500, 4_000)
_AMPLE = 1_000_000
_NEWCOMERS = count()


@dataclass(frozen=True)
class Subject:
    """The method under test."""

    spec: MethodSpec
    config: BaseModel
    tokens: Tokens
    served: Served

    def fresh(self, user: str) -> Method:
        """A new, opened memory."""
        return opened(self.spec, self.config, user, self.tokens, self.served)

    def fed(self, batches: list[Batch]) -> Method:
        """A memory that took in `batches`."""
        memory = self.fresh(batches[0].user_id)
        for batch in batches:
            memory.ingest(batch)
        return memory

    def record(self, batches: list[Batch]) -> list[tuple[Readout, str]]:
        """Readout and state hash after each batch."""
        memory = self.fresh(batches[0].user_id)
        return [self.after(memory, batch) for batch in batches]

    def after(self, memory: Method, batch: Batch) -> tuple[Readout, str]:
        """Ingest, then readout and state hash."""
        memory.ingest(batch)
        return memory.readout(_AMPLE), memory.state_hash()


def check_method(
    spec: MethodSpec, tokens: Tokens, config: BaseModel | None = None, served: Served = PARROTS
) -> list[str]:
    """Every rule that `spec` breaks, as `rule: what happened`, each once; empty when it keeps all.

    `tokens` measures the readouts; `config` is the default configuration unless given. `served` has the models for a
    method that needs one; they must give the same reply to the same request.
    """
    subject = Subject(spec, config if config is not None else spec.config_model(), tokens, served)
    broken: list[str] = []
    for name, rule in RULES.items():
        try:
            broken += [f"{name}: {what}" for what in rule(subject)]
        except Exception as error:
            broken.append(f"{name}: raised {type(error).__name__}: {error}")
    return list(dict.fromkeys(broken))


def _protocol(it: Subject) -> Iterator[str]:
    memory = it.spec.factory(it.tokens)
    if not isinstance(memory, Method):
        yield "the factory's product lacks a call of the protocol Method"
    if not it.spec.description or not it.spec.version:
        yield "the method has no description or no version"


def _idempotent(it: Subject) -> Iterator[str]:
    batches = stream("u", 4)
    expected = it.record(batches)
    memory = it.fresh("u")
    for place, batch in enumerate(batches):
        memory.ingest(batch)
        for again in batches[: place + 1]:
            memory.ingest(again)
        if (memory.readout(_AMPLE), memory.state_hash()) != expected[place]:
            yield f"batch {place} given twice changed the memory"
            return


def _refuses_disorder(it: Subject) -> Iterator[str]:
    batches = stream("u", 3)
    for what, wrong in (("an earlier batch", batches[0]), ("a batch of another user", stream("v", 3)[2])):
        memory = it.fed(batches[1:2])
        try:
            memory.ingest(wrong)
        except OutOfOrder:
            continue
        yield f"{what} was taken in; OutOfOrder was due"


def _snapshots(it: Subject) -> Iterator[str]:
    batches = stream("u", 4)
    expected = it.record(batches)
    with tempfile.TemporaryDirectory() as name:
        memory = it.fresh("u")
        for place, batch in enumerate(batches):
            memory.ingest(batch)
            folder = Path(name) / str(place)
            memory.snapshot(folder)
            memory = it.fresh("u")
            memory.restore(folder)
            if (memory.readout(_AMPLE), memory.state_hash()) != expected[place]:
                yield f"restored after batch {place}, the memory differs from an uninterrupted one"
                return
        again = it.fed(batches[:1])
        again.restore(Path(name) / "3")
        if again.state_hash() != expected[3][1]:
            yield "restore mixes with the state that was there"


def _fails_closed(it: Subject) -> Iterator[str]:
    batches = stream("u", 2)
    with tempfile.TemporaryDirectory() as name:
        saved = Path(name) / "saved"
        it.fed(batches).snapshot(saved)
        files = [path for path in sorted(saved.rglob("*")) if path.is_file()]
        cases: list[tuple[str, Path, str]] = [("an absent folder", Path(name) / "none", "u")]
        cases.append(("a snapshot of another user", saved, "v"))
        for path in files:
            whole = path.read_bytes()
            damaged = Path(name) / "damaged" / path.name
            for what, content in (("a cut", whole[: len(whole) // 2]), ("a changed", _flipped(whole))):
                target = damaged / what.split()[-1] / path.relative_to(saved)
                for other in files:
                    copy = damaged / what.split()[-1] / other.relative_to(saved)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_bytes(other.read_bytes())
                target.write_bytes(content)
                cases.append((f"{what} {path.name}", damaged / what.split()[-1], "u"))
        if not files:
            yield "a snapshot wrote no file"
        for what, folder, user in cases:
            memory = it.fed(stream(user, 1))
            before = memory.state_hash()
            try:
                memory.restore(folder)
            except SnapshotError:
                if memory.state_hash() != before:
                    yield f"the refused restore of {what} changed the memory"
                continue
            yield f"{what} was restored; SnapshotError was due"


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def _pure(it: Subject) -> Iterator[str]:
    memory = it.fed(stream("u", 3))
    first, before = memory.readout(_AMPLE), memory.state_hash()
    for budget in (*BUDGETS, _AMPLE):
        memory.readout(budget)
        if isinstance(memory, Retriever):
            memory.retrieve("bread and milk", budget)
        if memory.state_hash() != before:
            yield "a readout or retrieval changed the state"
            return
    if memory.readout(_AMPLE) != first:
        yield "the same memory gave two different readouts"
    # A state hash that forgets something would hide a write: what follows must agree too.
    later = stream("u", 5)[3:]
    untouched = it.fed(stream("u", 3))
    if [it.after(memory, batch) for batch in later] != [it.after(untouched, batch) for batch in later]:
        yield "a memory that was read differs later from one that was not"


def _budget(it: Subject) -> Iterator[str]:
    memory = it.fed(stream("u", 6))
    for budget in (*BUDGETS, _AMPLE):
        readouts = [memory.readout(budget)]
        if isinstance(memory, Retriever):
            readouts.append(memory.retrieve("bread and milk", budget))
        for readout in readouts:
            used = it.tokens.count(readout.description) + it.tokens.count(readout.tree)
            if used > budget:
                yield f"{used} tokens under a budget of {budget}"
            if used != readout.tokens:
                yield f"{readout.tokens} tokens declared, {used} counted"
            if readout.tokens_cut < 0 or (budget == _AMPLE and readout.tokens_cut):
                yield f"{readout.tokens_cut} tokens declared as cut under a budget of {budget}"


def _apart(it: Subject) -> Iterator[str]:
    users = ("u", "v")
    alone = {user: it.record(stream(user, 4)) for user in users}
    memories = {user: it.fresh(user) for user in users}
    for place in range(4):
        for user in users:
            if it.after(memories[user], stream(user, 4)[place]) != alone[user][place]:
                yield "two users in one process disturb each other"
                return


def _clock(it: Subject) -> Iterator[str]:
    expected = it.record(stream("u", 3))
    with shifted_clock(type(it.spec.factory(it.tokens)).__module__):
        if it.record(stream("u", 3)) != expected:
            yield "the system clock, ten years on, changed the memory"


def _network(it: Subject) -> Iterator[str]:
    with no_network() as tried:
        it.record(stream("u", 2))
    if tried:
        yield f"the network was tried: {', '.join(sorted(set(tried)))}"


def _invariant(it: Subject) -> Iterator[str]:
    if not it.spec.batch_invariant:
        return
    visits = pl.concat([batch.visits for batch in stream("u", 6)])
    whole = it.fed([batch_of("u", 0, visits)]).readout(_AMPLE)
    for parts in (3, visits.height):
        step = -(-visits.height // parts)
        cut = [batch_of("u", i, visits.slice(i * step, step)) for i in range(-(-visits.height // step))]
        if it.fed(cut).readout(_AMPLE) != whole:
            yield f"the same visits in {len(cut)} batches read differently from one batch"


def _repeat_visible(it: Subject) -> Iterator[str]:
    batches = stream("u", 3)
    memory = it.fed(batches[:2])
    old, before = memory.readout(_AMPLE), memory.state_hash()
    novel = batches[2].visits.with_columns(
        l1=pl.lit("observatory"), l2=pl.lit("telescopes"), l1_name=pl.lit("OBSERVATORY"), l2_name=pl.lit("TELESCOPES")
    )
    memory.ingest(replace(batches[2], visits=novel))
    if memory.state_hash() == before:
        yield "a new batch left the state hash as it was"
    if not it.spec.reads_nothing and memory.readout(_AMPLE) == old:
        yield "a new batch after a readout does not show in the next one"
    if isinstance(memory, Retriever) and "telescopes" not in str(memory.retrieve("telescopes", _AMPLE)).casefold():
        yield "a new batch after a retrieval is not found by the next one"


def _duplicates(it: Subject) -> Iterator[str]:
    if it.spec.reads_nothing:
        return
    one = stream("u", 1)[0].visits.head(1)
    five = pl.concat([one] * 5).with_columns(pl.col("start", "end") + pl.duration(hours=pl.int_range(5)))
    if it.fed([batch_of("u", 0, one)]).readout(_AMPLE) == it.fed([batch_of("u", 0, five)]).readout(_AMPLE):
        yield "five equal visits at five times read like one"


def _hostile(it: Subject) -> Iterator[str]:
    batches = [
        replace(
            batch,
            visits=batch.visits.with_columns(
                pl.lit(HOSTILE).alias(c) for c in ("l1_name", "l2_name", "brand", "item_id")
            ),
        )
        for batch in stream("u", 2)
    ]
    for readout, _ in it.record(batches):
        text = readout.description + readout.tree
        if bad := sorted({f"U+{ord(c):04X}" for c in text if c != "\n" and not _printable(c)}):
            yield f"control characters of the log reach the reader: {', '.join(bad)}"


def _printable(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _future(it: Subject) -> Iterator[str]:
    # A user no earlier rule or run has shown, or what a method keeps of other runs would be the same on both sides.
    batches = stream(f"newcomer {next(_NEWCOMERS)}", 5)
    expected = it.record(batches)
    for cut in (1, 3):
        other = batches[:cut] + [
            replace(batch, visits=batch.visits.reverse().with_columns(item_id=pl.lit("other"), l2_name=pl.lit("OTHER")))
            for batch in batches[cut:]
        ]
        if it.record(other)[:cut] != expected[:cut]:
            yield f"another future after batch {cut - 1} changed what was read before it"


RULES: dict[str, Callable[[Subject], Iterator[str]]] = {
    "protocol": _protocol,
    "ingest is idempotent": _idempotent,
    "disorder is refused": _refuses_disorder,
    "snapshots are exact": _snapshots,
    "restore fails closed": _fails_closed,
    "questions change nothing": _pure,
    "budget is honoured": _budget,
    "users are apart": _apart,
    "no clock": _clock,
    "no network": _network,
    "batch invariance": _invariant,
    "repeat visibility": _repeat_visible,
    "duplicates stay": _duplicates,
    "hostile text": _hostile,
    "no future": _future,
}
"""Name → rule; a rule yields what is broken."""
