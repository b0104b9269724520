"""Small hand-made worlds for the tests of the evaluation."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from pipelines.schema import TABLES

QUARTER = datetime(2024, 1, 1, tzinfo=UTC)


def table(name: str, rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Rows of a published table; columns left out are null."""
    return pl.DataFrame(list(rows), schema=TABLES[name].schema)


def gold_unit(
    user: str, transition: int, pool: str, roles: Sequence[str], familiarity: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """One pool; categories are named by position."""
    groups = familiarity or ["seen" if pool == "remember" else "new"] * len(roles)
    return [
        {
            "user_id": user,
            "transition_index": transition,
            "pool": pool,
            "position": position,
            "l1": "d",
            "l2": f"c{position}",
            "role": role,
            "familiarity": group,
        }
        for position, (role, group) in enumerate(zip(roles, groups, strict=True))
    ]


def reading(
    user: str, transition: int, pool: str, chosen: Sequence[int], status: str = "ok", scores: Sequence[float] = ()
) -> dict[str, Any]:
    return {
        "user_id": user,
        "transition_index": transition,
        "pool": pool,
        "status": status,
        "chosen": list(chosen),
        "scores": list(scores),
    }


def cohort(batches: dict[str, int]) -> pl.DataFrame:
    return table("cohort", [{"user_id": user, "n_batches": n, "reason": ""} for user, n in batches.items()])


def readouts(rows: dict[tuple[str, int], str]) -> pl.DataFrame:
    return table(
        "readouts",
        [
            {"user_id": u, "transition_index": t, "description": text, "tree": "", "tokens": len(text), "tokens_cut": 0}
            for (u, t), text in rows.items()
        ],
    )


def public(gold: pl.DataFrame) -> pl.DataFrame:
    """The pools that belong to a gold."""
    n = (pl.col("role") == "positive").sum().over("user_id", "transition_index", "pool").cast(pl.Int32)
    return gold.with_columns(n.alias("n_choose")).select(TABLES["pools"].schema.names())


def random_gold(users: int = 30, transitions: int = 6, categories: int = 60, seed: int = 5) -> pl.DataFrame:
    """Pools of n positives and 3n distractors, all drawn at random from one catalogue."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for u in range(users):
        for t in range(1 + u % transitions):
            for pool, groups in (("remember", ("seen", "familiar")), ("infer", ("related", "new"))):
                n = int(rng.integers(1, 6))
                picked = rng.choice(categories, size=4 * n, replace=False)
                roles = rng.permutation(["positive"] * n + ["matched"] * n + ["history"] * n + ["random"] * n)
                for position, (category, role) in enumerate(zip(picked, roles, strict=True)):
                    rows.append(
                        {
                            "user_id": f"u{u}",
                            "transition_index": t,
                            "pool": pool,
                            "position": position,
                            "l1": f"d{category % 7}",
                            "l2": f"c{category}",
                            "role": str(role),
                            "familiarity": groups[int(rng.integers(2))],
                        }
                    )
    return table("pool_gold", rows)


def random_cohort(gold: pl.DataFrame) -> pl.DataFrame:
    counts = gold.group_by("user_id").agg(pl.col("transition_index").max() + 2)
    return cohort(dict(counts.iter_rows()))


WORDS = ["milk", "beef", "soap", "cola", "rice", "corn", "tea", "salt", "fish", "wine", "bread", "pasta"]


def taxonomy(categories: int = 60) -> pl.DataFrame:
    return table(
        "taxonomy",
        [
            {
                "l1": f"d{c % 7}",
                "l2": f"c{c}",
                "l1_name": f"Domain {c % 7}",
                "l2_name": f"{WORDS[c % 12]} {WORDS[c // 12]}",
            }
            for c in range(categories)
        ],
    )
