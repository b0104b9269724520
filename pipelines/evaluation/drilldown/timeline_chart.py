"""The life of a user as one picture: visits by what was done, borders of batches, recall at every transition.

Drawn once into SVG, which a page holds as it is: no script, and text in the colour of the page around it.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl
import vl_convert
from markupsafe import Markup

from pipelines.evaluation import plots
from pipelines.evaluation.drilldown.trail import Trail
from pipelines.evaluation.page import visible
from pipelines.memory.rendering import ACTIONS
from pipelines.tables import TIME

_WIDTH = 880
_BARS = 160
"""Bars over the whole life: a picture stays small however many visits there are."""
_UTC = {"type": "utc"}
_DATES = {"tickCount": 8, "aria": False}
"""What the renderer would say of dates is in the zone of this machine; tables say them in UTC."""
_LINK = re.compile(r'xlink:href="[^"#]*#([A-Za-z0-9-]+)"')
_POOLS = {"remember": ("circle", "#0072B2"), "infer": ("square", "#E69F00")}


def timeline(trail: Trail, places: Mapping[str, str]) -> Markup:
    """The picture as SVG; a point of a transition leads to where `places` (anchor → address) says."""
    visits = pl.DataFrame(
        {"at": [one.start for one in trail.visits], "action": [one.action for one in trail.visits]},
        schema={"at": TIME, "action": pl.String},
    )
    spec = plots.spec_of(
        pl.DataFrame(),
        {
            "vconcat": [_visits(visits, trail), _recall(trail)],
            "resolve": {"scale": {"x": "shared", "color": "independent", "shape": "independent"}},
        },
    )
    return svg(spec, places)


def svg(spec: plots.Spec, places: Mapping[str, str]) -> Markup:
    """A chart as SVG whose links (`#anchor`) lead to where `places` says."""
    # What it cannot write into XML ends the whole process, not the call.
    drawn: str = vl_convert.vegalite_to_svg(visible(spec))
    # The renderer makes every address absolute; ours name a page beside this one or a place in it.
    return Markup(_LINK.sub(lambda found: f'href="{places[found[1]]}"', drawn))


def _visits(visits: pl.DataFrame, trail: Trail) -> plots.Spec:
    begin, end = trail.visits[0].start, trail.visits[-1].start
    step = -(-max(int((end - begin).total_seconds()), 1) // _BARS)
    words = [*ACTIONS.values(), "other"]
    binned = (
        visits.with_columns(((pl.col("at") - begin).dt.total_seconds() // step * step).alias("second"))
        .group_by("second", pl.col("action").cast(pl.Enum(words)))
        .len("visits")
        .sort("second", "action")
        .with_columns((pl.lit(begin) + pl.duration(seconds=pl.col("second"))).alias("from"))
        .with_columns(
            (pl.col("from") + pl.duration(seconds=step)).alias("to"),
            pl.col("visits").cum_sum().over("second").alias("top"),
        )
        .with_columns((pl.col("top") - pl.col("visits")).alias("foot"), pl.col("action").cast(pl.String))
    )
    borders = [{"at": _iso(one.end), "batch": one.index} for one in trail.batches]
    colours = ["#009E73", "#E69F00", "#CC79A7", "#0072B2", "#56B4E9", "#999999"]
    return {
        "width": _WIDTH,
        "height": 110,
        "layer": [
            {
                "data": {"values": [_dated(row) for row in binned.drop("second").to_dicts()]},
                "mark": {"type": "rect", "aria": False},
                "encoding": {
                    "x": {"field": "from", "type": "temporal", "scale": _UTC, "title": None, "axis": _DATES},
                    "x2": {"field": "to"},
                    "y": {"field": "top", "type": "quantitative", "title": "visits", "axis": {"tickCount": 4}},
                    "y2": {"field": "foot"},
                    "color": {
                        "field": "action",
                        "type": "nominal",
                        "scale": {"domain": words, "range": colours},
                        "title": "strongest action",
                    },
                },
            },
            {
                "data": {"values": borders},
                "mark": {"type": "rule", "aria": False, "strokeDash": [4, 3], "color": plots.INK, "opacity": 0.4},
                "encoding": {"x": {"field": "at", "type": "temporal", "scale": _UTC}},
            },
        ],
    }


def _recall(trail: Trail) -> plots.Spec:
    rows = [
        {
            "at": _iso(moment.history_end),
            "pool": unit.pool,
            "recall": round(sum(one.n_hit for one in unit.answers) / (len(unit.answers) * unit.n_choose), 4),
            "to": f"#t{moment.index}",
            "says": f"transition {moment.index}, {unit.pool}",
        }
        for moment in trail.moments
        for unit in moment.units
        if unit.answers
    ]
    return {
        "width": _WIDTH,
        "height": 80,
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
        "encoding": {
            "x": {"field": "at", "type": "temporal", "scale": _UTC, "title": None, "axis": _DATES},
            "y": plots.share_axis("recall", "recall"),
            "color": _by_pool(1),
            "shape": _by_pool(0),
            "href": {"field": "to"},
            "description": {"field": "says"},
        },
    }


def _by_pool(part: int) -> plots.Spec:
    scale = {"domain": list(_POOLS), "range": [look[part] for look in _POOLS.values()]}
    return {"field": "pool", "type": "nominal", "scale": scale, "title": "pool"}


def _dated(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _iso(value) if name in ("from", "to") else value for name, value in row.items()}


def _iso(moment: Any) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
