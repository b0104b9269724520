"""`template_profile`: fixed sentences filled with counts (ours; the paper's Template Profile is not published)."""

from collections import Counter

from pipelines.memory.contract import Batch, MethodSpec, Readout, Settings, fit, setting
from pipelines.memory.rendering import ACTIONS, category, category_names, plain
from pipelines.memory.state import JsonMemory

_STRONG = ("n_favourite", "n_cart", "n_purchase")


class TemplateProfileConfig(Settings):
    """Where "often" and "sometimes" begin."""

    often: int = setting(5, "visits from which a category is often visited", unit="visits", origin="ours", ge=2)
    sometimes: int = setting(2, "visits from which it is sometimes visited", unit="visits", origin="ours", ge=2)
    max_brands: int = setting(5, "brands named", unit="lines", origin="ours", ge=0)


class TemplateProfile(JsonMemory):
    """Keeps counts of the whole history, and what the newest batch showed."""

    name = "template_profile"

    def take(self, batch: Batch) -> None:
        """Add the counts of the batch; what is recent is replaced by it."""
        visits = batch.visits
        named = [category(*name) if name[1] else "" for name in category_names(visits)]
        brands = [plain(brand or "") for brand in visits["brand"].to_list()]
        self._add("categories", named)
        self._add("brands", brands)
        self.state["recent"] = {}
        for column in _STRONG:
            touched = {name for name, n in zip(named, visits[column].to_list(), strict=True) if n and name}
            self.state["recent"][column] = sorted(touched)

    def _add(self, kind: str, names: list[str]) -> None:
        counts = self.state.setdefault(kind, {})
        for name, n in Counter(names).items():
            if name:
                counts[name] = counts.get(name, 0) + n

    def readout(self, budget: int) -> Readout:
        """One sentence a line: brands, the newest batch's strong signals, then categories by visits."""
        if not self.state:
            return Readout()
        lines = [f"A brand of this user is {name}." for name, _ in self._ranked("brands")[: self.config.max_brands]]
        ranked = self._ranked("categories")
        order = {name: place for place, (name, _) in enumerate(ranked)}
        for column in _STRONG:
            touched = sorted(self.state["recent"][column], key=order.__getitem__)
            lines += [f"Lately this user {ACTIONS[column]}: {name}." for name in touched]
        lines += [f"This user {self._how(n)} {name}." for name, n in ranked]
        return fit(lines, budget, self.tokens)

    def _how(self, n: int) -> str:
        if n >= self.config.often:
            return "often visits"
        return "sometimes visits" if n >= self.config.sometimes else "once visited"

    def _ranked(self, kind: str) -> list[tuple[str, int]]:
        return sorted(self.state[kind].items(), key=lambda item: (-item[1], item[0]))


SPEC = MethodSpec(
    name=TemplateProfile.name,
    kind="statistics",
    description="Fixed sentences about often, sometimes and once visited categories, brands and late signals.",
    factory=TemplateProfile,
    config_model=TemplateProfileConfig,
    version=TemplateProfile.version,
)
