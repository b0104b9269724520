"""`trailbench build`: known numbers of a real log, and one content hash however the rows arrive."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

Cli = Callable[..., SimpleNamespace]


@pytest.fixture(scope="module")
def real_build(real_sample: Path, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    home = tmp_path_factory.mktemp("real") / "home"
    result = cli("build", "--track", "commerce", "--source", "complete_journey", real_sample, "--home", home, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(**{**result.json, "home": home})


def test_the_real_sample_has_the_published_numbers(real_build: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    assert real_build.counts["batches"] == 524
    assert real_build.counts["visits"] == 30_077
    assert real_build.content_hash.startswith(real_build.release)
    to = tmp_path / "batches.parquet"
    assert cli("export", real_build.release, "--table", "batches", "--to", to, "--home", real_build.home).code == 0
    batches = pl.read_parquet(to)
    assert (batches.height, int(batches["closed"].sum()), int(batches["n_visits"].sum())) == (524, 469, 30_077)
    assert batches["user_id"].n_unique() == 55


def test_another_order_shard_count_zone_and_hash_seed_give_the_same_release(
    built: SimpleNamespace, shop: SimpleNamespace, spawn: Callable[..., object], tmp_path: Path
) -> None:
    lines = list(shop.lines)
    random.Random(3).shuffle(lines)
    log = shop.write(tmp_path / "shuffled.csv", lines)
    process = spawn(
        *("build", *shop.options, log, "--home", tmp_path / "home", "--shards", 3, "--json"),
        TZ="Asia/Shanghai",
        PYTHONHASHSEED="11",
        POLARS_MAX_THREADS="1",
        LC_ALL="C",
    )
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    answer = json.loads(out)
    assert (answer["release"], answer["content_hash"]) == (built.release, built.content_hash)
    assert answer["counts"] == built.counts
    assert json.loads((tmp_path / "home" / "home.json").read_text()) == {"shards": 3}


def test_a_drop_again_under_another_name_packed_or_shuffled_adds_nothing(
    copied: SimpleNamespace, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    renamed = tmp_path / "renamed.csv"
    renamed.write_bytes(shop.log.read_bytes())
    packed = tmp_path / "shop.csv.gz"
    packed.write_bytes(gzip.compress(shop.log.read_bytes()))
    backwards = shop.write(tmp_path / "backwards.csv", shop.lines[::-1])
    result = cli("build", *shop.options, renamed, packed, backwards, shop.log, "--home", copied.home, "--json")
    assert result.code == 0, result.err
    assert (result.json["release"], result.json["content_hash"]) == (copied.release, copied.content_hash)
    assert result.json["counts"]["visits"] == copied.counts["visits"]
    # The renamed file holds the same bytes: it is the drop that was there.
    assert len(list((copied.home / "drops").glob("*.json"))) == 3


def test_a_cumulative_export_gives_the_release_of_the_whole(
    built: SimpleNamespace, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    half = shop.write(tmp_path / "half.csv", shop.lines[: len(shop.lines) // 2])
    result = cli("build", *shop.options, half, shop.log, "--home", tmp_path / "home", "--json")
    assert result.code == 0, result.err
    assert result.json["content_hash"] == built.content_hash


def test_another_threshold_gives_another_release(
    copied: SimpleNamespace, shop: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("batch_visits: 40\n")
    result = cli("build", *shop.options, shop.log, "--home", copied.home, "--config", config, "--json")
    assert result.code == 0, result.err
    assert result.json["content_hash"] != copied.content_hash
    assert result.json["counts"]["visits"] == copied.counts["visits"]
    assert result.json["counts"]["batches"] > copied.counts["batches"]
