"""Only what changed is computed: by users of a new drop, by a re-sent drop, by a changed rule."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import trailbench.building as building
import trailbench.working as working
from assets import publishing
from pipelines.commerce.mapping import load_mapping
from pipelines.commerce.settings import CommerceSettings
from pipelines.hashing import bucket_column
from resources.home import Home, buckets_of
from trailbench.running import dagster_instance, run_job

SHARDED = ("visits", "batches", "cohort", "transitions", "positives", "pools")


class Shop:
    """A home folder with the shop's release, and further releases built in it."""

    def __init__(self, home: Home, shop: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self._mapping = home, load_mapping(shop.mapping).model_dump(mode="json")
        self.drops = list(home.register)
        self.computed: dict[tuple[str, str], bool] = {}
        for module in (building, working):
            monkeypatch.setattr(module, "run_job", self._run)

    def _run(self, instance: Any, job: str, axes: Mapping[str, str]) -> Any:
        made = run_job(instance, job, axes)
        for asset, metadata in made.items():
            if "reused" in metadata:
                self.computed[asset, axes.get("shard", "")] = not metadata["reused"]
        return made

    def build(self, *files: Path) -> str:
        """Add a drop for each file and freeze the release over all drops; its content hash."""
        self.computed.clear()
        self.drops += [self.home.register.register("mapping", [file], mapping=self._mapping) for file in files]
        with dagster_instance(self.home.folder) as instance:
            spec, _ = building.build_release(instance, self.home, self.drops, CommerceSettings(), lambda step: None)
        return str(self.home.store.document(f"specs/frozen/{spec.key}.json")["content_hash"])

    def recomputed(self) -> set[tuple[str, str]]:
        """(asset, shard) of what the last build computed."""
        return {key for key, computed in self.computed.items() if computed}


@pytest.fixture
def world(
    copied: SimpleNamespace,
    shop: SimpleNamespace,
    at_home: Callable[[Path], Home],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Shop]:
    yield Shop(at_home(copied.home), shop, monkeypatch)


def later_rows(shop: SimpleNamespace, user: str) -> list[str]:
    """A last row of a user again, a minute later: the same quarter, so no domain table moves."""
    last = max(
        (line for line in shop.lines if f",{user}," in line), key=lambda line: (line[6:10], line[3:5], line[:19])
    )
    stamp, _, rest = last.partition(",")
    minute = (int(stamp[14:16]) + 1) % 60
    hour = int(stamp[11:13]) + (minute == 0)
    assert hour < 24
    return [f"{stamp[:11]}{hour:02}:{minute:02}:00,{rest}"]


def shard_of(user: str, shards: tuple[str, ...]) -> str:
    bucket = int(bucket_column(pl.Series([user]))[0])
    return next(shard for shard in shards if bucket in buckets_of(shard, shards))


def test_a_drop_recomputes_only_the_shard_of_its_user_and_a_resent_drop_nothing(
    world: Shop, shop: SimpleNamespace, built: SimpleNamespace, tmp_path: Path
) -> None:
    touched = shard_of("K003", world.home.shards)
    new = later_rows(shop, "K003")
    first = world.build(shop.write(tmp_path / "late.csv", new))
    assert first != built.content_hash
    assert {shard for asset, shard in world.recomputed() if shard} == {touched}
    assert ("visits", touched) in world.recomputed() and ("cohort", touched) in world.recomputed()
    assert {(asset, shard) for asset in SHARDED for shard in world.home.shards} <= set(world.computed)

    resent = shop.write(tmp_path / "late again.csv", [new[0]])
    resent.write_text(resent.read_text().rstrip("\n"))  # the same row in a file of other bytes
    assert world.build(resent) == first
    # A new file is read, and the funnel counts what came in; nothing in between is computed again.
    assert world.recomputed() == {("events", ""), ("funnel", "")}


def test_a_changed_rule_rebuilds_what_it_makes_and_an_equal_result_stops_there(
    world: Shop, built: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = publishing.code_version

    def changed(*modules: str) -> str:
        return real(*modules) + ("+" if "pipelines.commerce.batches" in modules else "")

    monkeypatch.setattr(publishing, "code_version", changed)
    assert world.build() == built.content_hash
    assert world.recomputed() == {("batches", shard) for shard in world.home.shards}


def test_another_threshold_rebuilds_from_the_step_that_uses_it(world: Shop, built: SimpleNamespace) -> None:
    world.computed.clear()
    with dagster_instance(world.home.folder) as instance:
        spec, _ = building.build_release(
            instance, world.home, world.drops, CommerceSettings(max_positives=2), lambda step: None
        )
    assert world.home.store.document(f"specs/frozen/{spec.key}.json")["content_hash"] != built.content_hash
    recomputed = {asset for asset, _ in world.recomputed()}
    assert recomputed == {"positives", "pools", "funnel"}
