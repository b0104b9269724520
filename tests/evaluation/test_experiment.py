"""Experiment files: arms, fingerprints, samples, errors that name line and field."""

import polars as pl
import pytest

from pipelines.commerce.tables import POOL
from pipelines.evaluation.experiment import (
    DEMO,
    BadExperiment,
    Experiment,
    Slice,
    arms,
    located,
    parse,
    require_known,
    sample_users,
    slice_of,
)
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml: is empty"),
        ("name: [", "f.yaml, line 1: not YAML"),
        ("name: a\nname: b\n", "f.yaml, line 2: name is given twice"),
        ("name: a\n", "f.yaml, line 1: methods: Field required"),
        ("name: a\nmethods: {m: [{}]}\nbudget: 3\n", "f.yaml, line 3: budget: Extra inputs are not permitted"),
        ("name: a\nmethods: {m: [{}]}\nbudgets: [600, 0]\n", "f.yaml, line 3: budgets.1: .*greater than or equal to 1"),
        ("name: a\nmethods: {m: [{}]}\nusers: true\n", "f.yaml, line 3: users: .*valid integer"),
        ("name: a\nmethods:\n  m: []\n", "m has no configuration"),
        ("name: a\nmethods:\n  m: [{}, {}]\n", "two configurations read the same: m"),
        ("name: A b\nmethods: {m: [{}]}\n", "f.yaml, line 1: name: write lower-case letters"),
        ("name: a\nmethods:\n  'm|x': [{}]\n", "f.yaml, line 3: methods.m.x: write lower-case letters"),
        ("- 1\n", "f.yaml, line 1: Input should be a valid dictionary"),
        ("name: a\nmethods: {m: [{}]}\nreaders: [lexical, lexical]\n", "readers holds a value twice"),
        ("name: a\nmethods: {m: [{label: 2020-13-45}]}\n", "f.yaml, line 2: not YAML: month must be in"),
        (f"name: a\nseed: {'1' * 5000}\n", "f.yaml, line 2: not YAML: Exceeds the limit"),
        ("name: a\n? [m]\n: b\n", "f.yaml, line 2: a field has no name"),
        ("name: &a [*a]\n", "f.yaml: is nested too deep, or in itself"),
        (f"name: {'[' * 2000}\n", "f.yaml: is nested too deep"),
        (f"name: a\nmethods: {{m: [{{}}]}}\nreadings: 1{'0' * 30}\n", "f.yaml, line 3: readings: .*less than or equal"),
        ("name: a\nmethods: {m: [{}]}\nlimits:\n  calls: yes\n", "f.yaml, line 4: limits.calls: .*valid integer"),
        ("name: a\nmethods: {m: [{}]}\nlimits: {cost: .inf}\n", "f.yaml, line 3: limits.cost: .*finite"),
    ],
)
def test_errors_name_file_line_and_field(text, message):
    with pytest.raises(BadExperiment, match=message):
        parse(text, "f.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("readers: [embedding, 'llm:']", "f.yaml, line 4: readers.1: write NAME, or NAME:MODEL with"),
        ("readers:\n- 'llm:a model'", "f.yaml, line 5: readers.0: write NAME, or NAME:MODEL with"),
        ("judges: [Grounded]", "f.yaml, line 4: judges.0: write NAME, or NAME:MODEL with"),
    ],
)
def test_a_name_of_another_form_is_explained_without_its_pattern(text, message):
    with pytest.raises(BadExperiment) as told:
        parse(f"name: x\nmethods:\n  m: [{{}}]\n{text}\n", "f.yaml")
    assert str(told.value).startswith(message) and "^" not in str(told.value)
    with pytest.raises(BadExperiment, match=r"^f, line 1: name: write lower-case letters"):
        parse("name: A B\nmethods: {m: [{}]}\n", "f")


@pytest.mark.parametrize(
    ("what", "named", "line"),
    [
        ("method", ["recent_k", "recal"], 4),
        ("reader", ["embedding", "oracle:m"], 7),
        ("reader", ["embedding", "of no line"], 6),
        ("judge", ["fair"], 8),
    ],
)
def test_what_there_is_not_is_named_with_its_line(what, named, line):
    text = "name: x\nmethods:\n  recent_k: [{}]\n  recal: [{}]\nreaders:\n- embedding\n- oracle:m\njudges: [fair]\n"
    with pytest.raises(BadExperiment) as told:
        require_known(what, named, ["recent_k", "embedding"], " here")
    placed = located(told.value, text, "f.yaml")
    unknown = named[-1].partition(":")[0]
    assert str(placed) == f"f.yaml, line {line}: no {what} {unknown} here; there are embedding, recent_k"
    assert str(located(BadExperiment("of no place"), text, "f.yaml")) == "f.yaml: of no place"


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


POOLS = pl.DataFrame(
    [(f"u{user}", t, pool) for user in range(6) for t in range(4) for pool in ("remember", "infer")] * 2,
    schema={"user_id": pl.String, "transition_index": pl.Int32, "pool": POOL},
    orient="row",
)


def sliced(**more):
    return slice_of(POOLS.lazy(), Experiment(name="a", methods={"empty": [{}]}, **more))


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
