"""A reader of README and docs, who types their commands where the files that they speak of are."""

import importlib
import json
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from documentation import documented
from model_server import Call


class Walk:
    """`walk("trailbench …", {"RELEASE": name})` runs a documented command in this process and in the current folder.

    One that does not end with code 0 fails the test. What a command exports stays until the end of the walk.
    """

    def __init__(self, cli: Callable[..., SimpleNamespace], patch: pytest.MonkeyPatch) -> None:
        self._cli, self._patch = cli, patch
        # The DAG reads once in a process how many shards there may be. Homes of a walk have fewer than those of others.
        importlib.import_module("assets.partitions")

    def __call__(self, command: str, fill: Mapping[str, object] = {}) -> SimpleNamespace:
        program, *words = documented(command, fill)
        if program == "export":
            for word in words:
                self._patch.setenv(*word.split("=", 1))
            return SimpleNamespace(code=0, out="", err="")
        assert program == "trailbench", f"no command of ours: {command}"
        result = self._cli(*words)
        assert result.code == 0, f"{command}\n{result.out}\n{result.err}"
        return result


def frozen(said: str) -> str:
    """The name of a release that `trailbench build` printed."""
    (name,) = re.findall(r"^release: (\w+)$", said, re.MULTILINE)
    return str(name)


def told(said: str, what: str) -> str:
    """The value in the row of a printed table that begins with `what`."""
    (value,) = re.findall(rf"^ {what} +(.*?) *$", said, re.MULTILINE)
    return str(value)


def least(call: Call) -> str:
    """The least that the schema of a call allows as a reply: what any model may say that keeps to schemas."""
    return json.dumps(_least(call.schema or {}, 0))


def _least(shape: Mapping[str, Any], place: int) -> Any:
    if "enum" in shape:
        return shape["enum"][place % len(shape["enum"])]
    if "anyOf" in shape:
        return _least(shape["anyOf"][0], place)
    kind = shape["type"] if isinstance(shape["type"], str) else shape["type"][0]
    if kind == "object":
        return {name: _least(inner, place) for name, inner in shape["properties"].items()}
    if kind == "array":
        return [_least(shape["items"], number) for number in range(shape.get("minItems", 0))]
    return {"string": "x", "integer": shape.get("minimum", 1), "number": 0.5, "boolean": True, "null": None}[kind]
