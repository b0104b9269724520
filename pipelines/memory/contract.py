"""The contract between a memory method and the harness (ours).

A method turns a user's batches, in order, into a bounded state; a reader uses only
its readout. A method is given values: no store, no gold, no question, no clock
(`now` is the end of the batch), no network but the given `llm` and `embedder`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import polars as pl
from pydantic import BaseModel, ConfigDict

from pipelines.hashing import digest_json
from pipelines.tables import TIME
from pipelines.thresholds import setting as setting

VISIT_COLUMNS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "start": TIME,
    "end": TIME,
    "item_id": pl.String,
    "l1": pl.String,
    "l2": pl.String,
    "l1_name": pl.String,
    "l2_name": pl.String,
    "brand": pl.String,
    "n_click": pl.Int32,
    "n_browse": pl.Int32,
    "n_favourite": pl.Int32,
    "n_cart": pl.Int32,
    "n_purchase": pl.Int32,
    "dwell_seconds": pl.Int64,
    "text": pl.String,
}
"""Columns of `Batch.visits`, as in the table `visits`, with the display names of the release's taxonomy.

`text` is the whole record as the log wrote it, where a track has one (an app log); null in a log of visits.
"""


Need = Literal["builder", "profile", "embedder"]
"""What a method may ask the harness for: a model in a role, or an embedder."""


class StateChanged(RuntimeError):
    """A readout or a retrieval changed the state of the memory."""


class SnapshotError(RuntimeError):
    """A snapshot is absent, damaged, or belongs to another user, method, version or configuration."""


class OutOfOrder(ValueError):
    """A batch of another user, or one that starts before an ingested batch ended."""


class Settings(BaseModel):
    """Base of every method's configuration: frozen, nothing unknown, origin and meaning beside each field."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive visits of one user, as a method sees them: neither `closed` nor the time of the next visit."""

    batch_id: str
    user_id: str
    index: int
    start: datetime
    """Start of the first visit, UTC."""
    end: datetime
    """End of the last visit, UTC; the only "now" there is."""
    visits: pl.DataFrame
    """One row a visit in the user's order; columns `VISIT_COLUMNS`."""


def batch_id(user_id: str, index: int) -> str:
    """Identity of a batch, by which `Method.ingest` is idempotent."""
    return f"{user_id}:{index}"


@dataclass(frozen=True)
class Readout:
    """What a reader sees of a memory: two text slots, one fact a line, category display names written out."""

    description: str = ""
    tree: str = ""
    tokens: int = 0
    """Tokens of both slots."""
    tokens_cut: int = 0
    """Tokens the method or the harness dropped to fit the budget."""


class Tokens(Protocol):
    """How text is measured; `resources.tokenizer` has the one that every arm uses."""

    sha256: str

    def count(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def counts(self, lines: Sequence[str]) -> list[int]:
        """Tokens of each line after a line break, the break (one token) not counted."""
        ...

    def cut(self, text: str, budget: int) -> str:
        """The longest opening of a text, in whole lines, of at most `budget` tokens."""
        ...


@runtime_checkable
class Method(Protocol):
    """One user's memory."""

    def open(self, user: str, config: BaseModel, llm: Any, embedder: Any) -> None:
        """Start empty for `user`; called once, before anything else. `llm` and `embedder` may be None."""
        ...

    def ingest(self, batch: Batch) -> None:
        """Take in the next batch; a batch whose id was taken in before changes nothing.

        Raises `OutOfOrder` for a batch of another user or of an earlier time.
        """
        ...

    def snapshot(self, folder: Path) -> None:
        """Write the whole state into `folder` (made if absent)."""
        ...

    def restore(self, folder: Path) -> None:
        """Replace the state by the one in `folder`, exactly.

        Raises `SnapshotError` when it is absent, damaged or not of this user, method and configuration;
        the state is then unchanged.
        """
        ...

    def readout(self, budget: int) -> Readout:
        """The memory as text of at most `budget` tokens: independent of any question, state unchanged."""
        ...

    def state_hash(self) -> str:
        """Hash of everything that a later call depends on."""
        ...

    def stats(self) -> dict[str, int]:
        """Counts for the record (batches, visits, lost or rejected things); no part of the state."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """A method that can also answer a question; shown on a separate, labelled board."""

    def retrieve(self, query: str, budget: int) -> Readout:
        """What the memory holds on `query`, at most `budget` tokens; state unchanged."""
        ...


@dataclass(frozen=True)
class Claim:
    """One thing that a memory holds to be so of its user, and by which visits."""

    id: str
    line: str
    """As the memory's readout words it."""
    state: str
    """`active` when readouts may say it."""
    confidence: int
    """0 to 100."""
    visits: tuple[int, ...]
    """Its evidence, numbered from 0 in the order in which the memory took visits in."""
    formed: int
    """µs since 1970 UTC: end of the batch that formed it."""
    supported: int
    """End of the last batch that supported it."""


@runtime_checkable
class Claimant(Protocol):
    """A method that can tell what it claims and by which visits; state unchanged. For explanations only."""

    def claims(self) -> Sequence[Claim]:
        """All claims, those at rest too."""
        ...


@dataclass(frozen=True)
class MethodSpec:
    """A method in the registry."""

    name: str
    kind: Literal["control", "none", "statistics", "retrieval", "llm", "plugin"]
    description: str
    factory: Callable[[Tokens], Method]
    """Makes one unopened memory."""
    config_model: type[BaseModel] = Settings
    version: str = "1"
    """Raised when the same input may give another readout; enters every fingerprint."""
    reads_nothing: bool = False
    """A control whose readout is always empty."""
    batch_invariant: bool = False
    """Whether the readout depends on the visits only, not on how they were cut into batches."""
    stream: Literal["own", "other_user"] = "own"
    """Whose batches the harness feeds; `other_user` is the shuffled control."""
    wall: Literal["builtin", "walled", "unwalled"] = "builtin"
    """Where it runs: our code in this process, or a child process with or without the gold out of its view."""
    needs: frozenset[Need] = frozenset()
    """What `Method.open` must be given: models by role (`builder` and `profile` arrive as `llm`), an embedder."""
    prompts: str = ""
    """Hash of the prompts it sends (`pipelines.prompts`); empty when it asks no model."""
    most_calls: Callable[[Any, int], tuple[int, int]] | None = None
    """For estimates: calls that a batch makes at most, and about how many prompt tokens they have, by the method's
    configuration and the tokens of the batch's lines."""

    def fingerprint(self, config: BaseModel) -> str:
        """Hash of name, version, stream, configuration, wall and prompts: what readouts depend on besides data
        and, where it needs one, the model.
        """
        return digest_json(
            [self.name, self.version, self.stream, self.wall, config.model_dump(mode="json"), self.prompts]
        )


def within_budget(readout: Readout, budget: int, tokens: Tokens) -> Readout:
    """The readout recounted and, where over `budget`, cut from its end (tree first); what went is in `tokens_cut`.

    The method's own count is never trusted.
    """
    description, tree = tokens.count(readout.description), tokens.count(readout.tree)
    if description + tree <= budget:
        return replace(readout, tokens=description + tree)
    kept_description = tokens.cut(readout.description, budget)
    left = tokens.count(kept_description)
    kept_tree = tokens.cut(readout.tree, budget - left)
    kept = left + tokens.count(kept_tree)
    return Readout(kept_description, kept_tree, kept, readout.tokens_cut + description + tree - kept)


def fit(lines: Sequence[str], budget: int, tokens: Tokens) -> Readout:
    """A description of the first of `lines` (best first), whole, as many as `budget` holds; the rest is counted."""
    text = "\n".join(lines)
    total = tokens.count(text)
    if total <= budget:
        return Readout(text, "", total)
    kept = tokens.cut(text, budget)
    used = tokens.count(kept)
    return Readout(kept, "", used, total - used)
