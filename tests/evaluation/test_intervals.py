"""Bootstrap, sign flips, Holm and bands against slow or hand-made answers."""

from itertools import product

import numpy as np
import pytest

from pipelines.evaluation.intervals import bands, bootstrap, holm, macro, micro, sign_flip_p
from pipelines.hashing import key64, mix64


def column(*values):
    return np.array(values, dtype=np.float64)[:, None]


def test_micro_is_a_ratio_of_sums_and_macro_a_mean_of_ratios():
    hits, positives = column(1, 3, 0), column(2, 12, 0)
    assert micro(hits, positives)[0] == pytest.approx(4 / 14)
    assert macro(hits, positives)[0] == pytest.approx((1 / 2 + 3 / 12) / 2)  # the user never asked is no part
    assert np.isnan(micro(column(0), column(0))[0])


def slow_bootstrap(hits, positives, seed, resamples):
    n = len(hits)
    micros, macros = [], []
    for b in range(resamples):
        drawn = []
        for j in range(n):
            h = int(mix64(key64("bootstrap", "interval"), seed, np.array([b]), np.array([j]))[0])
            drawn.append(((h >> 32) * n) >> 32)
        micros.append(sum(hits[u] for u in drawn) / sum(positives[u] for u in drawn))
        macros.append(sum(hits[u] / positives[u] for u in drawn) / n)
    return [np.quantile(values, [0.025, 0.975]) for values in (micros, macros)]


def test_bootstrap_equals_a_plain_python_one():
    hits, positives = [1, 4, 0, 3, 2], [4, 5, 3, 3, 9]
    got = bootstrap(column(*hits), column(*positives), seed=7, resamples=200)
    for means, (low, high) in zip(got, slow_bootstrap(hits, positives, 7, 200), strict=True):
        assert (means.low[0], means.high[0]) == pytest.approx((low, high), abs=1e-12)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(3)
    positives = np.full((60, 400), 10.0)
    hits = rng.binomial(10, rng.beta(2, 3, size=(60, 400))).astype(np.float64)
    means, _ = bootstrap(hits, positives, seed=1, resamples=500)
    covered = ((means.low <= 0.4) & (means.high >= 0.4)).mean()
    assert 0.90 <= covered <= 0.98


def test_one_user_has_no_interval():
    means, users = bootstrap(column(3, 0), column(4, 0), seed=1)
    assert means.value[0] == 0.75 and np.isnan(means.low[0]) and np.isnan(users.high[0])


def test_chunks_of_resamples_change_nothing(monkeypatch):
    hits, positives = column(*range(20)), column(*range(10, 30))
    whole = bootstrap(hits, positives, seed=2, resamples=300)
    flips = sign_flip_p(hits - 9, seed=2, flips=500)
    monkeypatch.setattr("pipelines.evaluation.intervals._CELLS", 70)
    assert bootstrap(hits, positives, seed=2, resamples=300)[0].low == whole[0].low
    assert sign_flip_p(hits - 9, seed=2, flips=500) == flips


@pytest.mark.parametrize("differences", [[1, 2, 3], [1, -1, 0], [4, 4, 4, 4, 4, 4], [3, -1, 2, 0, 5]])
def test_sign_flips_are_exact_for_few_users(differences):
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True))
        for signs in product([1, -1], repeat=len(differences))
    ]
    expected = sum(abs(total) >= abs(sum(differences)) for total in sums) / len(sums)
    assert sign_flip_p(column(*differences), seed=0)[0] == expected


def test_sign_flips_at_the_border_of_exact():
    assert sign_flip_p(column(*[1] * 12), seed=0)[0] == 2 / 4096
    assert sign_flip_p(column(*[1] * 13), seed=0)[0] == pytest.approx(2 / 8192, abs=4e-4)
    assert sign_flip_p(column(*[0] * 13), seed=0)[0] == 1.0
    assert sign_flip_p(column(*[1] * 200), seed=0)[0] == 1 / 10_000


def test_sampled_sign_flips_are_uniform_under_no_difference():
    rng = np.random.default_rng(0)
    p = sign_flip_p(rng.integers(-3, 4, size=(40, 300)).astype(np.float64), seed=5, flips=999)
    assert 0.02 <= (p < 0.05).mean() <= 0.09


def test_holm_by_hand():
    # 0.01·4, max(0.04, 0.02·3), max(0.06, 0.03·2), max(0.06, 0.5·1)
    assert holm(np.array([0.5, 0.01, 0.03, 0.02])) == pytest.approx([0.5, 0.04, 0.06, 0.06])
    assert holm(np.array([0.9, 0.8])) == pytest.approx([1.0, 1.0])
    got = holm(np.array([0.02, np.nan]))
    assert got[0] == 0.02 and np.isnan(got[1])


def test_bands_end_at_the_first_method_separable_from_their_first():
    separable = np.zeros((4, 4), dtype=bool)
    separable[0, 2] = separable[0, 3] = separable[1, 3] = True
    assert bands(separable | separable.T) == [1, 1, 2, 2]
    assert bands(np.zeros((0, 0), dtype=bool)) == []
