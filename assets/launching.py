"""Name new partitions and launch a whole release as one backfill."""

import time
from collections.abc import Mapping

import dagster as dg
from dagster import AssetKey
from dagster._core.definitions.assets.graph.asset_graph_subset import AssetGraphSubset
from dagster._core.definitions.assets.graph.base_asset_graph import BaseAssetGraph
from dagster._core.definitions.events import AssetKeyPartitionKey
from dagster._core.execution.backfill import PartitionBackfill

from assets.partitions import RELEASE_SHARDS, RELEASES
from resources.home import Home
from resources.release_spec import ReleaseSpec, save_release


def name_release(instance: dg.DagsterInstance, home: Home, spec: ReleaseSpec) -> str:
    """Write the specification and add its partition; idempotent. Returns the partition key."""
    key = save_release(home.store.store, spec)
    instance.add_dynamic_partitions("release", [key])
    return key


def launch_release(
    instance: dg.DagsterInstance,
    graph: BaseAssetGraph,  # type: ignore[type-arg]
    key: str,
    track: str,
    launched_by: Mapping[str, str],
) -> str | None:
    """Request one backfill over every release asset of a track and shard; None when it was launched before.

    `launched_by` is the tag of the sensor or schedule, which the UI names beside the backfill.
    """
    backfill_id = f"release-{key}"
    if instance.get_backfill(backfill_id) is not None:
        return None
    pairs: set[tuple[AssetKey, str]] = set()
    for asset in graph.materializable_asset_keys:
        if graph.get(asset).group_name != track:
            continue
        partitions = graph.get(asset).partitions_def
        if partitions == RELEASES:
            pairs.add((asset, key))
        elif partitions == RELEASE_SHARDS:
            shards = RELEASE_SHARDS.get_partitions_def_for_dimension("shard").get_partition_keys()
            pairs |= {(asset, dg.MultiPartitionKey({"release": key, "shard": shard})) for shard in shards}
    subset = AssetGraphSubset.from_asset_partition_set(
        {AssetKeyPartitionKey(asset, partition) for asset, partition in pairs}, graph
    )
    instance.add_backfill(
        PartitionBackfill.from_asset_graph_subset(
            backfill_id=backfill_id,
            backfill_timestamp=time.time(),
            tags={"dagster/priority": "-1", "trailbench/release": key, **launched_by},
            dynamic_partitions_store=instance,
            asset_graph_subset=subset,
            title=f"Freeze {key}",
            description="Every shard of one release, from its drops to its manifest.",
            run_config=None,
        )
    )
    return backfill_id
