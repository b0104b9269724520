"""Logs of orders in one walk: it takes what the reading word by word takes, and refuses what that refuses."""

import polars as pl
import pytest

from pipelines.onchain.abi import BY_NAME
from pipelines.onchain.decode import decode, read_event
from pipelines.onchain.logs_raw import LINE
from pipelines.onchain.orders import read_orders
from pipelines.onchain.tables import EXCHANGES, ONCHAIN_TABLES
from pipelines.onchain.trades import BUILDERS

TOKEN = b"\x80" + bytes(30) + b"\x07"
EDGES = [0, 1, 2, 2**31, 2**62, 2**63 - 1, 2**63, 2**64, 2**127, 2**128, 2**191, 2**192, 2**255, 2**256 - 1]
ADDRESSES = [0, 2**159, 2**160 - 1, 2**160, 2**191, 2**192, 2**255, int(EXCHANGES[0], 16), int(EXCHANGES[3], 16)]


def word(value: int) -> bytes:
    return value.to_bytes(32, "big")


def logs_of(event) -> pl.DataFrame:
    """A sound log, and logs in which one topic or word is at an edge, is missing or too many."""
    topics = [event.topic0, *(word(100 + i) for i in range(len(event.indexed)))]
    topics += [None] * (4 - len(topics))
    sides = [word(0), word(1)] if event.data[0].kind == "bit" else [word(0), TOKEN]
    data = [*sides, *(word(50 + i) for i in range(len(event.data) - 2))]
    if event.data[0].kind == "bit":
        data[1] = TOKEN
    given = [(topics, data), (topics, [data[1], data[0], *data[2:]])]
    for i in range(len(data)):
        given += [(topics, [*data[:i], word(edge), *data[i + 1 :]]) for edge in EDGES]
    for i in range(2, len(event.indexed) + 1):
        given += [([*topics[:i], word(edge), *topics[i + 1 :]], data) for edge in ADDRESSES]
    given += [([*topics[:i], None, *topics[i + 1 :]], data) for i in range(1, 4)]
    given += [([*topics[:3], word(1)], data), (topics, data[:-1]), (topics, [*data, word(0)])]
    given += [(topics, [*data[:-1], bytes(31)]), (topics, [])]
    rows = [
        {
            **{f"topic{i}": topic for i, topic in enumerate(of)},
            "address": min(event.contracts),
            "data": b"".join(words),
            "block_number": 1,
            "log_index": i,
            LINE: i,
        }
        for i, (of, words) in enumerate(given)
    ]
    return pl.DataFrame(rows, {**ONCHAIN_TABLES["logs"].schema, LINE: pl.Int64})


@pytest.mark.parametrize("name", BUILDERS)
def test_the_walk_and_the_words_agree_on_every_log(name):
    event = BY_NAME[name]
    logs = logs_of(event)
    ((condition, _),) = BUILDERS[name].refuse
    read = [part for part, _, _ in read_event(event, logs) if part is not None and part.height]
    fine = {line for part in read for line in part.filter(~condition)[LINE]}
    sound = read_orders(event, logs).sound
    assert set(logs.filter(pl.Series(sound))[LINE]) == fine
    assert 0 < len(fine) < logs.height
    # What the words say of a sound log, the row says, too.
    (part,) = read
    both = part.filter(~condition).join(decode(logs).tables[BUILDERS[name].table], on=LINE, suffix="_row")
    assert set(both[LINE]) == fine
    for row in both.to_dicts():
        buys = row["side"] == 0 if "side" in row else row["maker_asset_is_zero"]
        token = row["token_id_row"] if "side" in row else row["token_id"]
        wanted = row["token_id"] if "side" in row else row["taker_asset" if buys else "maker_asset"]
        amounts = (row["taker_amount"], row["maker_amount"]) if buys else (row["maker_amount"], row["taker_amount"])
        assert (row["direction"], token) == ("BUY" if buys else "SELL", wanted)
        assert (row["amount"], row["collateral"], row["wallet"]) == (*amounts, row["maker"])
        if "taker" in row:
            taken_by = "taker" if "0x" + row["taker"].hex() in EXCHANGES else "maker"
            assert (row["counterparty"], row["role"]) == (row["taker"], taken_by)
            assert row["price"] == (amounts[1] / amounts[0] if amounts[0] else None)
            charged = "outcome_token" if buys and name.endswith("v1") else "collateral"
            assert row["fee_asset"] == (charged if row["fee"] else None)
