"""A slow second opinion in plain Python: Keccak, the ABI, and logs as JSON-RPC gives them."""

import re

INDEXED = {
    "order_filled_v1": "iiiddddd",
    "order_filled_v2": "iiiddddddd",
    "orders_matched_v1": "iidddd",
    "orders_matched_v2": "iidddd",
    "fee_charged_v1": "idd",
    "fee_charged_v2": "id",
    "token_registered": "iii",
    "order_cancelled": "i",
    "transfer_single": "iiidd",
    "transfer_batch": "iiidd",
    "ctf_split": "idiidd",
    "ctf_merge": "idiidd",
    "ctf_redemption": "iiiddd",
    "condition_preparation": "iiid",
    "condition_resolution": "iiidd",
    "adapter_split": "iid",
    "adapter_merge": "iid",
    "conversion": "iiid",
    "adapter_redemption": "iidd",
    "market_prepared": "iidd",
    "question_prepared": "iidd",
    "outcome_reported": "iid",
    "fee_refunded": "iiddi",
    "fee_refunded_early": "dddd",
    "fee_withdrawn": "dddd",
    "pool_buy": "iddid",
    "pool_sell": "iddid",
    "pool_funding_added": "idd",
    "pool_funding_removed": "iddd",
    "pool_creation": "idiidd",
    "collateral_transfer": "iid",
    "safe_creation": "dd",
}
"""Which arguments are topics (i) and which are data (d), in the order of the declaration, from the contracts."""

_MASK = (1 << 64) - 1


def _rotate(value: int, by: int) -> int:
    by %= 64
    return ((value << by) | (value >> (64 - by))) & _MASK if by else value


def _permute(a: list[list[int]]) -> list[list[int]]:
    lfsr = 1
    for _ in range(24):
        c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        d = [c[(x - 1) % 5] ^ _rotate(c[(x + 1) % 5], 1) for x in range(5)]
        a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
        x, y = 1, 0
        lane = a[x][y]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            lane, a[x][y] = a[x][y], _rotate(lane, (t + 1) * (t + 2) // 2)
        for y in range(5):
            row = [a[x][y] for x in range(5)]
            for x in range(5):
                a[x][y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5])
        for j in range(7):
            lfsr = ((lfsr << 1) ^ ((lfsr >> 7) * 0x71)) % 256
            if lfsr & 2:
                a[0][0] ^= 1 << ((1 << j) - 1)
    return a


def keccak256(data: bytes) -> bytes:
    """Keccak-256 as Ethereum uses it."""
    state = [[0] * 5 for _ in range(5)]
    padded = bytearray(data) + b"\x01" + bytes((-len(data) - 1) % 136)
    padded[-1] |= 0x80
    for start in range(0, len(padded), 136):
        for i in range(17):
            state[i % 5][i // 5] ^= int.from_bytes(padded[start + 8 * i : start + 8 * i + 8], "little")
        state = _permute(state)
    return b"".join(state[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


def types_of(signature: str) -> list[str]:
    """Types of the arguments of a signature."""
    inner = re.search(r"\((.*)\)", signature).group(1)
    return inner.split(",") if inner else []


def word(kind: str, value: int | bytes) -> bytes:
    """One value in 32 bytes: bytes32 as they are, addresses and numbers to the right."""
    if isinstance(value, bytes):
        return value if kind == "bytes32" else value.rjust(32, b"\0")
    return value.to_bytes(32, "big")


def encode(kinds: list[str], values: list) -> bytes:
    """ABI encoding of a tuple: heads, then the tails of dynamic arguments."""
    heads, tails = [], b""
    for kind, value in zip(kinds, values, strict=True):
        if kind.endswith("[]"):
            heads.append((32 * len(kinds) + len(tails)).to_bytes(32, "big"))
            tails += len(value).to_bytes(32, "big") + b"".join(word(kind[:-2], one) for one in value)
        elif kind == "bytes":
            heads.append((32 * len(kinds) + len(tails)).to_bytes(32, "big"))
            tails += len(value).to_bytes(32, "big") + value + bytes(-len(value) % 32)
        else:
            heads.append(word(kind, value))
    return b"".join(heads) + tails


def log(event, values: list, *, address: bytes | None = None, block: int = 40_000_000, index: int = 0, **more) -> dict:
    """A log of an event as JSON-RPC gives it; `values` in the order of the declaration."""
    kinds, flags = types_of(event.signature), INDEXED[event.name]
    topics = [event.topic0] + [word(k, v) for k, v, f in zip(kinds, values, flags, strict=True) if f == "i"]
    data = [(k, v) for k, v, f in zip(kinds, values, flags, strict=True) if f == "d"]
    return {
        "address": "0x" + (address or min(event.contracts, default=bytes(20))).hex(),
        "topics": ["0x" + topic.hex() for topic in topics],
        "data": "0x" + encode([k for k, _ in data], [v for _, v in data]).hex(),
        "blockNumber": hex(block),
        "blockHash": "0x" + keccak_like(block).hex(),
        "blockTimestamp": hex(1_680_000_000 + 2 * (block - 40_000_000)),
        "transactionHash": "0x" + keccak_like(block * 1000 + index).hex(),
        "transactionIndex": hex(index // 4),
        "logIndex": hex(index),
        "removed": False,
        **more,
    }


def keccak_like(seed: int) -> bytes:
    """Some 32 bytes that only depend on the seed."""
    return (seed * 0x9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251F86C6A11D0C18E95 % (1 << 256)).to_bytes(32, "big")
