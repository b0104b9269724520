"""Display names: most frequent original, additive over shards."""

import polars as pl
import pytest

from pipelines.commerce.taxonomy import NoCategories, category_names, require_categories, taxonomy
from pipelines.schema import TABLES


def events(*rows):
    """Rows (l1, l2, l1_name, l2_name)."""
    return pl.DataFrame(rows, schema=dict.fromkeys(("l1", "l2", "l1_name", "l2_name"), pl.String), orient="row")


LOG = events(
    ("toys", "lego", "Toys", "LEGO"),
    ("toys", "lego", "Toys", "Lego"),
    ("toys", "lego", "TOYS", "Lego"),
    ("toys", "ball", "TOYS", "Ball"),
    ("toys", "ball", "TOYS", "BALL"),
    ("books", "lego", "Books", "lego "),
    (None, "misc", None, "Misc"),
    ("toys", None, "Toys", None),
)


def test_counts_of_forms():
    names = category_names(LOG.lazy())
    assert names.schema == TABLES["category_names"].schema
    assert names["n_events"].sum() == 7
    assert names.filter(pl.col("l2_name") == "Lego").select("l1_name", "n_events").rows() == [("TOYS", 1), ("Toys", 1)]


def test_the_most_frequent_form_wins_and_ties_go_to_the_smallest_text():
    found = taxonomy(category_names(LOG.lazy()).lazy())
    assert found.schema == TABLES["taxonomy"].schema
    assert found.rows() == [
        (None, "misc", None, "Misc"),
        ("books", "lego", "Books", "lego "),
        # TOYS is written three times over the domain, Toys twice: one name for the whole domain.
        ("toys", "ball", "TOYS", "BALL"),
        ("toys", "lego", "TOYS", "Lego"),
    ]


def test_a_missing_original_falls_back_to_the_key():
    assert taxonomy(category_names(events(("a", "b", None, None)).lazy()).lazy()).rows() == [("a", "b", "a", "b")]


@pytest.mark.parametrize("cut", range(LOG.height + 1))
def test_shards_add_up(cut):
    shards = [category_names(part.lazy()) for part in (LOG[:cut], LOG[cut:].reverse())]
    assert taxonomy(pl.concat(shards).lazy()).equals(taxonomy(category_names(LOG.lazy()).lazy()))


def test_a_log_without_level_two_is_refused_by_name():
    none = taxonomy(category_names(LOG.with_columns(l2=pl.lit(None, pl.String)).lazy()).lazy())
    assert none.is_empty()
    with pytest.raises(NoCategories, match=r"no level-2 category.*declare the column"):
        require_categories(none)
    require_categories(taxonomy(category_names(LOG.lazy()).lazy()))
