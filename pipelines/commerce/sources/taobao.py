"""Taobao UserBehavior (Tianchi 649): no header, one anonymous category level, Unix seconds."""

from datetime import UTC, datetime

from pipelines.commerce.mapping import Columns, Mapping, Time

MAPPING = Mapping(
    name="taobao",
    description="Alibaba UserBehavior.csv (Tianchi 649)",
    format=("csv",),
    positional=("user_id", "item_id", "category_id", "behavior", "timestamp"),
    columns=Columns(user=("user_id",), item=("item_id",), action=("behavior",), l2=("category_id",)),
    time=Time(
        column=("timestamp",),
        unit="s",
        # 25 November to 3 December 2017 in Beijing; the published file has stamps from 1902 to 2037.
        window=(datetime(2017, 11, 24, 16, tzinfo=UTC), datetime(2017, 12, 3, 16, tzinfo=UTC)),
    ),
    actions={"pv": "browse", "fav": "favourite", "cart": "cart", "buy": "purchase"},
    duplicates="drop",
)
