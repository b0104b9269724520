"""Words without their English endings, lightly: `planning` and `plan`, `runs` and `run` fall together (ours).

Lower case is expected.
"""

import re
from functools import lru_cache

import polars as pl

_ENDINGS = tuple(
    (re.compile(pattern), left)
    for pattern, left in (
        (r"^(\w{2,})ies$", r"\1y"),
        (r"^(\w{2,}(?:ss|sh|ch|x|z))es$", r"\1"),
        (r"^(\w{2,}[^\Wsui])s$", r"\1"),
        (r"^(\w*[aeiouy]\w*[^\W])ings?$", r"\1"),
        (r"^(\w*[aeiouy]\w*[^\Weaiou])ed$", r"\1"),
        (r"^(\w{2,})([bdglmnprt])\2$", r"\1\2"),
        (r"^(\w{3,})e$", r"\1"),
    )
)
"""(pattern, what is left), in this order; short words such as `sing` and `bus` stay as they are."""
_STOP = """
a an and are as at be been being but by can do for from had has have he her here his how i if in into is it its just me
more most my near of on or our out she so some than that the their them then there these they this those to too up us
was we were what when where which while who will with you your user users
"""
STOP = frozenset(_STOP.split())
"""Words that tell nothing of what a name means."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """One word in lower case without its ending."""
    for pattern, left in _ENDINGS:
        word = pattern.sub(left, word, count=1)
    return word


def stemmed(words: pl.Expr) -> pl.Expr:
    """Lists of words in lower case, each without its ending."""
    return words.map_batches(_stemmed, return_dtype=pl.List(pl.String))


def _stemmed(lists: pl.Series) -> pl.Series:
    distinct = lists.list.explode().unique().drop_nulls()
    short = pl.Series([stem(word) for word in distinct], dtype=pl.String)
    return lists.list.eval(pl.element().replace_strict(distinct, short, return_dtype=pl.String))


def content(words: pl.Expr) -> pl.Expr:
    """Lists of words as sets of stems, `STOP` left out; where nothing else is said these stay."""
    kept = words.list.set_difference(pl.lit(sorted(STOP)))
    return stemmed(pl.when(kept.list.len() > 0).then(kept).otherwise(words)).list.unique()
