"""Every command that README and docs show is one that the command line takes, and is run by a test."""

import ast
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest
import typer.main
from documentation import MENTIONED, PROGRAMS, ROOT, SMALLER, SMALLER_FILES, block, commands

from trailbench.cli import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
RUNNERS = ("documented", "walk")
"""What a test calls with a documented command to run it (documentation.py, walking.py)."""


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("trailbench ")])
def test_the_command_line_takes_it(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    assert name in COMMANDS, line
    COMMANDS[name].make_context(name, arguments)


def test_an_unknown_option_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        COMMANDS["build"].make_context("build", ["log.csv", "--no-such-option"])


def test_every_command_is_documented() -> None:
    shown = {shlex.split(line)[1] for line in commands() if line.startswith("trailbench ")}
    missing = sorted(set(COMMANDS) - shown)
    assert not missing, f"README and docs never show: {', '.join(missing)}"


def run_by(files: Iterable[Path]) -> dict[str, str]:
    """Command → the file whose tests or fixtures take it from the docs to run it."""
    found: dict[str, str] = {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(f"{name}(" in text for name in RUNNERS) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RUNNERS:
                match node.args:
                    case [ast.Constant(value=str(command)), *_]:
                        found[command] = file.name
    return found


def test_every_documented_command_is_run_by_a_test() -> None:
    run, shown = run_by((ROOT / "tests").rglob("*.py")), commands()
    unrun = [f"{page}: {command}" for command, page in shown.items() if command not in run]
    assert not unrun, "no test runs\n" + "\n".join(unrun)
    gone = [f"{file}: {command}" for command, file in run.items() if command not in shown]
    assert not gone, "README and docs no longer show\n" + "\n".join(gone)


def test_a_command_that_no_test_runs_would_be_noticed(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text('def test(walk):\n    walk("trailbench sources")\n    other("trailbench methods")\n')
    assert run_by([file]) == {"trailbench sources": "test_it.py"}
    assert {"trailbench sources", "trailbench methods"} <= set(commands())


def test_what_tests_make_smaller_is_on_the_pages() -> None:
    lines = commands()
    assert all(any(there in line for line in lines) for there in SMALLER)
    assert all(there in block(f"# {name}") for name, changed in SMALLER_FILES.items() for there in changed)
    assert all(one.split()[0] in PROGRAMS for one in MENTIONED)
