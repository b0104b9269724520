"""Compiled running medians and counts over what came before; all of it strictly before (ours).

The median of an even number of amounts is the lower of the two in the middle, so that it
is an amount that was traded. A count of nothing gives -1.
"""

import numba as nb
import numpy as np

from pipelines.onchain.ordering import Bools, Ints


@nb.njit(cache=True)
def _add(tree: Ints, at: int, by: int) -> None:
    at += 1
    while at < tree.shape[0]:
        tree[at] += by
        at += at & -at


@nb.njit(cache=True)
def _kth(tree: Ints, k: int) -> int:
    """Index of the element with exactly k smaller ones, of those counted in the tree."""
    step = 1
    while step * 2 < tree.shape[0]:
        step *= 2
    at = 0
    while step > 0:
        if at + step < tree.shape[0] and tree[at + step] <= k:
            at += step
            k -= tree[at]
        step //= 2
    return at


@nb.njit(cache=True)
def median_before(starts: Ints, rank: Ints, ordered: Ints) -> Ints:
    """Median of the earlier amounts of the same run, for every row; -1 for the first of a run.

    `rank` is the place of a row among the amounts of its run, `ordered` the amounts of each run, ascending.
    """
    out = np.full(rank.shape[0], -1, np.int64)
    for run in range(starts.shape[0] - 1):
        first = starts[run]
        tree = np.zeros(starts[run + 1] - first + 1, np.int64)
        for i in range(first, starts[run + 1]):
            n = i - first
            if n > 0:
                out[i] = ordered[first + _kth(tree, (n - 1) // 2)]
            _add(tree, rank[i], 1)
    return out


@nb.njit(cache=True)
def others_before(
    asks_at: Ints,
    ask_block: Ints,
    ask_pair: Ints,
    rows_at: Ints,
    row_block: Ints,
    row_rank: Ints,
    row_buys: Bools,
    ordered: Ints,
    pairs_at: Ints,
    pair_rows: Ints,
) -> tuple[Ints, Ints, Ints]:
    """For every question the median amount, buys and sells of other wallets' rows of its market in earlier blocks.

    Questions and rows lie side by side by market (`asks_at`, `rows_at`), each in the order of blocks. The rows
    of the asking wallet itself, `pair_rows[pairs_at[p] : pairs_at[p + 1]]` in the order of blocks, are taken out
    while it asks; `ask_pair` is -1 where it has none.
    """
    n = ask_block.shape[0]
    median = np.full(n, -1, np.int64)
    buys = np.zeros(n, np.int64)
    sells = np.zeros(n, np.int64)
    for market in range(asks_at.shape[0] - 1):
        first, end = rows_at[market], rows_at[market + 1]
        tree = np.zeros(end - first + 1, np.int64)
        at = first
        bought = 0
        for ask in range(asks_at[market], asks_at[market + 1]):
            while at < end and row_block[at] < ask_block[ask]:
                _add(tree, row_rank[at], 1)
                bought += row_buys[at]
                at += 1
            own = 0
            own_bought = 0
            pair = ask_pair[ask]
            if pair >= 0:
                for i in range(pairs_at[pair], pairs_at[pair + 1]):
                    row = pair_rows[i]
                    if row_block[row] >= ask_block[ask]:
                        break
                    _add(tree, row_rank[row], -1)
                    own += 1
                    own_bought += row_buys[row]
            left = at - first - own
            if left > 0:
                median[ask] = ordered[first + _kth(tree, (left - 1) // 2)]
                buys[ask] = bought - own_bought
                sells[ask] = left - buys[ask]
            if pair >= 0:
                for i in range(pairs_at[pair], pairs_at[pair] + own):
                    _add(tree, row_rank[pair_rows[i]], 1)
    return median, buys, sells


@nb.njit(cache=True)
def most_before(
    asks_at: Ints, ask_block: Ints, rows_at: Ints, row_block: Ints, row_side: Ints, n_sides: int
) -> tuple[Ints, Ints]:
    """For every question the most frequent side of its group's rows in earlier blocks, and how many rows there are.

    Sides are 0 … n_sides − 1, the last being flat; of equally frequent ones the lowest. Side -1 where there is no row.
    """
    side = np.full(ask_block.shape[0], -1, np.int64)
    seen = np.zeros(ask_block.shape[0], np.int64)
    for group in range(asks_at.shape[0] - 1):
        count = np.zeros(n_sides, np.int64)
        at = rows_at[group]
        for ask in range(asks_at[group], asks_at[group + 1]):
            while at < rows_at[group + 1] and row_block[at] < ask_block[ask]:
                count[row_side[at]] += 1
                at += 1
            seen[ask] = at - rows_at[group]
            if seen[ask] > 0:
                side[ask] = np.argmax(count)
    return side, seen
