"""Every registered method keeps the contract, and every rule of the contract can be broken."""

import datetime
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pipelines.memory.contract import Batch, MethodSpec, Readout
from pipelines.memory.contract_tests import RULES, check_method
from pipelines.memory.methods.empty import SPEC as EMPTY
from pipelines.memory.methods.rag_bm25 import RagBm25
from pipelines.memory.methods.recent_k import SPEC as RECENT_K
from pipelines.memory.methods.recent_k import RecentK
from pipelines.memory.registry import builtin_methods
from pipelines.memory.rendering import visit_lines
from pipelines.memory.state import Journal
from resources.tokenizer import load_tokens


@pytest.mark.parametrize("name", builtin_methods())
def test_every_method_keeps_every_rule(name: str) -> None:
    assert check_method(builtin_methods()[name], load_tokens()) == []


@pytest.mark.parametrize("name", builtin_methods())
def test_every_setting_has_a_unit_an_origin_and_a_meaning(name: str) -> None:
    for field in builtin_methods()[name].config_model.model_fields.values():
        extra = field.json_schema_extra
        assert isinstance(extra, dict) and "unit" in extra and extra["origin"] and field.description


def test_the_names_of_the_first_release() -> None:
    assert list(builtin_methods()) == [
        "empty", "recent_k", "shuffled_user", "long_context", "frequency_profile", "template_profile", "rag_bm25",
        "rag_dense", "profile_gen", "behaviormem",
    ]  # fmt: skip
    assert [name for name, spec in builtin_methods().items() if spec.reads_nothing] == ["empty"]


class CountsTwice(RecentK):
    def ingest(self, batch: Batch) -> None:
        self.take(batch)
        self.journal.accept(batch)


class TakesAnything(RecentK):
    def ingest(self, batch: Batch) -> None:
        if batch.batch_id not in self.journal.batches:
            self.journal.batches.append(batch.batch_id)
            self.take(batch)


class ForgetsToSave(RecentK):
    def snapshot(self, folder: Path) -> None:
        kept, self.state = self.state, {"lines": self.state["lines"][:1]}
        super().snapshot(folder)
        self.state = kept


class FallsBack(RecentK):
    def restore(self, folder: Path) -> None:
        if (folder / "state.json").exists():
            super().restore(folder)


class WritesOnRead(RecentK):
    def readout(self, budget: int) -> Readout:
        self.journal.visits += 1
        return super().readout(budget)


class HidesItsWrites(RecentK):
    reads = 0

    def readout(self, budget: int) -> Readout:
        self.reads += 1
        return replace(super().readout(budget), tree="again " * self.reads, tokens=0)


class OverBudget(RecentK):
    def readout(self, budget: int) -> Readout:
        return super().readout(budget + 1_000)


class Shares(RecentK):
    everyone: ClassVar[list[str]] = []

    def take(self, batch: Batch) -> None:
        self.everyone += visit_lines(batch.visits)
        self.state["lines"] = list(self.everyone)


class ReadsTheClock(RecentK):
    def take(self, batch: Batch) -> None:
        super().take(batch)
        self.state["year"] = time.gmtime(time.time()).tm_year


class ReadsTheDate(RecentK):
    def take(self, batch: Batch) -> None:
        super().take(batch)
        self.state["year"] = datetime.datetime.now(datetime.UTC).year


class CallsHome(RecentK):
    def take(self, batch: Batch) -> None:
        super().take(batch)
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", 9))


class CountsBatches(RecentK):
    def take(self, batch: Batch) -> None:
        self.state["lines"] = [*self.state.get("lines", []), f"batch {batch.index}"]


class Stale(RecentK):
    seen: str | None = None

    def readout(self, budget: int) -> Readout:
        fresh = super().readout(budget)
        self.seen = self.seen or fresh.description
        return replace(fresh, description=self.seen, tokens=self.tokens.count(self.seen))


class StaleIndex(RagBm25):
    first: list[str] | None = None

    def retrieve(self, query: str, budget: int) -> Readout:
        self.first = self.first or list(self.state.get("lines", []))
        kept, self.state = self.state, {**self.state, "lines": self.first}
        found = super().retrieve(query, budget)
        self.state = kept
        return found


class MergesEqual(RecentK):
    def take(self, batch: Batch) -> None:
        items = [line.split(" | ", 1)[1] for line in visit_lines(batch.visits)]
        self.state["lines"] = list(dict.fromkeys([*self.state.get("lines", []), *items]))


class Raw(RecentK):
    def take(self, batch: Batch) -> None:
        self.state["lines"] = [*self.state.get("lines", []), *batch.visits["item_id"].to_list()]


class RemembersOtherRuns(RecentK):
    futures: ClassVar[dict[str, str]] = {}

    def take(self, batch: Batch) -> None:
        super().take(batch)
        known = self.futures.setdefault(batch.batch_id, visit_lines(batch.visits)[0])
        self.futures[f"{batch.batch_id}'s"] = known
        self.state["next"] = self.futures.get(f"{batch.user_id}:{batch.index + 1}", "")

    def readout(self, budget: int) -> Readout:
        return replace(super().readout(budget), tree=self.state["next"], tokens=0)


class WrongShape:
    def open(self, user: str, config: Any, llm: Any, embedder: Any) -> None:
        self.journal = Journal(user)


BROKEN: list[tuple[str, Callable[..., Any], MethodSpec]] = [
    ("protocol", WrongShape, RECENT_K),
    ("ingest is idempotent", CountsTwice, RECENT_K),
    ("disorder is refused", TakesAnything, RECENT_K),
    ("snapshots are exact", ForgetsToSave, RECENT_K),
    ("restore fails closed", FallsBack, RECENT_K),
    ("questions change nothing", WritesOnRead, RECENT_K),
    ("questions change nothing", HidesItsWrites, RECENT_K),
    ("budget is honoured", OverBudget, RECENT_K),
    ("users are apart", Shares, RECENT_K),
    ("no clock", ReadsTheClock, RECENT_K),
    ("no clock", ReadsTheDate, RECENT_K),
    ("no network", CallsHome, RECENT_K),
    ("batch invariance", CountsBatches, RECENT_K),
    ("repeat visibility", Stale, RECENT_K),
    ("repeat visibility", StaleIndex, replace(builtin_methods()["rag_bm25"])),
    ("duplicates stay", MergesEqual, RECENT_K),
    ("hostile text", Raw, RECENT_K),
    ("no future", RemembersOtherRuns, RECENT_K),
]


@pytest.mark.parametrize(("rule", "method", "base"), BROKEN, ids=[method.__name__ for _, method, _ in BROKEN])
def test_every_rule_catches_a_method_that_breaks_it(rule: str, method: Callable[..., Any], base: MethodSpec) -> None:
    broken = check_method(replace(base, factory=method), load_tokens())
    assert [what for what in broken if what.startswith(f"{rule}:") and "raised AttributeError" not in what], broken


def test_every_rule_has_a_method_that_breaks_it() -> None:
    assert {rule for rule, _, _ in BROKEN} == set(RULES)


def test_a_control_that_reads_nothing_need_not_show_anything() -> None:
    assert check_method(EMPTY, load_tokens()) == []
    unsaid = check_method(replace(EMPTY, reads_nothing=False), load_tokens())
    assert {what.split(":")[0] for what in unsaid} == {"repeat visibility", "duplicates stay"}
