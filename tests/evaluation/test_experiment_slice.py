"""The part of a release that an experiment asks about: nested samples, and what of tables they keep."""

import polars as pl

from pipelines.commerce.tables import POOL
from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.experiment_slice import Slice, sample_users, slice_of

POOLS = pl.DataFrame(
    [(f"u{user}", t, pool) for user in range(6) for t in range(4) for pool in ("remember", "infer")] * 2,
    schema={"user_id": pl.String, "transition_index": pl.Int32, "pool": POOL},
    orient="row",
)


def sliced(**more):
    return slice_of(POOLS.lazy(), Experiment(name="a", methods={"empty": [{}]}, **more))


def test_a_sample_is_keyed_nested_and_independent_of_order():
    users = pl.Series("user_id", [f"u{i}" for i in range(100)])

    def drawn(n, seed=1, series=users):
        return sample_users(series, Experiment(name="a", methods={"m": [{}]}, users=n, seed=seed)).to_list()

    assert len(drawn(10)) == 10 and set(drawn(10)) < set(drawn(20))
    assert drawn(10, series=users.sample(fraction=1, shuffle=True, seed=3).append(users)) == drawn(10)
    assert drawn(10, seed=2) != drawn(10)
    assert drawn(100) == drawn("all") == drawn(101) == sorted(users.to_list())


def test_a_slice_limits_users_batches_and_pools_and_a_larger_one_holds_it():
    assert sliced() == Slice(tuple(f"u{n}" for n in range(6)))
    part = sliced(users=3, batches=2)
    rows = part.of(POOLS.lazy().unique()).collect()
    assert set(rows["user_id"]) == set(part.users) and len(part.users) == 3
    assert set(rows["transition_index"]) == {0, 1} and rows.height == 3 * 2 * 2
    small, large = (sliced(users=3, batches=2, readings=n) for n in (4, 7))
    assert len(small.pools) == 4 and set(small.pools) < set(large.pools) <= set(rows.rows())
    assert sliced(readings=1000).of(POOLS.lazy().unique()).collect().height == 6 * 4 * 2
    shuffled = slice_of(
        POOLS.sample(fraction=1, shuffle=True, seed=3).lazy(),
        Experiment(name="a", methods={"empty": [{}]}, users=3, batches=2, readings=4),
    )
    assert shuffled == small


def test_a_slice_narrows_tables_by_the_columns_that_they_have():
    part = Slice(("u1", "u2"), 2, (("u1", 0, "infer"),))
    batches = pl.LazyFrame({"user_id": ["u1", "u1", "u2", "u3"], "batch_index": [1, 2, 0, 0]})
    assert part.of(batches).collect().rows() == [("u1", 1), ("u2", 0)]
    assert part.of(batches, ("u2",)).collect().rows() == [("u2", 0)]
    assert part.of(pl.LazyFrame({"user_id": ["u1", "u3"], "n": [7, 8]})).collect().rows() == [("u1", 7)]
    assert part.of(POOLS.lazy().unique()).collect().rows() == [("u1", 0, "infer")]
