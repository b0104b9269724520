"""What the report shows of verdicts: one board a judge and budget, methods by the share supported."""

from typing import Any

import polars as pl

BOARD = ("rubric", "model", "budget", "judge")
STATED = ("weak", "evidence_tokens")


def judged_boards(summaries: pl.DataFrame) -> list[dict[str, Any]]:
    """One mapping a board from table `verdict_summary`: what its rows share, and `rows`, best first, which say
    the same of their judge.

    Arms that differ in their reader alone share their verdicts and are one row.
    """
    boards = []
    for key, part in unread(summaries).sort(*BOARD).group_by(BOARD, maintain_order=True):
        rows = part.sort("core", "method", descending=[True, False], nulls_last=True).to_dicts()
        boards.append({**dict(zip(BOARD, key, strict=True)), **{name: rows[0][name] for name in STATED}, "rows": rows})
    return boards


def unread(summaries: pl.DataFrame) -> pl.DataFrame:
    """The rows of `verdict_summary` without their reader, each once."""
    return summaries.drop("reader").unique(["method", "budget", "judge"], keep="first", maintain_order=True)
