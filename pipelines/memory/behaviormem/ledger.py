"""F1: the ledger of explicit facts, kept by arithmetic alone (paper B.2); nothing of it enters a prompt about claims.

Visits are appended and never changed. Beside them stand integer sums by domain,
category, brand, attribute (part of the day and of the week, UTC: what every log has)
and engagement (actions, actions by category), decayed by half in `half_life_days`
through forward decay, as in `frequency_profile`.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import polars as pl

from pipelines.memory.behaviormem.records import shortened
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.contract import Tokens
from pipelines.memory.methods.frequency_profile import growth, hundredths
from pipelines.memory.rendering import ACTIONS, action_words, category, category_names, plain, visit_lines

_DAY = 86_400_000_000
_PARTS = ("at night (0–6 h UTC)", "in the morning (6–12 h UTC)", "in the afternoon (12–18 h UTC)")
_EVENING = "in the evening (18–24 h UTC)"


def add_visits(ledger: dict[str, Any], visits: pl.DataFrame, config: BehaviorMemConfig, tokens: Tokens) -> int:
    """Append a batch's visits and add them to the sums. Gives the number of recent lines that were cut."""
    starts = visits["start"].cast(pl.Int64).to_list()
    days = [start // _DAY for start in starts]
    first = ledger.setdefault("first_day", min(days))
    ledger["day"] = max(days)
    named = category_names(visits)
    categories = [category(l1, l2) if l2 else "" for l1, l2 in named]
    domains = [category(l1, None) for l1, _ in named]
    brands = [plain(brand or "") for brand in visits["brand"].to_list()]
    items = [plain(item or "") for item in visits["item_id"].to_list()]
    done = action_words(visits)
    ledger.setdefault("visits", []).extend(
        [start, domain, name, brand, item, did]
        for start, domain, name, brand, item, did in zip(starts, domains, categories, brands, items, done, strict=True)
    )
    sums: dict[str, list[tuple[int, str]]] = {
        "domains": list(zip(days, domains, strict=True)),
        "categories": list(zip(days, categories, strict=True)),
        "brands": list(zip(days, brands, strict=True)),
        "attributes": [
            (day, part) for day, start in zip(days, starts, strict=True) for part in (_hour(start), _week(day))
        ],
        "engagement": [],
        "by_category": [],
    }
    for column, word in ACTIONS.items():
        acted = [place for place, n in enumerate(visits[column].to_list()) if n]
        sums["engagement"] += [(days[place], word) for place in acted]
        sums["by_category"] += [(days[place], f"{word} {categories[place]}") for place in acted if categories[place]]
    for kind, seen in sums.items():
        _add(ledger.setdefault(kind, {}), seen, first, config.half_life_days)
    return _add_recent(ledger, visits, items, config, tokens)


def _add(weights: dict[str, int], seen: Iterable[tuple[int, str]], first: int, half_life: int) -> None:
    for (day, key), n in Counter(seen).items():
        if key:
            weights[key] = weights.get(key, 0) + n * growth(day - first, half_life)


def _add_recent(
    ledger: dict[str, Any], visits: pl.DataFrame, items: list[str], config: BehaviorMemConfig, tokens: Tokens
) -> int:
    """Keep the newest line of each of the last items, newest first, and how often each was met."""
    lines, cut = shortened(visit_lines(visits), config.record_tokens, tokens)
    recent: list[list[Any]] = ledger.setdefault("recent", [])
    for item, line in zip(items, lines, strict=True):
        times = next((one[2] for one in recent if one[0] == item), 0) if item else 0
        recent = [[item, line, times + 1], *(one for one in recent if not item or one[0] != item)]
        recent = recent[: config.max_recent]
    ledger["recent"] = recent
    return cut


def _hour(start: int) -> str:
    part = start % _DAY // (_DAY // 4)
    return _PARTS[part] if part < 3 else _EVENING


def _week(day: int) -> str:
    # 1970-01-01 was a Thursday.
    return "at the weekend" if (day + 3) % 7 >= 5 else "on weekdays"


def fact_lines(ledger: dict[str, Any], config: BehaviorMemConfig) -> list[str]:
    """The ledger as lines, most telling first.

    Engagement, domains, the first categories, brands, attributes, recent items, then all other categories.
    """
    if not ledger:
        return []

    def ranked(kind: str) -> list[tuple[str, str]]:
        now = growth(ledger["day"] - ledger["first_day"], config.half_life_days)
        weights = sorted(ledger[kind].items(), key=lambda item: (-item[1], item[0]))
        return [(name, hundredths(weight, now)) for name, weight in weights]

    acts = dict(ranked("by_category"))
    categories = []
    for name, weight in ranked("categories"):
        done = ", ".join(f"{word} {acts[f'{word} {name}']}" for word in ACTIONS.values() if f"{word} {name}" in acts)
        categories.append(f"{name}: {weight} ({done})" if done else f"{name}: {weight}")
    lines = [f"{word}: {weight}" for word, weight in ranked("engagement")]
    lines += [f"{name}: {weight}" for name, weight in ranked("domains")[: config.max_domains]]
    lines += categories[: config.max_categories]
    lines += [f"brand {name}: {weight}" for name, weight in ranked("brands")[: config.max_brands]]
    lines += [f"active {part}: {weight}" for part, weight in ranked("attributes")]
    lines += [f"recent: {line}{f' | met {times} times' if times > 1 else ''}" for _, line, times in ledger["recent"]]
    return lines + categories[config.max_categories :]
