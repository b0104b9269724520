"""The store: commits, reuse, reading by keys, and what happens when a process dies."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.findings import Finding
from pipelines.schema import TABLES
from resources.store import (
    AuditFailed,
    DamagedPartition,
    NotPublished,
    SchemaMismatch,
    Store,
    StoreError,
)

KEYS = {"release": "r1", "shard": "s00"}


def rows(*reasons: str) -> pl.DataFrame:
    return pl.DataFrame(
        {"file": "a.csv", "line": range(len(reasons)), "reason": reasons, "raw": None},
        schema=TABLES["rejects"].schema,
    )


def reasons(store: Store, **keys: str) -> list[str]:
    return store.scan("rejects", keys=keys).collect()["reason"].to_list()


def failing(severity: str) -> list[Finding]:
    return [Finding("x", False, severity, "3 rows", "must hold")]  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store=1"))


def test_a_partition_is_one_file_and_a_sidecar_that_describes_it(store: Store) -> None:
    published = store.publish("rejects", rows("a", "b"), keys=KEYS, fingerprint="f1", extra={"buckets": {"3": "h"}})
    folder = Path(store.root) / "rejects" / "release=r1" / "shard=s00"
    assert sorted(path.name for path in folder.iterdir()) == sorted([published.file, "part.json"])
    sidecar = json.loads((folder / "part.json").read_text())
    assert sidecar["rows"] == 2
    assert sidecar["keys"] == KEYS
    assert sidecar["fingerprint"] == "f1"
    assert sidecar["extra"] == {"buckets": {"3": "h"}}
    assert sidecar["schema"]["line"] == "Int64"
    assert sidecar["bytes"] == (folder / published.file).stat().st_size
    assert store.published("rejects", KEYS) == published
    assert store.verify("rejects", KEYS) == []
    assert reasons(store) == ["a", "b"]


def test_the_order_in_which_keys_are_named_is_of_no_matter(store: Store) -> None:
    published = store.publish("rejects", rows("a"), keys=dict(reversed(KEYS.items())), fingerprint="f")
    assert published.folder == "rejects/release=r1/shard=s00"
    assert store.published("rejects", KEYS) == published


def test_every_table_of_the_registry_survives_the_round_trip(store: Store) -> None:
    for name, table in TABLES.items():
        store.publish(name, table.empty(), keys={"shard": "s00"}, fingerprint="f")
        assert store.scan(name).collect_schema() == table.schema
        assert store.verify(name, {"shard": "s00"}) == []


def test_republishing_replaces_and_leaves_no_old_file(store: Store) -> None:
    store.publish("rejects", rows("old"), keys=KEYS, fingerprint="f1")
    store.publish("rejects", rows("new").lazy(), keys=KEYS, fingerprint="f2")
    assert reasons(store) == ["new"]
    assert len(list((Path(store.root) / "rejects/release=r1/shard=s00").iterdir())) == 2
    assert store.reusable("rejects", KEYS, "f1") is None
    assert store.reusable("rejects", KEYS, "f2") is not None


def test_garbage_of_a_dead_publisher_is_cleaned_by_the_next(store: Store) -> None:
    store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f1")
    folder = Path(store.root) / "rejects/release=r1/shard=s00"
    (folder / ".staged-dead").write_bytes(b"half")
    (folder / "part-0123456789abcdef.parquet").write_bytes(b"whole but never committed")
    assert reasons(store) == ["a"]
    published = store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f1")
    assert sorted(path.name for path in folder.iterdir()) == sorted([published.file, "part.json"])


def test_a_failed_audit_leaves_the_old_partition_and_no_trace(store: Store) -> None:
    store.publish("rejects", rows("old"), keys=KEYS, fingerprint="f1")
    with pytest.raises(AuditFailed, match=r"rejects \(release r1, shard s00\) was not published") as caught:
        store.publish("rejects", rows("new"), keys=KEYS, fingerprint="f2", audit=lambda _: failing("error"))
    assert [finding.name for finding in caught.value.findings] == ["x"]
    assert reasons(store) == ["old"]
    assert len(list((Path(store.root) / "rejects/release=r1/shard=s00").iterdir())) == 2


@pytest.mark.parametrize("severity", ["warning", "info"])
def test_a_lesser_finding_does_not_hold_back(store: Store, severity: str) -> None:
    store.publish("rejects", rows("new"), keys=KEYS, fingerprint="f", audit=lambda _: failing(severity))
    assert reasons(store) == ["new"]


def test_audit_and_extra_see_what_was_written(store: Store) -> None:
    seen: list[int] = []

    def audit(scan: pl.LazyFrame) -> list[Finding]:
        seen.append(scan.select(pl.len()).collect().item())
        return []

    published = store.publish(
        "rejects",
        rows("a", "b"),
        keys=KEYS,
        fingerprint="f",
        audit=audit,
        extra=lambda scan: {"lines": scan.select("line").collect()["line"].to_list()},
    )
    assert seen == [2]
    assert published.extra == {"lines": [0, 1]}


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (rows("a").drop("raw"), "raw: missing instead of String"),
        (rows("a").with_columns(pl.col("line").cast(pl.Int32)), "line: Int32 instead of Int64"),
        (rows("a").with_columns(more=1), "more: Int32 instead of nothing"),
        (rows("a").select("line", "file", "reason", "raw"), "column order"),
    ],
)
def test_another_schema_is_refused(store: Store, frame: pl.DataFrame, message: str) -> None:
    with pytest.raises(SchemaMismatch, match=message):
        store.publish("rejects", frame, keys=KEYS, fingerprint="f")
    assert store.published("rejects", KEYS) is None


def test_scan_takes_partial_keys_lists_and_gives_keys_as_text(store: Store) -> None:
    for release in ("r1", "r2"):
        for shard in ("00", "01"):
            store.publish(
                "rejects", rows(f"{release}/{shard}"), keys={"release": release, "shard": shard}, fingerprint="f"
            )
    assert reasons(store, release="r2") == ["r2/00", "r2/01"]
    assert reasons(store, shard="01") == ["r1/01", "r2/01"]
    frame = store.scan("rejects", keys={"release": ["r2", "r1"], "shard": "00"}, with_keys=("shard",)).collect()
    assert frame["reason"].to_list() == ["r1/00", "r2/00"]
    assert frame["shard"].to_list() == ["00", "00"]
    assert frame.schema["shard"] == pl.String
    assert [one.keys["shard"] for one in store.partitions("rejects", release="r1")] == ["00", "01"]


def test_what_is_not_published_is_named_with_its_remedy(store: Store) -> None:
    store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    with pytest.raises(NotPublished, match=r"rejects \(release r1, shard s01\) is not published .* materialise"):
        store.scan("rejects", keys={"release": "r1", "shard": ["s00", "s01"]})
    frame = store.scan("rejects", keys={"release": "r9"}, with_keys=("shard",), missing_ok=True).collect()
    assert frame.is_empty()
    assert frame.columns == [*TABLES["rejects"].columns, "shard"]
    with pytest.raises(NotPublished, match="visits"):
        store.scan("visits")
    with pytest.raises(StoreError, match="no table `vists`"):
        store.scan("vists")


def test_damage_is_found_and_never_read_over_in_silence(store: Store) -> None:
    published = store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    file = Path(store.location(published))
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert store.published("rejects", KEYS) is None
    assert store.reusable("rejects", KEYS, "f") is None
    with pytest.raises(DamagedPartition, match="rebuild"):
        store.scan("rejects")
    file.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    assert any("sha256" in problem for problem in store.verify("rejects", KEYS))
    file.unlink()
    assert store.verify("rejects", KEYS) == [f"{published.path} is missing"]
    store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    assert store.verify("rejects", KEYS) == []


def test_a_partition_of_another_schema_is_neither_reused_nor_read(store: Store) -> None:
    published = store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    sidecar = Path(store.location(published)).with_name("part.json")
    sidecar.write_text(sidecar.read_text().replace('"line": "Int64"', '"line": "Int32"'))
    assert store.reusable("rejects", KEYS, "f") is None
    with pytest.raises(DamagedPartition, match="another schema"):
        store.scan("rejects")


@pytest.mark.parametrize(
    "key", ["", "..", "a/b", "../a", "a..b", ".hidden", "a=b", "a b", "a\n", "a\\b", "é", "x" * 201]
)
def test_keys_that_could_leave_the_folder_are_refused(store: Store, key: str) -> None:
    with pytest.raises(StoreError, match="cannot name a partition"):
        store.publish("rejects", rows("a"), keys={"drop": key}, fingerprint="f")
    with pytest.raises(StoreError, match="cannot name a partition"):
        store.scan("rejects", keys={"drop": [key]})
    with pytest.raises(StoreError, match="cannot name a partition"):
        store.write_json(f"releases/{key}" if key != "a/b" else "/a", 1)


def test_documents_are_replaced_whole(store: Store) -> None:
    with pytest.raises(NotPublished, match=r"card\.json"):
        store.read_json("releases/r1/card.json")
    store.write_json("releases/r1/card.json", {"b": [1, 2], "a": "é"})
    store.write_json("releases/r1/card.json", {"b": [1], "a": "é"})
    assert store.read_json("releases/r1/card.json") == {"a": "é", "b": [1]}
    assert [path.name for path in (Path(store.root) / "releases/r1").iterdir()] == ["card.json"]


def test_a_withdrawn_partition_is_gone(store: Store) -> None:
    store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    store.remove_partition("rejects", KEYS)
    assert store.published("rejects", KEYS) is None
    assert store.partitions("rejects") == []
    store.remove_partition("rejects", KEYS)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.text(max_size=20), max_size=5), min_size=1, max_size=4))
def test_the_last_commit_is_what_is_read(tmp_path: Path, versions: list[list[str]]) -> None:
    store = Store(str(tmp_path / "property"))
    for number, version in enumerate(versions):
        store.publish("rejects", rows(*version), keys=KEYS, fingerprint=str(number))
        assert reasons(store) == version
        assert store.verify("rejects", KEYS) == []


# Publishes versions of growing number; row count, content and fingerprint all say the number.
CHILD = """
    import os, signal, sys
    from pathlib import Path
    import polars as pl
    from pipelines.schema import TABLES
    from resources.store import Store

    root, first, last, kill_at = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    calls = 0

    def dying(function):
        def call(*args, **kwargs):
            global calls
            calls += 1
            if calls == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)
        return call

    if kill_at:
        os.fsync, Path.replace, Path.unlink = dying(os.fsync), dying(Path.replace), dying(Path.unlink)
    for version in range(first, last):
        frame = pl.DataFrame(
            {"file": "f", "line": range(version), "reason": str(version), "raw": None}, schema=TABLES["rejects"].schema
        )
        Store(root).publish("rejects", frame, keys={"shard": "s00"}, fingerprint=str(version))
    print("calls", calls)
"""


def child(root: Path, first: int, last: int, kill_at: int = 0) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(root), str(first), str(last), str(kill_at)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
        text=True,
        stdout=subprocess.PIPE,
    )


def one_whole_version(root: Path) -> int:
    """The version that is published, after showing that its every part says the same."""
    store = Store(str(root))
    published = store.published("rejects", {"shard": "s00"})
    assert published is not None
    frame = store.scan("rejects").collect()
    assert published.fingerprint == str(published.rows)
    assert frame["reason"].to_list() == [published.fingerprint] * published.rows
    assert store.verify("rejects", {"shard": "s00"}) == []
    return published.rows


def put_back(root: Path, version: int) -> None:
    """Publish a version over whatever a dead publisher left, and see that nothing of that is left."""
    Store(str(root)).publish(
        "rejects", rows(*[str(version)] * version), keys={"shard": "s00"}, fingerprint=str(version)
    )
    assert len(list((root / "rejects" / "shard=s00").iterdir())) == 2


def test_killed_at_every_point_of_a_publication_old_or_new_is_read_whole(tmp_path: Path) -> None:
    old, new = 1, 2
    outcomes = []
    for kill_at in range(1, 40):
        put_back(tmp_path, old)
        code = child(tmp_path, new, new + 1, kill_at).wait()
        outcomes.append((code, one_whole_version(tmp_path)))
        if code == 0:
            break
    assert outcomes[-1] == (0, new)
    assert {(-signal.SIGKILL, old), (-signal.SIGKILL, new)} <= set(outcomes)


def test_killed_at_any_moment_and_two_publishers_at_once(tmp_path: Path) -> None:
    assert child(tmp_path, 1, 2).wait() == 0
    for round_ in range(4):
        pair = [child(tmp_path, 2, 4000), child(tmp_path, 4000, 8000)]
        time.sleep(1.2 + 0.13 * round_)
        for process in pair:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert one_whole_version(tmp_path) >= 1
    put_back(tmp_path, 3)
    assert one_whole_version(tmp_path) == 3


def test_a_document_removes_what_a_killed_writer_left_beside_it(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write_json("specs/release/a.json", {"n": 1})
    (tmp_path / "specs" / "release" / ".staged-killed").write_text("{")
    store.write_json("specs/release/b.json", {"n": 2})
    assert sorted(path.name for path in (tmp_path / "specs" / "release").iterdir()) == ["a.json", "b.json"]
    assert store.read_json("specs/release/a.json") == {"n": 1}
