"""What answers cite against what shows the truth (reference 5.5), and what of it is stale (ours)."""

import polars as pl


def evidence_scores(
    gold: str = "evidence", cited: str = "evidence_given", previous: str = "evidence_previous", prefix: str = "evidence"
) -> list[pl.Expr]:
    """Precision, recall, F1 (both empty 1, one empty 0), exact match, and the stale share of citations.

    Over list columns of ids, each id counted once. Stale is a cited log that shows only an earlier value; null where
    earlier values are not told, 0 where nothing is cited. All are null where citations are.
    """  # fmt: skip
    right, given = pl.col(gold).list.unique(), pl.col(cited).list.unique()
    n_right, n_given = right.list.len(), given.list.len()
    both = right.list.set_intersection(given).list.len()
    empty = pl.when(given.is_null()).then(None).when((n_right == 0) & (n_given == 0)).then(1.0)
    precision = empty.when(n_given == 0).then(0.0).otherwise(both / n_given)
    recall = empty.when(n_right == 0).then(0.0).otherwise(both / n_right)
    # Equal to 2PR / (P + R), and to 0 where nothing is shared.
    f1 = empty.otherwise(2 * both / (n_right + n_given))
    stale = given.list.set_intersection(pl.col(previous)).list.set_difference(right).list.len()
    return [
        precision.alias(f"{prefix}_precision"),
        recall.alias(f"{prefix}_recall"),
        f1.alias(f"{prefix}_f1"),
        ((both == n_right) & (both == n_given)).alias(f"{prefix}_exact"),
        pl.when(given.is_null() | pl.col(previous).is_null())
        .then(None)
        .when(n_given == 0)
        .then(0.0)
        .otherwise(stale / n_given)
        .alias(f"stale_{prefix}"),
    ]
