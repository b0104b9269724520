"""Retrieval: which support wallets are shown for a target, and which of their trades (paper §A.2; similarity ours).

Of the support wallets that traded in the target market in an earlier block, the most
similar come first: those that share the most markets with the target's wallet, counting
what both had traded before the target's block; then the one that traded last in the target
market; then the lower rank. An earlier block, not only an earlier log, because the
legs of one match stand beside each other and would tell the target's side.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np
import polars as pl

from pipelines.onchain.ordering import Bools, Ints, codes, places, run_of, starts_of
from pipelines.onchain.settings import OnchainSettings

Table = np.ndarray[tuple[int, int], np.dtype[np.int32]]


@dataclass(frozen=True)
class Pool:
    """Trades of support wallets, ready to be searched for the targets of any shard.

    `markets` are the distinct ones, ascending; all else is one number a trade: its rank,
    place and block, the code of its market, and its slot: there is one for each wallet
    and market, those of a market side by side from `slots_at`. `in_time` sorts by block.
    """

    markets: pl.Series
    rank: Ints
    at: Ints
    block: Ints
    market: Ints
    slot: Ints
    slots_at: Ints
    in_time: Ints


def pool_of(support: pl.DataFrame) -> Pool:
    """The `Pool` of trades of support wallets (condition_id, block_number, log_index, rank)."""
    markets, market = codes(support["condition_id"])
    named = np.flatnonzero(market >= 0)
    if len(named) < len(market):
        support, market = support[named], market[named]
    ranks = support["rank"].cast(pl.Int64).to_numpy()
    at = places(support)
    block = support["block_number"].to_numpy()
    by_slot = np.lexsort((at, ranks, market))
    starts = starts_of(market[by_slot], ranks[by_slot])
    slot = np.empty(len(ranks), np.int64)
    slot[by_slot] = run_of(starts)
    slots_at = np.searchsorted(market[by_slot[starts[:-1]]], np.arange(len(markets) + 1))
    return Pool(markets, ranks, at, block, market, slot, slots_at, np.argsort(block, kind="stable"))


def retrieve(targets: pl.DataFrame, pool: Pool, settings: OnchainSettings) -> tuple[Table, Table]:
    """For every row of `targets` the ranks of the support wallets shown (−1 = none) and their trades so far.

    `targets` are the trades of wallets (wallet, condition_id, block_number, log_index), all of them, each a
    target. The trades shown of a support wallet are the last `retrieved_events` of its first n in the market, n
    the number returned.
    """
    shape = (targets.height, settings.retrieved_wallets)
    if not targets.height or not len(pool.rank):
        return np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
    _, market = codes(targets["condition_id"], among=pool.markets)
    _, wallet = codes(targets["wallet"])
    by_pair = np.lexsort((places(targets), market, wallet))
    entries = by_pair[starts_of(wallet[by_pair], market[by_pair])[:-1]]
    entries = entries[market[entries] >= 0]
    enters = np.zeros(targets.height, np.bool_)
    enters[entries] = True
    pairs_at = np.append(0, np.cumsum(np.bincount(market[entries], minlength=len(pool.markets))))
    block = targets["block_number"].to_numpy()
    # No support wallet is ever seen in a market that the pool lacks.
    found = np.flatnonzero(market >= 0)
    return _retrieve(
        found[np.argsort(block[found], kind="stable")],
        block,
        wallet,
        market,
        enters,
        pool.in_time,
        pool.block,
        pool.at,
        pool.rank,
        pool.slot,
        pool.market,
        pool.slots_at,
        pairs_at,
        int(wallet.max()) + 1,
        int(pool.rank.max()) + 1,
        settings.retrieved_wallets,
    )


@nb.njit(cache=True)
def _retrieve(
    in_time: Ints,
    block: Ints,
    wallet: Ints,
    market: Ints,
    enters: Bools,
    support_in_time: Ints,
    support_block: Ints,
    support_at: Ints,
    support_rank: Ints,
    support_slot: Ints,
    support_market: Ints,
    slots_at: Ints,
    pairs_at: Ints,
    n_wallets: int,
    n_ranks: int,
    k: int,
) -> tuple[Table, Table]:
    n = in_time.shape[0]
    n_markets = slots_at.shape[0] - 1
    chosen = np.full((block.shape[0], k), -1, np.int32)
    seen = np.zeros((block.shape[0], k), np.int32)
    common = np.zeros((n_wallets, n_ranks), np.int32)
    # A slot's state lies at its seat: seats of a market are taken in the order of entry, so that a scan is contiguous.
    seat = np.full(slots_at[n_markets], -1, np.int64)
    trades = np.zeros(slots_at[n_markets], np.int32)
    latest = np.zeros(slots_at[n_markets], np.int64)
    rank_at = np.empty(slots_at[n_markets], np.int64)
    n_entered = np.zeros(n_markets, np.int64)
    inside = np.empty(pairs_at[n_markets], np.int64)
    n_inside = np.zeros(n_markets, np.int64)
    best = np.empty(k, np.int64)
    best_common = np.empty(k, np.int64)
    at = 0
    first = 0
    while first < n:
        now = block[in_time[first]]
        upto = first
        while upto < n and block[in_time[upto]] == now:
            upto += 1
        while at < support_in_time.shape[0] and support_block[support_in_time[at]] < now:
            row = support_in_time[at]
            slot, m = support_slot[row], support_market[row]
            if seat[slot] < 0:
                seat[slot] = slots_at[m] + n_entered[m]
                rank_at[seat[slot]] = support_rank[row]
                n_entered[m] += 1
                for i in range(pairs_at[m], pairs_at[m] + n_inside[m]):
                    common[inside[i], support_rank[row]] += 1
            trades[seat[slot]] += 1
            latest[seat[slot]] = max(latest[seat[slot]], support_at[row])
            at += 1
        for i in range(first, upto):
            row = in_time[i]
            m, u = market[row], wallet[row]
            size = 0
            for j in range(slots_at[m], slots_at[m] + n_entered[m]):
                rank = rank_at[j]
                score = common[u, rank]
                if size == k and score < best_common[k - 1]:
                    continue
                to = size
                while to > 0 and _precedes(
                    score, latest[j], rank, best_common[to - 1], latest[best[to - 1]], rank_at[best[to - 1]]
                ):
                    to -= 1
                if to == k:
                    continue
                size = min(size + 1, k)
                for place in range(size - 1, to, -1):
                    best[place] = best[place - 1]
                    best_common[place] = best_common[place - 1]
                best[to] = j
                best_common[to] = score
            for j in range(size):
                chosen[row, j] = rank_at[best[j]]
                seen[row, j] = trades[best[j]]
        for i in range(first, upto):
            row = in_time[i]
            m, u = market[row], wallet[row]
            if enters[row]:
                inside[pairs_at[m] + n_inside[m]] = u
                n_inside[m] += 1
                for j in range(slots_at[m], slots_at[m] + n_entered[m]):
                    common[u, rank_at[j]] += 1
        first = upto
    return chosen, seen


@nb.njit(cache=True)
def _precedes(common: int, at: int, rank: int, other_common: int, other_at: int, other_rank: int) -> bool:
    if common != other_common:
        return common > other_common
    if at != other_at:
        return at > other_at
    return rank < other_rank
