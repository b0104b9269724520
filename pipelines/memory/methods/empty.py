"""`empty`: no memory at all; what a reader scores by guessing (control, ours)."""

from pipelines.memory.contract import Batch, MethodSpec, Readout, Settings
from pipelines.memory.state import JsonMemory


class EmptyConfig(Settings):
    """Nothing to configure."""


class Empty(JsonMemory):
    """Notes which batches passed and remembers nothing of them."""

    name = "empty"

    def take(self, batch: Batch) -> None:
        """Nothing."""

    def readout(self, budget: int) -> Readout:
        """Always empty."""
        return Readout()


SPEC = MethodSpec(
    name=Empty.name,
    kind="control",
    description="No memory: what a reader scores by guessing.",
    factory=Empty,
    config_model=EmptyConfig,
    version=Empty.version,
    batch_invariant=True,
    reads_nothing=True,
)
