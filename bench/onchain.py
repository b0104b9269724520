"""The on-chain path: OrderFilled decoders against each other, and files of a whole chain to instances and histories.

`python -m bench.onchain`, part of `make bench`. Decoders take turns, each run in a process of its own (module
`onchain_decoders`), on one million logs in three forms; ratios are of medians, by the clock and by processor time (the
steadier one on a shared machine). Peers that walk log by log decode the first logs only and are compared by their
rate. Trades that differ from ours by one value stop the run. The whole path (module `onchain_path`) runs on generated
chains of one, 2.7 (1.5 million trades) and ten million logs, and must give back what the generator put in.
"""

import argparse
import importlib.util
import json
import os
import statistics
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.commerce import CACHE, RESULTS, Unequal, machine, run
from bench.onchain_decoders import DECODERS, FIRST, PACKAGES
from bench.onchain_logs import FORMS, chain, fill_file

US, DROP, MEMORY, SCAN = "trailbench", "trailbench_drop", "trailbench_memory", "scan"
WARM_LOGS = 5_000
WARM_CHAIN = 20_000
QUICK = (20_000, [20_000])
"""Logs to decode and sizes of chains in a quick run."""
FASTER = (("binary", MEMORY, "eth_abi", 45.0), ("hex", US, "eth_abi", 15.0), ("hex", US, "web3", 200.0))
"""Form, ours, peer, and how many times the peer's logs a second ours must decode."""
SLOWER = {"binary": (US, 1.2), "hex": (US, 2.2), "json": (US, 2.2)}
"""Ours, by form, and how many times the plain scan of the same file it may take."""
MAX_BYTES = 3.6 * 1024**3
ENOUGH_TRADES, MAX_SECONDS = 1_500_000, 10.0
"""Trades of a large cohort, and the seconds in which they must become positions, instances and histories."""


def absent() -> list[str]:
    """Peers that are not installed."""
    return sorted(name for name, package in PACKAGES.items() if not importlib.util.find_spec(package))


def compare(form: str, logs: int, repeat: int) -> dict[str, Any]:
    """Medians of every decoder on one file, after checking that all made the same trades."""
    path, warm = fill_file(logs, form, CACHE), fill_file(WARM_LOGS, form, CACHE)
    names = [name for name in DECODERS if name not in absent()]
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    truth: str | None = None
    for turn in range(repeat):
        for name in names:
            one = run("bench.onchain_decoders", name, form, str(path), str(warm))
            runs[name].append(one)
            truth = truth or one["trades"]
            if one["trades"] not in (None, truth):
                raise Unequal(f"{name} read other trades from {path.name} than its peers")
            print(f"  {form:<7}{name:<18} turn {turn + 1}: {one['logs']:>9,} logs {one['wall']:7.3f} s, "
                  f"{one['cpu']:7.3f} s cpu, {one['peak'] / 2**30:5.2f} GiB", flush=True)  # fmt: skip
    return {"form": form, "logs": logs, "decoders": {name: medians(measured) for name, measured in runs.items()}}


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of the runs of one decoder; the peak is the largest."""
    wall, cpu = (statistics.median(one[kind] for one in runs) for kind in ("wall", "cpu"))
    logs = runs[0]["logs"]
    return {
        "logs": logs,
        "wall": wall,
        "cpu": cpu,
        "rate": {"wall": logs / wall, "cpu": logs / cpu},
        "peak": max(one["peak"] for one in runs),
        "runs": [{key: one[key] for key in ("wall", "cpu", "peak", "load")} for one in runs],
    }


def whole(logs: int) -> dict[str, Any]:
    """The whole path on a chain of so many logs."""
    one = run("bench.onchain_path", str(chain(logs, CACHE)), str(chain(WARM_CHAIN, CACHE)))
    print(f"  whole path, {logs:,} logs: {one['wall']:.2f} s, {one['cpu']:.2f} s cpu, {one['peak'] / 2**30:.2f} GiB",
          flush=True)  # fmt: skip
    return one


def after_decode(one: dict[str, Any], kind: str) -> float:
    """Seconds from all trades of a chain to histories."""
    return float(sum(stage[kind] for name, stage in one["stages"].items() if name != "read_and_decode"))


def aims(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Every aim with what was measured, by the clock and by processor time, and whether it is met by each."""
    rows: list[dict[str, Any]] = []

    def add(what: str, wanted: float, at_least: bool, measured: dict[str, float]) -> None:
        met = {kind: value >= wanted if at_least else value <= wanted for kind, value in measured.items()}
        rows.append({"aim": what, "wanted": wanted, "at_least": at_least, "measured": measured, "met": met})

    for one in result["decode"]:
        form, of = one["form"], one["decoders"]
        for _, ours, peer, wanted in (row for row in FASTER if row[0] == form and row[2] in of):
            ratio = {kind: of[ours]["rate"][kind] / of[peer]["rate"][kind] for kind in ("wall", "cpu")}
            add(f"{form}: logs a second, {ours} ÷ {peer}", wanted, True, ratio)
        ours, wanted = SLOWER[form]
        ratio = {kind: of[ours][kind] / of[SCAN][kind] for kind in ("wall", "cpu")}
        add(f"{form}: seconds, {ours} ÷ {SCAN}", wanted, False, ratio)
    if result["path"]:
        largest = result["path"][-1]
        add("whole path: peak GiB", MAX_BYTES / 2**30, False, {"peak": largest["peak"] / 2**30})
        enough = [one for one in result["path"] if one["seen"]["trades"] >= ENOUGH_TRADES][:1]
        for one in enough:
            seconds = {kind: after_decode(one, kind) for kind in ("wall", "cpu")}
            what = f"whole path: seconds from {one['seen']['trades']:,} trades to histories"
            add(what, MAX_SECONDS, False, seconds)
    return rows


def report(result: dict[str, Any]) -> str:
    """The result as a page of Markdown, with every aim beside what was measured."""
    busy = max(float(result["machine"][name]) for name in ("load_before", "load_after")) > int(
        result["machine"]["cores"]
    )
    slices = ", ".join(f"{name} the first {n:,}" for name, n in FIRST.items())
    lines = [
        "# On-chain path: logs to trades, positions, instances, histories",
        "",
        ", ".join(f"{key} {value}" for key, value in result["machine"].items()),
        "",
        "Medians of interleaved runs, each in its own process after a warm-up; peak is the largest of any run. "
        f"`scan` reads every column with Polars and decodes nothing; `{US}` goes from the file to trades, rejects and "
        f"counts, and looks for twins, piece by piece in bounded memory; `{DROP}` makes sorted tables of it all in "
        f"memory; `{MEMORY}` and the peers have the logs in memory. Peers that walk log by log "
        f"decode a slice ({slices} logs) and are compared by logs a second. All read the same trades from the first "
        "logs." + (" Other processes shared the machine: judge by processor seconds, wall seconds swing." * busy),
    ]
    if result["absent"]:
        lines += ["", f"Not installed, left out: {', '.join(result['absent'])}."]
    lines += [
        "",
        "| file | decoder | logs | wall s | cpu s | logs/s | logs/cpu s | peak GiB | ours is faster, wall | cpu |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in result["decode"]:
        ours = one["decoders"][US]
        for name, row in one["decoders"].items():
            wall, cpu = (ours["rate"][kind] / row["rate"][kind] for kind in ("wall", "cpu"))
            lines.append(
                f"| {one['form']} | {name} | {row['logs']:,} | "
                f"{row['wall']:.3f} | {row['cpu']:.3f} | {row['rate']['wall']:,.0f} | {row['rate']['cpu']:,.0f} | "
                f"{row['peak'] / 2**30:.2f} | {wall:.2f} | {cpu:.2f} |"
            )
    if result["path"]:
        stages = list(result["path"][0]["stages"])
        lines += [
            "",
            "The whole path, tables written shard by shard; seconds by the clock (of the processor):",
            "",
            f"| logs | trades | shards | {' | '.join(stages)} | all | instances | histories | peak GiB |",
            "|---" * (len(stages) + 7) + "|",
        ]
        for one in result["path"]:
            made = one["made"]
            cells = [f"{one['stages'][name]['wall']:.1f} ({one['stages'][name]['cpu']:.1f})" for name in stages]
            lines.append(
                f"| {one['seen']['logs']:,} | {one['seen']['trades']:,} | {one['shards']} | {' | '.join(cells)} | "
                f"{one['wall']:.1f} ({one['cpu']:.1f}) | {made['belief_instances'] + made['trade_instances']:,} | "
                f"{made['histories']:,} | {one['peak'] / 2**30:.2f} |"
            )
    lines += ["", "| aim | wanted | measured | met |", "|---|---|---|---|"]
    for row in aims(result):
        measured = ", ".join(f"{kind} {value:.2f}" for kind, value in row["measured"].items())
        met = ", ".join(f"{kind} {'yes' if value else 'no'}" for kind, value in row["met"].items())
        lines.append(f"| {row['aim']} | {'≥' if row['at_least'] else '≤'} {row['wanted']:g} | {measured} | {met} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure, print, write `results/`; returns what was written."""
    parser = argparse.ArgumentParser(prog="bench.onchain", description=__doc__)
    parser.add_argument("--logs", type=int, default=1_000_000, help="logs that are decoded")
    parser.add_argument("--chains", default="1000000,2700000,10000000", help="logs of the chains of the whole path")
    parser.add_argument("--forms", default=",".join(FORMS), help="forms of the file, comma-separated")
    parser.add_argument("--repeat", type=int, default=5, help="turns of every decoder")
    parser.add_argument("--quick", action="store_true", help="few logs, one turn; writes nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of onchain.json and onchain.md")
    given = parser.parse_args(arguments)
    forms = given.forms.split(",")
    if unknown := set(forms) - set(FORMS):
        parser.error(f"no such form: {', '.join(sorted(unknown))}; there are {', '.join(FORMS)}")
    logs, chains = QUICK if given.quick else (given.logs, sorted(int(size) for size in given.chains.split(",") if size))
    result: dict[str, Any] = {"machine": machine(), "absent": absent()}
    result["machine"] |= {name: version(package) for name, package in PACKAGES.items() if name not in absent()}
    result["decode"] = [compare(form, logs, 1 if given.quick else given.repeat) for form in forms]
    result["path"] = [whole(size) for size in chains]
    result["machine"]["load_after"] = f"{os.getloadavg()[0]:.1f}"
    result["aims"] = aims(result)
    if not given.quick:
        given.out.mkdir(parents=True, exist_ok=True)
        given.out.joinpath("onchain.json").write_text(json.dumps(result, indent=1) + "\n")
        given.out.joinpath("onchain.md").write_text(report(result))
    print(report(result))
    return result


if __name__ == "__main__":
    main()
