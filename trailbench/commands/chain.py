"""The chain by itself: generate, fetch, decode, and one wallet of a release."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from trailbench.calling import HomeOption, JsonOption, errors, refuse, use_home
from trailbench.console import err, out, plain, print_frame, print_json, print_table, progress


def generate(
    what: Annotated[str, typer.Argument(help="Track: onchain.")],
    to: Annotated[Path, typer.Option("--out", help="Folder to write.")],
    wallets: Annotated[int, typer.Option(min=20, help="Wallets that trade on it.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same one gives the same chain.")] = 7,
    as_json: JsonOption = False,
) -> None:
    """Write a made-up chain whose truth is known: JSON-RPC logs, market descriptions, final holdings."""
    if what != "onchain":
        refuse(f"nothing generates {what!r}; there is onchain")
    with errors():
        from trailbench.generating import plan_of, write_chain

        with progress(as_json) as step:
            made = write_chain(plan_of(wallets, seed), to, step)
        if as_json:
            print_json({**made, "folder": str(to)})
            return
        out.print(plain(f"{made['logs']:,} logs and {made['markets']} markets in {to}"), soft_wrap=True)
        paths = f"{shlex.quote(str(to))}/logs-*.jsonl {shlex.quote(str(to))}/markets.json"
        out.print(plain(f"Next: trailbench build --source polygon_logs {paths} --home polygon"), soft_wrap=True)


def fetch(
    first: Annotated[int, typer.Option("--from", min=0, help="First block.")],
    last: Annotated[int, typer.Option("--to", min=0, help="Last block, inclusive; must be final.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch the protocol's logs of a range of blocks from the node of TRAILBENCH_RPC_URL; goes on where it stopped."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from trailbench.fetching import fetch_blocks
        from trailbench.running import dagster_instance

        opened = open_home()
        with dagster_instance(opened.folder) as instance, progress(as_json) as step:
            ranges = fetch_blocks(instance, first, last, step)
        folder = opened.folder / "chain"
        if as_json:
            print_json({"ranges": ranges, "folder": str(folder)})
            return
        print_table("Fetched", ["range", "logs", "drop"], [(one["range"], one["logs"], one["drop"]) for one in ranges])
        where = f"{shlex.quote(str(folder))}/*.jsonl.zst --home {shlex.quote(str(opened.folder))}"
        out.print(plain(f"Next: trailbench build --source polygon_rpc {where}"), soft_wrap=True)


def decode(
    files: Annotated[list[Path], typer.Argument(help="Files or folders of chain logs.")],
    to: Annotated[Path, typer.Option(help="File to write, .csv or .parquet; refused logs go to <file>.rejects.csv.")],
    as_json: JsonOption = False,
) -> None:
    """Decode chain logs into trades: one row a fill of an order, maker's or taker's own, nothing invented."""
    with errors():
        from trailbench.decoding import decode_files

        with progress(as_json) as step:
            step("decoding")
            facts = decode_files(files, to)
        if as_json:
            print_json(facts)
            return
        rows = [(row["outcome"], row["event"], row["rows"]) for row in facts["events"]]
        print_table("Where every log went", ["outcome", "event", "rows"], rows)
        for reason, count in facts["rejected"].items():
            err.print(plain(f"refused {count:,}: {reason}"), style="yellow", soft_wrap=True)
        out.print(plain(f"{facts['rows_in']:,} logs in, {facts['trades']:,} trades in {to}"), soft_wrap=True)


def wallet(
    address: Annotated[str, typer.Argument(help="Address of a wallet, 0x and 40 hex digits.")],
    release: Annotated[str | None, typer.Option(help="Release name; else the newest on-chain one.")] = None,
    home: HomeOption = None,
    plot: Annotated[Path | None, typer.Option(help="Draw its positions into FILE.png or FILE.html.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show one wallet of an on-chain release: trajectory, final positions, instances with their labels."""
    use_home(home)
    with errors():
        from resources.home import open_home
        from trailbench.wallet import newest_chain_release, plot_wallet, view_wallet

        opened = open_home(make=False)
        view = view_wallet(opened, release or newest_chain_release(opened), address)
        if plot is not None:
            plot_wallet(view, plot)
        parts = {
            "Trajectory": view.trajectory,
            "Final positions, in shares": view.positions,
            "Belief instances": view.beliefs,
            "Trade instances": view.trades,
        }
        if as_json:
            named = zip(("trajectory", "positions", "beliefs", "trades"), parts.values(), strict=True)
            print_json({**view.facts, **{name: rows.to_dicts() for name, rows in named}, "plot": plot})
            return
        print_table("Wallet", ["what", "value"], list(view.facts.items()))
        for title, rows in parts.items():
            print_frame(title, rows)
        if plot is not None:
            out.print(plain(f"drawn: {plot}"), soft_wrap=True)


COMMANDS = (generate, fetch, decode, wallet)
