"""`verify` and `audit`: they pass on what was frozen, and name every leak that is planted."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from assets import commerce, freezing, publishing
from assets.freezing import COMMERCE
from assets.manifests import manifest_of
from assets.proofs import PROOFS
from assets.publishing import logical_hashes
from assets.steps import Given
from pipelines.findings import Finding
from resources.dag import InputStore
from resources.home import Home
from resources.release_files import freeze_release
from resources.sandbox import wall_missing

Cli = Callable[..., SimpleNamespace]
needs_wall = pytest.mark.skipif(bool(wall_missing()), reason=f"no namespaces here: {wall_missing()}")


def largest(home: Path, wall: str, table: str) -> Path:
    return max((home / wall / table).rglob("*.parquet"), key=lambda path: path.stat().st_size)


def failed(answer: SimpleNamespace) -> dict[str, str]:
    """Check → what it found, of the checks that failed."""
    return {check["check"]: " ".join(check["found"]) for check in answer.json["checks"] if not check["passed"]}


# -- verify ----------------------------------------------------------------------


def test_verify_and_audit_pass_on_a_frozen_release(built: SimpleNamespace, cli: Cli) -> None:
    verified = cli("verify", built.release, "--home", built.home, "--json")
    assert (verified.code, verified.json["verified"], verified.json["problems"]) == (0, True, [])
    audited = cli("audit", built.release, "--home", built.home, "--json")
    assert audited.code == 0, failed(audited)
    names = {check["check"] for check in audited.json["checks"]}
    assert {"frozen", "no_future", "pool_rules", "familiarity", "order_and_shards"} <= names
    assert {"wall:recent_k", "future:recent_k", "wall:rag_bm25", "future:rag_bm25"} <= names


@pytest.mark.parametrize(("wall", "table"), [("store", "visits"), ("gold", "pool_gold")])
def test_verify_names_a_file_with_other_bytes(wall: str, table: str, copied: SimpleNamespace, cli: Cli) -> None:
    file = largest(copied.home, wall, table)
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(bytes(data))
    result = cli("verify", copied.release, "--home", copied.home, "--json")
    assert result.code == 1 and not result.json["verified"]
    assert any(file.name in problem and "sha256" in problem for problem in result.json["problems"])
    assert failed(cli("audit", copied.release, "--home", copied.home, "--json")).keys() == {"frozen"}


def test_verify_names_a_partition_that_was_encoded_again_or_removed(copied: SimpleNamespace, cli: Cli) -> None:
    encoded, gone = largest(copied.home, "store", "visits"), largest(copied.home, "store", "batches")
    pl.read_parquet(encoded).write_parquet(encoded, compression="uncompressed")
    gone.unlink()
    result = cli("verify", copied.release, "--home", copied.home, "--json")
    assert result.code == 1
    said = " ".join(result.json["problems"])
    assert "visits of release" in said and "batches of release" in said and "missing or of another size" in said


def test_verify_names_rows_that_were_published_again(
    copied: SimpleNamespace, cli: Cli, at_home: Callable[[Path], Home]
) -> None:
    home = at_home(copied.home)
    shard = next(
        shard for shard in home.shards if home.store.require("visits", {"release": copied.key, "shard": shard}).rows
    )
    old = home.store.require("visits", {"release": copied.key, "shard": shard})
    rows = home.store.scan_published([old]).collect()
    changed = rows.with_columns(n_browse=(pl.col("n_browse") + 1).cast(rows.schema["n_browse"]))
    home.store.put(
        "visits", old.fingerprint, changed, extra=lambda scan: {**old.extra, **logical_hashes(scan, "visits")}
    )
    result = cli("verify", copied.release, "--home", copied.home, "--json")
    assert result.code == 1
    said = " ".join(result.json["problems"])
    assert "table visits: other rows" in said and "content_hash" in said


# -- planted leaks ---------------------------------------------------------------

WALK = """for folder, _, files in os.walk({home!r}):
    for file in files:
        try:
            self.state["stolen"] = len(open(os.path.join(folder, file), "rb").read())
        except OSError:
            pass"""
POLARS = """for file in pathlib.Path({home!r}).rglob("*.parquet"):
    try:
        pl.read_parquet(file)
    except Exception:
        pass"""


@needs_wall
@pytest.mark.parametrize(
    ("name", "imports", "steal"),
    [("walker", "import os", WALK), ("scanner", "import pathlib\n    import polars as pl", POLARS)],
)
def test_a_plugin_that_opens_the_gold_by_its_path_is_found(
    name: str,
    imports: str,
    steal: str,
    built: SimpleNamespace,
    cli: Cli,
    install: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install("honest")
    install(name, imports, steal.format(home=str(built.home)))
    monkeypatch.setattr("trailbench.proving.builtin_methods", dict)
    result = cli("audit", built.release, "--home", built.home, "--users", 1, "--json")
    found = failed(result)
    assert result.code == 1 and found.keys() == {f"wall:{name}"}
    assert str(built.home) in found[f"wall:{name}"]
    passed = {check["check"] for check in result.json["checks"] if check["passed"]}
    assert {"wall:honest", "future:honest"} <= passed


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Callable[..., Any]], None]]:
    """Replace what a step computes, under a changed code version; `plant(name, function of the result)`."""
    real_code, changed = publishing.code_version, {"pipelines.commerce.domains", "pipelines.commerce.pools"}
    monkeypatch.setattr(
        publishing, "code_version", lambda *modules: real_code(*modules) + "+" * bool(changed & set(modules))
    )

    def plant(name: str, spoil: Callable[..., Any]) -> None:
        real = getattr(commerce, name)
        monkeypatch.setattr(commerce, name, lambda *rows, **more: spoil(real, *rows, **more))

    yield plant


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let a build publish and freeze without being looked at, so that only `trailbench audit` is left."""

    real = freezing.proofs

    def unless_whole(given: Given, users: int | None, audited: int) -> Any:
        """Nothing is found on the samples of a build; the audit looks at the whole."""
        return real(given, users, audited) if users is None else iter((name, pl.DataFrame()) for name in PROOFS)

    def off() -> None:
        monkeypatch.setattr("trailbench.proving.builtin_methods", dict)  # the leak is in the data
        monkeypatch.setattr(publishing, "audit_for", lambda *_, **__: lambda scan: UNJUDGED)
        monkeypatch.setattr(freezing, "proofs", unless_whole)

    return off


UNJUDGED = [Finding(f"{check}/nothing", True, "info", "", "not looked at") for check in ("sound", "consistent")]
UNIT = ("user_id", "transition_index", "pool")


def positives_first(shown: pl.DataFrame, roles: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Pools and their roles with every positive before every distractor."""
    order = roles.with_columns(
        place=pl.struct(pl.col("role") != "positive", "position").rank("ordinal").over(UNIT).cast(pl.Int32) - 1
    ).select(*UNIT, "position", "place")

    def moved(rows: pl.DataFrame) -> pl.DataFrame:
        joined = rows.join(order, on=[*UNIT, "position"], how="left").with_columns(position="place")
        return joined.select(rows.columns).sort(*UNIT, "position")

    return moved(shown), moved(roles)


def test_pools_ordered_by_role_are_refused_by_the_build_and_by_the_audit(
    copied: SimpleNamespace,
    shop: SimpleNamespace,
    cli: Cli,
    planted: Callable[..., None],
    blind: Callable[[], None],
) -> None:
    def by_role(real: Callable[..., Any], *rows: Any, **more: Any) -> Any:
        made = real(*rows, **more)
        pools, gold = positives_first(made.pools, made.pool_gold)
        return SimpleNamespace(pools=pools, pool_gold=gold, pool_counts=made.pool_counts)

    planted("make_pools", by_role)
    build = ("build", *shop.options, shop.log, "--home", copied.home, "--json")
    refused = cli(*build)
    assert refused.code == 2 and "the release is not frozen: pool_rules" in " ".join(refused.err.split())
    blind()
    release = cli(*build).json["release"]
    assert release != copied.release
    result = cli("audit", release, "--home", copied.home, "--users", 1, "--json")
    assert result.code == 1 and {"pool_rules"} <= failed(result).keys()


def test_domains_built_with_the_future_are_refused_by_the_build_and_by_the_audit(
    copied: SimpleNamespace,
    shop: SimpleNamespace,
    cli: Cli,
    planted: Callable[..., None],
    blind: Callable[[], None],
    tmp_path: Path,
) -> None:
    def of_all_time(real: Callable[..., Any], visits: pl.LazyFrame, batches: pl.LazyFrame, *more: Any) -> Any:
        honest = real(visits, batches, *more)
        last = honest.filter(pl.col("quarter") == pl.col("quarter").max()).drop("quarter")
        quarters = honest.select(pl.col("quarter").unique().sort())
        return quarters.join(last, how="cross").select(honest.columns).sort("quarter", "l1", "rank")

    planted("make_domains", of_all_time)
    config = tmp_path / "config.yaml"
    config.write_text("seed: 5\n")  # another release than the honest one, which is frozen
    build = ("build", *shop.options, shop.log, "--home", copied.home, "--config", config, "--json")
    refused = cli(*build)
    assert "DEBUG" not in refused.err, "a failed run says its cause, not its log"
    assert refused.code == 2 and "the release is not frozen: shared_tables" in " ".join(refused.err.split())
    blind()
    release = cli(*build).json["release"]
    assert release != copied.release
    found = failed(cli("audit", release, "--home", copied.home, "--users", 1, "--json"))
    assert found.keys() == {"shared_tables"} and "domains: " in found["shared_tables"]


def test_a_frozen_file_edited_and_hashed_again_is_found_by_the_rules(
    copied: SimpleNamespace, cli: Cli, at_home: Callable[[Path], Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forger who writes sidecars and a manifest anew still cannot explain the order."""
    monkeypatch.setattr("trailbench.proving.builtin_methods", dict)
    home = at_home(copied.home)
    for shard in home.shards:
        axes = {"release": copied.key, "shard": shard}
        old = {"pools": home.store.require("pools", axes), "pool_gold": home.gold.require("pool_gold", axes)}
        catalogs = {"pools": home.store, "pool_gold": home.gold}
        rows = {table: catalogs[table].scan_published([one]).collect() for table, one in old.items()}
        for table, new in zip(rows, positives_first(rows["pools"], rows["pool_gold"]), strict=True):
            extra = old[table].extra

            def again(scan: pl.LazyFrame, table: str = table, extra: Any = extra) -> dict[str, Any]:
                return {**extra, **logical_hashes(scan, table)}

            catalogs[table].put(table, old[table].fingerprint, new, extra=again)
    naive = cli("audit", copied.release, "--home", copied.home, "--json")
    assert naive.code == 1 and "content_hash" in failed(naive)["frozen"]

    at_home(copied.home)
    given = Given(InputStore(), {"store": home.store, "gold": home.gold}, {"release": copied.key})
    forged = manifest_of(given, COMMERCE)
    freeze_release(home.store.store, copied.key, forged, {"refusals": {}}, {})
    result = cli("audit", forged["release"], "--home", copied.home, "--users", 1, "--json")
    assert result.code == 1 and "pool_rules" in failed(result)
