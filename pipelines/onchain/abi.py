"""The events that are decoded: topic, emitting contracts, indexed arguments, words of the data (reference B.2).

An encoding counts as valid only in the one form that the compiler emits: the number of
topics, the number of words, offsets and lengths are all fixed by the signature and by
the length of the data. Whatever else was padded, shifted or cut is refused.
"""

from dataclasses import dataclass
from typing import Literal

from pipelines.onchain import contracts
from pipelines.onchain.contracts import CONDITIONAL_TOKENS, EXCHANGES_V1, EXCHANGES_V2, NEG_RISK_ADAPTER

Kind = Literal["bytes32", "uint256", "token", "address", "amount", "bit", "array", "amounts", "bytes"]
"""How a word is read.

`bytes32` and `uint256` stay 32 raw bytes; `token` too, and is told from 0, which is
collateral; `amount` is a uint256 below 2⁶³; `bit` a
bool or a side, 0 or 1; `array` a list of raw words, `amounts` of amounts; `bytes` is
skipped, its length checked.
"""
TAILS = ("array", "amounts", "bytes")


@dataclass(frozen=True)
class Argument:
    """One argument of an event."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Event:
    """One event. `contracts` is empty for pools, whose addresses come from their factory."""

    name: str
    signature: str
    topic0: bytes
    contracts: frozenset[bytes]
    indexed: tuple[Argument, ...]
    data: tuple[Argument, ...]


@dataclass(frozen=True)
class Word:
    """One word of the data of a given length: an argument, an element of a list, or a constant of the encoding."""

    name: str
    kind: Literal["bytes32", "uint256", "token", "address", "amount", "bit", "constant", "length", "skip"]
    constant: int = 0


def _arguments(text: str) -> tuple[Argument, ...]:
    pairs = (item.split() for item in text.split(",") if item.strip())
    return tuple(Argument(name, kind) for kind, name in pairs)  # type: ignore[arg-type]


def _event(
    name: str, signature: str, topic0: str, emitters: frozenset[bytes] | bytes, indexed: str, data: str
) -> Event:
    emitters = frozenset({emitters}) if isinstance(emitters, bytes) else emitters
    return Event(name, signature, bytes.fromhex(topic0), emitters, _arguments(indexed), _arguments(data))


_POOLS: frozenset[bytes] = frozenset()
_FILLED = "amount maker_amount, amount taker_amount, amount fee"
_MATCHED = "amount maker_amount, amount taker_amount"
_PARTITION = "address collateral_token, array index_set, amount amount"
_POOL_TRADE = "amount collateral, amount fee, amount amount"

EVENTS: tuple[Event, ...] = (
    _event(
        "order_filled_v1",
        "OrderFilled(bytes32,address,address,uint256,uint256,uint256,uint256,uint256)",
        "d0a08e8c493f9c94f29311604c9de1b4e8c8d4c06bd0c789af57f2d65bfec0f6",
        EXCHANGES_V1,
        "bytes32 order_hash, address maker, address taker",
        f"token maker_asset, token taker_asset, {_FILLED}",
    ),
    _event(
        "order_filled_v2",
        "OrderFilled(bytes32,address,address,uint8,uint256,uint256,uint256,uint256,bytes32,bytes32)",
        "d543adfd945773f1a62f74f0ee55a5e3b9b1a28262980ba90b1a89f2ea84d8ee",
        EXCHANGES_V2,
        "bytes32 order_hash, address maker, address taker",
        f"bit side, token token_id, {_FILLED}, bytes32 builder, bytes32 metadata",
    ),
    _event(
        "orders_matched_v1",
        "OrdersMatched(bytes32,address,uint256,uint256,uint256,uint256)",
        "63bf4d16b7fa898ef4c4b2b6d90fd201e9c56313b65638af6088d149d2ce956c",
        EXCHANGES_V1,
        "bytes32 order_hash, address maker",
        f"token maker_asset, token taker_asset, {_MATCHED}",
    ),
    _event(
        "orders_matched_v2",
        "OrdersMatched(bytes32,address,uint8,uint256,uint256,uint256)",
        "174b3811690657c217184f89418266767c87e4805d09680c39fc9c031c0cab7c",
        EXCHANGES_V2,
        "bytes32 order_hash, address maker",
        f"bit side, token token_id, {_MATCHED}",
    ),
    _event(
        "fee_charged_v1",
        "FeeCharged(address,uint256,uint256)",
        "acffcc86834d0f1a64b0d5a675798deed6ff0bcfc2231edd3480e7288dba7ff4",
        EXCHANGES_V1,
        "address wallet",
        "uint256 token_id, amount amount",
    ),
    _event(
        "fee_charged_v2",
        "FeeCharged(address,uint256)",
        "55bb3cade9d43b798a4fe5ffdd05024b2d7870df53920673bfc7e68047cd0ab1",
        EXCHANGES_V2,
        "address wallet",
        "amount amount",
    ),
    _event(
        "token_registered",
        "TokenRegistered(uint256,uint256,bytes32)",
        "bc9a2432e8aeb48327246cddd6e872ef452812b4243c04e6bfb786a2cd8faf0d",
        EXCHANGES_V1,
        "uint256 token0, uint256 token1, bytes32 condition_id",
        "",
    ),
    _event(
        "order_cancelled",
        "OrderCancelled(bytes32)",
        "5152abf959f6564662358c2e52b702259b78bac5ee7842a0f01937e670efcc7d",
        EXCHANGES_V1,
        "bytes32 order_hash",
        "",
    ),
    _event(
        "transfer_single",
        "TransferSingle(address,address,address,uint256,uint256)",
        "c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62",
        CONDITIONAL_TOKENS,
        "address operator, address wallet, address counterparty",
        "uint256 token_id, amount amount",
    ),
    _event(
        "transfer_batch",
        "TransferBatch(address,address,address,uint256[],uint256[])",
        "4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb",
        CONDITIONAL_TOKENS,
        "address operator, address wallet, address counterparty",
        "array token_id, amounts amount",
    ),
    _event(
        "ctf_split",
        "PositionSplit(address,address,bytes32,bytes32,uint256[],uint256)",
        "2e6bb91f8cbcda0c93623c54d0403a43514fabc40084ec96b6d5379a74786298",
        CONDITIONAL_TOKENS,
        "address wallet, bytes32 parent_collection, bytes32 condition_id",
        _PARTITION,
    ),
    _event(
        "ctf_merge",
        "PositionsMerge(address,address,bytes32,bytes32,uint256[],uint256)",
        "6f13ca62553fcc2bcd2372180a43949c1e4cebba603901ede2f4e14f36b282ca",
        CONDITIONAL_TOKENS,
        "address wallet, bytes32 parent_collection, bytes32 condition_id",
        _PARTITION,
    ),
    _event(
        "ctf_redemption",
        "PayoutRedemption(address,address,bytes32,bytes32,uint256[],uint256)",
        "2682012a4a4f1973119f1c9b90745d1bd91fa2bab387344f044cb3586864d18d",
        CONDITIONAL_TOKENS,
        "address wallet, address collateral_token, bytes32 parent_collection",
        "bytes32 condition_id, array index_set, amount collateral",
    ),
    _event(
        "condition_preparation",
        "ConditionPreparation(bytes32,address,bytes32,uint256)",
        "ab3760c3bd2bb38b5bcf54dc79802ed67338b4cf29f3054ded67ed24661e4177",
        CONDITIONAL_TOKENS,
        "bytes32 condition_id, address oracle, bytes32 question_id",
        "amount outcomes",
    ),
    _event(
        "condition_resolution",
        "ConditionResolution(bytes32,address,bytes32,uint256,uint256[])",
        "b44d84d3289691f71497564b85d4233648d9dbae8cbdbb4329f301c3a0185894",
        CONDITIONAL_TOKENS,
        "bytes32 condition_id, address oracle, bytes32 question_id",
        "amount outcomes, amounts numerators",
    ),
    _event(
        "adapter_split",
        "PositionSplit(address,bytes32,uint256)",
        "bbed930dbfb7907ae2d60ddf78345610214f26419a0128df39b6cc3d9e5df9b0",
        NEG_RISK_ADAPTER,
        "address wallet, bytes32 condition_id",
        "amount amount",
    ),
    _event(
        "adapter_merge",
        "PositionsMerge(address,bytes32,uint256)",
        "ba33ac50d8894676597e6e35dc09cff59854708b642cd069d21eb9c7ca072a04",
        NEG_RISK_ADAPTER,
        "address wallet, bytes32 condition_id",
        "amount amount",
    ),
    _event(
        "conversion",
        "PositionsConverted(address,bytes32,uint256,uint256)",
        "b03d19dddbc72a87e735ff0ea3b57bef133ebe44e1894284916a84044deb367e",
        NEG_RISK_ADAPTER,
        "address wallet, bytes32 market_id, uint256 index_set",
        "amount amount",
    ),
    _event(
        "adapter_redemption",
        "PayoutRedemption(address,bytes32,uint256[],uint256)",
        "9140a6a270ef945260c03894b3c6b3b2695e9d5101feef0ff24fec960cfd3224",
        NEG_RISK_ADAPTER,
        "address wallet, bytes32 condition_id",
        "amounts amount, amount collateral",
    ),
    _event(
        "market_prepared",
        "MarketPrepared(bytes32,address,uint256,bytes)",
        "f059ab16d1ca60e123eab60e3c02b68faf060347c701a5d14885a8e1def7b3a8",
        NEG_RISK_ADAPTER,
        "bytes32 market_id, address oracle",
        "amount fee_bips, bytes text",
    ),
    _event(
        "question_prepared",
        "QuestionPrepared(bytes32,bytes32,uint256,bytes)",
        "aac410f87d423a922a7b226ac68f0c2eaf5bf6d15e644ac0758c7f96e2c253f7",
        NEG_RISK_ADAPTER,
        "bytes32 market_id, bytes32 question_id",
        "amount index, bytes text",
    ),
    _event(
        "outcome_reported",
        "OutcomeReported(bytes32,bytes32,bool)",
        "9e9fa7fd355160bd4cd3f22d4333519354beff1f5689bde87f2c5e63d8d484b2",
        NEG_RISK_ADAPTER,
        "bytes32 market_id, bytes32 question_id",
        "bit outcome",
    ),
    _event(
        "fee_refunded",
        "FeeRefunded(bytes32,address,uint256,uint256,uint256)",
        "b608d2bf25d8b4b744ba23ce2ea9802ea955e216c064a62f42152fbf98958d24",
        contracts.FEE_MODULES,
        "bytes32 order_hash, address wallet, amount charged",
        "uint256 token_id, amount amount",
    ),
    _event(
        "fee_refunded_early",
        "FeeRefunded(address,address,uint256,uint256)",
        "18fe0464eb77016dc4e227eb0d690e4002756d82b442143bbfb874548952b5f2",
        contracts.FEE_MODULES,
        "",
        "address token, address wallet, uint256 token_id, amount amount",
    ),
    _event(
        "fee_withdrawn",
        "FeeWithdrawn(address,address,uint256,uint256)",
        "6ce49f8691a80db5eb4f60cd55b14640529346a7ddf9bf8f77a423fa6a10bfdb",
        contracts.FEE_MODULES,
        "",
        "address token, address wallet, uint256 token_id, amount amount",
    ),
    _event(
        "pool_buy",
        "FPMMBuy(address,uint256,uint256,uint256,uint256)",
        "4f62630f51608fc8a7603a9391a5101e58bd7c276139366fc107dc3b67c3dcf8",
        _POOLS,
        "address wallet, amount outcome",
        _POOL_TRADE,
    ),
    _event(
        "pool_sell",
        "FPMMSell(address,uint256,uint256,uint256,uint256)",
        "adcf2a240ed9300d681d9a3f5382b6c1beed1b7e46643e0c7b42cbe6e2d766b4",
        _POOLS,
        "address wallet, amount outcome",
        _POOL_TRADE,
    ),
    _event(
        "pool_funding_added",
        "FPMMFundingAdded(address,uint256[],uint256)",
        "ec2dc3e5a3bb9aa0a1deb905d2bd23640d07f107e6ceb484024501aad964a951",
        _POOLS,
        "address wallet",
        "amounts amount, amount shares",
    ),
    _event(
        "pool_funding_removed",
        "FPMMFundingRemoved(address,uint256[],uint256,uint256)",
        "8b4b2c8ebd04c47fc8bce136a85df9b93fcb1f47c8aa296457d4391519d190e7",
        _POOLS,
        "address wallet",
        "amounts amount, amount collateral, amount shares",
    ),
    _event(
        "pool_creation",
        "FixedProductMarketMakerCreation(address,address,address,address,bytes32[],uint256)",
        "92e0912d3d7f3192cad5c7ae3b47fb97f9c465c1dd12a5c24fd901ddb3905f43",
        contracts.POOL_FACTORY,
        "address creator, address conditional_tokens, address collateral_token",
        "address pool, array condition_id, uint256 fee",
    ),
    _event(
        "collateral_transfer",
        "Transfer(address,address,uint256)",
        "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
        contracts.COLLATERALS,
        "address wallet, address counterparty",
        "amount amount",
    ),
    _event(
        "safe_creation",
        "ProxyCreation(address,address)",
        "4f51faf6c4561ff95f067657e43439f0f856d97c04d9ec9070a6199ad418e235",
        contracts.SAFE_FACTORY,
        "",
        "address wallet, address owner",
    ),
)
BY_NAME = {event.name: event for event in EVENTS}


def layout(event: Event, n_words: int) -> tuple[Word, ...] | None:
    """The words of data of `n_words` words, or None when the event cannot have that many.

    Elements of a list are named `name.0`, `name.1`, …
    """
    tails = [argument for argument in event.data if argument.kind in TAILS]
    head = len(event.data)
    free = n_words - head - len(tails)
    if free < 0 or (not tails and free) or (tails and free % len(tails)):
        return None
    size = free // len(tails) if tails else 0
    words: list[Word] = []
    offset = 32 * head
    for argument in event.data:
        if argument.kind in TAILS:
            words.append(Word(argument.name, "constant", offset))
            offset += 32 * (1 + size)
        else:
            words.append(Word(argument.name, argument.kind))  # type: ignore[arg-type]
    for argument in tails:
        if argument.kind == "bytes":
            words.append(Word(argument.name, "length", 32 * size))
            words += [Word(argument.name, "skip")] * size
        else:
            kind: Literal["amount", "uint256"] = "amount" if argument.kind == "amounts" else "uint256"
            words.append(Word(argument.name, "constant", size))
            words += [Word(f"{argument.name}.{i}", kind) for i in range(size)]
    return tuple(words)
