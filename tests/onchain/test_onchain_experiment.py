"""Experiments on an on-chain release: which pairs become arms, which targets are asked, and what is refused."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from chain_worlds import table, wallet

from pipelines.evaluation.experiment import BadExperiment, Experiment
from pipelines.evaluation.experiment_slice import Slice
from pipelines.onchain.contenders import BASELINES
from pipelines.onchain.experiment import DEFAULT, arms, asked, settings_for, slice_of
from pipelines.onchain.settings import OnchainSettings


def experiment(**more: Any) -> Experiment:
    return Experiment(**{"name": "e", "methods": {"direct": [{}]}, "readers": ["llm"], **more})


def test_baselines_stand_in_every_experiment_and_pairs_that_do_not_go_together_are_no_arms() -> None:
    both = {"direct": [{}, {"scope": "all_markets"}], "none": [{}], "last_side": [{}]}
    found = arms(
        experiment(methods=both, readers=["rule", "llm", "llm:big/one"]), "r", {"llm": "f1", "llm:big/one": "f2"}
    )
    assert [(arm.label, arm.reader) for arm in found] == [
        *((name, "rule") for name in BASELINES),
        *(
            (label, reader)
            for label in ("direct", "direct-scopeall_markets", "none")
            for reader in ("llm", "llm:big/one")
        ),
    ]
    assert len({arm.key for arm in found}) == len({arm.fingerprint for arm in found}) == len(found)
    assert found[0].key == "e~majority_side~rule"
    assert all(":" not in arm.key and "/" not in arm.key for arm in found)
    assert [arm.label for arm in arms(DEFAULT, "r", {})] == list(BASELINES)
    listed = Experiment(name="e", methods={"last_side": [{}]})
    assert [arm.reader for arm in arms(listed, "r", {})] == ["rule"] * len(BASELINES)


def test_an_arm_is_known_by_all_that_its_answers_depend_on() -> None:
    def of(readers: dict[str, str], **more: Any) -> str:
        return arms(experiment(**more), "r", readers)[-1].fingerprint

    same = of({"llm": "f1"})
    assert same == of({"llm": "f1"}, name="other")
    changes = [{"users": 3}, {"readings": 3}, {"split": "train"}, {"seed": 1}, {"methods": {"none": [{}]}}]
    assert len({same, of({"llm": "f2"}), *(of({"llm": "f1"}, **more) for more in changes)}) == 2 + len(changes)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"methods": {"recent_k": [{}]}}, r"no method recent_k on an on-chain release; there are direct, last_dir"),
        ({"readers": ["embedding"]}, r"no reader embedding on an on-chain release; there are llm, rule"),
        ({"readers": ["rule"]}, r"no reader answers method direct: list `llm`"),
        ({"budgets": [300]}, r"budgets belongs to commerce releases"),
        ({"batches": 2}, r"batches belongs to commerce releases"),
        ({"judges": ["grounded"]}, r"judges belongs to commerce releases"),
        ({"methods": {"none": [{"scope": "market"}]}}, r"method none does not take its configuration: scope"),
        ({"methods": {"direct": [{"scope": "here"}]}}, r"method direct does not take its configuration: scope"),
    ],
)
def test_what_an_on_chain_release_does_not_know_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(BadExperiment, match=message):
        arms(experiment(**more), "r", {"llm": "f"})


def test_only_the_interface_direct_looks_further() -> None:
    near = OnchainSettings()
    assert settings_for("direct", {"scope": "all_markets"}, near).direct_scope == "all_markets"
    assert settings_for("direct", {}, near) == settings_for("none", {}, near) == near


HISTORIES = table(
    "histories",
    *(
        {"layer": layer, "wallet": wallet(u), "event": event, "split": ("train", "test")[event > 3]}
        for u in range(6)
        for event in range(8)
        for layer in ("belief", "trade")
        if layer == "trade" or event % 2
    ),
)


def test_a_slice_is_of_one_split_and_a_larger_one_contains_a_smaller() -> None:
    whole = slice_of(HISTORIES.lazy(), experiment())
    assert whole == Slice(tuple(wallet(u).hex() for u in range(6)), split="test")
    kept = asked(HISTORIES, whole)
    assert kept.equals(HISTORIES.filter(pl.col("split") == "test"))
    few = slice_of(HISTORIES.lazy(), experiment(users=2))
    more = slice_of(HISTORIES.sample(fraction=1.0, shuffle=True, seed=1).lazy(), experiment(users=4))
    assert set(few.users) < set(more.users) < set(whole.users)
    assert asked(HISTORIES, few)["wallet"].n_unique() == 2
    sampled = slice_of(HISTORIES.lazy(), experiment(readings=5))
    larger = slice_of(HISTORIES.lazy(), experiment(readings=9))
    assert sampled.pools is not None and larger.pools is not None
    assert set(sampled.pools) < set(larger.pools)
    assert asked(HISTORIES, sampled).height == 5
    assert sampled.users == tuple(sorted({user for user, _, _ in sampled.pools}))
    assert slice_of(HISTORIES.lazy(), experiment(split="validation")).users == ()


def test_instances_of_a_layer_are_asked_as_histories_are() -> None:
    sampled = slice_of(HISTORIES.lazy(), experiment(readings=9))
    beliefs = table(
        "belief_instances",
        *({"wallet": row["wallet"], "cut_event": row["event"], "split": row["split"]}
          for row in HISTORIES.filter(pl.col("layer") == "belief").iter_rows(named=True)),
    )  # fmt: skip
    found = asked(beliefs, sampled, "belief", "cut_event")
    expected = asked(HISTORIES, sampled).filter(pl.col("layer") == "belief")
    assert found.select("wallet", "cut_event").rows() == expected.select("wallet", "event").rows()
    assert 0 < found.height < 9
    assert found.schema == beliefs.schema
    as_read_back = replace(sampled, pools=[list(row) for row in sampled.pools or ()])  # type: ignore[arg-type]
    assert asked(beliefs, as_read_back, "belief", "cut_event").equals(found)
