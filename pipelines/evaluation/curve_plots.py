"""Vega-Lite charts of what a readout's tokens and a method's model calls buy (see `curves`)."""

import polars as pl

from pipelines.evaluation.plots import (
    FIT,
    INK,
    SHAPES,
    Spec,
    method_colour,
    method_line,
    method_scale,
    share_axis,
    size_axis,
    spec_of,
    tooltip,
)

_INTERVAL: Spec = {"y": {"field": "recall_low", "type": "quantitative"}, "y2": {"field": "recall_high"}}


def by_budget(curve: pl.DataFrame) -> Spec:
    """Recall against the budget of the readout (rows of `curves.token_curve`, one reader and pool), a line a method.

    Bars are 95 % intervals, the dashed line chance.
    """
    # Side by side at each budget: intervals on one spot could not be told apart.
    at = {
        "x": {
            "field": "budget",
            "type": "ordinal",
            "scale": {"type": "band", "paddingInner": 0.6, "paddingOuter": 0.3},
            "axis": {"labelAngle": 0, "labelExpr": "format(datum.value, ',')"},
            "title": "budget of the readout, tokens",
        },
        "xOffset": {"field": "method", "type": "nominal", "sort": curve["method"].unique().sort().to_list()},
    }
    chance = {"aggregate": "mean", "field": "chance", "type": "quantitative"}
    shown = ("method", "budget", "tokens", "recall", "recall_low", "recall_high")
    return spec_of(
        curve.select(*shown, "chance"),
        {
            "width": "container",
            "autosize": FIT,
            "height": 260,
            "layer": [
                {
                    "mark": {"type": "rule", "strokeDash": [4, 3], "color": INK, "opacity": 0.6},
                    "encoding": {"y": chance},
                },
                {
                    "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.7},
                    "encoding": {**at, **_INTERVAL, "color": method_colour(curve)},
                },
                {
                    "mark": {"type": "line", "point": {"size": 50}, "strokeWidth": 1.5},
                    "encoding": {
                        **at,
                        "y": share_axis("recall", "recall"),
                        **method_line(curve),
                        "tooltip": tooltip(*shown),
                    },
                },
            ],
        },
    )


def beside_cost(points: pl.DataFrame) -> Spec:
    """Recall beside what building and reading took (rows of `curves.beside_cost`, one reader and pool).

    A panel each for cost, tokens and seconds, one point an arm, with its 95 % interval; arms without a price are in the
    other panels only, and without any price there is no panel of cost.
    """
    rows = points.with_columns(tokens=pl.col("prompt_tokens") + pl.col("reply_tokens"))
    panels = {
        "cost": size_axis("cost", "cost, USD", "~r"),
        "tokens": size_axis("tokens", "tokens sent and received"),
        "seconds": size_axis("seconds", "seconds of waiting for replies", "~r"),
    }
    if rows["cost"].null_count() == rows.height:
        del panels["cost"]
    shown = ("method", "budget", "recall", "recall_low", "recall_high", "cost", "tokens", "seconds")
    return spec_of(
        rows.select(shown),
        {
            "hconcat": [
                {
                    "width": 230,
                    "height": 230,
                    "transform": [{"filter": f"isValid(datum.{field})"}],
                    "encoding": {"x": axis, "color": method_colour(rows)},
                    "layer": [
                        {"mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.7}, "encoding": _INTERVAL},
                        {
                            "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                            "encoding": {
                                "y": share_axis("recall", "recall"),
                                "shape": method_scale(rows, SHAPES),
                                "tooltip": tooltip(*shown),
                            },
                        },
                    ],
                }
                for field, axis in panels.items()
            ]
        },
        # Calls cost parts of a cent.
        digits=9,
    )
