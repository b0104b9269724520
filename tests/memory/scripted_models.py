"""Models whose replies the test decides, and the visits that the tests of model-asking memories are fed."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from pipelines.memory.contract import VISIT_COLUMNS, Batch
from pipelines.memory.contract_worlds import batch_of
from pipelines.models import Reply, Request

DAY_0 = datetime(2022, 1, 3, 10, tzinfo=UTC)


class Scripted:
    """Answers by `script(request)`: a value goes out as JSON, text and `Reply` as they are. Keeps what was asked."""

    def __init__(self, script: Callable[[Request], Any], fingerprint: str = "scripted 1") -> None:
        self.script = script
        self.name, self.fingerprint, self.weak = "scripted", fingerprint, True
        self.asked: list[Request] = []

    def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        said = self.script(request)
        if isinstance(said, Reply):
            return said
        return Reply(said if isinstance(said, str) else json.dumps(said), "ok", "key", 100, 10)

    def ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        return [self.ask(request) for request in requests]

    def data(self, step: str) -> list[str]:
        """The data messages of a step, in order."""
        return [request.messages[-1].text for request in self.asked if request.schema_name == step]

    def steps(self) -> list[str]:
        return [request.schema_name for request in self.asked]


def by_batch(replies: Mapping[int, Mapping[str, Any]]) -> Scripted:
    """Replies by batch and step; a step that is not named finds nothing."""
    nothing = {
        "patterns": {"patterns": []},
        "themes": {"themes": []},
        "characteristics": {"characteristics": []},
        "placement": {"placements": []},
        "maintenance": {"verdicts": []},
        "one_step": {"claims": []},
    }

    def script(request: Request) -> Any:
        batch = int(request.unit.split(":")[2])
        return replies.get(batch, {}).get(request.schema_name, nothing[request.schema_name])

    return Scripted(script)


def day_batch(index: int, day: float, n: int = 3, **columns: Any) -> Batch:
    """Batch `index` of user `u`: `n` visits an hour apart that end `day` days after `DAY_0`."""
    end = DAY_0 + timedelta(days=day)
    rows = []
    for place in range(n):
        moment = end - timedelta(hours=n - 1 - place)
        row: dict[str, Any] = {name: 0 for name in VISIT_COLUMNS if name.startswith("n_")}
        row |= {"start": moment, "end": moment, "item_id": f"i{index}-{place}", "brand": "Acme", "n_purchase": 1}
        row |= {"l1": "food", "l1_name": "Food", "l2": "flour", "l2_name": "Flour", "dwell_seconds": None, "text": None}
        row |= {name: value[place] if isinstance(value, list) else value for name, value in columns.items()}
        rows.append({name: row[name] for name in VISIT_COLUMNS})
    return batch_of("u", index, pl.DataFrame(rows, schema=dict(VISIT_COLUMNS)))
