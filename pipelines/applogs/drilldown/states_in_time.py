"""The states of a user in time: as rows, and as a picture that a page holds as it is."""

from collections.abc import Mapping

import polars as pl
from markupsafe import Markup

from pipelines.applogs.board_plots import state_timeline
from pipelines.applogs.tables import EVIDENCE_ROLES
from pipelines.evaluation.drilldown.timeline_chart import svg

_WIDTH = 680
"""Of the time axis; names of states stand beside it."""


def state_rows(intervals: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """Rows of `state_intervals` with the number of logs of each of `EVIDENCE_ROLES`, by state and time.

    `evidence` are rows of `state_evidence`; a log that imitates a state as such counts at none of its values.
    """
    roles = [pl.col("app_log_id").filter(pl.col("role").cast(pl.String) == role).n_unique().alias(role)
             for role in EVIDENCE_ROLES]  # fmt: skip
    counts = evidence.group_by("state_key", "value_id").agg(roles)
    return (
        intervals.join(counts, on=["state_key", "value_id"], how="left")
        .with_columns(pl.col(EVIDENCE_ROLES).fill_null(0))
        .sort("state_key", "valid_from", "value_id")
    )


def states_picture(
    intervals: pl.DataFrame, evidence: pl.DataFrame, checkpoints: pl.DataFrame, places: Mapping[str, str]
) -> Markup:
    """`state_timeline` as SVG; a mark leads to its log, a line to its checkpoint, where `places` says."""
    spec = state_timeline(intervals, evidence, checkpoints)
    _, marks, lines = spec["layer"]
    anchors = [log_anchor(one) for one in evidence["position"]], map(checkpoint_anchor, checkpoints["checkpoint_index"])
    for layer, own in zip((marks, lines), anchors, strict=True):
        layer["data"] = {"values": [
            {**row, "to": f"#{anchor}"} for row, anchor in zip(layer["data"]["values"], own, strict=True)
        ]}  # fmt: skip
        layer["encoding"]["href"] = {"field": "to"}
    for layer in spec["layer"]:
        # The tables say it all; what the renderer would say of every mark is longer than they are.
        layer["mark"]["aria"] = False
        layer["encoding"].pop("tooltip")
        layer["encoding"]["x"]["axis"] = {"aria": False, "tickCount": 8}
        if "y" in layer["encoding"]:
            layer["encoding"]["y"] = {**layer["encoding"]["y"], "axis": {"aria": False, "labelLimit": 260}}
    return svg(
        {**spec, "width": _WIDTH, "autosize": "pad", "padding": {"left": 32, "right": 32, "top": 5, "bottom": 5}},
        places,
    )


def checkpoint_anchor(index: int) -> str:
    """Where a page shows a checkpoint."""
    return f"c{index + 1}"


def log_anchor(position: int) -> str:
    """Where a page shows a log."""
    return f"l{position}"
