"""Releases of app logs built by the command line, and their tables."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl

from pipelines.schema import TABLES
from resources.home import Home

Cli = Callable[..., SimpleNamespace]


def build(cli: Cli, home: Path, *paths: Path, shards: int = 2, words: tuple[object, ...] = ()) -> SimpleNamespace:
    result = cli("build", "--track", "applogs", *paths, "--home", home, "--shards", shards, *words, "--json")
    assert result.code == 0, result.err
    return SimpleNamespace(**{**result.json, "home": home})


def rows(release: SimpleNamespace, home: Home, table: str) -> pl.DataFrame:
    catalog = home.gold if TABLES[table].wall == "gold" else home.store
    whole = table in ("applog_funnel", "state_keys")
    return catalog.scan(table, {"release": release.key}, () if whole else home.shards).collect()
