"""Every axis of the DAG and how partitions of one axis feed another."""

import dagster as dg

from resources.home import shard_names

DROPS = dg.DynamicPartitionsDefinition(name="drop")
RELEASES = dg.DynamicPartitionsDefinition(name="release")
RANGES = dg.DynamicPartitionsDefinition(name="range")
ARMS = dg.DynamicPartitionsDefinition(name="arm")
EXPERIMENTS = dg.DynamicPartitionsDefinition(name="experiment")
SHARDS = dg.StaticPartitionsDefinition(list(shard_names()))
RELEASE_SHARDS = dg.MultiPartitionsDefinition({"release": RELEASES, "shard": SHARDS})
ARM_SHARDS = dg.MultiPartitionsDefinition({"arm": ARMS, "shard": SHARDS})


def any_of(asset: dg.AssetsDefinition) -> dg.AssetDep:
    """Dependency on partitions that a specification names at run time (a release's drops, an arm's release)."""
    return dg.AssetDep(asset, partition_mapping=dg.AllPartitionMapping())


def axes_of(context: dg.AssetExecutionContext) -> dict[str, str]:
    """Axis → key of the partition in execution."""
    key = context.partition_key
    if isinstance(key, dg.MultiPartitionKey):
        return dict(key.keys_by_dimension)
    return {context.assets_def.partitions_def.name: key}
