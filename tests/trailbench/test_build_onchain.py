"""On-chain releases from generated logs, end to end: what is in them, one identity, exports, proofs, a planted leak."""

import base64
import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import polars as pl
import pytest

from assets.manifests import manifest_of
from assets.onchain_freezing import ONCHAIN
from assets.publishing import logical_hashes
from assets.steps import Given
from pipelines.onchain.generator import Plan, generate
from pipelines.onchain.generator_logs import FILLED
from resources.dag import InputStore
from resources.home import Home
from resources.release_files import freeze_release
from trailbench.generating import write_chain
from trailbench.running import dagster_instance

Cli = Callable[..., SimpleNamespace]
PLAN = Plan(seed=5, wallets=48, markets=16, neg_risk_markets=4, operations=3_000)
LOOSE = "min_markets: 3\nmin_trades: 8\nmin_rows: 2\nmax_concentration_percent: 90\nmax_burst_percent: 100\n"


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A generated chain in files, its truth, and loose thresholds."""
    folder = tmp_path_factory.mktemp("chain")
    write_chain(PLAN, folder, lambda _: None)
    config = folder / "loose.yaml"
    config.write_text(LOOSE)
    truth = pl.concat([piece.truth for piece in generate(PLAN)])
    return SimpleNamespace(logs=folder / "logs-001.jsonl", markets=folder / "markets.json", config=config, truth=truth)


@pytest.fixture(scope="module")
def release(chain: SimpleNamespace, cli: Cli, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    home = tmp_path_factory.mktemp("onchain") / "home"
    words = ("--track", "onchain", "--source", "polygon_logs", chain.logs, chain.markets, "--config", chain.config)
    result = cli("build", *words, "--home", home, "--shards", 2, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(**{**result.json, "home": home})


def exported(cli: Cli, release: SimpleNamespace, table: str, to: Path, *more: str) -> pl.DataFrame:
    result = cli("export", release.release, "--table", table, "--to", to, "--home", release.home, *more, "--json")
    assert result.code == 0, result.err
    frame = pl.read_parquet(to)
    assert result.json["rows"] == frame.height
    return frame


def test_the_release_holds_what_happened(
    release: SimpleNamespace, chain: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    fills = chain.truth.filter(pl.col("kind") == FILLED)
    trades = exported(cli, release, "trades", tmp_path / "trades.parquet")
    assert trades.height == fills.height == release.counts["trades"]
    assert trades["amount"].sum() == fills["amount"].sum()
    assert trades["condition_id"].null_count() == 0
    wallets = exported(cli, release, "wallets", tmp_path / "wallets.parquet")
    drawn = dict(wallets["cohort"].cast(pl.String).value_counts().iter_rows())
    # 2,000 : 2,022 of the paper, in proportion, evaluation rounded up.
    assert drawn["evaluation"] - drawn["support"] in (0, 1) and drawn["support"] > 5
    funnel = exported(cli, release, "funnel", tmp_path / "funnel.parquet")
    assert funnel["wallets"][-1] == drawn["evaluation"] + drawn["support"]
    assert exported(cli, release, "rejects", tmp_path / "rejects.parquet").height == 0
    beliefs = exported(cli, release, "belief_instances", tmp_path / "b.parquet", "--gold")
    cohort = exported(cli, release, "cohort_trades", tmp_path / "c.parquet")
    assert beliefs.height == cohort.select("wallet", "condition_id").n_unique()
    instances = exported(cli, release, "trade_instances", tmp_path / "t.parquet", "--gold")
    assert instances.height == cohort.height
    asked = exported(cli, release, "histories", tmp_path / "h.parquet")
    evaluated = pl.col("cohort").cast(pl.String) == "evaluation"
    assert asked.height == beliefs.filter(evaluated).height + instances.filter(evaluated).height
    assert exported(cli, release, "markets", tmp_path / "m.parquet")["question"].null_count() == 0


def test_every_redemption_is_explained_and_the_card_says_what_flips(release: SimpleNamespace) -> None:
    card = json.loads((release.home / "store" / "releases" / release.release / "card.json").read_text())
    said = {row["name"]: row["value"] for row in card["statistics"]}
    assert said["redemptions reconciled, share"] == 1.0 and said["redemptions"] > 20
    assert 0 < said["beliefs flips, share"] < 1
    assert said["evaluation: belief instances"] == sum(
        said[f"evaluation: belief {split}"] for split in ("train", "validation", "test")
    )
    assert sum(row["rows"] for row in card["logs"]) == sum(1 for _ in release_logs(release))
    assert card["refusals"] == {} and card["warnings"] == []


def release_logs(release: SimpleNamespace) -> Any:
    for path in (release.home / "drops").glob("*.json"):
        drop = json.loads(path.read_text())
        for file in drop["files"]:
            lines = Path(file["path"]).read_text()
            yield from json.loads(lines) if drop["source"] == "gamma_markets" else lines.splitlines()


def test_csv_writes_ids_as_text_and_lists_as_json(release: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    for table, column, size in (("markets", "condition_id", 66), ("cohort_trades", "wallet", 42)):
        to = tmp_path / f"{table}.csv"
        assert cli("export", release.release, "--table", table, "--to", to, "--home", release.home).code == 0
        texts = pl.read_csv(to, infer_schema=False)[column]
        assert texts.str.len_chars().unique().to_list() == [size] and texts.str.starts_with("0x").all()
    first = pl.read_csv(tmp_path / "markets.csv", infer_schema=False)
    assert json.loads(first["outcomes"][0]) == ["Yes", "No"]
    exact = exported(cli, release, "markets", tmp_path / "markets.parquet")["token_ids"]
    texts = [[str(int.from_bytes(token, "big")) for token in tokens] for tokens in exact]
    assert [json.loads(tokens) for tokens in first["token_ids"]] == texts


@pytest.mark.parametrize("table", ["belief_instances", "trade_instances", "holdings", "redemptions"])
def test_labels_leave_only_when_it_is_meant(table: str, release: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    result = cli("export", release.release, "--table", table, "--to", tmp_path / "x.csv", "--home", release.home)
    assert result.code == 2 and "--gold" in result.err and list(tmp_path.iterdir()) == []


def test_verify_and_audit_pass(release: SimpleNamespace, cli: Cli) -> None:
    result = cli("verify", release.release, "--home", release.home, "--json")
    assert result.json == {"release": release.release, "verified": True, "problems": []}
    result = cli("audit", release.release, "--home", release.home, "--json")
    assert result.code == 0 and result.json["passed"]
    assert {check["check"] for check in result.json["checks"]} == {"frozen", *ONCHAIN.proves}


def test_shuffled_rows_in_overlapping_drops_other_shards_and_zone_give_the_same_release(
    release: SimpleNamespace, chain: SimpleNamespace, spawn: Callable[..., Any], tmp_path: Path
) -> None:
    lines = chain.logs.read_text().splitlines()
    random.Random(2).shuffle(lines)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("\n".join(lines[: len(lines) * 2 // 3]) + "\n")
    second.write_text("\n".join(lines[len(lines) // 3 :]) + "\n")
    described = json.loads(chain.markets.read_text())
    markets = tmp_path / "gamma.jsonl"
    markets.write_text("\n".join(json.dumps(one) for one in described[::-1]) + "\n")
    process = spawn(
        *("build", "--source", "polygon_logs", first, second, markets, "--config", chain.config),
        *("--home", tmp_path / "home", "--shards", 1, "--json"),
        TZ="Asia/Shanghai",
        PYTHONHASHSEED="11",
        POLARS_MAX_THREADS="1",
    )
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    assert json.loads(out)["content_hash"] == release.content_hash
    assert json.loads(out)["counts"] == release.counts


def test_a_planted_leak_is_found(
    release: SimpleNamespace, cli: Cli, at_home: Callable[[Path], Home], tmp_path: Path
) -> None:
    """A forger who shows the target itself, and writes sidecars and manifest anew, is found by the rules."""
    folder = tmp_path / "forged"
    shutil.copytree(release.home, folder)
    home = at_home(folder)
    for shard in home.shards:
        old = home.store.require("histories", {"release": release.key, "shard": shard})
        rows = home.store.scan_published([old]).collect()
        target = pl.col("layer").cast(pl.String) == "trade"
        more = pl.when(target).then(pl.col("direct_n") + 1).otherwise("direct_n").cast(pl.Int32).alias("direct_n")

        def again(scan: pl.LazyFrame, extra: dict[str, Any] = old.extra) -> dict[str, Any]:
            return {**extra, **logical_hashes(scan, "histories")}

        home.store.put("histories", old.fingerprint, rows.with_columns(more), extra=again)
    naive = cli("audit", release.release, "--home", folder, "--json")
    assert naive.code == 1 and [check["check"] for check in naive.json["checks"] if not check["passed"]] == ["frozen"]
    at_home(folder)
    given = Given(InputStore(), {"store": home.store, "gold": home.gold}, {"release": release.key})
    forged = manifest_of(given, ONCHAIN)
    freeze_release(home.store.store, release.key, forged, {"refusals": {}}, {})
    result = cli("audit", forged["release"], "--home", folder, "--json")
    assert result.code == 1
    failed = {check["check"] for check in result.json["checks"] if not check["passed"]}
    assert failed == {"no_future", "derived_again"}


def test_one_wallet_is_shown_and_drawn(release: SimpleNamespace, cli: Cli, tmp_path: Path) -> None:
    wallets = exported(cli, release, "wallets", tmp_path / "wallets.parquet")
    one = wallets.filter(pl.col("cohort").cast(pl.String) == "evaluation").sort("rank").row(0, named=True)
    address = "0x" + one["wallet"].hex()
    result = cli("wallet", address, "--home", release.home, "--plot", tmp_path / "w.png", "--json")
    assert result.code == 0, result.err
    shown = result.json
    assert (shown["wallet"], shown["cohort"], shown["rank"]) == (address, "evaluation", 0)
    assert shown["release"] == release.release
    assert len(shown["trajectory"]) == len(shown["trades"]) > 0
    assert len(shown["beliefs"]) == len({row["market"] for row in shown["trajectory"]}) == shown["kept_markets"]
    places = [(row["block_number"], row["log_index"]) for row in shown["trajectory"]]
    assert places == sorted(places)
    assert (tmp_path / "w.png").read_bytes().startswith(b"\x89PNG")
    assert cli("wallet", address, "--home", release.home, "--plot", tmp_path / "w.html").code == 0
    page = (tmp_path / "w.html").read_text()
    assert address in page and "cdn" not in page
    for wrong, says in (("0x12", "40 hex digits"), ("0x" + "00" * 20, f"no log of release {release.release}")):
        refused = cli("wallet", wrong, "--home", release.home)
        assert refused.code == 2 and says in " ".join(refused.err.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--source", "gamma_markets"), "a release needs logs of the chain"),
        (("--source", "polygon_logs", "--track", "commerce"), "polygon_logs is no source of commerce"),
        (("--source", "rees46", "--track", "onchain"), "rees46 is no source of onchain"),
        (("--source", "polygon_logs", "--track", "chain"), "tracks are commerce, onchain"),
    ],
)
def test_what_makes_no_release_is_refused(
    words: tuple[str, ...], says: str, chain: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    result = cli("build", chain.markets, *words, "--home", tmp_path / "home")
    assert result.code == 2 and says in " ".join(result.err.split())


def test_a_killed_build_goes_on_and_ends_in_the_same_release(
    release: SimpleNamespace, chain: SimpleNamespace, spawn: Callable[..., Any], cli: Cli, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    words = ("build", "--source", "polygon_logs", chain.logs, chain.markets, "--config", chain.config, "--home", home)
    process = spawn(*words, "--shards", 1, "--json")
    deadline = time.monotonic() + 300
    while not (home / "store" / "references" / "trades").is_dir() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "the build ended before it was killed"
    assert not (home / "store" / "releases").exists()
    result = cli(*words, "--json")
    assert result.code == 0, result.err
    assert (result.json["content_hash"], result.json["counts"]) == (release.content_hash, release.counts)
    assert [str(path) for path in home.rglob("*") if path.name.startswith(".staged")] == []


def test_the_ui_shows_funnel_statistics_and_chart(release: SimpleNamespace, at_home: Callable[[Path], Home]) -> None:
    at_home(release.home)
    with dagster_instance(release.home) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey("onchain_release"))
    metadata = event.asset_materialization.metadata
    assert metadata["content_hash"].value == release.content_hash
    records = [record.data for record in metadata["statistics"].records]
    said = {record["name"]: record["value"] for record in records}
    assert 0 < float(said["beliefs flips, share"]) < 1 and said["redemptions reconciled, share"] == "1.0"
    assert next(record.data["filter"] for record in metadata["funnel"].records) == "seen"
    picture = base64.b64decode(metadata["funnel chart"].value.partition("base64,")[2].rstrip(")"))
    assert picture.startswith(b"\x89PNG")


def test_a_release_that_asks_nobody_says_so_and_is_not_evaluated(
    release: SimpleNamespace, chain: SimpleNamespace, cli: Cli, tmp_path: Path
) -> None:
    config = tmp_path / "strict.yaml"
    config.write_text("min_markets: 1000\n")
    words = ("build", "--source", "polygon_logs", chain.logs, chain.markets, "--config", config, "--home", release.home)
    built = cli(*words)
    assert built.code == 0 and "instances: no wallet passed every filter" in built.err and "Next:" not in built.out
    again = cli(*words, "--json").json
    assert again["refusals"].keys() == {"instances"} and again["counts"]["belief_instances"] == 0
    before = sorted(release.home.rglob("*board*"))
    refused = cli("evaluate", again["release"], "--home", release.home)
    assert refused.code == 2 and "no wallet passed every filter" in refused.err
    assert sorted(release.home.rglob("*board*")) == before
