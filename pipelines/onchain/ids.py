"""Condition, collection and position ids derived as the contracts derive them (reference B.6); ids as text.

Needs the Keccak of pycryptodome (`Crypto.Hash.keccak`), which web3 brings along.
"""

from functools import cache

import polars as pl
from gmpy2 import jacobi

from pipelines.onchain.contracts import NEG_RISK_ADAPTER, USDC_E, WRAPPED_COLLATERAL
from pipelines.onchain.tables import ONCHAIN_TABLES

_PRIME = 21888242871839275222246405745257275088696311157297823662689037894645226208583
"""Field of the curve alt_bn128, y² = x³ + 3."""
_SIGN = 1 << 254
_ODD = 1 << 255


def keccak256(data: bytes) -> bytes:
    """Keccak-256 with the padding of Ethereum, which is not that of SHA3-256."""
    from Crypto.Hash import keccak

    digest: bytes = keccak.new(digest_bits=256, data=data).digest()
    return digest


def condition_id(oracle: bytes, question_id: bytes, outcomes: int) -> bytes:
    """Id of the condition that `oracle` (20 bytes) answers for a question (32 bytes)."""
    return keccak256(oracle + question_id + outcomes.to_bytes(32, "big"))


@cache
def collection_id(condition: bytes, index_set: int) -> bytes:
    """Id of a set of outcomes of a condition, under no parent: a point of the curve, compressed; always 32 bytes."""
    start = int.from_bytes(keccak256(condition + index_set.to_bytes(32, "big")), "big")
    x = start
    while True:
        x = (x + 1) % _PRIME
        # Whether there is a point at x; which of its two y is taken is no part of the id.
        if jacobi(x * x * x + 3, _PRIME) >= 0:
            break
    return (x ^ _SIGN if start & _ODD else x).to_bytes(32, "big")


def position_id(collateral: bytes, collection: bytes) -> bytes:
    """Id of the ERC-1155 token of a collection in a collateral (20 bytes)."""
    return keccak256(collateral + collection)


def token_id(condition: bytes, outcome: int, neg_risk: bool) -> bytes:
    """Id of the token of one outcome; neg-risk markets hold wrapped collateral, all others USDC.e (also under V2)."""
    return position_id(WRAPPED_COLLATERAL if neg_risk else USDC_E, collection_id(condition, 1 << outcome))


def derive_tokens(conditions: pl.DataFrame) -> pl.DataFrame:
    """The table `tokens` for conditions (`condition_id`, `outcomes`, `neg_risk`).

    Where `neg_risk` is null, the tokens of both collaterals are given: an id of one
    is no id of the other.
    """
    rows = [
        (token_id(condition, outcome, kind), condition, outcome, kind)
        for condition, outcomes, neg_risk in conditions.select("condition_id", "outcomes", "neg_risk")
        .unique()
        .iter_rows()
        for kind in ((False, True) if neg_risk is None else (neg_risk,))
        for outcome in range(outcomes)
    ]
    table = ONCHAIN_TABLES["tokens"]
    return pl.DataFrame(rows, schema=table.schema, orient="row").unique(table.key).sort(table.sort_by)


def conditions_of(preparations: pl.DataFrame) -> pl.DataFrame:
    """Conditions as `derive_tokens` takes them, from the table `preparations`: the oracle tells neg-risk ones."""
    return preparations.select(
        "condition_id", "outcomes", (pl.col("oracle") == pl.lit(NEG_RISK_ADAPTER)).alias("neg_risk")
    ).unique()


def wrong_conditions(preparations: pl.DataFrame) -> pl.DataFrame:
    """Rows of `preparations` (or `resolutions`) whose condition id is not the one derived from oracle and question."""
    fine = [
        condition_id(oracle, question, outcomes) == condition
        for condition, oracle, question, outcomes in preparations.select(
            "condition_id", "oracle", "question_id", "outcomes"
        ).iter_rows()
    ]
    return preparations.filter(~pl.Series(fine, dtype=pl.Boolean))


def hex_text(ids: pl.Expr) -> pl.Expr:
    """Bytes → lower-case hex text with 0x."""
    return "0x" + ids.bin.encode("hex")


def decimal_text(ids: pl.Series) -> pl.Series:
    """uint256 as 32 bytes → decimal text, as token ids are written outside the chain; each distinct one once."""
    known = ids.unique().drop_nulls()
    texts = [str(int.from_bytes(value, "big")) for value in known]
    return ids.replace_strict(known, pl.Series(texts, dtype=pl.String), default=None, return_dtype=pl.String)


def from_decimal(texts: pl.Series) -> pl.Series:
    """Decimal text → uint256 as 32 bytes; null where it is none."""

    def parse(text: str | None) -> bytes | None:
        fits = text is not None and text.isascii() and text.isdigit() and len(text) <= 78 and int(text) < 1 << 256
        return int(text).to_bytes(32, "big") if fits and text else None

    return pl.Series(texts.name, [parse(text) for text in texts], dtype=pl.Binary)
