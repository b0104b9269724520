"""What the published benchmark compares with: `rag_top20`, and `oracle`, which is shown the proof (reference 7).

Neither is a memory: both are given the raw logs at once, without a token budget.
"""

from typing import Any

import numpy as np
import polars as pl

from pipelines.applogs.contexts import query_of
from pipelines.applogs.tables import table_of
from pipelines.embeddings import Embedder, on_grid
from pipelines.memory.contract import Tokens
from pipelines.memory.rendering import plain

RAG, ORACLE = "rag_top20", "oracle"
PEERS = (RAG, ORACLE)
TOP = 20
"""Logs that are delivered for a question (reference 7)."""


def rag_top20(
    logs: pl.DataFrame, checkpoints: pl.DataFrame, questions: pl.DataFrame, embedder: Embedder, tokens: Tokens
) -> pl.DataFrame:
    """Table `contexts`: for each question the visible logs whose JSON is nearest to its query by cosine, best first.

    Equal cosines go to the newer log.
    """
    rows = []
    for (user,), asked in questions.sort("user_id", "item").group_by("user_id", maintain_order=True):
        own = logs.filter(pl.col("user_id") == user).sort("position")
        n_visible = _visible(checkpoints, user)
        queries = [query_of(row) for row in asked.to_dicts()]
        near = on_grid(embedder, queries).astype(np.float64) @ on_grid(embedder, own["record"].to_list()).T.astype(
            np.float64
        )
        records, ids = own["record"].to_list(), own["app_log_id"].to_list()
        for row, cosines in zip(asked.to_dicts(), near, strict=True):
            visible = cosines[: n_visible[row["checkpoint_id"]]]
            best = np.lexsort((-np.arange(len(visible)), -visible))[:TOP]
            rows.append(_row(row, [records[n] for n in best], [ids[n] for n in best], tokens))
    return table_of("contexts", rows)


def oracle(
    logs: pl.DataFrame, checkpoints: pl.DataFrame, questions: pl.DataFrame, gold_items: pl.DataFrame, tokens: Tokens
) -> pl.DataFrame:
    """Table `contexts`: for each question the logs that prove its answer, in order of time; never one after its cut.

    For the scoring side alone: it is told the gold.
    """
    proof = dict(gold_items.select("item", "evidence").iter_rows())
    rows = []
    for (user,), asked in questions.sort("user_id", "item").group_by("user_id", maintain_order=True):
        own = logs.filter(pl.col("user_id") == user).sort("position")
        place = {name: n for n, name in enumerate(own["app_log_id"])}
        records, ids, n_visible = own["record"].to_list(), own["app_log_id"].to_list(), _visible(checkpoints, user)
        for row in asked.to_dicts():
            shown = sorted(place[one] for one in set(proof[row["item"]]) if one in place)
            seen = [n for n in shown if n < n_visible[row["checkpoint_id"]]]
            rows.append(_row(row, [records[n] for n in seen], [ids[n] for n in seen], tokens))
    return table_of("contexts", rows)


def _visible(checkpoints: pl.DataFrame, user: Any) -> dict[str, int]:
    own = checkpoints.filter(pl.col("user_id") == user)
    return dict(own.select("checkpoint_id", "n_visible").iter_rows())


def _row(question: dict[str, Any], records: list[str], ids: list[str], tokens: Tokens) -> dict[str, Any]:
    text = "\n".join(map(plain, records))
    place = {name: question[name] for name in ("user_id", "checkpoint_id", "item")}
    return {**place, "text": text, "tokens": tokens.count(text), "tokens_cut": 0, "retrieved": ids, "state_hash": ""}
