"""Every threshold of the on-chain track: default, unit, origin.

Origin is `paper §…` (arXiv:2606.02798) or `ours`; the paper names the filters of
its quality control but prints no thresholds for most of them. Shares are whole per
cents, so that every border is decided in integers.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from pipelines.thresholds import setting

SplitRule = Literal["equal_counts", "rounded_borders"]


class OnchainSettings(BaseModel):
    """Thresholds of cohort, labels, splits and histories; part of every on-chain content hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    last_block: int = setting(
        80_000_000, "last block that takes part (inclusive)", unit="block", origin="paper §A.3", ge=0
    )
    min_markets: int = setting(
        10,
        "markets a wallet needs, before the filters of its sequences and again after them",
        unit="markets",
        origin="paper §A.3; second look ours",
        ge=1,
    )
    max_concentration_percent: int = setting(
        50,
        "largest share of a wallet's trades that its busiest market may hold",
        unit="%",
        origin="paper §A.3 names it; threshold ours",
        ge=1,
        le=100,
    )
    burst_blocks: int = setting(
        1_800, "width of the window in which a burst is counted (about an hour)", unit="blocks", origin="ours", ge=1
    )
    max_burst_percent: int = setting(
        80,
        "largest share of a wallet's trades that any such window may hold",
        unit="%",
        origin="paper §A.3 names it; threshold ours",
        ge=1,
        le=100,
    )
    min_trades: int = setting(
        20, "trades a wallet needs", unit="trades", origin="paper §A.3 names it; threshold ours", ge=1
    )
    max_trades: int = setting(
        20_000, "trades a wallet may have", unit="trades", origin="paper §A.3 names it; threshold ours", ge=1
    )
    max_rows: int = setting(30, "rows a wallet may have in one market", unit="trades", origin="paper §A.3", ge=1)
    over_max_rows: Literal["exclude", "keep_first"] = setting(
        "exclude",
        "what happens to a longer sequence: left out whole, or cut (a cut sequence has a false final position)",
        unit="",
        origin="ours",
    )
    drop_negative: bool = setting(
        True,
        "leave out wallet–markets whose trade-only position of any outcome falls below zero",
        unit="",
        origin="paper §A.3; reading per wallet–market ours",
    )
    min_rows: int = setting(
        2,
        "rows a wallet needs in a market (with two, every belief has an event before its cut)",
        unit="trades",
        origin="paper §A.3 names it; threshold ours",
        ge=1,
    )
    evaluation_wallets: int = setting(2_000, "wallets that are evaluated", unit="wallets", origin="paper §A.3", ge=1)
    support_wallets: int = setting(
        2_022, "wallets that retrieval may show; never evaluated", unit="wallets", origin="paper §A.3", ge=0
    )
    full_ledger_cut: Literal["resolution", "redemption"] = setting(
        "resolution",
        "where the full ledger is read: before the market resolves, or only before the wallet's first redemption",
        unit="",
        origin="ours",
    )
    belief_split_percent: int = setting(
        15,
        "share of a wallet's belief instances in validation, and in test",
        unit="%",
        origin="paper §A.3",
        ge=0,
        le=33,
    )
    trade_split_percent: int = setting(
        15, "share of a wallet's trade instances in validation, and in test", unit="%", origin="paper §A.3", ge=0, le=33
    )
    belief_split_rule: SplitRule = setting(
        "equal_counts",
        "equal_counts: validation = test = the share, halves up; rounded_borders: each border rounded, halves to even",
        unit="",
        origin="ours (the paper's trade counts fit equal_counts, its belief counts fit rounded_borders)",
    )
    trade_split_rule: SplitRule = setting(
        "equal_counts", "as belief_split_rule, for trade instances", unit="", origin="paper §A.3 (counts fit)"
    )
    history_events: int = setting(
        10, "latest own events that the direct history shows", unit="events", origin="paper §A.2", ge=1
    )
    direct_scope: Literal["market", "all_markets"] = setting(
        "market", "where the direct history looks: the target market, or all markets", unit="", origin="paper §A.2"
    )
    retrieved_wallets: int = setting(
        5, "support wallets that retrieval shows", unit="wallets", origin="paper §A.2", ge=1
    )
    retrieved_events: int = setting(
        5, "latest events of each of them in the target market", unit="events", origin="paper §A.2", ge=1
    )
    show_outcome: bool = setting(
        True, "whether a trade target names the outcome that was traded", unit="", origin="ours"
    )
    seed: int = setting(20262, "seed of the draw of wallets", unit="", origin="ours", ge=0)
