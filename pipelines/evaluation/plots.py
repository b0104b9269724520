"""Vega-Lite charts of the evaluation, as plain dictionaries for the report and for asset metadata.

Colours are Okabe and Ito's, which stay apart for colour-blind readers; kinds of
rows differ in shape too. Text takes the colour of the page around it.
"""

from typing import Any

import polars as pl
import vl_convert

from pipelines.evaluation.leaderboard import BOARD
from pipelines.evaluation.tables import ROW_KINDS

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#999999", "#F0E442"]
SHAPES = ["circle", "square", "diamond", "triangle-up", "cross"]
_DASHES = [[1, 0], [6, 3], [2, 2]]
INK = "currentColor"
FIT = {"type": "fit-x", "contains": "padding"}
_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "view": {"stroke": None},
    "font": "system-ui, sans-serif",
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "tickColor": INK,
        "domainColor": INK,
        "gridColor": "#80808040",
        "labelLimit": 260,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "labelLimit": 260, "symbolOpacity": 1},
    "header": {"labelColor": INK, "titleColor": INK},
    "title": {"color": INK},
}

Spec = dict[str, Any]


def recall(board: pl.DataFrame, reader: str, budget: int, pool: str) -> Spec:
    """Recall of every method with its 95 % interval, best first, and chance as a line."""
    rows = _rows(board, reader, budget, pool, "all").sort("recall", "method", descending=[True, False])
    ends = {"low": "recall_low", "high": "recall_high"}
    return ranked(rows, "recall", **ends, axis=share_axis("recall", "recall"), line="chance")


def ranked(rows: pl.DataFrame, field: str, *, low: str, high: str, axis: Spec, line: str = "") -> Spec:
    """One point a method (columns method, kind), in the order of the rows, with its interval.

    `axis` is the encoding of the points; `line` is a column whose mean is drawn as a dashed line.
    """
    y = {"field": "method", "type": "nominal", "sort": rows["method"].to_list(), "title": None}
    dashed = {
        "mark": {"type": "rule", "strokeDash": [4, 3], "color": INK, "opacity": 0.6},
        "encoding": {"x": {"aggregate": "mean", "field": line, "type": "quantitative"}},
    }
    return spec_of(
        rows.select("method", "kind", field, low, high, *([line] if line else [])),
        {
            "width": "container",
            "autosize": FIT,
            "height": 22 * max(rows.height, 1),
            "layer": [*([dashed] if line else []), *_points(y, field, low, high, axis, size=70)],
        },
    )


def by_group(board: pl.DataFrame, reader: str, budget: int, pool: str, group_kind: str) -> Spec:
    """Recall by familiarity or activity group, one column a group, with 95 % intervals."""
    rows = _rows(board, reader, budget, pool, group_kind).filter(pl.col("n_units") > 0)
    ends = {"low": "recall_low", "high": "recall_high"}
    return grouped(rows, "recall", **ends, axis=share_axis("recall", "recall"), sizes="n_users")


def grouped(rows: pl.DataFrame, field: str, *, low: str, high: str, axis: Spec, sizes: str) -> Spec:
    """As `ranked`, one column of points a `group`; `sizes` is shown on pointing at one."""
    y = {"field": "method", "type": "nominal", "title": None}
    groups = rows["group"].unique(maintain_order=True).to_list()
    return spec_of(
        rows.select("group", "method", "kind", field, low, high, sizes),
        {
            "facet": {"column": {"field": "group", "type": "nominal", "sort": groups, "title": None}},
            "spec": {
                "width": 170,
                "height": {"step": 20},
                "layer": _points(y, field, low, high, axis, size=60, more=(sizes,)),
            },
        },
    )


def _points(
    y: Spec, field: str, low: str, high: str, axis: Spec, *, size: int, more: tuple[str, ...] = ()
) -> list[Spec]:
    """An interval and the point on it."""
    return [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {
                "y": y,
                "x": {"field": low, "type": "quantitative"},
                "x2": {"field": high},
                "color": _kind_colour(),
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": size, "opacity": 1},
            "encoding": {
                "y": y,
                "x": axis,
                "color": _kind_colour(),
                "shape": _kind_shape(),
                "tooltip": tooltip("method", field, low, high, *more),
            },
        },
    ]


def by_position(positions: pl.DataFrame, reader: str, budget: int, pool: str) -> Spec:
    """Share of positives that were chosen, by the candidate's place in the pool; flat when place does not matter."""
    rows = positions.filter(
        (pl.col("reader") == reader)
        & (pl.col("budget") == budget)
        & (pl.col("pool").cast(pl.String) == pool)
        & (pl.col("n_positives") > 0)
    ).with_columns((pl.col("n_hit") / pl.col("n_positives")).round(4).alias("recall"))
    encoding = {
        "x": {"field": "position", "type": "quantitative", "title": "place in the pool, from 0"},
        "y": {
            "field": "recall",
            "type": "quantitative",
            "scale": {"domain": [0, 1]},
            "title": "recall of positives there",
        },
        **method_line(rows),
        "tooltip": tooltip("method", "position", "recall", "n_positives"),
    }
    return spec_of(
        rows.select("method", "position", "recall", "n_positives"),
        {
            "width": "container",
            "autosize": FIT,
            "height": 240,
            "mark": {"type": "line", "point": {"size": 18}, "strokeWidth": 1.5},
            "encoding": encoding,
        },
    )


def picture(spec: Spec) -> bytes:
    """A chart of `recall` as a PNG on white, for places that run no script."""
    fixed = {"width": 420, "autosize": {"type": "pad"}, "background": "white", "padding": 8}
    return bytes(vl_convert.vegalite_to_png(spec | fixed))


def _rows(board: pl.DataFrame, reader: str, budget: int, pool: str, group_kind: str) -> pl.DataFrame:
    return board.filter(
        (pl.col(BOARD[0]) == reader)
        & (pl.col(BOARD[1]) == budget)
        & (pl.col("pool") == pool)
        & (pl.col("group_kind") == group_kind)
    )


def spec_of(rows: pl.DataFrame, body: Spec, digits: int = 4) -> Spec:
    """A whole chart of the rows, whose numbers are cut to so many digits."""
    floats = rows.with_columns(pl.col(pl.Float64).round(digits))
    return {"$schema": _SCHEMA, "config": _CONFIG, "data": {"values": floats.to_dicts()}} | body


def drawn(spec: Spec) -> Spec:
    """A chart made elsewhere, in the look of the others."""
    return spec | {"config": _CONFIG}


def share_axis(field: str, title: str) -> Spec:
    """The encoding of a share, from 0 to 1."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"tickCount": 5, "format": ".1f"},
        "title": title,
    }


def size_axis(field: str, title: str, numbers: str = "~s") -> Spec:
    """The encoding of an amount, from 0 on; logarithmic but for its beginning, as amounts differ by magnitudes."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"type": "symlog", "domainMin": 0},
        "axis": {"tickCount": 5, "format": numbers},
        "title": title,
    }


def _kind_colour() -> Spec:
    scale = {"domain": list(ROW_KINDS), "range": _COLOURS[: len(ROW_KINDS)]}
    return {"field": "kind", "type": "nominal", "scale": scale, "title": None}


def _kind_shape() -> Spec:
    return {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": list(ROW_KINDS), "range": SHAPES[: len(ROW_KINDS)]},
        "title": None,
    }


def tooltip(*fields: str) -> list[Spec]:
    """What is shown on pointing at a mark."""
    return [{"field": field} for field in fields]


def method_line(rows: pl.DataFrame) -> Spec:
    """Colour and dash of a method's line: methods that share a colour differ in their dash."""
    n = len(_COLOURS)
    dashes = [dash for dash in _DASHES for _ in range(n)]
    return {"color": method_colour(rows), "strokeDash": method_scale(rows, dashes)}


def method_colour(rows: pl.DataFrame) -> Spec:
    """The encoding that gives methods their colours, by name in turn."""
    return method_scale(rows, _COLOURS)


def method_scale(rows: pl.DataFrame, values: list[Any]) -> Spec:
    """The encoding that gives methods, by name, the values in turn."""
    methods = rows["method"].unique().sort().to_list()
    ranged = [values[place % len(values)] for place in range(len(methods))]
    return {"field": "method", "type": "nominal", "scale": {"domain": methods, "range": ranged}, "title": None}
