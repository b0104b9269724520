"""F5: the readout, without a model (paper B.5): claims in the tree slot, facts and recent items in the description."""

from collections.abc import Sequence
from typing import Any

from pipelines.memory.behaviormem.claims import Claim, Scope
from pipelines.memory.behaviormem.ledger import fact_lines
from pipelines.memory.behaviormem.settings import BehaviorMemConfig
from pipelines.memory.contract import Readout, Tokens, fit

SCOPES: dict[Scope, str] = {"continuous": "stable", "stage": "stage-specific"}


def read_out(state: dict[str, Any], config: BehaviorMemConfig, budget: int, tokens: Tokens) -> Readout:
    """Active claims and ranked facts of at most `budget` tokens.

    Where both do not fit, the tree gets its share of the budget, or what the facts leave; the rest is counted.
    """
    claims = tree_lines(state)
    facts = fact_lines(state.get("ledger", {}), config)
    spare = budget - tokens.count("\n".join(facts))
    tree = fit(claims, max(spare, budget * config.tree_share // 100), tokens)
    description = fit(facts, budget - tree.tokens, tokens)
    return Readout(
        description.description,
        tree.description,
        description.tokens + tree.tokens,
        description.tokens_cut + tree.tokens_cut,
    )


def tree_lines(state: dict[str, Any]) -> list[str]:
    """Active claims, the most certain and then the newest supported first, one a line with confidence and scope."""
    active: Sequence[Claim] = [one for one in state.get("claims", []) if one["state"] == "active"]
    ranked = sorted(active, key=lambda one: (-one["confidence"], -one["supported"], one["path"], one["text"]))
    return claim_lines(state, ranked)


def claim_lines(state: dict[str, Any], claims: Sequence[Claim]) -> list[str]:
    """How the tree words some claims of `state`, in their order."""
    scopes: dict[str, Scope] = {one["path"]: one["scope"] for one in state.get("paths", [])}
    return [
        f"{one['path'].replace('/', ' / ')}: {one['text']} ({one['confidence']}%, {SCOPES[scopes[one['path']]]})"
        for one in claims
    ]
