"""Parquet is read row group by row group: several small ones at once, a large one alone."""

import chain_oracle as oracle
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipelines.onchain import logs_parquet
from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.drop import decode_drop
from pipelines.onchain.logs_raw import LINE

FILL = BY_NAME["order_filled_v1"]


def frame(n: int) -> pl.DataFrame:
    rows = []
    for i in range(n):
        log = oracle.log(FILL, [b"\x01" * 32, b"\x02" * 20, b"\x03" * 20, 0, 4, 5 + i, 6, 0], index=i)
        if i == 11:
            log["data"] = log["data"][:-2]
        topics = {f"topic{k}": bytes.fromhex(topic[2:]) for k, topic in enumerate(log["topics"])}
        data = {name: bytes.fromhex(log[name][2:]) for name in ("address", "data")}
        rows.append({**data, **topics, "block_number": 40_000_000, "log_index": i})
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("group", "limit", "steps", "chunks"),
    [
        (20, 200_000, [20], [20]),
        (3, 200_000, [20], [20]),
        (3, 7, [6, 6, 6, 2], [6, 6, 6, 2]),
        (6, 6, [6, 6, 6, 2], [6, 6, 6, 2]),
        (6, 5, [6, 6, 6, 2], [5, 1, 5, 1, 5, 1, 2]),
        (20, 8, [20], [8, 8, 4]),
        (1, 1, [1] * 20, [1] * 20),
    ],
)
def test_row_groups_change_nothing(tmp_path, monkeypatch, group, limit, steps, chunks):
    logs = frame(20)
    logs.write_parquet(tmp_path / "one")
    expected = decode_drop([tmp_path / "one"])
    assert expected.rejects["line"].to_list() == [12] and expected.tables["trades"].height == 19
    monkeypatch.setattr(logs_parquet, "ROWS", limit)
    (tmp_path / "many").mkdir()
    path = tmp_path / "many" / "one"
    logs.write_parquet(path, row_group_size=group)
    assert list(logs_parquet._steps(path)) == steps
    read = [hand().rows for hand in logs_parquet.read(path)]
    assert [rows.height for rows in read] == chunks
    assert_frame_equal(
        pl.concat(read).select("data", "log_index", LINE),
        logs.select("data", "log_index", pl.int_range(1, 21, dtype=pl.Int64).alias(LINE)),
    )
    drop = decode_drop([path])
    assert drop.rejects.equals(expected.rejects) and drop.counts.equals(expected.counts)
    assert all(drop.tables[name].equals(table) for name, table in expected.tables.items())


def test_a_file_without_rows_has_no_chunks(tmp_path):
    frame(1).clear().write_parquet(tmp_path / "none")
    assert list(logs_parquet.read(tmp_path / "none")) == []
