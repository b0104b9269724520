"""A visit as one line of text: the one place where columns become words (ours).

The fields are those every track can fill: time, domain, category, brand, item,
action. Control characters, line and paragraph separators become spaces, so that a
log can neither forge a line nor drive a terminal; all else is kept as written.
"""

import re
from collections.abc import Sequence

import polars as pl

ARROW = " › "
ACTIONS = {
    "n_purchase": "purchased",
    "n_cart": "added to cart",
    "n_favourite": "favourited",
    "n_browse": "browsed",
    "n_click": "clicked",
}
"""Counter column → word, strongest first."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def plain(text: str) -> str:
    """`text` on one line, without control characters, direction marks or outer spaces."""
    return _UNPRINTABLE.sub(" ", text).strip()


def category(l1: str | None, l2: str | None) -> str:
    """Display name of a category, `Domain › Category`; the known half alone when the other is missing."""
    return ARROW.join(plain(part) for part in (l1, l2) if part)


def category_names(visits: pl.DataFrame) -> list[tuple[str | None, str | None]]:
    """(domain, category) of each visit as displayed: the name, or the key where there is no name."""
    return list(zip(_named(visits, "l1"), _named(visits, "l2"), strict=True))


def _named(visits: pl.DataFrame, level: str) -> list[str | None]:
    return visits[f"{level}_name"].fill_null(visits[level]).to_list()


def visit_lines(visits: pl.DataFrame) -> list[str]:
    """One line a visit: `2020-03-01 14:05 | Domain › Category | brand X | item 7 | purchased 2`.

    A record that the log wrote as a text is shown as that text.
    """
    starts = visits["start"].dt.strftime("%Y-%m-%d %H:%M").to_list()
    actions = action_words(visits)
    brands, items = visits["brand"].to_list(), visits["item_id"].to_list()
    texts = visits["text"].to_list()
    return [
        f"{start} | {plain(text)}"
        if text is not None
        else " | ".join(
            part
            for part in (start, category(l1, l2), f"brand {plain(brand)}" if brand else "", f"item {plain(item)}", did)
            if part
        )
        for start, (l1, l2), brand, item, did, text in zip(
            starts, category_names(visits), brands, items, actions, texts, strict=True
        )
    ]


def action_words(visits: pl.DataFrame) -> list[str]:
    """What was done in each visit, strongest action first, with its count where above one."""
    counters: list[Sequence[int]] = [visits[name].to_list() for name in ACTIONS]
    words = list(ACTIONS.values())
    return [
        ", ".join(word if n == 1 else f"{word} {n}" for word, n in zip(words, row, strict=True) if n)
        for row in zip(*counters, strict=True)
    ]
