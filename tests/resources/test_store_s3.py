"""The store on an S3-compatible server spoken to over real HTTP."""

from collections.abc import Iterator
from datetime import timedelta

import polars as pl
import pytest

import resources.files
from pipelines.findings import Finding
from pipelines.schema import TABLES
from resources.store import AuditFailed, DamagedPartition, NotPublished, Store

KEYS = {"release": "r1", "shard": "s00"}


def rows(*reasons: str) -> pl.DataFrame:
    return pl.DataFrame(
        {"file": "a.csv", "line": range(len(reasons)), "reason": reasons, "raw": None},
        schema=TABLES["rejects"].schema,
    )


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    server_module = pytest.importorskip("moto.server", reason="moto is an extra of the tests")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_region": "eu-central-1",
        "aws_endpoint_url": f"http://{host}:{port}",
    }
    server.stop()


@pytest.fixture
def store(options: dict[str, str], request: pytest.FixtureRequest) -> Store:
    store = Store("s3://bucket/store", options)
    fs = store._files._fs  # type: ignore[attr-defined]
    if fs.exists("bucket"):
        fs.rm("bucket", recursive=True)
    fs.mkdir("bucket")
    return store


def objects(store: Store) -> list[str]:
    return sorted(store._files.find("rejects"))


def test_round_trip(store: Store) -> None:
    for shard in ("s00", "s01"):
        store.publish("rejects", rows("a", shard), keys={"release": "r1", "shard": shard}, fingerprint="f1")
    published = store.published("rejects", KEYS)
    assert published is not None
    assert objects(store)[:2] == ["rejects/release=r1/shard=s00/" + name for name in (published.file, "part.json")]
    frame = store.scan("rejects", keys={"release": "r1"}, with_keys=("shard",)).collect()
    assert frame.select("reason", "shard").rows() == [("a", "s00"), ("s00", "s00"), ("a", "s01"), ("s01", "s01")]
    assert store.scan("rejects", keys={"shard": "s01"}).collect()["reason"].to_list() == ["a", "s01"]
    assert store.verify("rejects", KEYS) == []
    assert store.reusable("rejects", KEYS, "f1") == published
    with pytest.raises(NotPublished, match="r2"):
        store.scan("rejects", keys={"release": "r2"})


def test_every_table_of_the_registry_survives_the_round_trip(store: Store) -> None:
    for name, table in TABLES.items():
        store.publish(name, table.empty(), keys={"shard": "s00"}, fingerprint="f")
        assert store.scan(name).collect_schema() == table.schema


def test_replacing_and_withdrawing_leave_nothing(store: Store) -> None:
    store.publish("rejects", rows("old"), keys=KEYS, fingerprint="f1")
    store.publish("rejects", rows("new"), keys=KEYS, fingerprint="f2")
    assert store.scan("rejects").collect()["reason"].to_list() == ["new"]
    assert len(objects(store)) == 2
    store.remove_partition("rejects", KEYS)
    assert objects(store) == []
    assert store.partitions("rejects") == []


def test_a_failed_audit_puts_no_object(store: Store) -> None:
    with pytest.raises(AuditFailed):
        store.publish(
            "rejects", rows("a"), keys=KEYS, fingerprint="f", audit=lambda _: [Finding("x", False, "error", "", "")]
        )
    assert objects(store) == []


def test_orphans_are_removed_once_no_live_publisher_can_own_them(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store._files.write("rejects/release=r1/shard=s00/part-dead.parquet", b"put, never committed")
    store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    assert len(objects(store)) == 3
    monkeypatch.setattr(resources.files, "ORPHAN_AGE", timedelta(seconds=-5))
    store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    assert len(objects(store)) == 2
    assert store.verify("rejects", KEYS) == []


def test_damage_is_refused(store: Store) -> None:
    published = store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    store._files.write(published.path, b"short")
    assert store.published("rejects", KEYS) is None
    with pytest.raises(DamagedPartition):
        store.scan("rejects")
    assert len(store.verify("rejects", KEYS)) == 3
    store._files.remove(published.path)
    assert store.verify("rejects", KEYS) == [f"{published.path} is missing"]


def test_documents(store: Store) -> None:
    with pytest.raises(NotPublished):
        store.read_json("releases/r1/card.json")
    store.write_json("releases/r1/card.json", {"a": "é"})
    assert store.read_json("releases/r1/card.json") == {"a": "é"}


def test_without_options_the_environment_is_read(
    store: Store, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.publish("rejects", rows("a"), keys=KEYS, fingerprint="f")
    for name, value in options.items():
        monkeypatch.setenv(name.upper(), value)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    assert Store(store.root).scan("rejects").collect()["reason"].to_list() == ["a"]
