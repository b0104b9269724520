"""Tianchi mobile (fresh_comp, mobile_recommend): Beijing hours without minutes, coded actions.

Equal rows are separate clicks that the hour hides, so they are kept. The item file is a
snapshot of later categories and is not read.
"""

from pipelines.commerce.mapping import Columns, Ignored, Mapping, Time

MAPPING = Mapping(
    name="tianchi_mobile",
    description="Tianchi mobile recommendation: tianchi_mobile_recommend_train_user.csv and its prepared copies",
    format=("csv",),
    columns=Columns(user=("user_id",), item=("item_id",), action=("behavior_type",), l2=("item_category",)),
    time=Time(column=("time",), patterns=("%Y-%m-%d %H",), zone="Asia/Shanghai"),
    actions={"1": "browse", "2": "favourite", "3": "cart", "4": "purchase"},
    duplicates="keep",
    resolution="hour",
    ignored=(
        Ignored(
            header=("item_id", "item_geohash", "item_category"),
            why="the item file is a snapshot; an item's category is the one its event carried",
        ),
    ),
)
