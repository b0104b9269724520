"""Slow, independent plain Python for domains, familiarity, positives and pools.

Works on lists of dictionaries and recomputes everything from scratch for every
transition and quarter; shares nothing with the code under test but the published
hash of a text and the settings.
"""

import hashlib
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction

WORD = (1 << 64) - 1


def key64(text, space):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8, key=space.encode()).digest(), "little")


def mix(*keys):
    state = 0
    for key in keys:
        state = ((state + 0x9E3779B97F4A7C15) & WORD) ^ key
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & WORD
        state ^= state >> 31
    return state


def category_key(category):
    return key64((category[0] or "") + "\x1f" + category[1], "category")


def quarters(first, last):
    """Starts of the quarters strictly after `first`, up to and including that of `last`."""
    found = []
    year, quarter = first.year, (first.month - 1) // 3
    while True:
        year, quarter = (year + 1, 0) if quarter == 3 else (year, quarter + 1)
        start = datetime(year, quarter * 3 + 1, 1, tzinfo=UTC)
        if start > last:
            return found
        found.append(start)


def batch_of(batches):
    """(user, visit_index) → batch_index."""
    return {
        (b["user_id"], i): b["batch_index"]
        for b in batches
        for i in range(b["first_visit"], b["first_visit"] + b["n_visits"])
    }


def domains(visits, batches, settings):
    member = batch_of(batches)
    rows = []
    if not visits:
        return rows
    for start in quarters(min(v["end"] for v in visits), max(v["end"] for v in visits)):
        units = {}
        for v in visits:
            if v["end"] < start:
                unit = units.setdefault((v["user_id"], member[v["user_id"], v["visit_index"]]), set())
                if v["l2"] is not None and v["l1"] is not None:
                    unit.add(v["l1"])
        single, both = Counter(), Counter()
        for unit in units.values():
            for a in unit:
                single[a] += 1
                for b in unit:
                    if a != b:
                        both[a, b] += 1
        for a in sorted(single):
            scored = [
                (-Fraction(both[a, b] * len(units), single[a] * single[b]), b)
                for b in single
                if both[a, b] * len(units) > single[a] * single[b]
            ]
            for rank, (_, b) in enumerate(sorted(scored)[: settings.connected_domains], 1):
                rows.append(
                    {
                        "quarter": start,
                        "l1": a,
                        "connected_l1": b,
                        "rank": rank,
                        "n_l1": single[a],
                        "n_connected": single[b],
                        "n_both": both[a, b],
                        "n_units": len(units),
                    }
                )
    return rows


def history(user, t, quarter, visits, batches, domain_rows):
    """What the user knows after batch t: categories, visits a domain, domains linked to a visited one."""
    member = batch_of(batches)
    past = [v for v in visits if v["user_id"] == user and member[user, v["visit_index"]] <= t and v["l2"] is not None]
    visited = Counter(v["l1"] for v in past)
    return (
        {(v["l1"], v["l2"]) for v in past},
        visited,
        {r["connected_l1"] for r in domain_rows if r["quarter"] == quarter and r["l1"] in visited},
    )


def familiarity(category, known, settings):
    seen, visited, linked = known
    if category in seen:
        return "seen"
    if category[0] is None:
        return "unconnected"
    if visited[category[0]] >= settings.familiar_visits:
        return "familiar"
    if visited[category[0]]:
        return "related"
    return "new" if category[0] in linked else "unconnected"


POOL = {"seen": "remember", "familiar": "remember", "related": "infer", "new": "infer", "unconnected": None}


def positives(signals, visits, batches, transitions, domain_rows, settings):
    pasts = {
        (t["user_id"], t["transition_index"]): history(
            t["user_id"], t["transition_index"], t["quarter"], visits, batches, domain_rows
        )
        for t in transitions
    }
    rows = []
    for s in signals:
        at = (s["user_id"], s["transition_index"])
        known = familiarity((s["l1"], s["l2"]), pasts[at], settings)
        rows.append(s | {"familiarity": known, "pool": POOL[known]})
    for row in rows:
        rivals = [
            mix(
                key64("limit", "salt"),
                settings.seed,
                key64(r["user_id"], "user"),
                r["transition_index"],
                ["remember", "infer"].index(r["pool"]),
                category_key((r["l1"], r["l2"])),
            )
            for r in rows
            if r["pool"] and all(r[k] == row[k] for k in ("user_id", "transition_index", "pool"))
        ]
        own = row["pool"] and mix(
            key64("limit", "salt"),
            settings.seed,
            key64(row["user_id"], "user"),
            row["transition_index"],
            ["remember", "infer"].index(row["pool"]),
            category_key((row["l1"], row["l2"])),
        )
        row["kept"] = bool(row["pool"]) and own in sorted(rivals)[: settings.max_positives]
    return rows


def pools(positive_rows, visits, batches, transitions, domain_rows, taxonomy, settings):
    """Rows of the pools with role and familiarity, and one count row a transition and pool."""
    rows, counts = [], []
    order = {"remember": ("seen", "familiar"), "infer": ("related", "new")}
    for t in transitions:
        user, index = t["user_id"], t["transition_index"]
        own = [p for p in positive_rows if (p["user_id"], p["transition_index"]) == (user, index)]
        banned = {(p["l1"], p["l2"]) for p in own}
        past = history(user, index, t["quarter"], visits, batches, domain_rows)
        known = {c: familiarity(c, past, settings) for c in taxonomy}
        for number, pool in enumerate(("remember", "infer")):
            keys = (settings.seed, key64(user, "user"), index, number)
            kept = [(p["l1"], p["l2"]) for p in own if p["pool"] == pool and p["kept"]]
            free = sorted((c for c in taxonomy if c not in banned), key=lambda c: mix(*keys, category_key(c)))
            chosen = dict.fromkeys(kept, "positive")
            wanted = len(kept) * settings.distractors_per_positive
            for group in order[pool]:
                share = sum(known[c] == group for c in kept) * settings.distractors_per_positive
                for c in [c for c in free if known[c] == group][:share]:
                    chosen[c] = "matched"
            for kind, eligible in (("history", order[pool]), ("random", tuple(POOL))):
                for c in free:
                    if len(chosen) < len(kept) + wanted and c not in chosen and known[c] in eligible:
                        chosen[c] = kind
            shown = sorted(chosen, key=lambda c: mix(key64("order", "salt"), *keys, category_key(c)))
            for position, c in enumerate(shown):
                rows.append(
                    {
                        "user_id": user,
                        "transition_index": index,
                        "pool": pool,
                        "position": position,
                        "l1": c[0],
                        "l2": c[1],
                        "role": chosen[c],
                        "familiarity": known[c],
                        "n_choose": len(kept),
                    }
                )
            tally = Counter(chosen.values())
            counts.append(
                {
                    "user_id": user,
                    "transition_index": index,
                    "pool": pool,
                    "n_positives": len(kept),
                    "n_cut": sum(p["pool"] == pool and not p["kept"] for p in own),
                    "n_matched": tally["matched"],
                    "n_history": tally["history"],
                    "n_random": tally["random"],
                    "n_short": len(kept) + wanted - len(chosen),
                }
            )
    return rows, counts
