"""What the tests of the commerce track share."""

import importlib.util
from pathlib import Path

import polars as pl
import pytest

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


def _sample(*parts):
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"real sample {'/'.join(parts)} is not beside the checkout")
    return path


@pytest.fixture(scope="session")
def complete_journey(make_events):
    """55 whole households, a purchase a basket line of positive quantity; read here, apart from the sources."""
    lines = pl.read_csv(_sample("completejourney", "transactions.csv"), infer_schema=False)
    products = pl.read_csv(_sample("completejourney", "products.csv"), infer_schema=False)
    category = [
        pl.col(name).str.to_lowercase().alias(key) for key, name in (("l1", "product_category"), ("l2", "product_type"))
    ]
    joined = lines.filter(pl.col("quantity").cast(pl.Int64) > 0).join(
        products.select("product_id", *category), on="product_id", how="left"
    )
    return make_events(
        joined.select(
            pl.col("household_id").alias("user_id"),
            pl.col("transaction_timestamp").str.to_datetime(time_unit="us").to_physical().alias("time"),
            pl.lit("purchase").alias("action"),
            pl.col("product_id").alias("item_id"),
            "l1",
            "l2",
            pl.col("basket_id").alias("session_id"),
        ).to_dicts()
    )


@pytest.fixture(scope="session")
def taobao(make_events):
    """21 whole users with four actions and one category level."""
    log = pl.read_csv(
        _sample("taobao_userbehavior", "UserBehavior.csv"),
        has_header=False,
        infer_schema=False,
        new_columns=["user_id", "item_id", "l2", "action", "time"],
    )
    actions = {"pv": "click", "buy": "purchase", "cart": "cart", "fav": "favourite"}
    return make_events(
        log.with_columns(pl.col("action").replace_strict(actions), pl.col("time").cast(pl.Int64) * 1_000_000).to_dicts()
    )
