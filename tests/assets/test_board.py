"""The board of an experiment: published like any table, reused, refused when arms are unlike or it is not credible."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import polars as pl
import pytest

from assets import boards, publishing
from assets.board_inputs import GivenExperiment
from pipelines.schema import TABLES
from resources.home import Home
from trailbench.running import RunFailed, dagster_instance, run_job

TEXT = "name: two\nmethods:\n  empty: [{}]\n  recent_k: [{}]\nreaders: [lexical]\nusers: 4\n"


@pytest.fixture(scope="module")
def evaluated(
    built: SimpleNamespace, cli: Callable[..., SimpleNamespace], tmp_path_factory: pytest.TempPathFactory
) -> SimpleNamespace:
    """The built home with an evaluated experiment; a test leaves it as it was."""
    folder = tmp_path_factory.mktemp("board")
    home = folder / "home"
    shutil.copytree(built.home, home)
    file = folder / "two.yaml"
    file.write_text(TEXT)
    result = cli("evaluate", built.release, "--experiment", file, "--home", home, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(home=home, key=f"two~{built.release}", release=built.release)


@pytest.fixture
def world(
    evaluated: SimpleNamespace, at_home: Callable[[Path], Home]
) -> Iterator[tuple[Home, SimpleNamespace, dg.DagsterInstance]]:
    home = at_home(evaluated.home)
    with dagster_instance(home.folder) as instance:
        yield home, evaluated, instance


World = tuple[Home, SimpleNamespace, dg.DagsterInstance]


def board(instance: dg.DagsterInstance, evaluated: SimpleNamespace) -> Any:
    return run_job(instance, "board", {"experiment": evaluated.key})


def test_the_board_is_published_reused_and_written_for_people(world: World) -> None:
    home, evaluated, instance = world
    folder = evaluated.home / "reports" / evaluated.key
    (folder / "leaderboard.parquet").unlink()
    made = board(instance, evaluated)
    assert made["leaderboard"]["reused"] is True
    for table in boards.BOARD_TABLES:
        rows = home.gold.scan(table, {"experiment": evaluated.key}).collect()
        assert rows.schema == TABLES[table].schema
        assert rows.equals(pl.read_parquet(folder / f"{table}.parquet"))
        assert made["leaderboard"][f"{table} rows"] == rows.height
        assert (rows.height > 0) is (table != "costs"), "no arm of this experiment asks a model"
    assert {key for key in made["leaderboard"] if key.startswith("recall, ")} == {
        f"recall, {pool}, lexical, 600 tokens"
        for pool in home.gold.scan("leaderboard", {"experiment": evaluated.key}).collect()["pool"].unique()
    }
    page = (folder / "report.html").read_text()
    assert page.count("builtin") >= 2 and "token counter" in page and "embedder" in page


def test_a_release_and_its_funnel_say_in_the_ui_what_they_hold(world: World) -> None:
    home, evaluated, instance = world
    event = instance.get_latest_materialization_event(dg.AssetKey("release"))
    assert event is not None and event.asset_materialization is not None
    shown = event.asset_materialization.metadata
    card = home.store.document(f"releases/{evaluated.release}/card.json")
    assert shown["content_hash"].value.startswith(evaluated.release)
    assert (shown["refusals"].value, shown["warnings"].value) == (card["refusals"], card["warnings"])
    statistics = {row.data["name"]: row.data for row in shown["statistics"].records}  # type: ignore[union-attr]
    assert statistics["visits per batch"]["paper"] == "52.3"
    assert statistics["transitions"]["value"] == str(shown["transitions rows"].value)
    steps = [row.data for row in shown["funnel"].records]  # type: ignore[union-attr]
    assert [(row["place"], row["step"]) for row in steps] == [
        (str(place), row["step"]) for place, row in enumerate(card["funnel"])
    ]
    assert (steps[0]["step"], steps[-1]["step"]) == ("read", "pools")


def test_unlike_arms_are_not_ranked_together(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, evaluated, instance = world
    real = GivenExperiment.provenance

    def other(given: GivenExperiment) -> dict[str, dict[str, object]]:
        stated = real(given)
        return {**stated, "two~empty~lexical~600": {**stated["two~empty~lexical~600"], "budget": 300}}

    monkeypatch.setattr(GivenExperiment, "provenance", other)
    with pytest.raises(
        RunFailed, match=r"not ranked: runs two~empty.* and two~recent_k.* differ in budget: 300 and 600"
    ):
        board(instance, evaluated)


def test_shards_read_by_unlike_readers_are_not_ranked(world: World) -> None:
    home, evaluated, instance = world
    arm = next(spec for spec in (home.folder / "store/specs/arm").glob("two~empty~*.json")).stem
    kept = [home.store.require("readings", {"arm": arm, "shard": shard}) for shard in home.shards]
    rows = [home.store.scan_published([one]).collect() for one in kept]
    read = [(one, frame) for one, frame in zip(kept, rows, strict=True) if frame.height][:1]
    assert 0 < len(read) < len(kept), "the other shards keep what their sidecars state"
    with pytest.raises(
        RunFailed, match=r"not ranked: run two~empty.* differ in reader: .*'other'.*; evaluate it again"
    ):
        try:
            for one, frame in read:
                home.store.put("readings", one.fingerprint, frame, extra={**one.extra, "reader": "other"})
            board(instance, evaluated)
        finally:
            for one, frame in read:
                home.store.put("readings", one.fingerprint, frame, extra=one.extra)


def test_a_board_that_cannot_be_believed_is_not_published(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    home, evaluated, instance = world
    before = home.gold.require("leaderboard", {"experiment": evaluated.key})
    real, code = boards.oracle, publishing.code_version
    parts = [name for name in TABLES["units"].columns if name.startswith("hit_")]
    nothing = [pl.lit(0, pl.Int32).alias(name) for name in ("n_hit", *parts)]
    monkeypatch.setattr(boards, "oracle", lambda *given: real(*given).with_columns(nothing))
    monkeypatch.setattr(publishing, "code_version", lambda *modules: code(*modules) + "+")
    with pytest.raises(RunFailed, match="oracle_is_one"):
        board(instance, evaluated)
    assert home.gold.require("leaderboard", {"experiment": evaluated.key}) == before
    assert [one.fingerprint for one in home.gold.store.partitions("leaderboard")] == [before.fingerprint]
    latest = instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(dg.AssetKey("leaderboard"), "oracle_is_one"), limit=1
    )
    assert latest[0].event is not None
    evaluation = latest[0].event.dagster_event.asset_check_evaluation_data  # type: ignore[union-attr]
    assert not evaluation.passed and evaluation.severity == dg.AssetCheckSeverity.ERROR
