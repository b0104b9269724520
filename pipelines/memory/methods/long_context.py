"""`long_context`: every visit as text, the newest kept where the budget ends (no memory, ours)."""

from pipelines.memory.contract import Batch, MethodSpec, Readout, Settings
from pipelines.memory.rendering import visit_lines
from pipelines.memory.state import JsonMemory


class LongContextConfig(Settings):
    """Nothing to configure: the budget is the arm's."""


class LongContext(JsonMemory):
    """Keeps the whole log; the cut is made at the readout and counted."""

    name = "long_context"

    def take(self, batch: Batch) -> None:
        """Append the batch's lines."""
        self.state["lines"] = self.state.get("lines", []) + visit_lines(batch.visits)

    def readout(self, budget: int) -> Readout:
        """One line a visit in order of time; the oldest are left out where the budget does not hold all."""
        lines = self.state.get("lines", [])
        total = self.tokens.count("\n".join(lines))
        # A line costs its tokens and its break. The opening line is counted a little differently
        # and has no break, so the newest lines that fit by this sum are adjusted by exact counts.
        used, start = 0, len(lines)
        for cost in reversed(self.tokens.counts(lines)):
            used += cost + 1
            if used > budget + 1:
                break
            start -= 1
        while start < len(lines) and self.tokens.count("\n".join(lines[start:])) > budget:
            start += 1
        kept = "\n".join(lines[start:])
        left = self.tokens.count(kept)
        return Readout(kept, "", left, total - left)


SPEC = MethodSpec(
    name=LongContext.name,
    kind="none",
    description="Every visit in order of time; the newest kept where the budget ends.",
    factory=LongContext,
    config_model=LongContextConfig,
    version=LongContext.version,
    batch_invariant=True,
)
