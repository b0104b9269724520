"""A real third-party package: found, listed, run through the replay in its own process, held to the same rules."""

from pathlib import Path

import polars as pl
import pytest
from plugin_packages import LAST_LINE, install
from polars.testing import assert_frame_equal

from pipelines.memory.contract import SnapshotError
from pipelines.memory.contract_tests import check_method
from pipelines.memory.contract_worlds import HOSTILE, stream
from pipelines.memory.registry import builtin_methods
from pipelines.memory.replay import replay
from pipelines.memory.timeline import Histories
from pipelines.memory.wire import batch_from_json, batch_to_json
from resources.plugin_process import PluginError, all_methods, open_method, plugin_entries
from resources.tokenizer import load_tokens


def test_a_batch_crosses_without_loss() -> None:
    for batch in stream("usér \U0001f600", 3):
        hostile = batch.visits.with_columns(item_id=pl.lit(HOSTILE))
        back = batch_from_json(batch_to_json(type(batch)(**{**vars(batch), "visits": hostile})))
        assert_frame_equal(back.visits, hostile)
        assert (back.batch_id, back.user_id, back.index) == (batch.batch_id, batch.user_id, batch.index)
        assert (back.start, back.end) == (batch.start, batch.end)


def test_a_plugin_runs_through_the_replay_like_a_method_of_ours(site: Path, given: Histories) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    assert [(e.name, e.package, e.version) for e in plugin_entries() if e.package == "their-memory"] == [
        ("last_items", "their-memory", "1.2")
    ]
    with open_method("last_items") as spec:
        assert (spec.kind, spec.version) == ("plugin", "their-memory 1.2: 1")
        table = replay(spec, spec.config_model(word="thing"), given, 40, load_tokens())
    assert table.height == sum(len(outcomes) for outcomes in given.outcomes.values())
    user = given.users[0]
    first = given.batch(user, 0).visits["item_id"].to_list()
    assert table.row(0, named=True)["description"].split("\n")[0] == f"thing {first[0]}"
    assert table["tokens"].max() <= 40 and table["tokens_cut"].min() > 0


def test_a_plugin_is_checked_by_the_same_rules(site: Path) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    with open_method("last_items") as spec:
        assert check_method(spec, load_tokens()) == []


def test_a_wrong_configuration_is_refused_where_it_is_given(site: Path, given: Histories) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    with open_method("last_items") as spec:
        with pytest.raises(ValueError, match="wrod"):
            spec.config_model(wrod="thing")
        with pytest.raises(PluginError, match="ValidationError"):
            replay(spec, spec.config_model(word=7), given, 40, load_tokens())


def test_a_broken_plugin_is_named_and_the_others_stay(site: Path) -> None:
    install(site, "broken-memory", "raise RuntimeError('boom')", broken=":spec")
    install(site, "odd-memory", "spec = 7", odd=":spec")
    install(site, "gone-memory", "", gone=".nowhere:spec")
    install(site, "dying-memory", "import os; os._exit(3)", dying=":spec")
    install(site, "posing-memory", LAST_LINE, frequency_profile=":spec")
    install(site, "misnamed-memory", LAST_LINE, misnamed=":spec")
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    listing = all_methods()
    assert set(builtin_methods()) | {"last_items"} == set(listing.methods)
    assert listing.methods["frequency_profile"].wall == "builtin"
    reasons = listing.broken
    assert "RuntimeError: boom" in reasons["broken"]
    assert "MethodSpec was expected" in reasons["odd"]
    assert "ModuleNotFoundError" in reasons["gone"]
    assert "status 3" in reasons["dying"]
    assert "taken" in reasons["frequency_profile (posing-memory)"]
    assert "calls itself 'last_items'" in reasons["misnamed"]


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PluginError, match=r"'nope' is not known; there are .*empty"), open_method("nope"):
        pass


def test_a_snapshot_cannot_be_restored_by_another_plugin_or_from_nowhere(site: Path, tmp_path: Path) -> None:
    install(site, "their-memory", LAST_LINE, last_items=":spec")
    with open_method("last_items") as spec:
        memory = spec.factory(load_tokens())
        memory.open("u", spec.config_model(), None, None)
        with pytest.raises(SnapshotError, match="no snapshot"):
            memory.restore(tmp_path / "absent")
        memory.snapshot(tmp_path / "saved")
        (tmp_path / "saved" / "state.json").write_text("{}")
        with pytest.raises(SnapshotError):
            memory.restore(tmp_path / "saved")
