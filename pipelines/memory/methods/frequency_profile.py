"""`frequency_profile`: recency-decayed visit counts of domains, categories, brands and actions (ours).

Weights decay by half in `half_life_days`. They are kept by forward decay (Cormode et
al., ICDE 2009): a visit on day d adds 2^(d / half-life) as an integer, and a readout
divides by the same at its own day. Integer sums make the state independent of how
the stream was cut into batches, and its text equal on every machine.
"""

from collections import Counter
from collections.abc import Iterable

import polars as pl

from pipelines.memory.contract import Batch, MethodSpec, Readout, Settings, fit, setting
from pipelines.memory.rendering import ACTIONS, category, category_names, plain
from pipelines.memory.state import JsonMemory

_DAY = 86_400_000_000
_UNIT = 1 << 24
"""Weight of a visit on the user's first day."""


class FrequencyProfileConfig(Settings):
    """Decay, and how many lines of each kind."""

    half_life_days: int = setting(
        60, "days in which a visit's weight halves", unit="days", origin="ours: half the paper's 120-day batch", ge=1
    )
    max_domains: int = setting(10, "domains listed", unit="lines", origin="ours", ge=0)
    max_brands: int = setting(10, "brands listed", unit="lines", origin="ours", ge=0)


class FrequencyProfile(JsonMemory):
    """Keeps one integer for every category, domain, brand and action met."""

    name = "frequency_profile"

    def take(self, batch: Batch) -> None:
        """Add the batch's visits, grouped by day."""
        visits = batch.visits
        days = (visits["start"].cast(pl.Int64) // _DAY).to_list()
        first = self.state.setdefault("first_day", min(days))
        self.state["day"] = max(days)
        names = category_names(visits)
        self._add("categories", first, zip(days, (category(*name) if name[1] else "" for name in names), strict=True))
        self._add("domains", first, zip(days, (category(name[0], None) for name in names), strict=True))
        self._add("brands", first, zip(days, (plain(b or "") for b in visits["brand"].to_list()), strict=True))
        for column, word in ACTIONS.items():
            done = ((day, word) for day, n in zip(days, visits[column].to_list(), strict=True) if n)
            self._add("actions", first, done)

    def _add(self, kind: str, first: int, seen: Iterable[tuple[int, str]]) -> None:
        weights = self.state.setdefault(kind, {})
        for (day, key), n in Counter(seen).items():
            if key:
                weights[key] = weights.get(key, 0) + n * growth(day - first, self.config.half_life_days)

    def readout(self, budget: int) -> Readout:
        """Actions, top domains, top brands, then every category by weight: `Domain › Category: weight`."""
        if not self.state:
            return Readout()
        lines = [f"{word}: {weight}" for word, weight in self._ranked("actions")]
        lines += [f"{name}: {weight}" for name, weight in self._ranked("domains")[: self.config.max_domains]]
        lines += [f"brand {name}: {weight}" for name, weight in self._ranked("brands")[: self.config.max_brands]]
        lines += [f"{name}: {weight}" for name, weight in self._ranked("categories")]
        return fit(lines, budget, self.tokens)

    def _ranked(self, kind: str) -> list[tuple[str, str]]:
        now = growth(self.state["day"] - self.state["first_day"], self.config.half_life_days)
        ranked = sorted(self.state.get(kind, {}).items(), key=lambda item: (-item[1], item[0]))
        return [(name, hundredths(weight, now)) for name, weight in ranked]


def growth(days: int, half_life: int) -> int:
    """2^(days / half_life) in units of 2^-24, as an integer.

    The fraction is rounded from a double 2^29 times finer than the unit, so that a
    last-bit difference between maths libraries does not show.
    """
    whole, part = divmod(days, half_life)
    return round(2.0 ** (part / half_life) * _UNIT) << whole if whole >= 0 else 0


def hundredths(weight: int, one: int) -> str:
    """`weight / one` with two decimals, rounded half up, in integers."""
    scaled = (weight * 200 + one) // (2 * one)
    return f"{scaled // 100}.{scaled % 100:02d}"


SPEC = MethodSpec(
    name=FrequencyProfile.name,
    kind="statistics",
    description="Recency-decayed visit counts of domains, categories, brands and actions.",
    factory=FrequencyProfile,
    config_model=FrequencyProfileConfig,
    version=FrequencyProfile.version,
    batch_invariant=True,
)
