"""`recent_k`: the newest k visits, newest first (control, ours)."""

from pipelines.memory.contract import Batch, MethodSpec, Readout, Settings, fit, setting
from pipelines.memory.rendering import visit_lines
from pipelines.memory.state import JsonMemory


class RecentKConfig(Settings):
    """How many visits stay."""

    k: int = setting(50, "visits kept", unit="visits", origin="ours: about one batch of the paper", ge=1)


class RecentK(JsonMemory):
    """Keeps k lines."""

    name = "recent_k"

    def take(self, batch: Batch) -> None:
        """Append the batch's lines and drop the oldest above k."""
        newest = visit_lines(batch.visits.tail(self.config.k))
        self.state["lines"] = (self.state.get("lines", []) + newest)[-self.config.k :]

    def readout(self, budget: int) -> Readout:
        """One line a visit, newest first."""
        return fit(self.state.get("lines", [])[::-1], budget, self.tokens)


SPEC = MethodSpec(
    name=RecentK.name,
    kind="control",
    description="The newest k visits, newest first.",
    factory=RecentK,
    config_model=RecentKConfig,
    version=RecentK.version,
    batch_invariant=True,
)
