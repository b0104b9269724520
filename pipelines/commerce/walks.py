"""Compiled walks over histories: familiarity of candidates, and the draw of pools.

All kernels live in this one file: a compiled kernel is cached by the file that holds
it, and would not notice that a kernel of another file, which it calls, has changed.
Arguments are arrays of integer codes; `familiarity.History` says what they mean.
"""

import numba as nb
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]
Words = npt.NDArray[np.uint64]

SEEN, FAMILIAR, RELATED, NEW, UNCONNECTED = range(5)
"""Codes, in the order of `schema.FAMILIARITIES`; code // 2 is the pool (0 remember, 1 infer, 2 none)."""

POSITIVE, MATCHED, HISTORY, RANDOM = range(4)
"""Role codes, in the order of `schema.ROLES`."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
_EXCLUDED = 7


@nb.njit(cache=True)
def advance(
    step: int,
    at: int,
    first: Ints,
    upto: Ints,
    visit_category: Ints,
    category_domain: Ints,
    seen: Bytes,
    domain_visits: Ints,
) -> int:
    """Bring `seen` and `domain_visits` to the end of batch t; returns the next visit.

    A user's transitions follow each other, so visits are added once; the state is
    cleared when the user changes.
    """
    if step == 0 or first[step] != first[step - 1]:
        seen[:] = 0
        domain_visits[:] = 0
        at = first[step]
    while at < upto[step]:
        category = visit_category[at]
        if category >= 0:
            seen[category] = 1
            if category_domain[category] >= 0:
                domain_visits[category_domain[category]] += 1
        at += 1
    return at


@nb.njit(cache=True)
def unseen_status(
    table: int, domain_visits: Ints, connected_at: Ints, connected: Ints, familiar_visits: int, status: Bytes
) -> None:
    """Familiarity of an unseen category of each domain; the last place is for categories without one."""
    n_domains = domain_visits.shape[0]
    status[:] = UNCONNECTED
    if table >= 0:
        for domain in range(n_domains):
            if domain_visits[domain] > 0:
                slot = table * n_domains + domain
                for i in range(connected_at[slot], connected_at[slot + 1]):
                    status[connected[i]] = NEW
    for domain in range(n_domains):
        if domain_visits[domain] >= familiar_visits:
            status[domain] = FAMILIAR
        elif domain_visits[domain] > 0:
            status[domain] = RELATED


@nb.njit(cache=True)
def classify(
    candidates_at: Ints,
    candidates: Ints,
    visit_category: Ints,
    first: Ints,
    upto: Ints,
    quarter: Ints,
    category_domain: Ints,
    connected_at: Ints,
    connected: Ints,
    n_domains: int,
    familiar_visits: int,
) -> Bytes:
    """Status of every candidate of every step, from the visits up to that step."""
    seen = np.zeros(category_domain.shape[0], np.int8)
    domain_visits = np.zeros(n_domains, np.int64)
    status = np.empty(n_domains + 1, np.int8)
    out = np.empty(candidates.shape[0], np.int8)
    at = 0
    for step in range(first.shape[0]):
        at = advance(step, at, first, upto, visit_category, category_domain, seen, domain_visits)
        if candidates_at[step] == candidates_at[step + 1]:
            continue
        unseen_status(quarter[step], domain_visits, connected_at, connected, familiar_visits, status)
        for i in range(candidates_at[step], candidates_at[step + 1]):
            category = candidates[i]
            out[i] = SEEN if seen[category] else status[category_domain[category]]
    return out


@nb.njit(cache=True)
def mix(state: np.uint64, key: np.uint64) -> np.uint64:
    """One step of `hashing.mix64`."""
    state = (state + _GOLDEN) ^ key
    state = (state ^ (state >> _S30)) * _M1
    state = (state ^ (state >> _S27)) * _M2
    return state ^ (state >> _S31)


@nb.njit(cache=True)
def _smallest(state: np.uint64, category_hash: Words, group_of: Bytes, group: int, hashes: Words, members: Ints) -> int:
    """Fill `hashes` and `members` with the group's smallest draws, ascending; returns how many there are.

    Of equal hashes the earlier category comes first.
    """
    wanted = hashes.shape[0]
    size = 0
    for category in range(group_of.shape[0]):
        if group_of[category] != group:
            continue
        hash_ = mix(state, category_hash[category])
        if size < wanted:
            size += 1
        elif hash_ >= hashes[size - 1]:
            continue
        i = size - 1
        while i > 0 and hashes[i - 1] > hash_:
            hashes[i] = hashes[i - 1]
            members[i] = members[i - 1]
            i -= 1
        hashes[i] = hash_
        members[i] = category
    return size


@nb.njit(cache=True)
def draw(
    excluded_at: Ints,
    excluded: Ints,
    kept_at: Ints,
    kept: Ints,
    slot_at: Ints,
    draw_state: Words,
    order_state: Words,
    category_hash: Words,
    visit_category: Ints,
    first: Ints,
    upto: Ints,
    quarter: Ints,
    category_domain: Ints,
    connected_at: Ints,
    connected: Ints,
    n_domains: int,
    familiar_visits: int,
    per_positive: int,
) -> tuple[Ints, Ints, Bytes, Bytes]:
    """For every pool the number of candidates, and in its slots their category, role and familiarity, in order."""
    n_steps = first.shape[0]
    n_categories = category_domain.shape[0]
    seen = np.zeros(n_categories, np.int8)
    domain_visits = np.zeros(n_domains, np.int64)
    status = np.empty(n_domains + 1, np.int8)
    group_of = np.empty(n_categories, np.int8)
    n_found = np.zeros(2 * n_steps, np.int64)
    out_category = np.zeros(slot_at[-1], np.int64)
    out_role = np.zeros(slot_at[-1], np.int8)
    out_known = np.zeros(slot_at[-1], np.int8)
    at = 0
    for step in range(n_steps):
        at = advance(step, at, first, upto, visit_category, category_domain, seen, domain_visits)
        if kept_at[2 * step] == kept_at[2 * step + 2]:
            continue
        unseen_status(quarter[step], domain_visits, connected_at, connected, familiar_visits, status)
        for category in range(n_categories):
            group_of[category] = SEEN if seen[category] else status[category_domain[category]]
        for i in range(excluded_at[step], excluded_at[step + 1]):
            group_of[excluded[i]] = _EXCLUDED
        for pool in range(2):
            n_positives = kept_at[2 * step + pool + 1] - kept_at[2 * step + pool]
            if n_positives == 0:
                continue
            want = n_positives * per_positive
            # A familiarity group gives at most all the pool wants: its own share plus the other's shortage.
            hashes = np.empty((2, want), np.uint64)
            members = np.empty((2, want), np.int64)
            size = np.zeros(2, np.int64)
            share = np.zeros(2, np.int64)
            state = mix(draw_state[step], np.uint64(pool))
            for group in range(2):
                size[group] = _smallest(state, category_hash, group_of, 2 * pool + group, hashes[group], members[group])
            start = slot_at[2 * step + pool]
            n = 0
            for i in range(kept_at[2 * step + pool], kept_at[2 * step + pool + 1]):
                out_category[start + n] = kept[i]
                out_role[start + n] = POSITIVE
                known = SEEN if seen[kept[i]] else status[category_domain[kept[i]]]
                share[known & 1] += per_positive
                n += 1
            taken = np.minimum(share, size)
            for group in range(2):
                for i in range(taken[group]):
                    out_category[start + n] = members[group, i]
                    out_role[start + n] = MATCHED
                    n += 1
            while n < n_positives + want and (taken[0] < size[0] or taken[1] < size[1]):
                group = 0
                if taken[0] == size[0] or (
                    taken[1] < size[1]
                    and (
                        hashes[1, taken[1]] < hashes[0, taken[0]]
                        or (hashes[1, taken[1]] == hashes[0, taken[0]] and members[1, taken[1]] < members[0, taken[0]])
                    )
                ):
                    group = 1
                out_category[start + n] = members[group, taken[group]]
                out_role[start + n] = HISTORY
                taken[group] += 1
                n += 1
            missing = n_positives + want - n
            if missing > 0:
                # The pool's own groups are used up, so only other categories are left.
                rest_of = np.where((group_of >> 1 == pool) | (group_of == _EXCLUDED), 0, 1).astype(np.int8)
                rest = _smallest(state, category_hash, rest_of, 1, hashes[0, :missing], members[0, :missing])
                for i in range(rest):
                    out_category[start + n] = members[0, i]
                    out_role[start + n] = RANDOM
                    n += 1
            n_found[2 * step + pool] = n
            _arrange(start, n, mix(order_state[step], np.uint64(pool)), category_hash, out_category, out_role)
            for i in range(start, start + n):
                category = out_category[i]
                out_known[i] = SEEN if seen[category] else status[category_domain[category]]
    return n_found, out_category, out_role, out_known


@nb.njit(cache=True)
def _arrange(start: int, n: int, state: np.uint64, category_hash: Words, category: Ints, role: Bytes) -> None:
    """Order the candidates of one pool by their order hash, then by category."""
    hashes = np.empty(n, np.uint64)
    for i in range(n):
        member, kind = category[start + i], role[start + i]
        hash_ = mix(state, category_hash[member])
        j = i
        while j > 0 and (hashes[j - 1] > hash_ or (hashes[j - 1] == hash_ and category[start + j - 1] > member)):
            hashes[j] = hashes[j - 1]
            category[start + j] = category[start + j - 1]
            role[start + j] = role[start + j - 1]
            j -= 1
        hashes[j] = hash_
        category[start + j] = member
        role[start + j] = kind
