"""The shape that the assets of arms and experiments share: their axes, checks and place in the UI."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from assets.partitions import ARM_SHARDS, EXPERIMENTS
from assets.publishing import Result
from expectations import checks
from resources.code import code_version

GROUP = "evaluation"
"""Where the UI shows the assets of arms and of the boards over them."""
Build = Callable[[Callable[..., Iterator[Result]]], dg.AssetsDefinition]


def arm_step(
    *, deps: Sequence[Any], code: Sequence[str], pool: str | None = None, kinds: Sequence[str] = ("polars", "parquet")
) -> Build:
    """Make an asset of an arm and shard of a function; its name, which is its table's, and docstring are the asset's.

    `code` are the modules that its result depends on; `pool` limits how many runs do the like at once.
    """
    return _step(ARM_SHARDS, deps=deps, code=code, pool=pool, kinds=kinds)


def experiment_step(*, deps: Sequence[Any], code: Sequence[str], more_checks: Mapping[str, str] | None = None) -> Build:
    """As `arm_step`, an asset of an experiment over all its arms; `more_checks` as of `checks.specs`."""
    return _step(EXPERIMENTS, deps=deps, code=code, more_checks=more_checks)


def report_step(*, deps: Sequence[Any]) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Make an asset of an experiment of a function that writes its pages and the tables beside them."""
    kinds = {"html", "csv", "parquet"}
    return dg.asset(partitions_def=EXPERIMENTS, deps=deps, group_name=GROUP, kinds=kinds, owners=["team:trailbench"])


def _step(
    partitions: dg.PartitionsDefinition,
    *,
    deps: Sequence[Any],
    code: Sequence[str],
    pool: str | None = None,
    kinds: Sequence[str] = ("polars", "parquet"),
    more_checks: Mapping[str, str] | None = None,
) -> Build:
    def build(compute: Callable[..., Iterator[Result]]) -> dg.AssetsDefinition:
        asset = dg.asset(
            partitions_def=partitions,
            deps=deps,
            check_specs=checks.specs(compute.__name__, partitions, more_checks),
            code_version=code_version(*code),
            pool=pool,
            group_name=GROUP,
            kinds=set(kinds),
            owners=["team:trailbench"],
        )
        return asset(compute)

    return build
