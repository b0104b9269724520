"""What the command line prints: tables and progress for people, one JSON object for machines."""

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

_UNSHOWABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(value: object) -> Text:
    """Text of a log as text: no markup, no terminal control."""
    return Text("" if value is None else _UNSHOWABLE.sub("�", str(value)))


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on standard output, nothing else."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], footer: str = "") -> None:
    """A table for people, with no more lines and gaps than 80 columns can spare; numbers to the right."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, name in enumerate(columns):
        numbers = rows and all(isinstance(row[place], (int, float)) or row[place] in ("", None) for row in rows)
        table.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(plain(_number(cell) if isinstance(cell, (int, float)) else cell) for cell in row))
    out.print(table)
    if footer:
        out.print(plain(footer))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def about(seconds: float) -> str:
    """A length of time in the unit that a person would say it in."""
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 100 * 60 else f"about {seconds / 3600:.1f} h"


def print_frame(title: str, frame: pl.DataFrame, limit: int = 40) -> None:
    """The first rows of a frame as a table."""
    more = f"… and {frame.height - limit} more" if frame.height > limit else ""
    print_table(title, frame.columns, frame.head(limit).rows(), more)


@contextmanager
def progress(quiet: bool) -> Iterator["Steps"]:
    """A line that says what is being done and for how long; nothing when `quiet`.

    Where standard error is no terminal, each step is a line of its own instead, with the seconds so far.
    """
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=quiet or not err.is_terminal) as bar:
        yield Steps(bar, lines=not quiet and not err.is_terminal)


class Steps:
    """Names the step in work; the bar moves when the number of steps is known."""

    def __init__(self, bar: Progress, lines: bool = False) -> None:
        self._bar, self._task = bar, bar.add_task("starting", total=None)
        self._lines, self._began = lines, time.monotonic()

    def expect(self, total: int) -> None:
        """Say how many steps follow."""
        self._bar.update(self._task, total=total, completed=0)

    def __call__(self, step: str) -> None:
        if self._lines:
            err.print(plain(f"{time.monotonic() - self._began:6.1f} s  {step}"), soft_wrap=True)
        self._bar.update(self._task, description=_UNSHOWABLE.sub("�", step).replace("[", "\\["), advance=1)
