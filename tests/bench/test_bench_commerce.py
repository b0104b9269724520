"""The bench compares equal things: every peer makes our tables on a generated log. No timing is asserted."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from bench import apart, commerce, generate, peers
from pipelines.schema import TABLES

ROWS = 20_000


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    return generate.cached(ROWS, tmp_path_factory.mktemp("bench"))


def test_the_log_is_seeded_conforms_and_is_skewed(log):
    one = pl.read_parquet(log)
    assert one.schema == TABLES["events"].schema
    assert one.height == ROWS
    assert_frame_equal(one, generate.events(ROWS))
    assert not one.equals(generate.events(ROWS, seed=2))
    per_user = one["user_id"].value_counts()["count"].sort(descending=True)
    assert per_user[0] > 5 * per_user.median()
    assert one["time"].is_sorted()
    assert set(one["action"].unique()) == {"click", "browse", "favourite", "cart", "purchase", "cancel", "refund"}


@pytest.mark.parametrize("name", [name for name in peers.PEERS if name not in ("trailbench", "floor")])
def test_a_peer_makes_our_tables(log, name):
    ours = peers.results(peers.PEERS["trailbench"](log)())
    assert ours["visits"]["rows"] > ROWS / 2
    assert ours["signals"]["rows"] > 0
    assert peers.results(peers.PEERS[name](log)()) == ours


def test_another_row_order_makes_the_same_tables(log, tmp_path):
    shuffled = tmp_path / "shuffled.parquet"
    pl.read_parquet(log).sample(fraction=1.0, shuffle=True, seed=4).write_parquet(shuffled, row_group_size=3_000)
    for name in ("trailbench", "duckdb_plain"):
        assert peers.results(peers.PEERS[name](shuffled)()) == peers.results(peers.PEERS["trailbench"](log)())


def test_quick_mode_runs_and_stops_on_a_difference(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(commerce, "CACHE", tmp_path)
    monkeypatch.setattr(commerce, "QUICK_ROWS", (2_000, 4_000))
    monkeypatch.setattr(commerce, "WARM_ROWS", 2_000)
    result = commerce.main(["--quick", "--peers", "duckdb_tuned"])
    assert [size["rows"] for size in result["sizes"]] == [2_000, 4_000]
    assert "| duckdb_tuned ÷ ours | ≥ 1.40 |" in capsys.readouterr().out
    genuine = commerce.run

    def bent(module, *arguments):
        one = genuine(module, *arguments)
        if arguments[0] == "duckdb_tuned":
            one["results"]["signals"]["rows"] += 1
        return one

    monkeypatch.setattr(commerce, "run", bent)
    with pytest.raises(commerce.Unequal, match="duckdb_tuned at 2000 rows"):
        commerce.main(["--quick", "--peers", "duckdb_tuned"])


def test_pools_are_drawn_at_the_stated_size():
    given = apart.pool_inputs(160)
    made = apart.pools(**given, settings=apart.S)
    assert given["positives"].height == 160 * apart.EXCLUDED
    assert made.pools.height == 160 * 10 * 4
    assert made.pool_counts["n_short"].sum() == 0
