"""`trailbench fetch`: ranges of the live chain into the home folder, through the job of the DAG."""

from typing import Any

import dagster as dg

from assets.fetching import range_key
from resources.chain.settings import ChainSettings
from trailbench.console import Steps
from trailbench.running import run_job


def fetch_blocks(instance: dg.DagsterInstance, first: int, last: int, step: Steps) -> list[dict[str, Any]]:
    """Fetch the blocks `first` … `last`, range by range; a range that is there already is not asked for again.

    Returns range, logs and drop of each. Raises `RunFailed` with the cause.
    """
    size = ChainSettings().range_blocks
    starts = range(first, last + 1, size)
    step.expect(len(starts))
    found = []
    for start in starts:
        key = range_key(start, min(start + size - 1, last))
        step(f"blocks {key}")
        instance.add_dynamic_partitions("range", [key])
        made = run_job(instance, "fetch", {"range": key})["fetched"]
        found.append({"range": key, "logs": made["logs"], "drop": made["drop"]})
    return found
