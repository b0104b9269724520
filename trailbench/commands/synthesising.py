"""Synthetic users of the app-log track."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from trailbench.calling import JsonOption, errors
from trailbench.console import out, plain, print_json, print_table, progress


def synth(
    to: Annotated[Path, typer.Option("--out", help="Folder to write; one of the same seed is gone on with.")],
    users: Annotated[int, typer.Option(min=1, help="Users to have.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same one gives the same users.")] = 7,
    from_user: Annotated[int, typer.Option(min=1, help="Number of the first of them.")] = 1,
    windows: Annotated[int, typer.Option(min=1, max=40, help="Quarters that each is followed.")] = 5,
    logs: Annotated[
        int, typer.Option(min=0, help="Logs of a user aimed at; what shows its states comes in any case.")
    ] = 1800,
    states: Annotated[
        int | None, typer.Option(min=1, help="States of each of the six domains that can be true; else all, 23 or 24.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; else one a core.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write made-up users whose every truth is known: logs of 16 apps, and apart from them the gold."""
    with errors():
        from pipelines.applogs.synthesis.world import Span
        from resources.synthetic_users import Plan
        from trailbench.synthesising import synthesise

        numbers = range(from_user - 1, from_user - 1 + users)
        with progress(as_json) as step:
            made = synthesise(to, Plan(seed, Span(windows, logs), states), numbers, workers, step)
        if as_json:
            print_json(made)
            return
        columns = ("measure", "here", "least", "most", "published")
        rows = [[row[name] for name in columns] for row in made["statistics"]]
        print_table(f"Statistics of {made['users']:,} users", columns, rows)
        who, kept = "user" if made["made"] == 1 else "users", f"{made['kept']:,} were there"
        out.print(plain(f"{made['made']:,} {who} made, {kept}, in {to}"), soft_wrap=True)
        folder = shlex.quote(str(to))
        out.print(plain(f"Next: trailbench build --track applogs {folder} --home dynamic"), soft_wrap=True)


COMMANDS = (synth,)
