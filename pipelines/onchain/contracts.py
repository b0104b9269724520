"""Addresses on Polygon whose logs belong to the protocol (reference B.1), as 20 bytes."""

from pipelines.onchain.tables import EXCHANGES


def _address(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


EXCHANGES_V1 = frozenset(_address(text) for text in EXCHANGES[:2])
EXCHANGES_V2 = frozenset(_address(text) for text in EXCHANGES[2:])
CONDITIONAL_TOKENS = _address("0x4D97DCd97eC945f40cF65F87097ACe5EA0476045")
NEG_RISK_ADAPTER = _address("0xd91E80cF2E7be2e162c6513ceD06f1dD0dA35296")
USDC_E = _address("0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174")
WRAPPED_COLLATERAL = _address("0x3A3BD7bb9528E159577F7C2e685CC81A765002E2")
PUSD = _address("0xC011a7E12a19f7B1f670d46F03B03f3342E82DFB")
COLLATERALS = frozenset({USDC_E, WRAPPED_COLLATERAL, PUSD})
POOL_FACTORY = _address("0x8B9805A2f595B6705e74F7310829f2d299D21522")
SAFE_FACTORY = _address("0xaacFeEa03eb1561C4e67d661e40682Bd20E3541b")
FEE_MODULES = frozenset(
    _address(text)
    for text in (
        "0xE3f18aCc55091e2c48d883fc8C8413319d4Ab7b0",
        "0xB768891e3130F6dF18214Ac804d4DB76c2C37730",
        "0x56C79347e95530c01A2FC76E732f9566dA16E113",
        "0x78769D50Be1763ed1CA0D5E878D93f05aabff29e",
    )
)
PROTOCOL = frozenset(
    {
        *EXCHANGES_V1,
        *EXCHANGES_V2,
        *FEE_MODULES,
        CONDITIONAL_TOKENS,
        NEG_RISK_ADAPTER,
        WRAPPED_COLLATERAL,
        POOL_FACTORY,
        _address("0x71523d0f655B41E805Cec45b17163f528B59B820"),  # neg-risk operator
        _address("0x7f67327E88c258932D7d8f72950bE0d46975E11D"),  # neg-risk vault
        _address("0xa5ef39c3d3e10d0b270233af41cac69796b12966"),  # burn address of NO tokens
        _address("0xADa100874d00e3331D00F2007a9c336a65009718"),  # collateral adapters, earlier and later
        _address("0xAdA100Db00Ca00073811820692005400218FcE1f"),
        _address("0xAdA200001000ef00D07553cEE7006808F895c6F1"),
        _address("0xadA2005600Dec949baf300f4C6120000bDB6eAab"),
        bytes(20),
    }
)
"""Contracts that appear as holders or stakeholders but are no user's wallet; pools come on top."""
