"""Instacart 2017: orders without absolute time, as order lines already joined or as the published tables.

The clock is made from the gaps between a user's orders (capped at 30 days by the
publisher) and the hour of the day; every user starts on the same day, so users cannot
be compared in time.
"""

from pipelines.commerce.mapping import Columns, Ignored, Lookup, Mapping, RelativeClock, Time

MAPPING = Mapping(
    name="instacart",
    description="Instacart market baskets: order lines, or order_products + orders + products + aisles + departments",
    format=("csv",),
    columns=Columns(user=("user_id",), item=("product_id",), l1=("department",), l2=("aisle",), session=("order_id",)),
    time=Time(relative=RelativeClock(order="order_number", days="days_since_prior_order", hour="order_hour_of_day")),
    action="purchase",
    duplicates="keep",
    resolution="hour",
    lookups=(
        Lookup(
            name="orders",
            key="order_id",
            columns=("user_id", "order_number", "order_hour_of_day", "days_since_prior_order"),
        ),
        Lookup(
            name="products",
            key="product_id",
            columns=("aisle_id", "department_id"),
            header=("product_id", "product_name", "aisle_id", "department_id"),
        ),
        Lookup(name="aisles", key="aisle_id", columns=("aisle",)),
        Lookup(name="departments", key="department_id", columns=("department",)),
    ),
    ignored=(Ignored(header=("order_id", "product_id"), why="a sample submission holds no behaviour"),),
)
