"""Charts of an app-log leaderboard: methods over checkpoints, what became of states, why answers are wrong."""

import polars as pl

from pipelines.applogs.board_tables import ATTRIBUTED_BY, ATTRIBUTIONS
from pipelines.applogs.tables import LABELS
from pipelines.evaluation.plots import FIT, Spec, method_colour, method_line, share_axis, spec_of, tooltip

HISTORIES_SHOWN = ("retained", "updated", "changed_earlier", "new")
_LABEL_COLOURS = ["#999999", "#D55E00", "#E69F00", "#CC79A7", "#56B4E9", "#F0E442", "#000000"]


def over_checkpoints(rows: pl.DataFrame) -> Spec:
    """A line a method over its checkpoints (rows of `applog_board` of one cell), with 95 % intervals."""
    shown = rows.filter(pl.col("place") > 0, pl.col("value").is_not_null()).sort("place", "method")
    x = {"field": "checkpoint", "type": "ordinal", "axis": {"labelAngle": 0}, "title": "checkpoint"}
    at = {"x": x, "xOffset": {"field": "method", "type": "nominal", "sort": shown["method"].unique().sort().to_list()}}
    ends = {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}
    points = {"y": share_axis("value", "score"), **method_line(shown), "tooltip": tooltip("method", "checkpoint",
              "value", "low", "high")}  # fmt: skip
    return spec_of(
        shown.select("method", "checkpoint", "value", "low", "high"),
        {
            "width": "container",
            "autosize": FIT,
            "height": 280,
            "layer": [
                {"mark": {"type": "rule", "opacity": 0.5}, "encoding": {**at, **ends, "color": method_colour(shown)}},
                {"mark": {"type": "line", "point": {"size": 40}, "strokeWidth": 1.5}, "encoding": {**at, **points}},
            ],
        },
    )


def by_history(rows: pl.DataFrame) -> Spec:
    """Retention and update (rows of `applog_retention` of one reader, metric, family): a column a history."""
    shown = rows.filter(
        pl.col("value").is_not_null(), pl.col("history").cast(pl.String).is_in(list(HISTORIES_SHOWN))
    ).with_columns(checkpoint=pl.format("C{}", "place"))
    encoding = {
        "x": {"field": "checkpoint", "type": "ordinal", "axis": {"labelAngle": 0}, "title": None},
        "y": share_axis("value", "score"),
        **method_line(shown),
        "tooltip": tooltip("method", "checkpoint", "value", "n_items"),
    }
    return spec_of(
        shown.select("method", "checkpoint", pl.col("history").cast(pl.String), "value", "n_items"),
        {
            "facet": {"column": {"field": "history", "type": "nominal", "sort": list(HISTORIES_SHOWN), "title": None}},
            "spec": {
                "width": 190,
                "height": 220,
                "mark": {"type": "line", "point": {"size": 30}, "strokeWidth": 1.5},
                "encoding": encoding,
            },
        },
    )


def why_wrong(rows: pl.DataFrame) -> Spec:
    """Labels of wrong answers (rows of `applog_attribution` of one task and family): a bar a method by rule, and below
    it one by the judge where one labelled.
    """
    shown = rows.with_columns(pl.col("by", "label").cast(pl.String)).sort("method", "by", "label")
    bars = max(shown.select("method", "by").n_unique(), 1)
    # A label has its colour on every page; what only a judge can do is named where one judged.
    judged = "judge" in shown["by"]
    known = [name for name in ATTRIBUTIONS if judged or name in LABELS]
    apart = {"yOffset": {"field": "by", "type": "nominal", "sort": list(ATTRIBUTED_BY)}} if judged else {}
    return spec_of(
        shown.select("method", "by", "label", "share", "n_items"),
        {
            "width": "container",
            "autosize": FIT,
            "height": 22 * bars,
            "mark": "bar",
            "encoding": {
                "y": {"field": "method", "type": "nominal", "title": None},
                **apart,
                "x": {"field": "share", "type": "quantitative", "stack": "normalize", "axis": {"format": ".0%"},
                      "title": "share of wrong answers"},
                "color": {"field": "label", "type": "nominal", "title": None,
                          "scale": {"domain": known, "range": _LABEL_COLOURS[: len(known)]}},
                "order": {"field": "label", "sort": "ascending"},
                "tooltip": tooltip("method", "by", "label", "share", "n_items"),
            },
        },
    )  # fmt: skip


def state_timeline(intervals: pl.DataFrame, evidence: pl.DataFrame, checkpoints: pl.DataFrame) -> Spec:
    """One user's states in time: a bar a value while it is true, marks where logs show it, lines at the checkpoints.

    `intervals` are rows of `state_intervals`; `evidence` rows of `state_evidence` with the `time` of their log;
    `checkpoints` rows of `checkpoints`. A value that lasts ends at the last checkpoint or log.
    """
    stamp = "%Y-%m-%dT%H:%M:%SZ"
    last = max([*checkpoints["as_of"].to_list(), *evidence["time"].to_list(), *intervals["valid_from"].to_list()])
    state = pl.col("state_key").str.replace(":", ": ").alias("state")
    bars = intervals.select(
        state,
        pl.col("value").str.slice(0, 80),
        pl.col("valid_from").dt.strftime(stamp).alias("from"),
        pl.col("valid_to").fill_null(pl.lit(last)).dt.strftime(stamp).alias("to"),
    )
    marks = evidence.select(
        state, pl.col("time").dt.strftime(stamp), pl.col("role").cast(pl.String), pl.col("app_log_id").alias("log")
    )
    lines = checkpoints.select(pl.col("as_of").dt.strftime(stamp), pl.col("checkpoint_id").alias("checkpoint"))
    y = {"field": "state", "type": "nominal", "title": None, "sort": "ascending"}
    # The clock of the logs, not that of the reader.
    clock = {"scale": {"type": "utc"}, "type": "temporal", "title": None}
    roles = ["supports", "cause", "distractor"]
    body: Spec = {
        "width": "container",
        "autosize": FIT,
        "height": 15 * pl.concat([bars["state"], marks["state"]]).n_unique(),
        "layer": [
            {
                "data": {"values": bars.to_dicts()},
                "mark": {"type": "bar", "opacity": 0.45, "stroke": "white", "height": {"band": 0.8}},
                "encoding": {
                    "y": y,
                    "x": {"field": "from", **clock},
                    "x2": {"field": "to"},
                    "color": {"field": "value", "type": "nominal", "legend": None},
                    "tooltip": tooltip("state", "value", "from", "to"),
                },
            },
            {
                "data": {"values": marks.to_dicts()},
                "mark": {"type": "point", "filled": True, "size": 14, "opacity": 0.9},
                "encoding": {
                    "y": y,
                    "x": {"field": "time", **clock},
                    "shape": {"field": "role", "type": "nominal", "title": None,
                              "scale": {"domain": roles, "range": ["circle", "triangle-up", "cross"]}},
                    "fill": {"field": "role", "type": "nominal", "title": None,
                             "scale": {"domain": roles, "range": ["#0072B2", "#009E73", "#D55E00"]}},
                    "tooltip": tooltip("state", "log", "role", "time"),
                },
            },
            {
                "data": {"values": lines.to_dicts()},
                "mark": {"type": "rule", "strokeDash": [4, 3]},
                "encoding": {"x": {"field": "as_of", **clock}, "tooltip": tooltip("checkpoint", "as_of")},
            },
        ],
    }  # fmt: skip
    return spec_of(pl.DataFrame(), body)
