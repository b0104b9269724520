"""Versions of code by its text, so that a changed rule rebuilds what it made and nothing else."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pipelines.hashing import digest


@cache
def code_version(*modules: str) -> str:
    """Hash of the source text of the named modules; a package stands for all Python files below it.

    Raises `ModuleNotFoundError` for a name that does not exist.
    """
    texts: list[str] = []
    for module in modules:
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"no module named {module!r}")
        origin = Path(spec.origin)
        files = sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]
        for file in files:
            texts += [file.relative_to(origin.parent).as_posix(), file.read_text(encoding="utf-8")]
    return digest(*texts, size=6)
