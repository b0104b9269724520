"""Labels of people for what judges judge: a blind sheet out, the same sheet filled in, back."""

from pathlib import Path
from typing import Annotated

import typer

from trailbench.calling import HomeOption, JsonOption, errors, refuse, use_home
from trailbench.console import out, plain, print_json, print_table


def labels(
    experiment: Annotated[str, typer.Option(help="YAML file of an evaluated experiment that names a judge.")],
    release: Annotated[str | None, typer.Argument(help="Release name; else the experiment's, else the newest.")] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Write a blind CSV sheet to label, here.")] = None,
    filled: Annotated[Path | None, typer.Option("--from", help="Read a filled-in sheet, from here.")] = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Lines of the sheet.")] = 50,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let people label what a judge judges: a sheet out, the labels in. `report` then corrects the judge's shares."""
    use_home(home)
    with errors():
        from pipelines.evaluation.judging.labelling import BadSheet
        from resources.home import open_home
        from trailbench.evaluating import asked_for, release_track, require_evaluated
        from trailbench.labelling import LABELLED, import_sheet, write_sheet

        if (to is None) == (filled is None):
            raise typer.BadParameter("give either --to SHEET.csv (a sheet to label) or --from SHEET.csv (labels)")
        opened = open_home(make=False)
        bound = asked_for(opened, experiment, release, None)
        track = release_track(opened, bound.release_key)
        if track not in LABELLED:
            refuse(f"{bound.release} is a release of {track}; judges are on releases of {' and '.join(LABELLED)} alone")
        of = LABELLED[track]
        require_evaluated(opened, bound, experiment)
        try:
            done = write_sheet(opened, bound, of, to, n) if to else import_sheet(opened, bound, of, filled)  # type: ignore[arg-type]
        except BadSheet as error:
            raise typer.BadParameter(str(error)) from error
    if as_json:
        print_json(done)
        return
    print_table("Labels", ["what", "value"], [(name, value) for name, value in done.items() if name != "sheet"])
    if to:
        out.print(plain(f"sheet: {done['sheet']}"), soft_wrap=True)
        out.print(f"Write yes or no into the column label: {of.question}", soft_wrap=True)


COMMANDS = (labels,)
