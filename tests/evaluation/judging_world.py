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


def verdicts_of(*rows: tuple[str, bool, bool | None, int | None], user: str = "u") -> pl.DataFrame:
    """Verdicts of (item, gate, core, detail) by part; an error where core is None. An item's name is its content's."""
    return pl.DataFrame(
        [
            {
                "judge": "j", "user_id": user, "item": item, "part": f"p{place}", "gate": gate,
                "content": f"{user} {item} {place}",
                "status": "judge_error" if core is None else "ok", "core_correct": core, "detail_quality": detail,
            }
            for place, (item, gate, core, detail) in enumerate(rows)
        ],
        schema={
            "judge": pl.String, "user_id": pl.String, "item": pl.String, "part": pl.String, "gate": pl.Boolean,
            "content": pl.String, "status": pl.String, "core_correct": pl.Boolean, "detail_quality": pl.Int32,
        },
    )  # fmt: skip
