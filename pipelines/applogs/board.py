"""The leaderboard of an app-log release: methods on the same frozen questions (reference 5.3, 9; intervals ours).

A user's value is the mean over its checkpoints of the checkpoint's score, a method's the
mean over users. A checkpoint that was not run leaves both without a value: it is named,
never averaged away.
"""

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.applogs.board_tables import ALL, APPLOG_BOARD_TABLES, JUDGED_METRICS, LIST_METRICS, PLAIN_METRICS
from pipelines.applogs.contenders import ORACLE, RULE
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.summary import checkpoint_scores
from pipelines.applogs.tables import UNIT_STATUSES
from pipelines.evaluation import intervals
from pipelines.evaluation.leaderboard import EMPTY
from pipelines.evaluation.pairs import pair_rows, pairs_of, ranks
from pipelines.rounding import published

ARM = ["method", "reader", "budget"]
COMPARED = ("mechanical", "score", "evidence_f1")
"""Metrics whose differences are tested."""
SHUFFLED = "shuffled_user"
WEAK = "weak reader"
_CELL = ["board", "task", "expectation", "family", "metric"]
_COUNTS = ["n_items", *(f"n_{status}" for status in UNIT_STATUSES)]
_BOARD = APPLOG_BOARD_TABLES["applog_board"]
_PAIRS = APPLOG_BOARD_TABLES["applog_differences"]


def board_name(reader: str, budget: int) -> str:
    """What a board is called: the reader, and the budget of what it was shown."""
    return reader if reader == RULE else f"{reader}, {budget} tokens"


def user_values(units: pl.DataFrame, judged: pl.DataFrame, checkpoints: pl.DataFrame) -> pl.DataFrame:
    """One row an arm, user, `place` (0: all checkpoints, else from 1), task, expectation, family, metric.

    `units` and `judged` are `applog_units` and `applog_judged` with the columns `ARM`; metrics of a judge are of the
    judged questions alone. Columns `value` (null where a checkpoint was not run), counts of questions by status, and
    `not_run`, the checkpoints without an answer. Raises `ValueError` without units.
    """
    if units.is_empty():
        raise ValueError("no questions to rank: no question of the frozen set belongs to the sampled users")
    found = [
        _long(rows.drop(ARM), metrics, checkpoints).with_columns(
            pl.lit(value).alias(name) for name, value in zip(ARM, arm, strict=True)
        )
        for frame, metrics in ((units, PLAIN_METRICS), (judged, JUDGED_METRICS))
        for arm, rows in frame.group_by(ARM, maintain_order=True)
    ]
    kinds = [*ARM, "user_id", "task", "expectation", "family", "metric"]
    each = pl.concat(found)
    whole = each.group_by(kinds).agg(
        pl.when(pl.col("value").null_count() == 0).then(pl.col("value").mean()).alias("value"),
        pl.col(*_COUNTS, "not_run").sum(),
    )
    return pl.concat([whole.with_columns(place=pl.lit(0, pl.Int32)), each], how="diagonal").sort(*kinds, "place")


def _long(units: pl.DataFrame, metrics: tuple[str, ...], checkpoints: pl.DataFrame) -> pl.DataFrame:
    place = checkpoints.select("user_id", "checkpoint_id", (pl.col("checkpoint_index") + 1).alias("place"))
    scores = checkpoint_scores(units).join(place, on=["user_id", "checkpoint_id"])
    kinds = ["user_id", "place", "task", "expectation", "family", *_COUNTS, "run"]
    return (
        scores.unpivot(metrics, index=kinds, variable_name="metric")
        .filter(~pl.col("metric").str.ends_with("_families") | (pl.col("family") == ALL))
        .filter(~pl.col("metric").is_in(LIST_METRICS) | (pl.col("task") == NO_KEY))
        .with_columns(not_run=(~pl.col("run")).cast(pl.UInt32))
        .drop("run")
    )


def applog_board(
    values: pl.DataFrame,
    differences: pl.DataFrame,
    seed: int = 0,
    resamples: int = intervals.RESAMPLES,
    weak: Collection[str] = (),
) -> pl.DataFrame:
    """Table `applog_board` of `user_values`, with ranks and bands from `applog_differences`.

    Baselines stand on every board. Rows of the readers in `weak` are flagged.
    """
    kinds = ["board", "task", "place", "expectation", "family", "metric"]
    rows: list[dict[str, object]] = []
    for cell, mine in on_boards(values).group_by(kinds, maintain_order=True):
        rows += _cell_rows(dict(zip(kinds, cell, strict=True)), mine, differences, seed, resamples)
    frame = pl.DataFrame(rows, schema_overrides=_BOARD.schema, infer_schema_length=None)
    named = frame.with_columns(
        pl.when(pl.col("place") == 0).then(pl.lit(ALL)).otherwise(pl.format("C{}", "place")).alias("checkpoint"),
    )
    flagged = _flagged(published(named), weak)
    return flagged.select(pl.col(name).cast(dtype) for name, dtype in _BOARD.schema.items()).sort(_BOARD.sort_by)


def on_boards(values: pl.DataFrame) -> pl.DataFrame:
    """Rows of arms with the `board` that they stand on; those of baselines, and of arms without a budget, on each."""
    arms = values.select("reader", "budget").unique().sort("reader", "budget").rows()
    boards = sorted({board_name(reader, budget) for reader, budget in arms if reader != RULE and budget}) or [RULE]
    shared = {reader: [one for one in boards if one.startswith(f"{reader},")] or boards for reader, _ in arms}
    where = pl.DataFrame(
        [
            (reader, budget, board)
            for reader, budget in arms
            for board in ([board_name(reader, budget)] if reader != RULE and budget else shared[reader])
        ],
        schema={"reader": pl.String, "budget": values.schema["budget"], "board": pl.String},
        orient="row",
    )
    return values.join(where, on=["reader", "budget"])


def _matrix(rows: pl.DataFrame) -> tuple[list[tuple[str, str, int]], pl.DataFrame, intervals.Matrix]:
    """Arms of a cell, its users, and the values of users (rows) by arms (columns), NaN where there is none."""
    arms = rows.select(ARM).unique().sort(ARM)
    users = rows.select("user_id").unique().sort("user_id")
    grid = users.join(arms, how="cross").join(
        rows.select("user_id", *ARM, "value"), on=["user_id", *ARM], how="left", maintain_order="left"
    )
    table = grid.sort("user_id", *ARM)["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return arms.rows(), users, table.reshape(users.height, arms.height)


def _cell_rows(
    cell: Mapping[str, object], rows: pl.DataFrame, differences: pl.DataFrame, seed: int, resamples: int
) -> Iterator[dict[str, object]]:
    arms, users, table = _matrix(rows)
    known: npt.NDArray[np.bool_] = ~np.isnan(table)
    means, _ = intervals.bootstrap(np.where(known, table, 0.0), known.astype(np.float64), seed, resamples)
    whole = np.atleast_1d(known.all(axis=0))
    counted = rows.group_by(ARM).agg(pl.col(*_COUNTS, "not_run").sum()).rows_by_key(ARM, named=True, unique=True)
    names = [method for method, _, _ in arms]
    ranked: dict[str, dict[str, object]] = {}
    if cell["place"] == 0 and cell["family"] == ALL:
        mine = differences.filter(
            *(pl.col(name).cast(pl.String) == str(cell[name]) for name in ("board", "task", "expectation", "metric"))
        )
        ranked = ranks(names, np.where(whole, means.value, np.nan), mine)
    for at, arm in enumerate(arms):
        counts = counted[arm]
        yield {
            **cell,
            **dict(zip(ARM, arm, strict=True)),
            "kind": _kind(arm[0], arm[1]),
            "rank": None,
            "band": None,
            **ranked.get(arm[0], {}),
            # A method that did not run somewhere has no mean; what it has elsewhere stands in the rows of checkpoints.
            "value": means.value[at] if whole[at] else None,
            "low": means.low[at] if whole[at] else None,
            "high": means.high[at] if whole[at] else None,
            "coverage": (counts["n_ok"] + counts["n_abstained"]) / counts["n_items"],
            **{name: counts[name] for name in _COUNTS},
            "n_users": users.height,
            "n_not_run": counts["not_run"],
        }


def _kind(method: str, reader: str) -> str:
    if method == ORACLE:
        return "scoring side"
    return "control" if reader == RULE or method in (EMPTY, SHUFFLED) else "method"


def applog_differences(
    values: pl.DataFrame, seed: int = 0, resamples: int = intervals.RESAMPLES, flips: int = intervals.FLIPS
) -> pl.DataFrame:
    """Table `applog_differences`: every pair of methods of a board, over all checkpoints and families."""
    kinds = ["board", "task", "expectation", "metric"]
    headline = (pl.col("place") == 0) & (pl.col("family") == ALL) & pl.col("metric").is_in(COMPARED)
    tables = [_PAIRS.empty()]
    for cell, mine in on_boards(values.filter(headline)).group_by(kinds, maintain_order=True):
        rows = _pairs(mine, seed, resamples, flips)
        if rows is not None:
            named = rows.with_columns(pl.lit(value).alias(name) for name, value in zip(kinds, cell, strict=True))
            tables.append(named.select(pl.col(name).cast(dtype) for name, dtype in _PAIRS.schema.items()))
    return published(pl.concat(tables)).sort(_PAIRS.sort_by)


def _pairs(rows: pl.DataFrame, seed: int, resamples: int, flips: int) -> pl.DataFrame | None:
    arms, users, table = _matrix(rows)
    names = [method for method, _, _ in arms]
    if len(names) < 2:
        return None
    ran = ~np.isnan(table).all(axis=0)
    common = ~np.isnan(table[:, ran]).any(axis=1)
    asked = rows.filter(pl.col("user_id").is_in(users["user_id"].filter(pl.Series(common)).to_list()))
    n_units = max(asked.group_by(ARM).agg(pl.col("n_items").sum())["n_items"].to_list(), default=0)
    first, second = (np.array(places) for places in zip(*pairs_of(names), strict=True))
    apart = table[common][:, first] - table[common][:, second]
    sizes = np.where(np.isnan(apart), 0.0, 1.0)
    means, _ = intervals.bootstrap(np.nan_to_num(apart), sizes, seed, resamples)
    p = np.where(sizes.all(axis=0), intervals.sign_flip_p(np.nan_to_num(apart), seed, flips), np.nan)
    return pair_rows(names, means, p, n_units, int(common.sum()))


def _flagged(board: pl.DataFrame, weak: Collection[str]) -> pl.DataFrame:
    """Methods no better than an empty memory or another user's, questions without an answer, checkpoints not run."""
    at = [*_CELL, "place"]

    def level(method: str) -> pl.DataFrame:
        rows = board.filter(pl.col("method") == method).unique(at, keep="first", maintain_order=True)
        return rows.select(*at, pl.col("value").alias(method))

    judged = (pl.col("kind") == "method") & (pl.col("metric") != "stale_evidence")
    flags = [
        pl.when(judged & (pl.col("value") <= pl.col(EMPTY))).then(pl.lit("no better than an empty memory")),
        pl.when(judged & (pl.col("value") <= pl.col(SHUFFLED))).then(pl.lit("no better than another user's")),
        pl.when(pl.col("coverage") < 1).then(pl.lit("coverage < 1")),
        pl.when(pl.col("n_not_run") > 0).then(pl.format("{} checkpoints not run", "n_not_run")),
        pl.when(pl.col("reader").is_in(list(weak))).then(pl.lit(WEAK)),
    ]
    levels = board
    for method in (EMPTY, SHUFFLED):
        levels = levels.join(level(method), on=at, how="left", maintain_order="left")
    return levels.with_columns(pl.concat_str(flags, separator="; ", ignore_nulls=True).alias("flags"))
