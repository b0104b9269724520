"""The trajectory of one wallet as a chart: what it holds of every outcome after each of its trades."""

import json
from typing import Any

import polars as pl
import vl_convert

from pipelines.evaluation.page import visible, visible_frame

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_PANELS = 12
"""Markets that are drawn, those with most trades first."""
SHARE = 1_000_000
"""Base units of one share."""


def spec(trajectory: pl.DataFrame, title: str) -> dict[str, Any]:
    """Vega-Lite chart of a trajectory (columns market, outcome_name, block_number, log_index, position_after): a panel
    a market, a line an outcome, in shares over blocks.
    """
    # A control character in a name would end the process of the renderer.
    trajectory = visible_frame(trajectory)
    busiest = trajectory.group_by("market").len().sort("len", "market", descending=[True, False]).head(_PANELS)
    rows = (
        trajectory.filter(pl.col("market").is_in(busiest["market"].implode()))
        .sort("block_number", "log_index")
        .select("market", "outcome_name", "block_number", (pl.col("position_after") / SHARE).alias("shares"))
    )
    left = trajectory["market"].n_unique() - busiest.height
    subtitle = f"{left} markets with fewer trades are not drawn" if left else ""
    return {
        "$schema": _SCHEMA,
        "title": {"text": visible(title), "subtitle": subtitle, "anchor": "start"},
        "data": {"values": rows.to_dicts()},
        "facet": {
            "field": "market",
            "type": "nominal",
            "title": None,
            "sort": busiest["market"].to_list(),
            "header": {"labelLimit": 280, "labelAnchor": "start"},
        },
        "columns": 3,
        "spec": {
            "width": 260,
            "height": 120,
            "mark": {"type": "line", "interpolate": "step-after", "point": {"size": 16}},
            "encoding": {
                "x": {
                    "field": "block_number",
                    "type": "quantitative",
                    "title": "block",
                    "scale": {"zero": False},
                    "axis": {"tickCount": 3, "format": ",d"},
                },
                "y": {"field": "shares", "type": "quantitative", "title": "shares"},
                "color": {"field": "outcome_name", "type": "nominal", "title": "outcome"},
            },
        },
        "resolve": {"scale": {"y": "independent"}},
    }


def png(chart: dict[str, Any]) -> bytes:
    """The chart as a PNG image."""
    image: bytes = vl_convert.vegalite_to_png(chart, scale=2)
    return image


def html(chart: dict[str, Any]) -> str:
    """The chart as a page that loads nothing, in which no name of a market can end the script."""
    # The chart stands in a script as it is: a character that no text needs takes the place of `<` on the way.
    page: str = vl_convert.vegalite_to_html(json.dumps(chart).replace("<", "\\ue000"), bundle=True)
    return page.replace("\ue000", "\\u003c")
