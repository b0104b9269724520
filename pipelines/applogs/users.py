"""From the drops of a release to its users: logs and checkpoints, and who is left out."""

import polars as pl

from pipelines.applogs.anchors import calendar_anchors
from pipelines.applogs.checkpoints import cut
from pipelines.applogs.settings import AppLogSettings


def checkpoints(logs: pl.DataFrame, anchors: pl.DataFrame, settings: AppLogSettings) -> pl.DataFrame:
    """Table `checkpoints`: where the task pack of a user has them, else by the calendar.

    Users of whom there is no log have none. Raises `checkpoints.BadCheckpoint`.
    """
    users = logs.select("user_id").unique()
    packed = anchors.join(users, on="user_id", how="semi")
    others = logs.join(packed.select("user_id").unique(), on="user_id", how="anti")
    return cut(logs, pl.concat([packed, calendar_anchors(others, settings.checkpoint_months)]))
