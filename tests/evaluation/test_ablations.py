"""Configurations of a memory beside its plain one, on rows small enough to read and on real boards."""

from typing import Any

import polars as pl
import pytest
from evaluation_world import public, random_cohort, random_gold, readouts, table, taxonomy

from pipelines.evaluation.ablations import CONFIGURATIONS, ablations, configurations
from pipelines.evaluation.differences import differences
from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.leaderboard import leaderboard
from pipelines.evaluation.readers.lexical import LexicalReader
from pipelines.evaluation.scores import score

EXPERIMENT = Experiment.model_validate(
    {
        "name": "e",
        "methods": {
            "zeta": [{"k": 5}, {}, {"k": 50, "builder": "other/model"}],
            "one": [{"k": 5}],
            "alpha": [{"text": "a", "flag": True}, {"label": "small", "text": "b"}],
        },
    }
)


def row(method: str, recall: float, **changes: Any) -> dict[str, Any]:
    return {
        "reader": "llm", "budget": 600, "pool": "remember", "group_kind": "all", "place": 0, "group": "all",
        "method": method, "kind": "method", "recall": recall, "recall_low": recall - 0.1, "recall_high": recall + 0.1,
        "tokens": 90.0,
    } | changes  # fmt: skip


def pair(method: str, other: str, difference: float, **changes: Any) -> dict[str, Any]:
    return {
        "reader": "llm", "budget": 600, "pool": "remember", "method": method, "other": other, "n_units": 9,
        "n_users": 4, "difference": difference, "low": difference - 0.05, "high": difference + 0.2, "p": 0.01,
        "p_holm": 0.03, "separable": True,
    } | changes  # fmt: skip


def test_configurations_of_an_experiment_name_what_they_set_and_which_is_plain() -> None:
    assert configurations(EXPERIMENT).rows() == [
        (0, "zeta", "zeta-k5", "k = 5", False),
        (1, "zeta", "zeta", "defaults", True),
        (2, "zeta", next(label for label, _, config in EXPERIMENT.configured() if config.get("k") == 50),
         'k = 50, builder = "other/model"', False),
        (3, "alpha", "alpha-flagTrue-texta", 'text = "a", flag = true', True),
        (4, "alpha", "alpha-small", 'text = "b"', False),
    ]  # fmt: skip


def test_a_labelled_configuration_that_sets_nothing_is_plain() -> None:
    labelled = Experiment.model_validate({"name": "e", "methods": {"m": [{"k": 1}, {"label": "base"}]}})
    assert configurations(labelled).select("method", "config", "plain").rows() == [
        ("m-k1", "k = 1", False),
        ("m-base", "defaults", True),
    ]
    alone = Experiment.model_validate({"name": "e", "methods": {"m": [{}], "n": [{"k": 2}]}})
    assert configurations(alone).is_empty() and configurations(alone).schema == CONFIGURATIONS


def test_differences_are_to_the_plain_configuration_whichever_way_the_pair_stands() -> None:
    configured = pl.DataFrame(
        [(0, "m", "m-z", "k = 1", False), (1, "m", "m", "defaults", True), (2, "m", "m-a", "k = 2", False)],
        schema=CONFIGURATIONS,
        orient="row",
    ).with_columns(method=pl.col("method").replace({"m": "m-m"}))
    board = table("leaderboard", [
        row("m-a", 0.3), row("m-m", 0.5), row("m-z", 0.75), row("other", 0.9),
        row("m-a", 0.1, group_kind="familiarity", group="seen"),
        row("m-m", 0.4, pool="infer"), row("m-a", 0.2, pool="infer", recall_low=None, recall_high=None),
    ])  # fmt: skip
    paired = table("differences", [
        pair("m-a", "m-m", -0.2), pair("m-m", "m-z", -0.25, p=0.2, p_holm=0.6, separable=False),
        pair("m-a", "m-z", -0.45), pair("m-m", "other", -0.4),
        pair("m-a", "m-m", -0.2, pool="infer", low=None, high=None, p=None, p_holm=None, separable=None),
    ])  # fmt: skip
    found = ablations(board, paired, configured)
    shown = found.select("pool", "method", "plain", "recall", "plain_recall", "difference", "low", "high", "p_holm")
    assert shown.rows() == [
        ("infer", "m-m", True, 0.4, 0.4, None, None, None, None),
        ("infer", "m-a", False, 0.2, 0.4, -0.2, None, None, None),
        ("remember", "m-m", True, 0.5, 0.5, None, None, None, None),
        ("remember", "m-z", False, 0.75, 0.5, 0.25, pytest.approx(0.05), pytest.approx(0.3), 0.6),
        ("remember", "m-a", False, 0.3, 0.5, -0.2, pytest.approx(-0.25), pytest.approx(0.0), 0.03),
    ]
    assert found["separable"].to_list() == [None, None, None, False, True]
    shuffled = [frame.sample(fraction=1, shuffle=True, seed=3) for frame in (board, paired, configured)]
    assert ablations(*shuffled).equals(found)
    assert ablations(board, paired.clear(), configured)["difference"].null_count() == found.height
    assert ablations(board, paired, configured.clear()).is_empty()


def test_on_a_real_board_the_difference_is_that_of_the_recalls() -> None:
    gold = random_gold(users=8, transitions=3)
    cohort, pools, names = random_cohort(gold), public(gold), taxonomy()
    states = gold.select("user_id", "transition_index").unique().rows()
    experiment = Experiment.model_validate({"name": "e", "methods": {"m": [{"k": 1}, {}, {"k": 2}]}})
    units = []
    for (label, _, _), text in zip(experiment.configured(), ("milk", "milk\nbeef\nsoap", "wine"), strict=True):
        said = readouts(dict.fromkeys(states, text))
        readings = LexicalReader().read(said, pools, names)
        units.append(score(readings, gold, said, cohort, method=label, reader="lexical", budget=100))
    every = pl.concat(units)
    paired = differences(every)
    found = ablations(leaderboard(every, paired), paired, configurations(experiment))
    assert found.select("pool", "method").rows() == [
        (pool, method) for pool in ("infer", "remember") for method in ("m", "m-k1", "m-k2")
    ]
    for one in found.filter(~pl.col("plain")).iter_rows(named=True):
        assert one["difference"] == pytest.approx(one["recall"] - one["plain_recall"], abs=1e-8)
        assert one["low"] <= one["difference"] <= one["high"]
