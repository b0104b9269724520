"""The leaderboard: methods compared on the same frozen units, by reader, budget, pool and group.

A **board** is one reader and budget. Scoring-side rows (oracle, popularity,
chance) stand in every board, on its units, without a rank.
"""

from collections.abc import Iterator

import polars as pl

from pipelines.evaluation import intervals
from pipelines.evaluation.faults import NOTES
from pipelines.evaluation.groups import FIXED_GROUPS, activity_groups, valid_for_all
from pipelines.evaluation.pairs import ranks
from pipelines.evaluation.readers import UNIT
from pipelines.evaluation.scores import ANSWERED, CHANCE, GROUPS, SCORING_SIDE
from pipelines.evaluation.tables import STATUSES
from pipelines.rounding import published
from pipelines.schema import TABLES, conform

BOARD = ["reader", "budget"]
EMPTY = "empty"
SHUFFLED = "shuffled_user"
CONTROLS = (EMPTY, "recent_k", SHUFFLED)
_GROUP = ["pool", "group_kind", "place", "group"]
_SUMS = ("positives", "hit", "expected", "exposed", "exposable", "ap", "ap_units", "chance", "units", "exposure_units")

_ZEROS: dict[str, object] = dict.fromkeys(
    ("exposure_units", "n_units", "n_users", "n_positives", "n_hit", *(f"n_{status}" for status in STATUSES)), 0
)
"""A group without users."""


def leaderboard(
    units: pl.DataFrame, differences: pl.DataFrame, seed: int = 0, notes: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Table `leaderboard`: one row a board, pool, group and method; NaN never, null where undefined.

    - `group_kind`: `all` (every frozen unit); `familiarity` (positives of one
      familiarity), `activity` and `activity_fixed` (see `groups`), the last
      three on units that every method of the board answered.
    - `recall` is micro (ratio of sums), `user_recall` the mean of users' own, both with 95 % user-cluster intervals;
      `expected_recall` averages over orders of equal scores; `missed` = 1 − recall.
    - `chance` = mean over units of |P| / |pool|; `adjusted_recall` = (r − c) / (1 − c) of the micro recall.
    - `coverage` = share of units read; `bound_low`, `bound_high` = recall were the others all wrong, right.
    - `rank` and tie `band` (from `differences`) in the groups `all`; `flags` says what makes a row suspect, `notes`
      (`faults.NOTES`) what is known of it from elsewhere.

    Raises `ValueError` when `units` is empty, has a row twice, or when methods of a board cover different units.
    """
    if units.is_empty():
        raise ValueError("no units to rank: no pool of the frozen set belongs to the sampled users")
    rows = [row for key, frame in boards(units) for row in _board(key, frame, differences, seed)]
    board = pl.DataFrame(rows, schema=TABLES["leaderboard"].schema, orient="row")
    known = pl.DataFrame(schema=NOTES) if notes is None else notes
    flagged = _flagged(published(board), known)
    return conform(flagged.lazy(), "leaderboard").collect()


def boards(units: pl.DataFrame) -> Iterator[tuple[tuple[str, int], pl.DataFrame]]:
    """Each board's units with the scoring-side rows on the same units, and the analytic chance row.

    Hits become real numbers, because chance hits on average. See `leaderboard` for errors.
    """
    numbers = [name for name in units.columns if name.startswith("hit_")] + ["n_hit", "n_exposed"]
    real = units.sort("method", *BOARD, *UNIT).with_columns(
        pl.col(numbers).cast(pl.Float64), pl.col("pool").cast(pl.String)
    )
    aside = real.filter(pl.col("method").is_in(SCORING_SIDE))
    arms = real.filter(~pl.col("method").is_in(SCORING_SIDE))
    for key in (arms if arms.height else aside).select(BOARD).unique().sort(BOARD).iter_rows():
        own = (arms if arms.height else aside).filter((pl.col("reader") == key[0]) & (pl.col("budget") == key[1]))
        frozen = own.select(UNIT).unique()
        side = aside.filter(pl.col("method") != CHANCE).join(frozen, on=UNIT, how="semi")
        rows = pl.concat([own, side]) if arms.height else own
        counts = rows.group_by("method").agg(pl.len(), pl.struct(UNIT).n_unique().alias("distinct")).sort("method")
        for method, count, distinct in counts.iter_rows():
            if count != distinct:
                raise ValueError(f"board {key}: method {method} has {count - distinct} units twice")
            if distinct != frozen.height:
                raise ValueError(
                    f"board {key}: method {method} has {distinct} of {frozen.height} units; score it again"
                )
        yield key, pl.concat([rows, _chance(rows.filter(pl.col("method") == counts["method"][0]))])


def csv_safe(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with an apostrophe before text that a spreadsheet would run as a formula (= + - @, tab, return).

    For tables that people open, not for data: it changes values.
    """
    text = pl.col(pl.String)
    return frame.with_columns(pl.when(text.str.contains(r"^[=+\-@\t\r]")).then("'" + text).otherwise(text).name.keep())


def _chance(units: pl.DataFrame) -> pl.DataFrame:
    rate = pl.col("n_positives") / pl.col("n_candidates")
    return units.with_columns(
        pl.lit(CHANCE).alias("method"),
        pl.lit("ok").alias("status"),
        (rate * pl.col("n_positives")).alias("n_hit"),
        (rate * pl.col("n_positives")).alias("expected_hits"),
        (rate * pl.col("n_eligible")).alias("n_exposed"),
        *((rate * pl.col(f"n_{group}")).alias(f"hit_{group}") for group in GROUPS),
        pl.lit(None, dtype=pl.Float64).alias("average_precision"),
        pl.lit(0, dtype=pl.Int32).alias("tokens"),
    )


def _board(
    key: tuple[str, int], units: pl.DataFrame, differences: pl.DataFrame, seed: int
) -> Iterator[tuple[object, ...]]:
    measured = _measured(units)
    sums = measured.group_by(*_GROUP, "method", "user_id").agg(
        pl.col(*_SUMS, *STATUSES, "tokens", "answered_positives").sum(), pl.col("read").sum()
    )
    parts = sums.sort(*_GROUP, "method", "user_id").partition_by(_GROUP, as_dict=True, maintain_order=True)
    for group, part in parts.items():
        yield from _group_rows(key, group, part, differences, seed)
    for pool in units["pool"].unique().sort():
        for kind, name, place in FIXED_GROUPS.iter_rows():
            group = (pool, kind, place, name)
            if group not in parts:
                yield from (_row(key, group, method, _ZEROS) for method in units["method"].unique().sort())


def _measured(units: pl.DataFrame) -> pl.DataFrame:
    """One row a unit and group: what is added up."""
    exposable = pl.col("n_eligible") > 0
    answered = pl.col("status").is_in(ANSWERED)
    base = units.with_columns(
        pl.col("n_positives").cast(pl.Float64).alias("positives"),
        pl.col("n_hit").alias("hit"),
        pl.col("expected_hits").alias("expected"),
        pl.when(exposable).then(pl.col("n_exposed")).otherwise(0.0).alias("exposed"),
        pl.when(exposable).then(pl.col("n_positives")).otherwise(0).cast(pl.Float64).alias("exposable"),
        pl.col("average_precision").fill_null(0.0).alias("ap"),
        pl.col("average_precision").is_not_null().cast(pl.Float64).alias("ap_units"),
        (pl.col("n_positives") / pl.col("n_candidates")).alias("chance"),
        pl.lit(1.0).alias("units"),
        exposable.cast(pl.Float64).alias("exposure_units"),
        *((pl.col("status") == status).cast(pl.Float64).alias(status) for status in STATUSES),
        pl.col("tokens").cast(pl.Float64),
        (pl.col("status") != "missing").cast(pl.Float64).alias("read"),
        pl.when(answered).then(pl.col("n_positives")).otherwise(0).cast(pl.Float64).alias("answered_positives"),
    )
    columns = ["pool", "method", "user_id", *_SUMS, *STATUSES, "tokens", "read", "answered_positives"]
    valid = valid_for_all(base)
    none = pl.lit(0.0)
    familiar = [
        valid.filter(pl.col(f"n_{group}") > 0)
        .with_columns(
            pl.col(f"n_{group}").cast(pl.Float64).alias("positives"),
            pl.col(f"n_{group}").cast(pl.Float64).alias("answered_positives"),
            pl.col(f"hit_{group}").alias("hit"),
            *(none.alias(name) for name in ("exposed", "exposable", "exposure_units", "ap", "ap_units", "expected")),
        )
        .select(*columns, *_label("familiarity", group, place))
        for place, group in enumerate(GROUPS)
    ]
    active = valid.select(columns).join(activity_groups(units), on="user_id", how="inner")
    everything = base.select(*columns, *_label("all", "all", 0))
    return pl.concat([everything, *familiar, active.select(everything.columns)])


def _label(kind: str, group: str, place: int) -> list[pl.Expr]:
    return [
        pl.lit(kind).alias("group_kind"),
        pl.lit(group).alias("group"),
        pl.lit(place, dtype=pl.Int32).alias("place"),
    ]


def _group_rows(
    key: tuple[str, int], group: tuple[str, str, int, str], part: pl.DataFrame, differences: pl.DataFrame, seed: int
) -> Iterator[tuple[object, ...]]:
    methods = part["method"].unique().sort().to_list()
    n_users = part["user_id"].n_unique()

    def matrix(name: str) -> intervals.Matrix:
        return part[name].to_numpy().reshape(len(methods), n_users).T

    recall, user_recall = intervals.bootstrap(matrix("hit"), matrix("positives"), seed)
    exposure, _ = intervals.bootstrap(matrix("exposed"), matrix("exposable"), seed)
    total = {name: matrix(name).sum(axis=0) for name in (*_SUMS, *STATUSES, "tokens", "read", "answered_positives")}
    ranked = _ranks(key, group, methods, recall.value, differences) if group[1] == "all" else {}
    ranks = total["ap_units"] > 0
    for m, method in enumerate(methods):
        units, positives, hit = total["units"][m], total["positives"][m], total["hit"][m]
        chance = total["chance"][m] / units
        unknown = positives - total["answered_positives"][m]
        values: dict[str, object] = {
            "recall": recall.value[m],
            "recall_low": recall.low[m],
            "recall_high": recall.high[m],
            "user_recall": user_recall.value[m],
            "user_recall_low": user_recall.low[m],
            "user_recall_high": user_recall.high[m],
            "expected_recall": total["expected"][m] / positives if group[1] != "familiarity" else None,
            "chance": chance,
            "adjusted_recall": (recall.value[m] - chance) / (1 - chance) if chance < 1 else None,
            "missed": 1 - recall.value[m],
            "exposure": exposure.value[m],
            "exposure_low": exposure.low[m],
            "exposure_high": exposure.high[m],
            "exposure_units": int(total["exposure_units"][m]),
            "average_precision": total["ap"][m] / total["ap_units"][m] if ranks[m] else None,
            "coverage": sum(total[status][m] for status in ANSWERED) / units,
            "bound_low": hit / positives,
            "bound_high": (hit + unknown) / positives,
            "n_units": int(units),
            "n_users": n_users,
            "n_positives": int(positives),
            "n_hit": hit,
            **{f"n_{status}": int(total[status][m]) for status in STATUSES},
            "tokens": total["tokens"][m] / total["read"][m] if total["read"][m] else None,
            **ranked.get(method, {}),
        }
        yield _row(key, group, method, values)


def _ranks(
    key: tuple[str, int],
    group: tuple[str, str, int, str],
    methods: list[str],
    recall: intervals.Vector,
    differences: pl.DataFrame,
) -> dict[str, dict[str, object]]:
    """Rank (1 + methods with a higher recall) and tie band of the methods that compete."""
    competing = [m for m, name in enumerate(methods) if name not in SCORING_SIDE]
    mine = differences.filter(
        (pl.col("reader") == key[0]) & (pl.col("budget") == key[1]) & (pl.col("pool") == group[0])
    )
    return ranks([methods[m] for m in competing], recall[competing], mine)


def _row(
    key: tuple[str, int], group: tuple[str, str, int, str], method: str, values: dict[str, object]
) -> tuple[object, ...]:
    kind = "scoring side" if method in SCORING_SIDE else "control" if method in CONTROLS else "method"
    named = dict(zip(BOARD, key, strict=True)) | dict(zip(_GROUP, group, strict=True))
    row = named | {"method": method, "kind": kind, "flags": ""} | values
    return tuple(row.get(name) for name in TABLES["leaderboard"].columns)


def _flagged(board: pl.DataFrame, notes: pl.DataFrame) -> pl.DataFrame:
    """Rows at or below a memory of nothing or of someone else, with units unanswered, or whose readouts say nothing."""
    same = [*BOARD, *_GROUP]
    flagged = board.join(notes, on=["method", *BOARD], how="left", maintain_order="left")
    flags: list[pl.Expr] = []
    method = (pl.col("kind") == "method") & (pl.col("n_units") > 0)
    for control in (EMPTY, SHUFFLED):
        level = board.filter(pl.col("method") == control).select(*same, pl.col("recall").alias(f"__{control}"))
        flagged = flagged.join(level, on=same, how="left", maintain_order="left")
        at_most = method & (pl.col("recall") <= pl.col(f"__{control}"))
        flags.append(pl.when(at_most).then(pl.lit(f"at or below {control} control")))
    flags += [
        pl.when(pl.col("coverage") < 1).then(pl.lit("coverage < 1")),
        pl.when(method & (pl.col("tokens").fill_null(0) == 0)).then(pl.lit("readouts are empty")),
        pl.col("note"),
    ]
    return flagged.with_columns(pl.concat_str(flags, separator="; ", ignore_nulls=True).alias("flags")).select(
        board.columns
    )
