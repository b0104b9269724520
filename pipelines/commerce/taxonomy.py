"""The catalogue of categories and their display names.

The taxonomy is the frozen vocabulary of a release: it is built from the whole
log, future included, and the release card says so. It says which categories
exist and how they are written, nothing about who visited them or when.
"""

import polars as pl

from pipelines.schema import TABLES


class NoCategories(ValueError):
    """The log names no category, so there is nothing to ask for."""


def category_text(l1: str = "l1", l2: str = "l2") -> pl.Expr:
    """The text of a category that is hashed (key space `category`): l1, U+001F, l2; a missing l1 is empty."""
    return pl.col(l1).fill_null("") + pl.lit("\x1f") + pl.col(l2)


def category_names(events: pl.LazyFrame) -> pl.DataFrame:
    """Table `category_names`: how often each category was written in each form.

    Additive over shards: the frames of all shards, one below the other, say the
    same to `taxonomy` as the frame of the whole log. An event without l2 has no
    category; a missing original falls back to its key.
    """
    table = TABLES["category_names"]
    return (
        events.filter(pl.col("l2").is_not_null())
        .select(
            "l1",
            "l2",
            pl.coalesce("l1_name", "l1").alias("l1_name"),
            pl.coalesce("l2_name", "l2").alias("l2_name"),
        )
        .group_by("l1", "l2", "l1_name", "l2_name")
        .agg(pl.len().cast(pl.Int64).alias("n_events"))
        .select(table.schema.names())
        .sort(table.sort_by)
        .collect(engine="streaming")
    )


def taxonomy(names: pl.LazyFrame) -> pl.DataFrame:
    """Table `taxonomy`: every category once with its display names.

    A display name is the most frequent original, ties by smallest text; that of
    level 1 is counted over the whole domain, so a domain is written in one way.
    """
    table = TABLES["taxonomy"]
    counted = names.collect()
    domain = _most_frequent(counted, ["l1"], "l1_name")
    category = _most_frequent(counted, ["l1", "l2"], "l2_name")
    return (
        category.join(domain, on="l1", how="left", nulls_equal=True)
        .select(table.schema.names())
        .sort(table.sort_by, nulls_last=False)
    )


def _most_frequent(names: pl.DataFrame, key: list[str], name: str) -> pl.DataFrame:
    return (
        names.group_by(*key, name)
        .agg(pl.col("n_events").sum())
        .sort("n_events", name, descending=[True, False], nulls_last=True)
        .group_by(key, maintain_order=True)
        .agg(pl.col(name).first())
    )


def require_categories(taxonomy: pl.DataFrame) -> None:
    """Refuse a log without level-2 categories. Raises `NoCategories`."""
    if taxonomy.is_empty():
        raise NoCategories(
            "the log has no level-2 category, so visits and batches exist but no pool can be asked; "
            "declare the column that holds the category (`l2`) in the source's mapping, "
            "or join the item catalogue to the events before the drop"
        )
