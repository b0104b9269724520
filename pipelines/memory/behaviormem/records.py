"""F2, first half: a batch of any log → behaviours of five fields: time, domain, item, action, text (paper B.1).

The rendering of a visit is declared here. Commerce: domain = L1, item = the product,
action = the counters in words, text = the category's display name and the brand. A log
that wrote a text (app logs) keeps it as text; domain = app, item = the object acted on.
"""

from dataclasses import dataclass

import polars as pl

from pipelines.memory.contract import Tokens
from pipelines.memory.rendering import action_words, category, category_names, plain

CUT = " […]"
"""Stands where a text was cut."""


@dataclass(frozen=True)
class Record:
    """One behaviour; every field on one line, empty where the log has none."""

    time: str
    domain: str
    item: str
    action: str
    text: str

    def line(self, mark: str) -> str:
        """`v1 | time | domain | item … | action | text`, without the empty fields."""
        item = f"item {self.item}" if self.item else ""
        return " | ".join(part for part in (mark, self.time, self.domain, item, self.action, self.text) if part)


def records(visits: pl.DataFrame) -> list[Record]:
    """The behaviours of `visits` (`VISIT_COLUMNS`), in their order."""
    times = visits["start"].dt.strftime("%Y-%m-%d %H:%M").to_list()
    names = category_names(visits)
    rows = zip(
        times,
        names,
        visits["item_id"].to_list(),
        action_words(visits),
        visits["brand"].to_list(),
        visits["text"].to_list(),
        strict=True,
    )
    return [
        Record(
            time,
            _field(l1),
            _field(item),
            action,
            _field(text) if text is not None else _commerce(l1, l2, brand),
        )
        for time, (l1, l2), item, action, brand, text in rows
    ]


def _commerce(l1: str | None, l2: str | None, brand: str | None) -> str:
    # The whole display name: readers are asked by it.
    kind = _field(category(l1, l2)) if l2 else ""
    return ", ".join(part for part in (kind, f"brand {_field(brand)}" if brand else "") if part)


def _field(text: str | None) -> str:
    """On one line, and without the sign that parts fields, so that a log can forge neither."""
    return plain(text or "").replace("|", "¦")


def shortened(lines: list[str], limit: int, tokens: Tokens) -> tuple[list[str], int]:
    """The lines, those above `limit` tokens cut where they reach it and marked; and how many were."""
    long = [place for place, cost in enumerate(tokens.counts(lines)) if cost > limit]
    kept = list(lines)
    room = max(limit - tokens.count(CUT), 1)
    for place in long:
        kept[place] = tokens.cut(kept[place], room).rstrip() + CUT
    return kept, len(long)
