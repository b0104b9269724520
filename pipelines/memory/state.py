"""Memories whose state is one JSON value: its hash, its snapshot, its restore (ours).

Every statistical method of this package keeps its state so; a snapshot is one file
with a hash of its content and the identity of what wrote it, and is written under a
temporary name first, so that a crash leaves the old one or the new one.
"""

import json
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from pipelines.hashing import digest, digest_json
from pipelines.memory.contract import Batch, OutOfOrder, Readout, SnapshotError, Tokens

_FILE = "state.json"


@dataclass
class Journal:
    """What was taken in so far: the part of the state that every method shares."""

    user: str
    batches: list[str] = field(default_factory=list)
    visits: int = 0
    until: int = -(2**62)
    """End of the newest batch, µs."""

    def accept(self, batch: Batch) -> bool:
        """Whether `batch` is new; it is then noted. Raises `OutOfOrder`."""
        if batch.user_id != self.user:
            raise OutOfOrder(f"batch {batch.batch_id!r} belongs to another user than {self.user!r}")
        if batch.batch_id in self.batches:
            return False
        if micros(batch.start) < self.until:
            raise OutOfOrder(f"batch {batch.batch_id!r} starts before an ingested batch ended")
        self.batches.append(batch.batch_id)
        self.visits += batch.visits.height
        self.until = micros(batch.end)
        return True

    def value(self) -> list[Any]:
        """As JSON."""
        return [self.user, self.batches, self.visits, self.until]

    @staticmethod
    def of(value: list[Any]) -> "Journal":
        """Back from `value`."""
        return Journal(value[0], list(value[1]), value[2], value[3])


class JsonMemory(ABC):
    """The common half of a memory: a subclass says how a batch changes `state` (`take`) and adds `readout`."""

    name: ClassVar[str]
    version: ClassVar[str] = "1"

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens

    def open(self, user: str, config: BaseModel, llm: Any, embedder: Any) -> None:
        """See `Method`."""
        self.config: Any = config
        self.journal = Journal(user)
        self.state: dict[str, Any] = {}
        self._owner = identity(self.name, self.version, user, config)

    @abstractmethod
    def take(self, batch: Batch) -> None:
        """Change `state` by a batch not seen before."""

    @abstractmethod
    def readout(self, budget: int) -> Readout:
        """See `Method`."""

    def ingest(self, batch: Batch) -> None:
        """See `Method`."""
        if self.journal.accept(batch):
            self.take(batch)

    def snapshot(self, folder: Path) -> None:
        """See `Method`."""
        write_state(folder, self._owner, self._value())

    def restore(self, folder: Path) -> None:
        """See `Method`."""
        journal, state = read_state(folder, self._owner)
        self.journal, self.state = Journal.of(journal), state

    def state_hash(self) -> str:
        """See `Method`."""
        return digest_json(self._value())

    def stats(self) -> dict[str, int]:
        """Batches and visits taken in."""
        return {"batches": len(self.journal.batches), "visits": self.journal.visits}

    def _value(self) -> list[Any]:
        return [self.journal.value(), self.state]


def micros(moment: datetime) -> int:
    """µs since 1970 UTC, exactly."""
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def identity(method: str, version: str, user: str, config: BaseModel) -> str:
    """What a snapshot belongs to: hash of method, version, user and configuration."""
    return digest_json([method, version, user, config.model_dump(mode="json")])


def write_state(folder: Path, owner: str, state: Any) -> None:
    """Write `state` (JSON) as the snapshot in `folder`, atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(state, ensure_ascii=True, sort_keys=True)
    temporary = folder / f".{_FILE}.tmp"
    with temporary.open("w", encoding="ascii", newline="\n") as file:
        file.write(json.dumps({"owner": owner, "digest": digest(text), "state": text}))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / _FILE)


def read_state(folder: Path, owner: str) -> Any:
    """The state in `folder`. Raises `SnapshotError` unless it is whole and was written by `owner`."""
    path = folder / _FILE
    try:
        saved = json.loads(path.read_text(encoding="ascii"))
        text, written_by, check = saved["state"], saved["owner"], saved["digest"]
    except FileNotFoundError:
        raise SnapshotError(f"no snapshot in {folder}: ingest the batches again from an earlier one") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SnapshotError(f"snapshot in {folder} cannot be read ({error}): delete it and ingest again") from error
    if written_by != owner:
        raise SnapshotError(f"snapshot in {folder} belongs to another user, method, version or configuration")
    if digest(text) != check:
        raise SnapshotError(f"snapshot in {folder} is damaged: delete it and ingest again")
    return json.loads(text)
