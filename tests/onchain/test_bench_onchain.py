"""The decode bench works on logs that decode, and shows ratios of one run."""

import polars as pl

from bench.onchain import DECODERS, fills, hexed, measure, show
from pipelines.onchain.drop import decode_drop


def test_bench_logs_decode_alike_from_bytes_and_hex(tmp_path):
    frame = fills(400)
    assert fills(400).equals(frame) and not fills(400, seed=8).equals(frame)
    frame.write_parquet(tmp_path / "a")
    hexed(frame).write_parquet(tmp_path / "b")
    assert pl.read_parquet_schema(tmp_path / "b")["data"] == pl.String
    one, two = decode_drop([tmp_path / "a"]), decode_drop([tmp_path / "b"])
    assert one.tables["trades"].height == 400 and one.rejects.is_empty()
    assert one.tables["trades"].equals(two.tables["trades"])
    assert one.tables["trades"]["direction"].n_unique() == 2 and one.tables["trades"]["exchange"].n_unique() == 2


def test_figures(tmp_path):
    fills(400).write_parquet(tmp_path / "a")
    figures = {name: measure(name, tmp_path / "a") for name, (_, package) in DECODERS.items() if not package}
    assert all(row["logs"] == 400 and row["rate"] > 0 and row["peak"] > 0 for row in figures.values())
    table = show({"binary": figures})
    assert "scan" in table and "ours, rows in memory" in table
