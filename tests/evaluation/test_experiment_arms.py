"""Arms of an experiment: their keys, their fingerprints, and what they are called."""

import pytest

from pipelines.evaluation.demo_experiments import DEMO
from pipelines.evaluation.experiment import BadExperiment, Experiment
from pipelines.evaluation.experiment_arms import arms
from pipelines.evaluation.experiment_file import parse
from pipelines.evaluation.experiment_slice import Slice
from pipelines.memory.registry import builtin_methods
from resources.experiment_spec import bind
from resources.store import Store

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
    assert first.key != second.key and first.key.startswith("a~m-path__x_y_-")
    assert first.key.count("~") == 3


@pytest.mark.parametrize("label", ["..", "a..b", "../../etc", "ключ\u202e\n\0", "é" * 300, "-", "", "~|*?"])
def test_the_store_takes_the_key_of_any_label(tmp_path, label):
    experiment = Experiment(name="a", methods={"m": [{"label": label}]})
    (arm,) = arms_of(experiment, "r")
    store = Store(str(tmp_path))
    store.write_json(f"specs/arm/{arm.key}.json", {"label": label})
    assert store.read_json(f"specs/arm/{arm.key}.json") == {"label": label}


def test_a_bound_experiment_carries_the_fingerprints_of_its_methods_and_refuses_what_they_do_not_take():
    readers = {"embedding": "e"}
    asked = Slice(("u",))

    def bound(methods):
        return bind(Experiment(name="a", methods=methods), "r", "key", asked, readers, lambda role, name: role + name)

    spec = builtin_methods()["recent_k"]
    (arm,) = bound({"recent_k": [{}]}).arms
    expected = {"recent_k": spec.fingerprint(spec.config_model())}
    assert arm.arm == arms(Experiment(name="a", methods={"recent_k": [{}]}), "r", expected, readers)[0]
    assert arm.slice == asked
    with pytest.raises(BadExperiment, match="method recent_k does not take its configuration: nope: Extra inputs"):
        bound({"recent_k": [{"nope": 1}]})
    with pytest.raises(BadExperiment, match="method recent_k asks no model: take `builder` out"):
        bound({"recent_k": [{"builder": "m"}]})


def test_models_are_named_a_memory_or_a_reader_at_a_time():
    text = """\
name: models
methods:
  profile_gen: [{}, {builder: big/model, every_batches: 2}]
readers: [llm, "llm:other/model"]
models: {reader: small}
limits: {calls: 10}
"""
    experiment = parse(text, "models.yaml")
    got = arms_of(experiment, "r", readers={"llm": "a", "llm:other/model": "b"})
    assert [(arm.builder, arm.config) for arm in got[::2]] == [("", {}), ("big/model", {"every_batches": 2})]
    assert [arm.reader for arm in got] == ["llm", "llm:other/model"] * 2
    assert len({arm.key for arm in got}) == 4 and not any(mark in arm.key for arm in got for mark in "|,[]/: ")
    assert (experiment.limits.calls, experiment.models) == (10, {"reader": "small"})
    with pytest.raises(BadExperiment, match=r"models\.yaml, line 5"):
        parse(text.replace("reader: small", "scribe: small"), "models.yaml")


def test_a_memory_may_be_given_the_name_that_tables_use():
    got = arms_of(parse("name: a\nmethods:\n  recent_k: [{label: long, k: 90}, {k: 5}]\n", "f"), "r", readers=READERS)
    assert [(arm.label, arm.config) for arm in got] == [("recent_k-long", {"k": 90}), ("recent_k-k5", {"k": 5})]
    with pytest.raises(BadExperiment, match="read the same: recent_k-long"):
        parse("name: a\nmethods:\n  recent_k: [{label: long, k: 90}, {label: long}]\n", "f")
