"""What the report shows besides its boards: a function a section, which gives nothing where there is nothing to show.

Frames are made visible by the caller. `chart` takes a plot and gives its place on the page.
"""

from collections.abc import Callable
from typing import Any

import polars as pl

from pipelines.evaluation import curve_plots, plots
from pipelines.evaluation.ablations import ablations
from pipelines.evaluation.curves import beside_cost, token_curve
from pipelines.evaluation.faults import LOST

Chart = Callable[[plots.Spec], int]
UNUSED = ("degraded", "parse_failures", "rejected")
"""What memories count under these names, a model said in vain; `degraded` counts users with a lost step (ours)."""
FIRST = ("batches", "visits", "calls", "tokens_in", "tokens_out")
"""Counts that are shown first, and come from all memories or all that ask a model."""


def budget_curves(board: pl.DataFrame, chart: Chart) -> list[dict[str, Any]]:
    """Recall against the readout's budget, one mapping a reader and pool; nothing when there is one budget only.

    Raises as `token_curve`.
    """
    curve = token_curve(board)
    views = []
    for (reader, pool), part in _by_pool(curve, ["reader", "pool"], board):
        budgets = part["budget"].unique().sort().to_list()
        if len(budgets) > 1:
            cells: dict[str, dict[int, dict[str, Any]]] = {}
            for row in part.to_dicts():
                cells.setdefault(row["method"], {})[row["budget"]] = row
            plot = chart(curve_plots.by_budget(part))
            views.append({"reader": reader, "pool": pool, "budgets": budgets, "methods": cells, "plot": plot})
    return views


def ablated(
    board: pl.DataFrame, differences: pl.DataFrame, configured: pl.DataFrame, chart: Chart
) -> list[dict[str, Any]]:
    """Configurations of one memory beside each other, one mapping a memory, reader, budget and pool."""
    rows = ablations(board, differences, configured)
    key = ["memory", "reader", "budget", "pool"]
    axis = plots.share_axis("recall", "recall")
    ends = {"low": "recall_low", "high": "recall_high"}
    return [
        {
            **dict(zip(key, values, strict=True)),
            "rows": part.to_dicts(),
            "plot": chart(plots.ranked(part, "recall", **ends, axis=axis, line="plain_recall")),
        }
        for values, part in _by_pool(rows, key, board)
    ]


def spent(board: pl.DataFrame, costs: pl.DataFrame, chart: Chart) -> dict[str, Any] | None:
    """The table `costs`, and recall beside cost by reader and pool; nothing when no model was asked.

    Judges alone stand beside no recall: it does not depend on them.
    """
    if costs.is_empty():
        return None
    asked = beside_cost(board, costs).filter((pl.col("n_calls") > 0).any().over("reader"))
    beside = [
        {"reader": reader, "pool": pool, "rows": part.to_dicts(), "plot": chart(curve_plots.beside_cost(part))}
        for (reader, pool), part in _by_pool(asked, ["reader", "pool"], board)
    ]
    return {"rows": costs.to_dicts(), "beside": beside}


def counted(builds: pl.DataFrame) -> dict[str, Any] | None:
    """What the memories counted (`method`, `count`, `n`, summed over users): a row a method, a column a count.

    Counts of the parts of another (`name:part`) are listed apart. `degrading` are the counts of what was lost or said
    in vain, `degraded` the methods where one is above 0.
    """
    if builds.is_empty():
        return None
    whole = ~pl.col("count").str.contains(":", literal=True)
    names = sorted(builds.filter(whole)["count"].unique(), key=_place)
    degrading = [name for name in names if _degrading(name)]
    cells: dict[str, dict[str, int]] = {}
    for method, count, n in builds.filter(whole).sort("method").select("method", "count", "n").iter_rows():
        cells.setdefault(method, {})[count] = n
    return {
        "counts": names,
        "degrading": degrading,
        "methods": cells,
        "degraded": [method for method, own in cells.items() if any(own.get(name, 0) > 0 for name in degrading)],
        "parts": builds.filter(~whole, pl.col("n") > 0).sort("method", "count").to_dicts(),
    }


def _by_pool(rows: pl.DataFrame, key: list[str], board: pl.DataFrame) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """The parts of the rows by a key that ends in the pool, in the order of the rows; pools in that of the board."""
    parts = list(rows.group_by(key, maintain_order=True))
    pools = board["pool"].cast(pl.String).unique(maintain_order=True).to_list()
    others = list(dict.fromkeys(values[:-1] for values, _ in parts))
    return sorted(parts, key=lambda part: (others.index(part[0][:-1]), pools.index(part[0][-1])))


def _degrading(count: str) -> bool:
    return count.startswith(LOST) or count in UNUSED


def _place(count: str) -> tuple[bool, int, str]:
    return _degrading(count), FIRST.index(count) if count in FIRST else len(FIRST), count
