"""YAML that people write, read with the line where it is wrong (ours)."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

_OCTAL = re.compile(r"[-+]?0[0-7_]+")
MOST = 100_000
"""Values of a file at most, its aliases written out: a few lines of them can stand for billions."""


class BadYaml(ValueError):
    """A file that is no usable YAML: `where`, which names it and the line where there is one, and what is wrong."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where = where


def read_yaml(text: str, file: str) -> Any:
    """The value of YAML text, None for an empty one; `file` is named in errors.

    Raises `BadYaml` for text that is not YAML, a key given twice or without a name, a value that is none (a date
    without such a day, an integer beyond all bounds) or would be read as another (`1:30` as 90, `no` as false), and
    for nesting and aliases without end.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return None
        _size(root, file, {})
        return yaml.load(text, _Loader)
    except BadYaml:
        raise
    except RecursionError as error:
        raise BadYaml(file, "is nested too deep, or in itself") from error
    except _Wrong as error:
        raise BadYaml(place(file, error.mark), str(error)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = place(file, mark) if mark else file
        raise BadYaml(where, f"not YAML: {' '.join(str(getattr(error, 'problem', None) or error).split())}") from error
    except (ValueError, OverflowError) as error:
        raise BadYaml(file, f"not YAML: a character that there is not ({error})") from error


def read_yaml_file(path: Path) -> Any:
    """The value of a YAML file in UTF-8. Raises `OSError`, and `BadYaml` as `read_yaml` and for other encodings."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadYaml(str(path), f"is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    return read_yaml(text, str(path))


def read_values(path: Path) -> dict[str, Any]:
    """Values by name of a YAML file, none of an empty one; raises `BadYaml` for a file of another kind, too."""
    value = read_yaml_file(path)
    if not isinstance(value, dict | None):
        raise BadYaml(str(path), "expected `name: value` lines, one for each setting")
    return value or {}


def place(file: str, mark: yaml.Mark) -> str:
    """A file and a line of it, as errors name them."""
    return f"{file}, line {mark.line + 1}"


def place_of(text: str, file: str, path: Sequence[str | int]) -> tuple[str, list[str]]:
    """Where in YAML text a path of keys, indices and values leads to, as far as the text goes, and the steps taken.

    The place is the file and the line. `[key]` at the end is the key itself instead of what it stands for.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return file, []
    node, steps = _node_at(root, path)
    return place(file, node.start_mark), steps


def _node_at(root: yaml.Node, path: Sequence[str | int]) -> tuple[yaml.Node, list[str]]:
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


class _Loader(yaml.SafeLoader):
    """Says where a value is none, or another than it seems to be."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind in ("int", "float") and ":" in node.value:
            raise _Wrong(node, f"{node.value} is read as a number to base 60; put it in quotes, or write the number")
        if kind == "int" and _OCTAL.fullmatch(node.value):
            raise _Wrong(node, f"{node.value} is read as a number to base 8; put it in quotes, or write the number")
        if kind == "bool" and node.value.lower() in ("yes", "no", "on", "off"):
            raise _Wrong(node, f"{node.value} is read as true or false; put it in quotes, or write true or false")
        if kind in ("binary", "omap", "pairs", "set"):
            raise _Wrong(node, f"!!{kind} has no meaning here; write a list or a map")
        try:
            value = super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except ValueError as error:
            raise _Wrong(node, f"not YAML: {error}") from error
        except (LookupError, TypeError, AttributeError) as error:
            raise _Wrong(node, f"!!{kind} is no tag for {node.value!r}") from error
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise _Wrong(node, "a number beyond 64 bits; write a smaller one")
        return value


class _Wrong(yaml.YAMLError):
    """A node that is YAML, and no value here."""

    def __init__(self, node: yaml.Node, problem: str) -> None:
        super().__init__(problem)
        self.mark = node.start_mark


def _size(node: yaml.Node, file: str, known: dict[int, int]) -> int:
    """Values in a node, each alias written out; `known` are sizes by node, for an alias is the node that it names."""
    if id(node) in known:
        return known[id(node)]
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        names: set[Any] = set()
        for key, child in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise BadYaml(place(file, key.start_mark), "a field has no name but a list or a map")
            # `1` and `0x1` are one name.
            name = key.value if key.tag.endswith((":str", ":merge")) else _Loader("").construct_object(key)
            if name in names:
                raise _Wrong(key, f"{key.value} is given twice")
            names.add(name)
            children.append(child)
    elif isinstance(node, yaml.SequenceNode):
        children = node.value
    known[id(node)] = 1 + sum(_size(child, file, known) for child in children)
    if known[id(node)] > MOST:
        raise BadYaml(place(file, node.start_mark), f"comes to more than {MOST:,} values; write fewer aliases")
    return known[id(node)]
