"""Benchmarks and evaluations of user memory, built from real behaviour logs.

What a package needs to offer a memory method of its own: write a `Method`, describe
it by a `MethodSpec`, declare that under the entry-point group `trailbench.methods`,
and let `check_method` show which rules it breaks.
"""

from pipelines.memory import contract_tests as _contract_tests
from pipelines.memory.contract import (
    Batch,
    Method,
    MethodSpec,
    OutOfOrder,
    Readout,
    Retriever,
    Settings,
    SnapshotError,
    Tokens,
    fit,
    setting,
)
from pipelines.memory.rendering import plain
from pipelines.memory.state import JsonMemory
from resources.tokenizer import load_tokens

__all__ = [
    "Batch",
    "JsonMemory",
    "Method",
    "MethodSpec",
    "OutOfOrder",
    "Readout",
    "Retriever",
    "Settings",
    "SnapshotError",
    "Tokens",
    "check_method",
    "fit",
    "load_tokens",
    "plain",
    "setting",
]


def check_method(spec: MethodSpec, config: Settings | None = None) -> list[str]:
    """The rules of the contract that `spec` breaks, as sentences; empty when it keeps them all."""
    return _contract_tests.check_method(spec, load_tokens(), config)
