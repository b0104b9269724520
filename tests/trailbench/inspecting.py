"""Exported questions, and inspect_ai as a user runs it on them: in a process of its own, against an endpoint."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from documentation import documented

VARIABLE = "TRAILBENCH_INSPECT_PYTHON"
MODEL = "openai-api/local/scripted"


def inspect_python() -> str:
    """An interpreter that has inspect_ai: this one, or the one that a variable names; else the test is skipped."""
    if named := os.environ.get(VARIABLE):
        return named
    if find_spec("inspect_ai") is None:
        pytest.skip(f"inspect-ai is not here: pip install '.[inspect]', or name an interpreter with it in {VARIABLE}")
    return sys.executable


@dataclass(frozen=True)
class Run:
    """A log of inspect: its samples by id, its metrics by name, its status."""

    samples: dict[str, dict[str, Any]]
    metrics: dict[str, float]
    status: str


def run_inspect(folder: Path, base_url: str, logs: Path, *more: str) -> Run:
    """`inspect eval task.py` in the folder, its model behind `base_url`."""
    words = documented("inspect eval questions/task.py --model …", {"questions/task.py": "task.py", "…": MODEL})
    (run,) = _run(words, [folder], folder, base_url, logs, *more)
    return run


def run_together(folders: tuple[Path, Path], cwd: Path, base_url: str, logs: Path, *more: str) -> list[Run]:
    """Two folders at once, in a place of its own or in one of them; what inspect says of each."""
    files = [os.path.relpath(folder / "task.py", cwd) for folder in folders]
    words = documented("inspect eval a/task.py b/task.py", {"a/task.py": files[0], "b/task.py": files[1]})
    return _run([*words, "--model", MODEL], folders, cwd, base_url, logs, *more)


def _run(words: list[str], folders: Sequence[Path], cwd: Path, base_url: str, logs: Path, *more: str) -> list[Run]:
    command = (inspect_python(), "-m", "inspect_ai", *words[1:])
    options = ("--log-format", "json", "--log-dir", str(logs), "--display", "none", "--max-connections", "4", *more)
    known = {name: os.environ[name] for name in ("PATH", "LANG", "TZ") if name in os.environ}
    own = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": base_url, "HOME": str(logs), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [*command, *options], cwd=cwd, env={**known, **own}, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = [json.loads(log.read_text()) for log in logs.glob("*.json")]
    told = {(cwd / one["eval"]["task_file"]).resolve().parent: _told(one) for one in said}
    assert told.keys() == {folder.resolve() for folder in folders} and len(said) == len(folders)
    return [told[folder.resolve()] for folder in folders]


def _told(log: dict[str, Any]) -> Run:
    scores = (log.get("results") or {}).get("scores") or []
    metrics = {name: one["value"] for score in scores for name, one in score["metrics"].items()}
    return Run({one["id"]: one for one in log["samples"]}, metrics, log["status"])


def ask_task(folder: Path, function: str, calls: list[list[Any]]) -> list[Any]:
    """What a function of the folder's `task.py` returns for every list of arguments."""
    code = f"import json, sys; import task\nprint(json.dumps([task.{function}(*one) for one in json.load(sys.stdin)]))"
    command = [inspect_python(), "-B", "-c", code]
    ran = subprocess.run(command, cwd=folder, input=json.dumps(calls), capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return list(json.loads(ran.stdout))


def folder_of(cli: Callable[..., SimpleNamespace], release: SimpleNamespace, to: Path, *more: object) -> Path:
    """Questions of a release, exported."""
    result = cli("export", release.release, "--as", "inspect", "--to", to, "--home", release.home, "--json", *more)
    assert result.code == 0, result.err
    assert result.json["samples"] == len(lines(to / "samples.jsonl"))
    return to


def lines(file: Path) -> list[dict[str, Any]]:
    """Objects of a JSON Lines file that is ASCII, one a line for every reader of lines."""
    text = file.read_bytes().decode("ascii")
    assert text.splitlines() == text.split("\n")[:-1], "no cell ends a line"
    return [json.loads(line) for line in text.splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sent(messages: list[dict[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((one["role"], one["content"]) for one in messages)
