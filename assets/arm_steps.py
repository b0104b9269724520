"""The shape that the assets of an arm share: their axes, checks and place in the UI."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dagster as dg

from assets.partitions import ARM_SHARDS
from assets.publishing import Result
from expectations import checks
from resources.code import code_version

GROUP = "evaluation"
"""Where the UI shows the assets of arms and of the boards over them."""


def arm_step(
    *, deps: Sequence[Any], code: Sequence[str], pool: str | None = None, kinds: Sequence[str] = ("polars", "parquet")
) -> Callable[[Callable[..., Iterator[Result]]], dg.AssetsDefinition]:
    """Make an asset of an arm and shard of a function; its name, which is its table's, and docstring are the asset's.

    `code` are the modules that its result depends on; `pool` limits how many runs do the like at once.
    """

    def build(compute: Callable[..., Iterator[Result]]) -> dg.AssetsDefinition:
        asset = dg.asset(
            partitions_def=ARM_SHARDS,
            deps=deps,
            check_specs=checks.specs(compute.__name__, ARM_SHARDS),
            code_version=code_version(*code),
            pool=pool,
            group_name=GROUP,
            kinds=set(kinds),
            owners=["team:trailbench"],
        )
        return asset(compute)

    return build
