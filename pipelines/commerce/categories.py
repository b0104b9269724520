"""Category keys: what makes two spellings of a category the same one."""

import unicodedata

import polars as pl


def category_key(name: str) -> str:
    """NFKC, trimmed, spaces collapsed, casefolded; applying it again changes nothing."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def key_column(names: pl.Series) -> pl.Series:
    """`category_key` of every name, computed once for each distinct one; an empty key is null."""
    distinct = names.drop_nulls().unique()
    keys = pl.Series([category_key(name) or None for name in distinct.to_list()], dtype=pl.String)
    return names.replace_strict(distinct, keys, default=None, return_dtype=pl.String)


def dotted_names(separator: str) -> tuple[pl.Expr, pl.Expr]:
    """L1 and L2 of the path in column `dotted`: part 1; the first two parts, null when there is one part."""
    parts = pl.col("dotted").str.split(separator).list.eval(pl.element().filter(pl.element() != ""))
    return parts.list.get(0, null_on_oob=True), pl.when(parts.list.len() > 1).then(
        parts.list.head(2).list.join(separator)
    )
