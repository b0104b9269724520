"""What the tests of the commerce track share."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

from pipelines.commerce.events import read_drop
from pipelines.commerce.sources import SOURCES
from pipelines.hashing import bucket_column
from pipelines.schema import TABLES

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "ecommerce"


@pytest.fixture(scope="session")
def oracle():
    """The slow second implementation."""
    spec = importlib.util.spec_from_file_location("commerce_oracle", Path(__file__).with_name("oracle.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def make_events():
    """A frame in the `events` schema from dicts; absent columns are null, times are µs, datetimes or ISO text."""

    def make(rows):
        names = {name for row in rows for name in row}
        columns = {name: [row.get(name) for row in rows] for name in names}
        frame = pl.DataFrame(
            [
                pl.Series(name, values, dtype=pl.Int64 if name == "time" else TABLES["events"].schema[name])
                for name, values in columns.items()
            ]
        )
        frame = frame.with_columns(bucket_column(frame["user_id"]))
        return frame.select(
            (pl.col(name) if name in frame.columns else pl.lit(None)).cast(dtype).alias(name)
            for name, dtype in TABLES["events"].schema.items()
        )

    return make


@pytest.fixture(scope="session")
def tuples():
    """Rows of a table as tuples, times as µs."""

    def rows_of(frame):
        times = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Datetime)]
        return frame.with_columns(pl.col(times).to_physical()).rows()

    return rows_of


@pytest.fixture(scope="session")
def event_rows():
    """Rows of an `events` frame as dicts, times as µs."""
    return lambda frame: frame.with_columns(pl.col("time").to_physical()).drop("bucket").to_dicts()


def _read(source, *files):
    paths = [DATA / file for file in files]
    if missing := [path.name for path in paths if not path.exists()]:
        pytest.skip(f"real samples are not beside the checkout: {', '.join(missing)}")
    return read_drop(paths, SOURCES[source]).events


@pytest.fixture(scope="session")
def complete_journey():
    """55 whole households, one purchase a basket line; a basket shares one instant."""
    return _read("complete_journey", "completejourney/transactions.csv", "completejourney/products.csv")


@pytest.fixture(scope="session")
def taobao():
    """21 whole users with four actions and one category level."""
    return _read("taobao", "taobao_userbehavior/UserBehavior.csv")


@pytest.fixture(scope="session")
def rees46():
    """Three heavy buyers whose rows stand in no order of time."""
    return _read("rees46", "rees46_electronics/long_users.csv")
