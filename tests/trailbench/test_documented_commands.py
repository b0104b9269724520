"""Every command that README and docs show is one that the command line takes: its name, options and arguments."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from trailbench.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def documented() -> list[str]:
    """Commands in code blocks and in running text, as they stand there."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            found += [line for line in block.splitlines() if line.startswith("trailbench ")]
        outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        found += [one for one in re.findall(r"`(trailbench [^`]*)`", outside) if "…" not in one]
    return sorted({" ".join(shlex.split(line, comments=True)) for line in found})


@pytest.mark.parametrize("line", documented())
def test_the_command_line_takes_it(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    assert name in COMMANDS, line
    arguments = arguments[: arguments.index(">")] if ">" in arguments else arguments
    if arguments or not any(parameter.required for parameter in COMMANDS[name].params):
        COMMANDS[name].make_context(name, arguments)


def test_an_unknown_option_would_be_noticed() -> None:
    with pytest.raises(Exception, match="No such option"):
        COMMANDS["build"].make_context("build", ["log.csv", "--no-such-option"])


def test_every_command_is_documented() -> None:
    missing = sorted(set(COMMANDS) - {shlex.split(line)[1] for line in documented()})
    assert not missing, f"README and docs never show: {', '.join(missing)}"
