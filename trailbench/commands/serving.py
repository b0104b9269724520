"""The Dagster UI and daemon on this machine."""

from typing import Annotated

import typer

from trailbench.calling import HomeOption, errors, use_home
from trailbench.console import err, plain


def ui(
    home: HomeOption = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1; another free one is taken when it is in use.")
    ] = 3000,
) -> None:
    """Serve the DAG, its sensors and schedules on 127.0.0.1 until Ctrl-C."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from resources.settings import home_settings
        from trailbench.serving import free_port, lineage, serve

        # A name that is misspelt makes a home, too: who meant another one sees it here.
        made = "" if home_settings().home.is_dir() else ", a new and empty home"
        opened = open_home()
        err.print(plain(f"starting the servers of {opened.folder}{made}; Ctrl-C stops them"), soft_wrap=True)

        def announce(address: str) -> None:
            inbox = f"{opened.settings.inbox}/<source>/"
            err.print(plain(f"UI: {address}   lineage: {lineage(address)}   drop folder: {inbox}"), soft_wrap=True)

        raise typer.Exit(serve(opened.folder, free_port(port), announce))


COMMANDS = (ui,)
