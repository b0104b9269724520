"""Versions of code by its text, so that a changed rule rebuilds what it made and nothing else."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pipelines.hashing import digest

PACKAGE = "pipelines"
_IMPORT = re.compile(rf"^[ \t]*((?:from|import) {PACKAGE}\b[^\n(\\;]*(?:\([^)#]*\))?)[ \t]*(?:#.*)?$", re.MULTILINE)
"""An import from the domain that is alone on its lines, also one inside of a function."""
_MENTION = re.compile(rf"\b(?:from|import)\b.*\b{PACKAGE}\b")
"""A line that may hold such an import in whatever form."""
VERSIONED_APART = frozenset(
    {"pipelines.schema", *(f"pipelines.{track}.settings" for track in ("commerce", "onchain", "applogs"))}
)
"""Modules whose values enter a fingerprint themselves: the schema's version, the thresholds in force."""


@cache
def code_version(*modules: str) -> str:
    """Hash of the source text of the named modules and of all domain modules that they import, in turn.

    A package stands for all Python files below it. Raises `ModuleNotFoundError` for a
    name that does not exist.
    """
    found = sources(*modules)
    return digest(*(text for name in sorted(found) for text in (name, found[name].read_text(encoding="utf-8"))), size=6)


def sources(*modules: str) -> dict[str, Path]:
    """Module → file of everything that enters `code_version`."""
    found: dict[str, Path] = {}
    waiting = [entry for module in modules for entry in _files(module)]
    while waiting:
        name, file = waiting.pop()
        if name not in found:
            found[name] = file
            waiting += [(other, path) for other in _imports(file) if (path := _file(other)) is not None]
    return found


def copy_sources(to: Path, *modules: str) -> None:
    """Write the named modules and all domain modules that they import below `to`, so that they can be imported there.

    What they need beside the domain is not copied. Raises as `sources`.
    """
    for name, file in sources(*modules).items():
        inside = to.joinpath(*name.split("."))
        target = inside / "__init__.py" if file.name == "__init__.py" else inside.with_suffix(".py")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
        for package in target.relative_to(to).parents[:-1]:
            # A package that is itself among the modules is written in its turn.
            (to / package / "__init__.py").touch()


def _files(module: str) -> Iterator[tuple[str, Path]]:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no module named {module!r}")
    origin = Path(spec.origin)
    yield module, origin
    if origin.name == "__init__.py":
        for file in origin.parent.rglob("*.py"):
            inside = file.relative_to(origin.parent).with_suffix("").parts
            yield ".".join((module, *inside)).removesuffix(".__init__"), file


@cache
def _imports(file: Path) -> tuple[str, ...]:
    """Names a file imports from the domain; of `from a import b` both `a` and `a.b`, whichever is a module."""
    found: list[str] = []
    text = file.read_text(encoding="utf-8-sig")
    # To parse whole files takes longer than all else that a process of the DAG does before it begins.
    statements = _IMPORT.findall(text)
    try:
        alone = len(statements) == len(_MENTION.findall(text))
        trees = [ast.parse(statement) for statement in (statements if alone else [text])]
    except SyntaxError:
        # A line of a text that begins as an import does.
        trees = [ast.parse(text, str(file))]
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found += [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in found if name.startswith(f"{PACKAGE}.") and name not in VERSIONED_APART)


@cache
def _file(module: str) -> Path | None:
    spec = find_spec(PACKAGE)
    assert spec is not None and spec.origin is not None
    base = Path(spec.origin).parent.joinpath(*module.split(".")[1:])
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)
