"""Experiment files: errors that name line and field."""

import pytest

from pipelines.evaluation.experiment import BadExperiment, require_known
from pipelines.evaluation.experiment_file import located, parse


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
        ("name: a\nmethods:\n  m: [{k: 1%s}]\n" % ("0" * 30), "f.yaml, line 3: a number beyond 64 bits"),
        (f"name: a\nmethods: {{m: [{{}}]}}\nreadings: 1{'0' * 30}\n", "f.yaml, line 3: a number beyond 64 bits"),
        ("name: a\nmethods: {m: [{}]}\nlimits:\n  calls: true\n", "f.yaml, line 4: limits.calls: .*valid integer"),
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
