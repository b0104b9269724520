"""Parts to judge, for the tests of judges."""

import json
from typing import Any

import polars as pl

from pipelines.evaluation.judging import PARTS


def part(item: str, name: str = "value", user: str = "u", **changes: Any) -> dict[str, Any]:
    row = {
        "user_id": user,
        "item": item,
        "part": name,
        "gate": False,
        "question": f"What does {user} drink?",
        "reference": "green tea",
        "answer": f"tea ({item})",
        "expected": "green tea",
        "given": "tea",
    }
    return row | changes


def parts(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=dict(PARTS))


def judgment(label: str, core: Any = True, detail: Any = 2, **more: Any) -> dict[str, Any]:
    """One entry of a judge's reply."""
    return {"part": label, "analysis": "seen", "core_correct": core, "detail_quality": detail} | more


def said(*judgments: dict[str, Any]) -> str:
    """A judge's reply."""
    return json.dumps({"judgments": list(judgments)})
