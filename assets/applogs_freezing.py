"""The end of a release of app logs: the funnel."""

import polars as pl

from assets.applogs import applog_step, of_drops
from assets.partitions import RELEASES
from assets.publishing import Made
from assets.steps import Given
from pipelines.applogs.funnel import steps
from pipelines.applogs.step_tables import DROP_TABLES, DROPPED
from pipelines.commerce.funnel import funnel

COUNTED = ("app_logs", "checkpoints", "gold_items", "gold_states")


@applog_step(
    RELEASES,
    reads=(*DROP_TABLES, *COUNTED),
    thresholds=("truth", "tasks"),
    code=("pipelines.applogs.funnel", "pipelines.applogs.merging"),
)
def applog_funnel(given: Given) -> Made:
    """What of users, logs and states went in, stayed and left at every step, by reason."""
    every = pl.concat([given.lazy(table).select("user_id").unique() for table in DROP_TABLES]).unique().collect()
    brought = {"app_logs": sum(one.rows for one in given.published(f"{DROPPED}app_logs"))}
    tables = {**{name: given[name] for name in COUNTED}, "anchors": of_drops(given, "anchors")}
    return Made({"applog_funnel": funnel(steps(brought, every["user_id"], tables, given.settings))})
