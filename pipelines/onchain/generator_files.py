"""A generated chain as the files that a node and the market service would give: JSON-RPC logs, Gamma markets."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl

from pipelines.onchain import ids
from pipelines.onchain.generator import Plan, names
from pipelines.onchain.generator_logs import GROUP

_TOPICS = ("topic0", "topic1", "topic2", "topic3")
_TOPIC_NAMES = ("Rain on day {}", "Team {} wins", "Index closes above {}", "Bill {} passes")
CATEGORIES = ("Weather", "Sports", "Markets", "Politics")
_LAUNCH = datetime(2023, 5, 1, tzinfo=UTC)


def rpc_logs(logs: pl.DataFrame) -> pl.DataFrame:
    """Rows of table `logs` in the fields of `eth_getLogs`, all text but `removed`; one row is one line of JSON."""
    topics = pl.concat_list(ids.hex_text(pl.col(name)) for name in _TOPICS).list.drop_nulls()
    seconds = logs["time"].dt.epoch("s")
    return logs.select(
        ids.hex_text(pl.col("address")).alias("address"),
        topics.alias("topics"),
        ids.hex_text(pl.col("data")).alias("data"),
        _quantity(logs["block_number"]).alias("blockNumber"),
        ids.hex_text(pl.col("block_hash")).alias("blockHash"),
        _quantity(seconds).alias("blockTimestamp"),
        ids.hex_text(pl.col("tx_hash")).alias("transactionHash"),
        _quantity(logs["tx_index"]).alias("transactionIndex"),
        _quantity(logs["log_index"]).alias("logIndex"),
        "removed",
    )


def gamma_markets(plan: Plan) -> list[dict[str, object]]:
    """Descriptions of the plan's markets as Gamma gives them, lists as JSON texts."""
    known = names(plan)
    rows: list[dict[str, object]] = []
    for market in range(plan.markets):
        kind = market % len(CATEGORIES)
        start = _LAUNCH + timedelta(days=market % 90)
        tokens = [str(int.from_bytes(known.tokens[market, outcome].tobytes(), "big")) for outcome in (0, 1)]
        rows.append(
            {
                "id": str(market),
                "question": _TOPIC_NAMES[kind].format(market) + "?",
                "conditionId": "0x" + known.conditions[market].tobytes().hex(),
                "questionID": "0x" + known.questions[market].tobytes().hex(),
                "outcomes": json.dumps(["Yes", "No"]),
                "clobTokenIds": json.dumps(tokens),
                "category": CATEGORIES[kind],
                "startDate": start.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "endDate": (start + timedelta(days=60)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "negRisk": market < plan.neg_risk_markets // GROUP * GROUP,
            }
        )
    return rows


def _quantity(numbers: pl.Series) -> pl.Series:
    """Integers as the hex quantities of JSON-RPC, null as null; each distinct one is written once."""
    known = numbers.unique().drop_nulls()
    texts = pl.Series([hex(number) for number in known], dtype=pl.String)
    return numbers.replace_strict(known, texts, default=None, return_dtype=pl.String)
