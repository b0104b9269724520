"""OTTO recommender log: a session is a user's whole four weeks; no categories, ms since 1970 UTC.

Days of this log begin at midnight in Berlin, which matters to day statistics only.
"""

from pipelines.commerce.mapping import Columns, Mapping, Time

MAPPING = Mapping(
    name="otto",
    description="OTTO recsys data set: one session a line with its events",
    format=("jsonl",),
    columns=Columns(user=("session",), item=("aid",), action=("type",)),
    nested="events",
    time=Time(column=("ts",), unit="ms"),
    actions={"clicks": "click", "carts": "cart", "orders": "purchase"},
    duplicates="drop",
)
