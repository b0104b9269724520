"""The live chain: one partition a range of blocks, fetched into a drop that `decoded` then reads."""

from typing import Any

import dagster as dg

from assets.partitions import RANGES
from resources.chain.fetching import fetch_drop, finished_ranges
from resources.chain.settings import ChainSettings
from resources.dag import InputStore

FOLDER = "chain"
"""Where in the home folder fetched ranges lie."""


def range_key(first: int, last: int) -> str:
    """Partition key of a range of blocks, both inclusive."""
    return f"{first:012d}-{last:012d}"


@dg.asset(partitions_def=RANGES, pool="read", group_name="onchain", kinds={"json"}, owners=["team:trailbench"])
def fetched(context: dg.AssetExecutionContext, store: InputStore) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Every log of the protocol in a range of final blocks, proven to hang together, registered as a drop."""
    first, last = map(int, context.partition_key.split("-"))
    folder = store.folder / FOLDER
    drop = fetch_drop(store.register, ChainSettings(), first, last, folder)
    found = next(one for one in finished_ranges(folder) if (one.first, one.last) == (first, last))
    facts: dict[str, Any] = {
        "drop": drop.id,
        "logs": found.logs,
        "blocks with logs": found.blocks,
        "bytes": found.bytes,
    }
    return dg.MaterializeResult(
        metadata={**facts, "parent": found.parent, "last block hash": found.hash, "file": found.file},
        data_version=dg.DataVersion(found.sha256),
    )
