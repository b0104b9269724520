"""Small worlds for the tests of familiarity and pools: visits in ready-made batches, and outcomes."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl
from hypothesis import strategies as st

from pipelines.commerce.settings import CommerceSettings
from pipelines.schema import TABLES

START = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    """The tables that pools are made from, and the settings."""

    visits: pl.DataFrame
    batches: pl.DataFrame
    transitions: pl.DataFrame
    signals: pl.DataFrame
    taxonomy: pl.DataFrame
    settings: CommerceSettings


def quarter(time):
    return datetime(time.year, (time.month - 1) // 3 * 3 + 1, 1, tzinfo=UTC)


def table(name, rows):
    """Rows as a table of the schema, missing columns filled with zero, false or null."""
    schema = TABLES[name].schema
    empty = {pl.Int32: 0, pl.Int64: 0, pl.Boolean: False}
    full = [{column: row.get(column, empty.get(type(dtype))) for column, dtype in schema.items()} for row in rows]
    return pl.DataFrame(full, schema=schema).sort(TABLES[name].sort_by, nulls_last=False)


def world(users, signals=(), catalogue=(), **settings):
    """A world from `users`: user → list of batches, each a list of (time, category or None).

    `signals` are (user, transition, category); `catalogue` adds categories nobody visited.
    """
    visits, batches, transitions = [], [], []
    for user, parts in users.items():
        index = 0
        bounds = []
        for number, part in enumerate(parts):
            batches.append(
                {
                    "user_id": user,
                    "batch_index": number,
                    "start": part[0][0],
                    "end": part[-1][0],
                    "first_visit": index,
                    "n_visits": len(part),
                    "closed": number + 1 < len(parts),
                }
            )
            bounds.append((part[0][0], part[-1][0]))
            for time, category in part:
                l1, l2 = category or (None, None)
                visits.append(
                    {
                        "user_id": user,
                        "visit_index": index,
                        "start": time,
                        "end": time,
                        "item_id": "i",
                        "l1": l1,
                        "l2": l2,
                    }
                )
                index += 1
        for t in range(len(parts) - 1):
            transitions.append(
                {
                    "user_id": user,
                    "transition_index": t,
                    "history_end": bounds[t][1],
                    "target_start": bounds[t + 1][0],
                    "target_end": bounds[t + 1][1],
                    "target_closed": t + 2 < len(parts),
                    "quarter": quarter(bounds[t][1]),
                }
            )
    categories = {(v["l1"], v["l2"]) for v in visits if v["l2"] is not None}
    categories |= set(catalogue) | {category for _, _, category in signals}
    flags = dict.fromkeys(("favourite", "cart", "purchase", "deep_browse"), pl.Boolean)
    return World(
        visits=table("visits", visits),
        batches=table("batches", batches),
        transitions=table("transitions", transitions),
        signals=pl.DataFrame(
            [
                {"user_id": u, "transition_index": t, "l1": c[0], "l2": c[1], "favourite": False, "cart": False}
                | {"purchase": True, "deep_browse": False}
                for u, t, c in signals
            ],
            schema={"user_id": pl.String, "transition_index": pl.Int32, "l1": pl.String, "l2": pl.String} | flags,
        ),
        taxonomy=table("taxonomy", [{"l1": a, "l2": b, "l1_name": a, "l2_name": b} for a, b in categories]),
        settings=CommerceSettings(**settings),
    )


@st.composite
def worlds(draw, domains=("a", "b", "c", "d", "e", None)):
    """Random worlds that cross quarters, with uncategorised visits, cuts, shortages and unseen categories."""
    categories = st.tuples(st.sampled_from(domains), st.sampled_from("tuvwxyz"))
    users = {}
    signals = set()
    for number in range(draw(st.integers(1, 4))):
        time = START + timedelta(days=draw(st.integers(0, 100)))
        parts = []
        for _ in range(draw(st.integers(1, 4))):
            part = []
            for _ in range(draw(st.integers(1, 7))):
                time += timedelta(days=draw(st.sampled_from([0, 1, 20, 91])), microseconds=draw(st.integers(0, 1)))
                part.append((time, draw(st.one_of(st.none(), categories, categories))))
            parts.append(part)
            time += timedelta(hours=1)
        users[f"u{number}"] = parts
        for t in range(len(parts) - 1):
            signals |= {(f"u{number}", t, c) for c in draw(st.sets(categories, max_size=5))}
    return world(
        users,
        sorted(signals, key=str),
        draw(st.sets(categories, max_size=20)),
        familiar_visits=draw(st.integers(1, 4)),
        connected_domains=draw(st.integers(0, 3)),
        max_positives=draw(st.integers(1, 3)),
        distractors_per_positive=draw(st.integers(1, 4)),
        seed=draw(st.integers(0, 3)),
    )
