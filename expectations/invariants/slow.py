"""The rules of visits, batches and labels once more, in plain Python, for a sample of users.

Written from the rules and not from the fast path, so that both must err alike to
agree on a wrong border.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pipelines.commerce.settings import CommerceSettings

Row = Mapping[str, Any]
Category = tuple[str | None, str]
COUNTED = ("click", "browse", "favourite", "cart", "purchase")
RANK = {"click": 0, "browse": 0, "favourite": 1, "cart": 2, "purchase": 3}
"""Click and browse share a rank: within one instant the item decides before them."""


def visits(events: Sequence[Row], settings: CommerceSettings) -> list[dict[str, Any]]:
    """Visits of one user: consecutive events on one item, at most the visit gap apart."""
    gap = timedelta(minutes=settings.visit_gap_minutes)
    kept = sorted(
        (event for event in events if event["action"] in COUNTED),
        key=lambda event: (event["time"], RANK[event["action"]], event["item_id"]),
    )
    found: list[dict[str, Any]] = []
    for event in kept:
        last = found[-1] if found else None
        if last is None or last["item_id"] != event["item_id"] or event["time"] - last["end"] > gap:
            last = {"start": event["time"], "item_id": event["item_id"], **{f"n_{action}": 0 for action in COUNTED}}
            last["visit_index"] = len(found)
            found.append(last)
        last["end"] = event["time"]
        last[f"n_{event['action']}"] += 1
    return found


def batches(stream: Sequence[Row], settings: CommerceSettings) -> list[tuple[int, int, bool]]:
    """(first visit, visits, closed) of one user's batches."""
    pause, age = timedelta(minutes=settings.batch_gap_minutes), timedelta(days=settings.batch_days)
    found, first = [], 0
    for place in range(1, len(stream)):
        eligible = place - first >= settings.batch_visits or stream[place]["start"] - stream[first]["start"] >= age
        if eligible and stream[place]["start"] - stream[place - 1]["end"] > pause:
            found.append((first, place - first, True))
            first = place
    if stream:
        found.append((first, len(stream) - first, False))
    return found


def signals(batch: Iterable[Row], settings: CommerceSettings) -> dict[Category, dict[str, bool]]:
    """Categories of a batch with a strong signal, and by which act."""
    rows = list(batch)
    visits_of_item = Counter(row["item_id"] for row in rows)
    found: dict[Category, dict[str, bool]] = {}
    for row in rows:
        if row["l2"] is None:
            continue
        span = (row["end"] - row["start"]).total_seconds()
        acts = {
            "favourite": row["n_favourite"] > 0,
            "cart": row["n_cart"] > 0,
            "purchase": row["n_purchase"] > 0,
            "deep_browse": row["n_browse"] >= settings.deep_browse_events
            or max(row["dwell_seconds"] or 0, span) >= settings.deep_browse_seconds
            or visits_of_item[row["item_id"]] >= settings.deep_browse_visits,
        }
        if any(acts.values()):
            known = found.setdefault((row["l1"], row["l2"]), dict.fromkeys(acts, False))
            for act, seen in acts.items():
                known[act] = known[act] or seen
    return found


@dataclass
class Known:
    """What a user has visited so far: categories, and how often each domain; visits without a category say nothing."""

    seen: set[Category] = field(default_factory=set)
    domain_visits: Counter[str] = field(default_factory=Counter)

    def add(self, batch: Iterable[Row]) -> None:
        """Take in the visits of one more batch."""
        for row in batch:
            if row["l2"] is not None:
                self.seen.add((row["l1"], row["l2"]))
                if row["l1"] is not None:
                    self.domain_visits[row["l1"]] += 1

    def familiarity(self, category: Category, connected: Mapping[str, set[str]], settings: CommerceSettings) -> str:
        """How well a category is known; `connected` is the quarter's table."""
        domain = category[0]
        if category in self.seen:
            return "seen"
        if domain is None:
            return "unconnected"
        if self.domain_visits[domain] >= settings.familiar_visits:
            return "familiar"
        if self.domain_visits[domain] > 0:
            return "related"
        visited = [name for name, count in self.domain_visits.items() if count > 0]
        return "new" if any(domain in connected.get(name, ()) for name in visited) else "unconnected"
