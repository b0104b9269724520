"""Experiment files: arms, fingerprints, samples, errors that name line and field."""

import polars as pl
import pytest

from pipelines.evaluation.experiment import DEMO, BadExperiment, Experiment, arms, parse, sample_users
from pipelines.memory.registry import builtin_methods
from resources.experiment_spec import bind

READERS = {"embedding": "e", "lexical": "l"}
TEXT = """\
name: mine
methods:
  empty: [{}]
  recent_k: [{}, {k: 5}]
readers: [embedding, lexical]
budgets: [300, 600]
users: 10
"""


def arms_of(experiment, release, version="1", readers=READERS):
    methods = {label: f"{name} {config} {version}" for label, name, config in experiment.configured()}
    return arms(experiment, release, methods, readers)


def test_the_demo_has_one_arm_a_method():
    got = arms_of(DEMO, "abc")
    assert [arm.key for arm in got][:2] == ["demo~empty~embedding~600", "demo~recent_k~embedding~600"]
    assert len(got) == 7 and DEMO.users == 200
    assert not any(mark in arm.key for arm in got for mark in "|,[]/ ")


def test_arms_share_memory_and_readout_by_fingerprint():
    got = {arm.key: arm for arm in arms_of(parse(TEXT, "x.yaml"), "abc")}
    assert len(got) == 3 * 2 * 2
    a, b, c = (got[f"mine~recent_k-k5~{rest}"] for rest in ("embedding~300", "lexical~300", "embedding~600"))
    assert a.memory == b.memory == c.memory
    assert a.readout == b.readout != c.readout
    assert len({a.fingerprint, b.fingerprint, c.fingerprint}) == 3
    assert a.memory != got["mine~recent_k~embedding~300"].memory
    assert (a.method, a.label, a.config) == ("recent_k", "recent_k-k5", {"k": 5})
    assert {arm.memory for arm in arms_of(parse(TEXT, "x"), "abd")}.isdisjoint({arm.memory for arm in got.values()})


def test_another_method_or_reader_is_another_arm():
    experiment = parse(TEXT, "x.yaml")
    first = {arm.key: arm for arm in arms_of(experiment, "abc")}
    for arm in arms_of(experiment, "abc", version="2"):
        same = first[arm.key]
        assert arm.memory != same.memory and arm.readout != same.readout and arm.fingerprint != same.fingerprint
    for arm in arms_of(experiment, "abc", readers=READERS | {"lexical": "l2"}):
        same = first[arm.key]
        assert (arm.memory, arm.readout) == (same.memory, same.readout)
        assert (arm.fingerprint == same.fingerprint) is (arm.reader == "embedding")


def test_strange_configurations_get_keys_that_a_folder_can_carry():
    strange = parse("name: a\nmethods:\n  m: [{path: '../x, [y]|~'}, {path: '../x; (y)|~'}]\n", "f")
    first, second = arms_of(strange, "r")
    assert first.key != second.key and first.key.startswith("a~m-path.._x_y_-")
    assert first.key.count("~") == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml: is empty"),
        ("name: [", "f.yaml, line 1: not YAML"),
        ("name: a\nname: b\n", "f.yaml, line 2: name is given twice"),
        ("name: a\n", "f.yaml, line 1: methods: Field required"),
        ("name: a\nmethods: {m: [{}]}\nbudget: 3\n", "f.yaml, line 3: budget: Extra inputs are not permitted"),
        ("name: a\nmethods: {m: [{}]}\nbudgets: [600, 0]\n", "f.yaml, line 3: budgets.1: .*greater than or equal to 1"),
        ("name: a\nmethods:\n  m: []\n", "m has no configuration"),
        ("name: a\nmethods:\n  m: [{}, {}]\n", "two configurations read the same: m"),
        ("name: A b\nmethods: {m: [{}]}\n", "f.yaml, line 1: name: String should match"),
        ("name: a\nmethods:\n  'm|x': [{}]\n", "f.yaml, line 3: .*should match"),
        ("- 1\n", "f.yaml, line 1: Input should be a valid dictionary"),
        ("name: a\nmethods: {m: [{}]}\nreaders: [lexical, lexical]\n", "readers holds a value twice"),
    ],
)
def test_errors_name_file_line_and_field(text, message):
    with pytest.raises(BadExperiment, match=message):
        parse(text, "f.yaml")


def test_a_sample_is_keyed_nested_and_independent_of_order():
    users = pl.Series("user_id", [f"u{i}" for i in range(100)])

    def drawn(n, seed=1, series=users):
        return sample_users(series, Experiment(name="a", methods={"m": [{}]}, users=n, seed=seed)).to_list()

    assert len(drawn(10)) == 10 and set(drawn(10)) < set(drawn(20))
    assert drawn(10, series=users.sample(fraction=1, shuffle=True, seed=3).append(users)) == drawn(10)
    assert drawn(10, seed=2) != drawn(10)
    assert drawn(100) == drawn("all") == drawn(101) == sorted(users.to_list())


def test_a_bound_experiment_carries_the_fingerprints_of_its_methods_and_refuses_what_they_do_not_take():
    readers = {"embedding": "e"}
    experiment = Experiment(name="a", methods={"recent_k": [{}]})
    spec = builtin_methods()["recent_k"]
    (arm,) = bind(experiment, "r", "key", ["u"], readers).arms
    assert arm.arm == arms(experiment, "r", {"recent_k": spec.fingerprint(spec.config_model())}, readers)[0]
    with pytest.raises(BadExperiment, match="method recent_k does not take its configuration: nope: Extra inputs"):
        bind(Experiment(name="a", methods={"recent_k": [{"nope": 1}]}), "r", "key", ["u"], readers)
