"""Medians with users as clusters, against slow Python: values, draws and the borders."""

from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.evaluation import intervals
from pipelines.evaluation.cluster_medians import drawn_median, user_medians

FEW = 40


def world(seed, n, n_users, gaps=0.0):
    draw = np.random.default_rng(seed)
    user = np.sort(draw.integers(0, n_users, n))
    value = draw.integers(0, 9, n).astype(np.float64)
    value[draw.random(n) < gaps] = np.nan
    return value, user, draw


def known(value, user, one):
    return [v for v, u in zip(value, user, strict=True) if u == one and not np.isnan(v)]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(0, 40), n_users=st.integers(1, 6), gaps=st.sampled_from([0.0, 0.4, 1.0])
)
def test_medians_of_all_of_users_and_of_resamples(seed, n, n_users, gaps):
    value, user, _ = world(seed, n, n_users, gaps)
    by_user = [known(value, user, one) for one in range(n_users)]
    own = [median(part) if part else np.nan for part in by_user]
    assert np.array_equal(user_medians(value, user, n_users), own, equal_nan=True)
    found = drawn_median(value, user, n_users, seed=5, resamples=FEW)
    everything = [v for part in by_user for v in part]
    assert np.array_equal(found.value, median(everything) if everything else np.nan, equal_nan=True)
    for row, resample in zip(np.concatenate(intervals.draws(n_users, 5, FEW)), found.resamples, strict=True):
        drawn = [v for one, times in enumerate(row) for v in by_user[one] * int(times)]
        assert np.array_equal(resample, median(drawn) if drawn else np.nan, equal_nan=True)


def test_a_tie_between_the_middle_two_is_their_mean():
    found = drawn_median(np.array([1.0, 4.0]), np.array([0, 0]), 1, seed=1, resamples=3)
    assert found.value == 2.5
    assert found.resamples.tolist() == [2.5, 2.5, 2.5]
    assert pytest.approx(user_medians(np.array([1.0, 4.0]), np.array([1, 1]), 2)[1]) == 2.5
