"""Streams for the memory tests: small, made by rule, with every awkward value a log has."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import polars as pl

from pipelines.schema import TABLES

_CATEGORIES = [
    ("food", "bread"),
    ("food", "milk"),
    ("garden", "tools"),
    ("toys", "puzzle"),
    (None, "loose"),
    ("x", None),
]


def tables(n_users: int = 4, n_batches: int = 5, n_visits: int = 7) -> dict[str, pl.DataFrame]:
    """visits, batches, transitions, taxonomy of `n_users` users `u0`…, of 3 + (user mod n_batches) batches each."""
    visits, batches, transitions = [], [], []
    for u in range(n_users):
        moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=u)
        spans = []
        for b in range(2 + u % n_batches):
            first = len([v for v in visits if v["user_id"] == f"u{u}"])
            begin = moment
            for v in range(n_visits):
                l1, l2 = _CATEGORIES[(u + b + v * v) % len(_CATEGORIES)]
                end = moment + timedelta(seconds=30 * (v % 3))
                visits.append(
                    {
                        "user_id": f"u{u}",
                        "visit_index": first + v,
                        "start": moment,
                        "end": end,
                        "item_id": str(2**63 + 17 * u + v),
                        "l1": l1,
                        "l2": l2,
                        "brand": [None, "Acme", "Zeta"][(u + v) % 3],
                        "n_click": v % 2,
                        "n_browse": 0,
                        "n_favourite": int(v == 3),
                        "n_cart": 0,
                        "n_purchase": 1 + v % 2,
                        "dwell_seconds": None if v % 2 else v,
                    }
                )
                moment = end + timedelta(hours=1 + v)
            spans.append((begin, end))
            batches.append(
                {
                    "user_id": f"u{u}",
                    "batch_index": b,
                    "start": begin,
                    "end": end,
                    "first_visit": first,
                    "n_visits": n_visits,
                    "closed": b < 1 + u % n_batches,
                }
            )
            moment += timedelta(days=20)
        for t, (now, later) in enumerate(pairwise(spans)):
            transitions.append(
                {
                    "user_id": f"u{u}",
                    "transition_index": t,
                    "history_end": now[1],
                    "target_start": later[0],
                    "target_end": later[1],
                    "target_closed": True,
                    "quarter": datetime(2020, 1, 1, tzinfo=UTC),
                }
            )
    taxonomy = [
        {"l1": l1, "l2": l2, "l1_name": l1.upper() if l1 else None, "l2_name": l2.upper()}
        for l1, l2 in _CATEGORIES
        if l2
    ]
    made = {"visits": visits, "batches": batches, "transitions": transitions, "taxonomy": taxonomy}
    return {name: pl.DataFrame(rows, schema=TABLES[name].schema) for name, rows in made.items()}
