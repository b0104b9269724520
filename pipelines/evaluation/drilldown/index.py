"""The part of a report that leads to the pages of users."""

from typing import Any

import polars as pl

from pipelines.evaluation.drilldown.choosing import CHOSEN, LOWEST
from pipelines.evaluation.drilldown.pages import FOLDER, file_name

USERS = pl.Schema({**CHOSEN, "of": pl.Int64})
"""One row a user with a page; `of` is the number of users of the experiment, with a page or without."""
_WHY = {LOWEST: "among the lowest", "drawn": "drawn by keyed hash"}


def user_index(users: pl.DataFrame, kind: str, measure: str, asked: str, unit: str) -> dict[str, Any] | None:
    """What the template shows of the users (frame `USERS`); None where no user has a page.

    `kind` is `user` or `wallet`, `measure` says what the column `value` is, `asked` what `n_units` counts, `unit` how
    a unit is spelt.
    """
    if users.is_empty():
        return None
    of = int(users["of"][0])
    every = (
        f"Every {kind} of the experiment has a page"
        if users.height == of
        else (f"{users.height:,} of {of:,} {kind}s have a page: half of these have the lowest values, half are drawn")
    )
    rows = [
        {
            **row,
            "why": "all have one" if users.height == of else _WHY[row["why"]],
            "file": f"{FOLDER}/{file_name(row['user'])}",
        }
        for row in users.iter_rows(named=True)
    ]
    return {
        "title": f"From a score to its reasons: {kind}s",
        "kind": kind,
        "asked": asked,
        "measure": measure,
        "says": every,
        "unit": unit,
        "rows": rows,
    }
