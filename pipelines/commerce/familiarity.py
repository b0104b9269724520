"""How well a user knows a category at a transition (paper §3.3; thresholds ours).

seen: visited in batches ≤ t. familiar: unseen, its domain visited at least
`familiar_visits` times. related: unseen, its domain visited less often. new: its
domain unvisited but connected to a visited one by the table of the transition's
quarter. unconnected: none of these; a category without level 1 is seen or
unconnected. Visits without a category do not count.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from pipelines.commerce import walks
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.tables import FAMILIARITIES, FAMILIARITY
from pipelines.commerce.walks import Bytes, Ints


@dataclass(frozen=True)
class History:
    """What all transitions know of the past, in integer codes.

    `transitions` holds user_id, transition_index and quarter, sorted; position i of
    `first` and `upto` bounds the visits of that user in batches ≤ t within
    `visit_category` (codes into `categories`, −1 = no category).
    """

    transitions: pl.DataFrame
    categories: pl.DataFrame
    visit_category: Ints
    first: Ints
    upto: Ints
    quarter: Ints
    category_domain: Ints
    connected_at: Ints
    connected: Ints
    n_domains: int

    def kernel(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, int]:
        """The arrays that the compiled walks take, in their order."""
        return (
            self.visit_category,
            self.first,
            self.upto,
            self.quarter,
            self.category_domain,
            self.connected_at,
            self.connected,
            self.n_domains,
        )


def history(
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    transitions: pl.LazyFrame,
    domains: pl.LazyFrame,
    categories: pl.DataFrame,
) -> History:
    """Code the past of every transition against a list of categories (columns l1, l2, all distinct).

    Users without a transition are skipped. Raises `ValueError` when a visited
    category is not in the list, a user's visits are not numbered 0, 1, 2 … or a
    transition has no batch.
    """
    steps = (
        transitions.select("user_id", "transition_index", "quarter")
        .join(
            batches.select(
                "user_id",
                pl.col("batch_index").alias("transition_index"),
                (pl.col("first_visit") + pl.col("n_visits")).cast(pl.Int64).alias("upto"),
            ),
            on=["user_id", "transition_index"],
            how="left",
        )
        .sort("user_id", "transition_index")
        .collect()
    )
    if steps["upto"].null_count():
        raise ValueError("a transition names a batch that is not in the table; give batches of the same shard")
    categories = categories.select("l1", "l2").sort("l1", "l2", nulls_last=False).with_row_index("category")
    users = steps.select(pl.col("user_id").unique(maintain_order=True)).with_row_index("user")
    coded = (
        visits.select("user_id", "visit_index", "l1", "l2")
        .join(users.lazy(), on="user_id", how="inner")
        .join(categories.lazy(), on=["l1", "l2"], how="left", nulls_equal=True)
        .select("user", "visit_index", "category", pl.col("l2").is_not_null().alias("valid"))
        .sort("user", "visit_index")
        .collect()
    )
    if coded.select((pl.col("valid") & pl.col("category").is_null()).any()).item():
        raise ValueError("a visit names a category that is not in the taxonomy; build the taxonomy over all shards")
    offsets = np.searchsorted(coded["user"].to_numpy(), np.arange(users.height + 1)).astype(np.int64)
    position = np.arange(coded.height) - offsets[coded["user"].to_numpy()]
    if not np.array_equal(position, coded["visit_index"].to_numpy()):
        raise ValueError("the visits of a user are not numbered 0, 1, 2 …; give whole users")
    user_of_step = steps.join(users, on="user_id", how="left", maintain_order="left")["user"].to_numpy()
    first = offsets[user_of_step]
    names, tables = _domain_codes(categories, domains.collect(), steps)
    return History(
        transitions=steps.drop("upto"),
        categories=categories.drop("category"),
        visit_category=coded["category"].cast(pl.Int64).fill_null(-1).to_numpy(),
        first=first,
        upto=first + steps["upto"].to_numpy(),
        quarter=tables[0],
        category_domain=categories.join(names, on="l1", how="left", maintain_order="left")["domain"]
        .fill_null(-1)
        .to_numpy(),
        connected_at=tables[1],
        connected=tables[2],
        n_domains=names.height,
    )


def _domain_codes(
    categories: pl.DataFrame, domains: pl.DataFrame, steps: pl.DataFrame
) -> tuple[pl.DataFrame, tuple[Ints, Ints, Ints]]:
    """Codes of domains; the table number of every transition (−1 = none); connections by table and domain."""
    names = (
        pl.concat([categories["l1"], domains["l1"], domains["connected_l1"]])
        .drop_nulls()
        .unique()
        .sort()
        .rename("l1")
        .to_frame()
        .with_row_index("domain")
        .with_columns(pl.col("domain").cast(pl.Int64))
    )
    used = domains.join(steps.select("quarter").unique(), on="quarter", how="semi")
    quarters = used.select(pl.col("quarter").unique().sort()).with_row_index("table")
    quarters = quarters.with_columns(pl.col("table").cast(pl.Int64))
    rows = (
        used.join(quarters, on="quarter")
        .join(names, on="l1")
        .join(names.select(pl.col("l1").alias("connected_l1"), pl.col("domain").alias("to")), on="connected_l1")
        .with_columns((pl.col("table") * names.height + pl.col("domain")).alias("slot"))
        .sort("slot", "to")
    )
    at = np.searchsorted(rows["slot"].to_numpy(), np.arange(quarters.height * names.height + 1)).astype(np.int64)
    table = steps.join(quarters, on="quarter", how="left", maintain_order="left")["table"].fill_null(-1)
    return names, (table.to_numpy(), at, rows["to"].to_numpy())


def familiarity(
    candidates: pl.DataFrame,
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    transitions: pl.LazyFrame,
    domains: pl.LazyFrame,
    settings: CommerceSettings,
) -> pl.DataFrame:
    """Add `familiarity` at t to rows (user_id, transition_index, l1, l2, …), which keep their order.

    Raises `ValueError` when a row names a transition that is not in the table.
    """
    past = history_for(candidates, visits, batches, transitions, domains)
    rows = locate(candidates, past)
    known = rows.select("row", familiarity_column(classify(rows, past, settings))).sort("row")
    return candidates.with_columns(known["familiarity"])


def history_for(
    candidates: pl.DataFrame,
    visits: pl.LazyFrame,
    batches: pl.LazyFrame,
    transitions: pl.LazyFrame,
    domains: pl.LazyFrame,
) -> History:
    """`history` against the categories that are visited or asked for, when no taxonomy is at hand."""
    users = transitions.select("user_id").unique()
    visited = visits.join(users, on="user_id", how="semi").filter(pl.col("l2").is_not_null()).select("l1", "l2")
    categories = pl.concat([visited, candidates.lazy().select("l1", "l2")]).unique().collect()
    return history(visits, batches, transitions, domains, categories)


def locate(candidates: pl.DataFrame, past: History) -> pl.DataFrame:
    """Rows (user_id, transition_index, l1, l2) in codes: row, step, category, sorted by step and category.

    That order is the total order of the texts. Raises `ValueError` when a row names a
    transition that is not in the table or a category that is not in the list.
    """
    rows = (
        candidates.lazy()
        .select("user_id", "transition_index", "l1", "l2")
        .with_row_index("row")
        .join(
            past.transitions.lazy().select("user_id", "transition_index").with_row_index("step"),
            on=["user_id", "transition_index"],
            how="left",
        )
        .join(past.categories.lazy().with_row_index("category"), on=["l1", "l2"], how="left", nulls_equal=True)
        .select("row", "step", "category")
        .cast(pl.Int64)
        .sort("step", "category", "row")
        .collect()
    )
    if rows["step"].null_count():
        raise ValueError("a row names a transition that is not in the table; give transitions of the same shard")
    if rows["category"].null_count():
        raise ValueError("a row names a category that is not in the taxonomy; build the taxonomy over all shards")
    return rows


def classify(rows: pl.DataFrame, past: History, settings: CommerceSettings) -> Bytes:
    """Familiarity codes of the rows of `locate`, in their order."""
    at = np.searchsorted(rows["step"].to_numpy(), np.arange(past.transitions.height + 1)).astype(np.int64)
    return walks.classify(at, rows["category"].to_numpy(), *past.kernel(), settings.familiar_visits)


def familiarity_column(codes: Bytes) -> pl.Series:
    """Familiarity codes as the published enum."""
    return pl.Series("familiarity", FAMILIARITIES, dtype=FAMILIARITY).gather(codes)
