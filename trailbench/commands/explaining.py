"""One number explained: explain."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from trailbench.calling import HomeOption, JsonOption, errors, use_home
from trailbench.console import out, plain, print_json, print_table


def explain(
    unit: Annotated[
        str, typer.Argument(help="user:transition:pool, wallet:event:layer on a chain, or an item of app logs.")
    ],
    home: HomeOption = None,
    experiment: Annotated[
        str | None, typer.Option(help="Name of an evaluated experiment; else that of the last report.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="One method, as the leaderboard names it.")] = None,
    reader: Annotated[str | None, typer.Option(help="One reader, as the experiment names it.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain one unit: what was known, said and chosen, prompt and reply, and the events behind it. Shows gold."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from trailbench.explaining import explain as explained

        found = explained(open_home(make=False), unit, experiment, method, reader)
        if as_json:
            print_json({"experiment": found.experiment, "release": found.release, **found.values})
            return
        out.print(plain(f"Experiment {found.experiment}, release {found.release}"), style="bold", soft_wrap=True)
        for section in found.sections:
            _print_section(section)


def _print_section(section: Any) -> None:
    out.print()
    out.rule(_shown(section.title), align="left")
    for part in section.parts:
        _print_part(part)
    for inner in section.sections:
        _print_section(inner)


def _print_part(part: Any) -> None:
    from pipelines.evaluation.drilldown.parts import Facts, Fold, Grid

    if isinstance(part, Facts):
        for name, value in part.rows:
            out.print(_shown(f"{name}: {_cell(value)}"), soft_wrap=True)
    elif isinstance(part, Grid):
        heads = [str(_shown(head.title)) for head in part.heads]
        rows = [[str(_shown(_cell(value))) for value in row] for row in part.rows]
        print_table(str(_shown(part.title)), heads, rows, part.note)
    elif isinstance(part, Fold):
        out.print()
        out.print(_shown(part.title), style="bold", soft_wrap=True)
        for inner in part.parts:
            _print_part(inner)
    else:
        out.print(_shown(part.title), style="bold")
        # Word for word, each line behind a sign: nothing in it looks like what this command says.
        for line in (part.text or part.note).split("\n"):
            out.print(_shown(f"│ {line}"), soft_wrap=True)


def _shown(text: str) -> Any:
    """Text of a log or a model as text: no control of the terminal, no character that turns its direction."""
    from pipelines.evaluation.page import visible

    return plain(visible(text))


def _cell(value: object) -> str:
    from pipelines.evaluation.drilldown.parts import Jump, Jumps, Mark

    if isinstance(value, Mark):
        return value.word
    if isinstance(value, Jump):
        return value.text
    if isinstance(value, Jumps):
        return " ".join([*(one.text for one in value.jumps), *([value.more] if value.more else [])])
    if isinstance(value, float):
        return f"{value:,.3f}"
    return "–" if value is None else f"{value:,}" if type(value) is int else str(value)


COMMANDS: Sequence[Any] = (explain,)
