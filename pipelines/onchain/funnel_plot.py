"""The filters of the cohort as a chart: how many wallets each of them leaves."""

from typing import Any

import polars as pl

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def spec(cohort_funnel: pl.DataFrame) -> dict[str, Any]:
    """Vega-Lite chart of table `cohort_funnel`: a bar a filter, in their order, with the number beside it."""
    rows = cohort_funnel.sort("step").select("filter", "wallets")
    y = {"field": "filter", "type": "nominal", "sort": rows["filter"].to_list(), "title": None}
    x = {"field": "wallets", "type": "quantitative", "title": "wallets left"}
    label = {"type": "text", "align": "left", "dx": 4}
    return {
        "$schema": _SCHEMA,
        "data": {"values": rows.to_dicts()},
        "width": 420,
        "height": {"step": 20},
        "encoding": {"y": {**y, "axis": {"labelLimit": 260}}, "x": x},
        "layer": [
            {"mark": {"type": "bar", "color": "#0072B2"}},
            {"mark": label, "encoding": {"text": {"field": "wallets", "type": "quantitative", "format": ",d"}}},
        ],
    }
