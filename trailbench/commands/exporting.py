"""What leaves a frozen release: one table as a file, or the whole as a folder for other tools."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trailbench.calling import HomeOption, JsonOption, errors, refuse, use_home
from trailbench.console import out, plain, print_json, progress


def export(
    to: Annotated[Path, typer.Option("--to", "--out", help="File to write (.csv or .parquet); with --as a folder.")],
    release: Annotated[str | None, typer.Argument(help="Release name; else the only one that there is.")] = None,
    table: Annotated[
        str | None, typer.Option(help="Table, for example visits, batches, transitions, pools, positives.")
    ] = None,
    form: Annotated[
        Literal["huggingface", "inspect", "dynamicmem"] | None,
        typer.Option(
            "--as",
            help="A folder instead: all tables as Parquet with a data card (huggingface), the questions as samples "
            "that `inspect eval` runs (inspect), or the answers of an app-log arm as prediction files (dynamicmem).",
        ),
    ] = None,
    home: HomeOption = None,
    gold: Annotated[
        bool, typer.Option("--gold", help="Also what only scoring may read; a folder keeps it apart.")
    ] = False,
    stated: Annotated[
        str | None, typer.Option("--license", help="With --as: license of the log, as cc-by-4.0; else unknown.")
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(
            help="With --as inspect or dynamicmem: the experiment whose questions, memories, answers are taken."
        ),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="With --experiment: whose memory, as the leaderboard names the method.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="With --experiment: tokens of the readouts, where the experiment has several.")
    ] = None,
    reader: Annotated[
        str | None, typer.Option(help="With --as dynamicmem: whose answers, where the experiment has several readers.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write one table of a release to a file, or the release to a folder that other tools read."""
    given = {"--experiment": experiment, "--method": method, "--budget": budget}
    if form is None and table is None:
        refuse("name a table by --table, or a kind of folder by --as")
    if form is not None and table is not None:
        refuse("--table writes one table to a file, --as all of them to a folder; name one of the two")
    for option, value in (given if form not in ("inspect", "dynamicmem") else {}).items():
        if value is not None:
            refuse(f"{option} goes with --as inspect or --as dynamicmem")
    if form != "dynamicmem" and reader is not None:
        refuse("--reader goes with --as dynamicmem")
    if form in (None, "dynamicmem") and stated is not None:
        refuse("--license goes with a folder that has a card: --as huggingface or --as inspect")
    use_home(home)
    with errors():
        from resources.home import open_home
        from trailbench.exporting import exported, only_release, write

        opened = open_home(make=False)
        release = release or only_release(opened)
        if table is not None:
            rows = write(exported(opened, release, table, gold), to)
            made: dict[str, Any] = {"release": release, "table": table, "rows": rows, "file": str(to)}
            says = f"{rows:,} rows of {table} written to {to}"
        else:
            with progress(as_json) as step:
                made = _folder(opened, release, to, form, step, gold, stated, (experiment, method, budget, reader))
            says = f"{_counted(made)} written to {to}"
        if as_json:
            print_json(made)
        else:
            out.print(plain(says), soft_wrap=True)


def _folder(
    home: Any,
    release: str,
    to: Path,
    form: str | None,
    step: Any,
    gold: bool,
    stated: str | None,
    wanted: tuple[str | None, str | None, int | None, str | None],
) -> dict[str, Any]:
    from pipelines.exports.data_card import UNKNOWN

    if form == "huggingface":
        from trailbench.data_folder import write_data_folder

        return write_data_folder(home, release, to, step, gold=gold, stated=stated or UNKNOWN)
    from trailbench.wanted_arms import Wanted

    if form == "dynamicmem":
        from trailbench.prediction_folder import write_prediction_folder

        return write_prediction_folder(home, release, to, Wanted(*wanted), step, gold=gold)
    from trailbench.inspect_folder import write_inspect_folder

    return write_inspect_folder(home, release, to, Wanted(*wanted), step, gold=gold, stated=stated or UNKNOWN)


def _counted(made: dict[str, Any]) -> str:
    if "samples" in made:
        return f"{made['samples']:,} questions"
    if "users" in made:
        return f"predictions of {made['users']:,} {'user' if made['users'] == 1 else 'users'}"
    return f"{sum(made['rows'].values()):,} rows of {len(made['rows'])} tables"


COMMANDS = (export,)
