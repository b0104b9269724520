"""REES46 shop events: multi-category, electronics and cosmetics logs share one layout."""

from pipelines.commerce.mapping import Columns, Mapping, Time

MAPPING = Mapping(
    name="rees46",
    description="REES46 / Kaggle shop events (multi-category, electronics, cosmetics)",
    format=("csv",),
    columns=Columns(
        user=("user_id",),
        item=("product_id",),
        action=("event_type",),
        dotted=("category_code",),
        brand=("brand",),
        price=("price",),
        session=("user_session",),
    ),
    time=Time(
        column=("event_time",),
        # The suffix is a literal in the published files; prepared copies carry an offset.
        patterns=("%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S%:z"),
        zone="UTC",
    ),
    actions={"view": "browse", "cart": "cart", "remove_from_cart": "cancel", "purchase": "purchase"},
    missing=("Unknown",),
    duplicates="drop",
)
