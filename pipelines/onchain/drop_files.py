"""Files of a call told apart by what they hold: logs of the chain, or descriptions of markets."""

import json
from pathlib import Path

from pipelines.commerce import reading
from pipelines.commerce.reading import HEAD_BYTES, read_bytes
from pipelines.onchain.gamma import NO_JSON

_MARKET = ("conditionId", "outcomes")


def describes_markets(path: Path) -> bool:
    """Whether a file holds market descriptions: JSON whose first object has a condition id and outcomes."""
    if reading.kind(path) == "parquet":
        return False
    head = next(iter(read_bytes(path, HEAD_BYTES)), b"").decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    start = head.find("{")
    if start < 0 or head[:start].strip(" \t\r\n["):
        return False
    try:
        first, _ = json.JSONDecoder().raw_decode(head[start:])
    except NO_JSON:
        # The first object is longer than the head, or broken: its field names tell.
        return all(f'"{name}"' in head for name in _MARKET)
    return isinstance(first, dict) and all(name in first for name in _MARKET)
