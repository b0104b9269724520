"""`trailbench export`: what leaves a release, in which columns, for whom, and what does not leave."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

Cli = Callable[..., SimpleNamespace]
INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z")
TABLES = ("visits", "batches", "transitions", "positives", "pools", "rejects", "funnel")


@pytest.fixture(scope="module")
def exports(
    built: SimpleNamespace, cli: Cli, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """Table → what its CSV and its Parquet file hold."""
    folder = tmp_path_factory.mktemp("exports")
    read = {}
    for table in TABLES:
        for ending in ("csv", "parquet"):
            to = folder / f"{table}.{ending}"
            result = cli(
                "export", built.release, "--table", table, "--to", to, "--home", built.home, "--gold", "--json"
            )
            assert result.code == 0, result.err
        csv = pl.read_csv(folder / f"{table}.csv", infer_schema=False)
        read[table] = csv, pl.read_parquet(folder / f"{table}.parquet")
        assert result.json["rows"] == csv.height == read[table][1].height
    return read


def test_columns_come_in_the_stated_order(exports: dict[str, tuple[pl.DataFrame, pl.DataFrame]]) -> None:
    columns = {table: parquet.columns for table, (_, parquet) in exports.items()}
    assert columns == {table: csv.columns for table, (csv, _) in exports.items()}
    assert columns["visits"][:7] == ["user_id", "visit_index", "start", "end", "item_id", "l1", "l2"]
    assert {"n_click", "n_browse", "n_favourite", "n_cart", "n_purchase"} <= set(columns["visits"])
    assert columns["batches"] == ["user_id", "batch_index", "start", "end", "n_visits", "closed"]


def test_csv_and_parquet_say_the_same(exports: dict[str, tuple[pl.DataFrame, pl.DataFrame]]) -> None:
    for table, (csv, parquet) in exports.items():
        texts = []
        for name, dtype in parquet.schema.items():
            column = pl.col(name)
            if isinstance(dtype, pl.Datetime):
                assert dtype.time_zone == "UTC"
                assert all(INSTANT.fullmatch(value) for value in csv[name].drop_nulls()), table
                csv = csv.with_columns(column.str.to_datetime(time_zone="UTC", time_unit="us"))
            else:
                texts.append(column.cast(pl.String))
        other = parquet.with_columns(texts)
        assert_frame_equal(
            csv.with_columns(pl.col(pl.String).replace("", None)),
            other.with_columns(pl.col(pl.String).replace("", None)),
        )


def test_only_users_of_the_cohort_leave_and_indices_begin_at_zero(
    exports: dict[str, tuple[pl.DataFrame, pl.DataFrame]], built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    to = tmp_path / "cohort.parquet"
    cli("export", built.release, "--table", "cohort", "--to", to, "--home", built.home)
    cohort = pl.read_parquet(to)
    kept = set(cohort.filter(pl.col("reason") == "")["user_id"])
    assert 0 < len(kept) < cohort.height == 24
    assert set(exports["visits"][1]["user_id"]) == kept == set(exports["batches"][1]["user_id"])
    for table in ("transitions", "positives", "pools"):
        assert set(exports[table][1]["user_id"]) <= kept
    for table, index in (("visits", "visit_index"), ("batches", "batch_index"), ("transitions", "transition_index")):
        rows = exports[table][1].group_by("user_id").agg(pl.col(index).sort())
        assert all(values.to_list() == list(range(len(values))) for values in rows[index]), table
    batches, visits = exports["batches"][1], exports["visits"][1]
    assert batches["n_visits"].sum() == visits.height
    per_user = batches.group_by("user_id").len().rename({"len": "n"})
    steps = exports["transitions"][1].group_by("user_id").len()
    joined = per_user.join(steps, on="user_id", how="left").fill_null(0)
    assert (joined["n"] - 1).to_list() == joined["len"].to_list()
    earlier = batches.filter(pl.col("batch_index") < pl.col("batch_index").max().over("user_id"))
    assert earlier["closed"].all(), "only the last batch of a user may be open"


def test_pools_say_nothing_of_roles(exports: dict[str, tuple[pl.DataFrame, pl.DataFrame]]) -> None:
    pools = exports["pools"][1]
    assert {"role", "is_positive", "kind", "familiarity"}.isdisjoint(pools.columns)
    places = pools.group_by("user_id", "transition_index", "pool").agg(pl.col("position").sort())
    assert all(values.to_list() == list(range(len(values))) for values in places["position"])


def test_the_funnel_adds_up_to_the_rows_of_the_file(
    exports: dict[str, tuple[pl.DataFrame, pl.DataFrame]], shop: SimpleNamespace, built: SimpleNamespace
) -> None:
    kept: dict[tuple[str, str], int] = {}
    went_in: dict[tuple[str, str], int] = {}
    for step, unit, reason, n in exports["funnel"][1].select("step", "unit", "reason", "n").iter_rows():
        kept[step, unit] = kept.get((step, unit), 0) + (n if reason == "" else 0)
        went_in[step, unit] = went_in.get((step, unit), 0) + n
    cancelled = sum(",storno," in line for line in shop.lines)
    assert went_in["read", "rows"] == kept["read", "rows"] == len(shop.lines)
    assert went_in["drops", "events"] == went_in["visits", "events"] == len(shop.lines)
    assert kept["visits", "events"] == len(shop.lines) - cancelled
    assert went_in["visits", "visits"] == built.counts["visits"]
    assert went_in["cohort", "users"] == built.counts["cohort"] == 24
    assert kept["cohort", "users"] == exports["visits"][1]["user_id"].n_unique()
    assert went_in["transitions", "batches"] == exports["batches"][1].height
    assert kept["transitions", "batches"] == exports["transitions"][1].height == built.counts["transitions"]
    assert went_in["labels", "categories"] == exports["positives"][1].height
    assert went_in["pools", "pools"] == built.counts["pool_counts"]
    assert kept["labels", "categories"] + kept["pools", "distractors"] == exports["pools"][1].height
    assert exports["rejects"][1].height == 0


def test_gold_leaves_only_when_it_is_meant(built: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    for table in ("positives", "pool_gold"):
        to = tmp_path / f"{table}.csv"
        result = cli("export", built.release, "--table", table, "--to", to, "--home", built.home)
        assert result.code == 2 and "--gold" in result.err
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("release", "table", "name", "says"),
    [
        (None, "nothing", "x.csv", "tables are visits"),
        (None, "visits", "x.xlsx", ".csv or .parquet"),
        ("0123456789ab", "visits", "x.csv", "; there is "),
        ("../../etc", "visits", "x.csv", "no release"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    release: str | None, table: str, name: str, says: str, built: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    result = cli("export", release or built.release, "--table", table, "--to", tmp_path / name, "--home", built.home)
    assert result.code == 2
    assert says in " ".join(result.err.split())
    assert "Traceback" not in result.err
    assert list(tmp_path.iterdir()) == []


def test_the_only_release_needs_no_name(copied: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    words = ("export", "--table", "funnel", "--home", copied.home)
    assert cli(*words, "--to", tmp_path / "one.csv", "--json").json["release"] == copied.release
    unknown = cli(*words, "--to", tmp_path / "x.csv", "gone")
    assert unknown.code == 2 and f"no release 'gone' in {copied.home}; there is {copied.release}\n" in unknown.err
    releases = copied.home / "store" / "releases"
    shutil.copytree(releases / copied.release, releases / "fff000fff000")
    choice = cli(*words, "--to", tmp_path / "x.csv")
    names = ", ".join(sorted([copied.release, "fff000fff000"]))
    assert choice.code == 2 and f"name a release of {copied.home}; there are {names}\n" in choice.err
    shutil.rmtree(releases)
    none = cli(*words, "--to", tmp_path / "x.csv")
    assert none.code == 2 and "there is none yet; run `trailbench build`" in none.err
