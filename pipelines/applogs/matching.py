"""Lists held against all that is true: which entry tells which state, and what the list is worth (ours).

An entry agrees with a state as far as the parts of the state's value agree with the
entry's fields, in the mean; what it is called counts nothing. Entries and states are
matched one to one so that the sum of agreements is the largest there is
(`scipy.optimize.linear_sum_assignment`). A list is worth the F1 of that sum: recall is
the sum over the states that are true, precision the sum over the entries given.
"""

import json

import polars as pl

from pipelines.applogs.answers import ITEM
from pipelines.applogs.json_text import JsonObject, canonical
from pipelines.applogs.state_values import ROOT, says_nothing

TOLD = 0.5
"""An entry that agrees less than this with a state tells nothing of it: that it is weekly is true of many routines."""
_GIVEN = {"user_id": pl.String, "item": pl.String, "entry": pl.Int32, "path": pl.String, "given": pl.String}
_MATCHED = {"user_id": pl.String, "item": pl.String, "of_state": pl.String, "entry": pl.Int32}


def entries(answer: str | None) -> list[JsonObject]:
    """The entries of an answer (JSON), in an order that its own does not decide; those that say nothing are none.

    An answer that is no list is a list of one, and an entry that is no object is its value.
    """
    value = None if answer is None else json.loads(answer)
    listed = value if isinstance(value, list) else [value]
    told = [one if isinstance(one, dict) else {ROOT: one} for one in listed if not says_nothing(one)]
    return sorted(told, key=canonical)


def given_fields(lists: pl.DataFrame) -> pl.DataFrame:
    """One row a field of an entry: user_id, item, `entry` (its place), `path`, `given` (JSON).

    `lists` has user_id, item and `answer`.
    """
    rows = [
        (user, item, place, name, json.dumps(value))
        for user, item, answer in lists.select(*ITEM, "answer").iter_rows()
        for place, entry in enumerate(entries(answer))
        for name, value in entry.items()
        if not says_nothing(value)
    ]
    return pl.DataFrame(rows, schema=_GIVEN, orient="row")


def matched(parts: pl.DataFrame, agreed: pl.DataFrame) -> pl.DataFrame:
    """Which entry tells which state: user_id, item, `of_state`, `entry`, of the pairs that are matched.

    `parts` are rows of `gold_parts` of lists, `agreed` has the `agreement` of a part with an entry (user_id, item,
    `of_state`, `entry`); a pair that is not there does not agree. Of matchings with the same sum it is one that neither
    the order of entries nor that of states decides.
    """
    state = [*ITEM, "of_state"]
    sizes = parts.group_by(state).agg(pl.len().alias("n_parts"))
    pairs = (
        agreed.group_by(*state, "entry")
        .agg(pl.col("agreement").sum())
        .join(sizes, on=state)
        .with_columns(pl.col("agreement") / pl.col("n_parts"))
        .filter(pl.col("agreement") >= TOLD)
        .sort(*state, "entry")
    )
    found = [
        (*name, of_state, entry)
        for name, mine in pairs.group_by(ITEM, maintain_order=True)
        for of_state, entry in _best(mine)
    ]
    return pl.DataFrame(found, schema=_MATCHED, orient="row")


def _best(pairs: pl.DataFrame) -> list[tuple[str, int]]:
    """(state, entry) of the matching of one list whose sum is largest."""
    # Here, for the rules that score every other answer go along with exported questions, and need neither.
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    states, given = (pairs[name].unique().sort() for name in ("of_state", "entry"))
    worth = np.zeros((len(states), len(given)))
    worth[states.search_sorted(pairs["of_state"]), given.search_sorted(pairs["entry"])] = pairs["agreement"]
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return [(states[int(i)], given[int(j)]) for i, j in zip(rows, columns, strict=True) if worth[i, j] > 0]


def list_scores(standing: pl.DataFrame, agreed: pl.DataFrame) -> pl.DataFrame:
    """What lists are worth: user_id, item, `list_precision`, `list_recall`, `list_f1`, `n_states`.

    `standing` as of `answers.standing`, `agreed` as of `mechanical.agreements`. One row an item that asks for a list
    of what is true; where nothing is, there is none. Sorted by user and item.
    """
    worth = (
        agreed.filter(pl.col("of_state").is_not_null())
        .group_by(*ITEM, "of_state")
        .agg(pl.col("agreement").mean())
        .sort(*ITEM, "of_state")
        .group_by(ITEM, maintain_order=True)
        .agg(pl.col("agreement").sum(), pl.len().cast(pl.Int32).alias("n_states"))
    )
    told = worth.join(standing.select(*ITEM, "answer"), on=ITEM, maintain_order="left")
    lengths = pl.Series("n_entries", [len(entries(answer)) for answer in told["answer"]], dtype=pl.Int32)
    total, n_states, n_entries = pl.col("agreement"), pl.col("n_states"), pl.col("n_entries")
    return told.with_columns(lengths).select(
        *ITEM,
        pl.when(n_entries > 0).then(total / n_entries).otherwise(0.0).alias("list_precision"),
        (total / n_states).alias("list_recall"),
        (2 * total / (n_entries + n_states)).alias("list_f1"),
        "n_states",
    )
