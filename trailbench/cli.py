"""The command line. Every command that builds or evaluates drives the jobs of the DAG."""

import typer

from trailbench.commands import chain, checking, data, evaluation, explaining, exporting, judging, serving, synthesising

app = typer.Typer(
    name="trailbench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Benchmarks of user memory from real behaviour: raw logs in, a frozen leak-proof benchmark out.",
)
for command in (
    *data.COMMANDS,
    *exporting.COMMANDS,
    *chain.COMMANDS,
    *synthesising.COMMANDS,
    *evaluation.COMMANDS,
    *explaining.COMMANDS,
    *judging.COMMANDS,
    *checking.COMMANDS,
    *serving.COMMANDS,
):
    app.command()(command)

if __name__ == "__main__":
    app()
