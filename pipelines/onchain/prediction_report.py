"""The report of an experiment on an on-chain release."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from pipelines.evaluation import plots
from pipelines.evaluation.drilldown.index import USERS, user_index
from pipelines.evaluation.drilldown.units import TARGET_UNIT
from pipelines.evaluation.page import card_cautions, few, offered, page, visible, visible_frame
from pipelines.evaluation.report import FEW_USERS
from pipelines.onchain.baselines import RULE
from pipelines.onchain.board_tables import GROUP_KINDS, READINGS, STATUSES
from pipelines.onchain.prediction_board import LOWER_IS_BETTER, METRICS_OF
from pipelines.onchain.scores import LAYERS

TITLES = {
    ("belief", "accuracy"): "final-side accuracy",
    ("belief", "mae"): "confidence MAE",
    ("trade", "accuracy"): "direction accuracy",
    ("trade", "mae"): "amount MAE, shares",
    ("trade", "medae"): "amount median absolute error, shares",
}
_BASE_UNITS = 1e6
"""Of a share; people read shares."""
_NUMBERS = ("value", "low", "high", "by_wallet", "by_wallet_low", "by_wallet_high", "best")


def render_predictions(
    tables: Mapping[str, pl.DataFrame], card: Mapping[str, Any], provenance: Mapping[str, Any]
) -> str:
    """The page as text.

    `tables` holds `prediction_board` and, each optional, `prediction_differences`, `labels` (of
    `label_statistics`), `costs` and `users`
    (`drilldown.index.USERS`, pages of wallets). `card` is the release card; `provenance` as in `page.page`. Amounts are
    shown in shares.
    """
    shown = {name: visible_frame(frame) for name, frame in tables.items()}
    board = in_shares(shown["prediction_board"], _NUMBERS)
    pairs = shown.get("prediction_differences")
    pairs = None if pairs is None else in_shares(pairs, ("difference", "low", "high"))
    specs: list[plots.Spec] = []
    views = [
        {"board": name, "layers": [_layer(board, pairs, name, layer, specs) for layer in LAYERS]}
        for name in board["board"].unique().sort()
    ]
    return page(
        "predictions.html.j2",
        card=card,
        funnel=visible(card.get("funnel") or []),
        provenance=provenance,
        cautions=_cautions(board, card),
        specs=specs,
        views=views,
        rule=RULE,
        filters=offered(
            board=[view["board"] for view in views],
            layer=list(LAYERS),
            method=board["method"].unique().sort().to_list(),
            group=list(GROUP_KINDS[1:]),
        ),
        users=user_index(
            tables.get("users", USERS.to_frame()), "wallet", "right answers, all methods", "targets", TARGET_UNIT
        ),
        statuses=STATUSES,
        labels=shown["labels"].to_dicts() if "labels" in shown else None,
        costs=shown["costs"].to_dicts() if "costs" in shown else None,
    )


def standing(board: pl.DataFrame, name: str, layer: str, metric: str) -> plots.Spec:
    """Every method of a board by one metric over all targets, with its 95 % interval, best first."""
    rows = in_shares(_best_first(_cell(board, name, layer, metric)), _NUMBERS)
    axis = plots.share_axis if _is_share(layer, metric) else plots.size_axis
    return plots.ranked(rows, "value", low="low", high="high", axis=axis("value", TITLES[layer, metric]))


def _layer(
    board: pl.DataFrame, pairs: pl.DataFrame | None, name: str, layer: str, specs: list[plots.Spec]
) -> dict[str, Any]:
    mine = board.filter((pl.col("board") == name) & (pl.col("layer") == layer))
    shown = METRICS_OF[layer] if mine.height else ()
    return {"layer": layer, "metrics": [_metric(mine, pairs, name, layer, metric, specs) for metric in shown]}


def _metric(
    mine: pl.DataFrame, pairs: pl.DataFrame | None, name: str, layer: str, metric: str, specs: list[plots.Spec]
) -> dict[str, Any]:
    rows = mine.filter(pl.col("metric") == metric)
    share = _is_share(layer, metric)
    axis = (plots.share_axis if share else plots.size_axis)("value", TITLES[layer, metric])
    whole = _best_first(rows.filter((pl.col("group_kind") == "all") & (pl.col("reading") == READINGS[0])))
    valid = rows.filter((pl.col("group_kind") == "all") & (pl.col("reading") == READINGS[1]))
    specs.append(plots.ranked(whole, "value", low="low", high="high", axis=axis))
    view: dict[str, Any] = {
        "title": TITLES[layer, metric],
        "lower": LOWER_IS_BETTER[metric],
        "digits": 3 if share else 2,
        "rows": whole.to_dicts(),
        "valid": valid.rows_by_key("method", named=True, unique=True),
        "plot": len(specs) - 1,
        "groups": [],
        "differences": None,
    }
    for kind in GROUP_KINDS[1:]:
        part = rows.filter((pl.col("group_kind") == kind) & (pl.col("n_units") > 0))
        if part.height:
            specs.append(plots.grouped(part, "value", low="low", high="high", axis=axis, sizes="n_wallets"))
            view["groups"].append({"kind": kind, "plot": len(specs) - 1, **_grouped(part)})
    if pairs is not None:
        same = (pl.col("board") == name) & (pl.col("layer") == layer) & (pl.col("metric") == metric)
        view["differences"] = pairs.filter(same).sort("p_holm", "method", "other", nulls_last=True).to_dicts()
    return view


def _grouped(part: pl.DataFrame) -> dict[str, Any]:
    """A table of groups: one line a method, one cell a group."""
    cells: dict[str, dict[str, Any]] = {}
    for row in part.to_dicts():
        cells.setdefault(row["method"], {})[row["group"]] = row
    sizes = part.group_by("group").agg(pl.max("n_units", "n_wallets")).rows_by_key("group", named=True, unique=True)
    return {"groups": part["group"].unique(maintain_order=True).to_list(), "sizes": sizes, "methods": cells}


def _cell(board: pl.DataFrame, name: str, layer: str, metric: str) -> pl.DataFrame:
    wanted = {"board": name, "layer": layer, "metric": metric, "reading": READINGS[0], "group_kind": "all"}
    return board.filter(*(pl.col(column).cast(pl.String) == value for column, value in wanted.items()))


def _best_first(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort("rank", "method")


def _is_share(layer: str, metric: str) -> bool:
    return layer == "belief" or metric == "accuracy"


def in_shares(rows: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """Rows of the board or of differences, errors of amounts in shares instead of base units."""
    amount = (pl.col("layer").cast(pl.String) == "trade") & (pl.col("metric").cast(pl.String) != "accuracy")
    return rows.with_columns(
        pl.when(amount).then(pl.col(name) / _BASE_UNITS).otherwise(pl.col(name)).alias(name) for name in columns
    )


def _cautions(board: pl.DataFrame, card: Mapping[str, Any]) -> list[str]:
    out = card_cautions(card)
    whole = board.filter((pl.col("group_kind") == "all") & (pl.col("reading") == READINGS[0]))
    wallets = whole["n_wallets"].max()
    if isinstance(wallets, int) and wallets < FEW_USERS:
        out.append(few(wallets, "wallet"))
    if set(board["board"]) == {RULE}:
        out.append("Only baselines answered: no reader was asked.")
    flagged = whole.filter(pl.col("flags") != "").sort("board", "layer", "metric", "method")
    for row in flagged.to_dicts():
        out.append(f"{row['method']} ({row['board']}, {TITLES[row['layer'], row['metric']]}): {row['flags']}.")
    return [*out, "The paper's cohort and thresholds are not published; its counts are shown for orientation only."]
