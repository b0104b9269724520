"""Experiment files: read from YAML, refused with the line and the field where they are wrong."""

from typing import Any

from pydantic import ValidationError

from pipelines.evaluation.experiment import BadExperiment, Experiment
from pipelines.yaml_text import BadYaml, place_of, read_yaml

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
        raise BadExperiment("\n".join(_explain(problem, text, file) for problem in error.errors())) from error


def _explain(problem: Any, text: str, file: str) -> str:
    path = problem["loc"]
    at, steps = place_of(text, file, path)
    if problem["type"] == "missing" and len(steps) < len(path):
        steps.append(str(path[len(steps)]))
    where = f"{'.'.join(steps)}: " if steps else ""
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden" and len(path) == 1:
        message += f"; fields are {', '.join(Experiment.model_fields)}"
    if problem["type"] == "string_pattern_mismatch":
        message = _FORMS.get(str(path[0]), _NAME_FORM)
    return f"{at}: {where}{message}"


def located(error: BadExperiment, text: str, file: str) -> BadExperiment:
    """The error of an experiment that was read from `text`, with the file and the line of its place in front."""
    if not error.place:
        return BadExperiment(f"{file}: {error}")
    at, _ = place_of(text, file, (*error.place, "[key]"))
    return BadExperiment(f"{at}: {error}", error.place)
