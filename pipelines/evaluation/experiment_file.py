"""Experiment files: read from YAML, refused with the line and the field where they are wrong."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import yaml
from pydantic import ValidationError

from pipelines.evaluation.experiment import BadExperiment, Experiment
from pipelines.yaml_text import BadYaml, place, read_yaml

_WITH_MODEL = "write NAME, or NAME:MODEL with a model's name of letters, digits and . _ / @ + : -"
_FORMS = {"readers": _WITH_MODEL, "judges": _WITH_MODEL}
_NAME_FORM = "write lower-case letters, digits and _, beginning with a letter or digit"
"""What the patterns of `ReaderName`, by field, and of `Name` mean, for people."""


def parse(text: str, file: str) -> Experiment:
    """An experiment from YAML text; `file` is named in errors.

    Raises `BadExperiment` for broken YAML, a key given twice, an unknown or
    missing field, or a value out of range.
    """
    try:
        value = read_yaml(text, file)
    except BadYaml as error:
        raise BadExperiment(str(error)) from error
    if value is None:
        raise BadExperiment(f"{file}: is empty; an experiment needs at least name and methods")
    try:
        return Experiment.model_validate(value)
    except ValidationError as error:
        root = _root(text)
        raise BadExperiment("\n".join(_explain(problem, root, file) for problem in error.errors())) from error


def _root(text: str) -> yaml.Node:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert root is not None, "an experiment was read from it"
    return root


def _explain(problem: Any, root: yaml.Node, file: str) -> str:
    path = problem["loc"]
    node, steps = _node_at(root, path)
    if problem["type"] == "missing" and len(steps) < len(path):
        steps.append(str(path[len(steps)]))
    where = f"{'.'.join(steps)}: " if steps else ""
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden" and len(path) == 1:
        message += f"; fields are {', '.join(Experiment.model_fields)}"
    if problem["type"] == "string_pattern_mismatch":
        message = _FORMS.get(str(path[0]), _NAME_FORM)
    return f"{place(file, node.start_mark)}: {where}{message}"


def located(error: BadExperiment, text: str, file: str) -> BadExperiment:
    """The error of an experiment that was read from `text`, with the file and the line of its place in front."""
    if not error.place:
        return BadExperiment(f"{file}: {error}")
    node, _ = _node_at(_root(text), (*error.place, "[key]"))
    return BadExperiment(f"{place(file, node.start_mark)}: {error}", error.place)


def _node_at(root: yaml.Node, path: Sequence[str | int]) -> tuple[yaml.Node, list[str]]:
    """The node that a path of keys, indices and values leads to, as far as the file goes, and the steps taken.

    `[key]` at the end is the key itself instead of what it stands for.
    """
    node, steps = root, []
    for step, following in zip_longest(path, path[1:]):
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == str(step)), None)
            if found is None:
                break
            node = found[0] if following == "[key]" else found[1]
        elif isinstance(node, yaml.SequenceNode):
            named = [one for one in node.value if one.value == step]
            if isinstance(step, int) and step < len(node.value):
                node = node.value[step]
            elif named:
                node = named[0]
            else:
                break
        else:
            break
        steps.append(str(step))
    return node, steps
