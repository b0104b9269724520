"""Questions of a release as samples for an evaluation harness: what is asked, and apart from it what is right (ours).

A sample and its answer share an id and nothing else; the messages are those of the project's own readers.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from pipelines.applogs import asking
from pipelines.applogs.json_text import dump
from pipelines.evaluation.readers import UNIT
from pipelines.evaluation.readers.llm import LlmReaderSettings, label_names, pool_prompts, pool_request
from pipelines.memory.contract import Tokens
from pipelines.models import Request
from pipelines.onchain.beliefs import FLAT
from pipelines.onchain.prompting import Key
from pipelines.onchain.prompts import FLAT_NAME, BeliefInput, TradeInput
from pipelines.onchain.wording import request

Row = dict[str, Any]


def json_line(row: Mapping[str, Any]) -> str:
    """A row as one line of ASCII: no character in a cell can end it, for any reader of lines."""
    return json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n"


def sample(asked: Request, about: Mapping[str, Any]) -> Row:
    """A call as a sample: id, messages, and metadata with `about` and the form of the reply."""
    form = {"name": asked.schema_name, "schema": asked.schema, "max_tokens": asked.max_tokens}
    messages = [{"role": one.speaker, "content": one.text} for one in asked.messages]
    return {"id": asked.unit, "input": messages, "metadata": {**about, "reply": form}}


def pool_samples(
    readouts: pl.DataFrame, pools: pl.DataFrame, names: pl.DataFrame, tokens: Tokens, settings: LlmReaderSettings
) -> Iterator[Row]:
    """One sample for every pool that has a readout, in the order of users, transitions and pools."""
    for row in pool_prompts(readouts, pools, names, tokens, settings).iter_rows(named=True):
        about = {name: row[name] for name in UNIT} | {"labels": label_names(len(row["positions"]))}
        yield sample(pool_request(row, settings), about)


def pool_targets(pool_gold: pl.DataFrame) -> Iterator[Row]:
    """The labels of the positives of every pool, in the order of `pool_samples`."""
    grouped = (
        pool_gold.sort(*UNIT, "position")
        .group_by(UNIT, maintain_order=True)
        .agg(pl.len().alias("n"), (pl.col("role").cast(pl.String) == "positive").arg_true().alias("places"))
    )
    for row in grouped.iter_rows(named=True):
        labels = label_names(row["n"])
        yield {"id": "/".join(str(row[name]) for name in UNIT), "target": [labels[place] for place in row["places"]]}


def prediction_samples(asked: Iterable[tuple[Key, BeliefInput | TradeInput]]) -> Iterator[Row]:
    """One sample for every target that `prompting.prompts` makes an input of."""
    for (wallet, event), shown in asked:
        layer = "belief" if isinstance(shown, BeliefInput) else "trade"
        about = {"layer": layer, "wallet": f"0x{wallet.hex()}", "event": event, "outcomes": shown.context.outcomes}
        yield sample(request(shown, target_id(layer, wallet, event)), about)


def prediction_targets(targets: pl.DataFrame, layer: str, outcomes: Mapping[bytes, list[str]]) -> Iterator[Row]:
    """The label of every row of `belief_instances` or `trade_instances`, in its order; `outcomes` by condition."""
    for row in targets.iter_rows(named=True):
        if layer == "belief":
            names, side = outcomes.get(row["condition_id"], []), row["side"]
            said = FLAT_NAME if side == FLAT else names[side] if side < len(names) else f"outcome {side}"
            right = {"side": side, "confidence": row["confidence"]}
        else:
            said, right = row["direction"], {"direction": row["direction"], "amount": row["amount"]}
        event = row["cut_event" if layer == "belief" else "event"]
        yield {"id": target_id(layer, row["wallet"], event), "target": said, **right}


def target_id(layer: str, wallet: bytes, event: int) -> str:
    """Id of a target, as the accounting of model calls names it."""
    return f"{layer}:{wallet.hex()}:{event}"


def state_samples(
    contexts: pl.DataFrame, questions: pl.DataFrame, tokens: Tokens, settings: asking.AskingSettings
) -> Iterator[Row]:
    """One sample for every question (rows of `tasks`) that has a context, by user, checkpoint and item."""
    for one in asking.prompted(contexts, questions, tokens, settings):
        about = {name: one.question[name] for name in ("user_id", "checkpoint_id", "task")}
        yield sample(asking.request(one, settings), {**about, "shape": asking.shape_of(one.question)})


_OF_TARGET = ("task", "expectation", "family", "service_family", "state_key", "reference")


def state_targets(gold_items: pl.DataFrame, gold_parts: pl.DataFrame, minutes: float) -> Iterator[Row]:
    """What is right of every item, with the parts and the tolerance it is scored by, in the order of `state_samples`.

    `target` is the right answer as JSON, or in words where a message is asked for.
    """
    parts: dict[str, list[Row]] = {}
    for part in gold_parts.sort("user_id", "item", "place").drop("user_id").iter_rows(named=True):
        parts.setdefault(part.pop("item"), []).append(part)
    for row in gold_items.sort("user_id", "checkpoint_id", "item").iter_rows(named=True):
        own = parts.get(row["item"], [])
        words = "; ".join(part["criterion"] for part in own if part["criterion"]) or dump(None)
        told = {name: row[name] for name in _OF_TARGET}
        yield {"id": row["item"], "target": row["reference"] or words, **told, "minutes": minutes, "parts": own}
