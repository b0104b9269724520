"""Text of a log inside Markdown: it stays text, on its line and in its cell (ours)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipelines.memory.rendering import plain

_SPECIAL = re.compile(
    r"[\\`*\[\]|~$#!@]|:(?=//)|(?<=www)\.|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[-+=]|(?<=^\d)[.)](?= )"
)
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


_LEADING = ("place", "step", "filter", "name", "value", "paper", "default", "unit", "reason", "n", "meaning", "origin")
"""Columns that stand first in a table of a release card, which keeps no order of its own."""


def escaped(value: object) -> str:
    """A value as inline Markdown that shows exactly that text: no markup, HTML, link, mention or second line."""
    if value is None:
        return ""
    text = plain(f"{value:.12g}" if isinstance(value, float) else str(value))
    return _SPECIAL.sub(r"\\\g<0>", text).translate(_HTML)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; every cell and heading is `escaped`."""
    lines = [map(escaped, columns), ["---"] * len(columns), *(map(escaped, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section(value: Any) -> str:
    """A part of a release card: rows as a table, a mapping or a list as bullets, anything else as a line."""
    if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        there = dict.fromkeys(name for row in value for name in row)
        columns = [*(name for name in _LEADING if name in there), *(name for name in there if name not in _LEADING)]
        return table(columns, ([row.get(name) for name in columns] for row in value))
    if isinstance(value, Mapping):
        return "\n".join(f"- {escaped(name)}: {escaped(one)}" for name, one in value.items())
    if isinstance(value, list):
        return "\n".join(f"- {escaped(one)}" for one in value)
    return escaped(value)
