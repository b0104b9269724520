"""`make bench`: the commerce path at one and ten million events, against peers, in one run.

Peers take turns, each run in a process of its own, so that a busy minute of the
machine falls on all of them; ratios are of medians, by the clock and by processor
time (the steadier one on a shared machine). A peer whose tables differ from ours by
one value stops the run.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.generate import cached
from bench.peers import PEERS

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
RESULTS = HERE / "results"
QUICK_ROWS = (100_000, 300_000)
WARM_ROWS = 100_000
US = "trailbench"
AIMS = {"duckdb_tuned": 1.4, "duckdb_plain": 3.0, "pandas": 2.5, "floor": 1 / 1.2}
"""How many times the peer's seconds ours must go into."""
MAX_BYTES = 2 * 1024**3
MAX_EXPONENT = 1.1
MAX_POOL_SECONDS = 5.0


class Unequal(Exception):
    """A peer's tables are not ours."""


def run(module: str, *arguments: str) -> dict[str, Any]:
    """The JSON that a measured process prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=HERE.parent, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(arguments)} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def compare(rows: int, repeat: int, peers: list[str]) -> dict[str, Any]:
    """Medians of each peer at one size, after checking that all made the same tables."""
    path, warm = cached(rows, CACHE), cached(WARM_ROWS, CACHE)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in peers}
    truth: dict[str, Any] | None = None
    for turn in range(repeat):
        for name in peers:
            one = run("bench.peers", name, str(path), "--warm", str(warm))
            runs[name].append(one)
            if name == US:
                truth = truth or one["results"]
            if name != "floor" and one["results"] != truth:
                raise Unequal(f"{name} at {rows} rows made {one['results']}, {US} made {truth}")
            print(f"  {rows:>11,} rows  {name:<13} turn {turn + 1}: {one['wall']:7.2f} s, {one['cpu']:7.2f} s cpu, "
                  f"{one['peak'] / 2**30:5.2f} GiB", flush=True)  # fmt: skip
    medians = {
        name: {
            "wall": statistics.median(one["wall"] for one in measured),
            "cpu": statistics.median(one["cpu"] for one in measured),
            "peak": max(one["peak"] for one in measured),
            "rows_per_second": rows / statistics.median(one["wall"] for one in measured),
            "runs": [{key: one[key] for key in ("wall", "cpu", "peak")} for one in measured],
        }
        for name, measured in runs.items()
    }
    return {"rows": rows, "results": truth, "peers": medians}


def exponent(sizes: list[dict[str, Any]], kind: str) -> float | None:
    """Slope of log seconds over log rows between the smallest and the largest size."""
    small, large = sizes[0], sizes[-1]
    if small["rows"] == large["rows"]:
        return None
    seconds = large["peers"][US][kind] / small["peers"][US][kind]
    return math.log(seconds) / math.log(large["rows"] / small["rows"])


def machine() -> dict[str, str]:
    """What the numbers were measured with."""
    packages = ("polars", "duckdb", "pandas", "numba", "pyarrow")
    return {
        "python": platform.python_version(),
        "cores": str(os.cpu_count()),
        "load_before": f"{os.getloadavg()[0]:.1f}",
        **{name: version(name) for name in packages},
    }


def report(result: dict[str, Any]) -> str:
    """The result as a page of Markdown, with every aim beside what was measured."""
    busy = max(float(result["machine"][name]) for name in ("load_before", "load_after")) > int(
        result["machine"]["cores"]
    )
    turns = ", ".join(f"{len(size['peers'][US]['runs'])} at {size['rows']:,} rows" for size in result["sizes"])
    lines = [
        "# Commerce path: events Parquet to labels",
        "",
        ", ".join(f"{key} {value}" for key, value in result["machine"].items()),
        "",
        f"Turns: {turns}."
        + (" Other processes shared the machine: judge by processor seconds, wall seconds swing." * busy),
        "",
        "Medians of interleaved runs, each in its own process; peak is the largest of any run. Every peer made the "
        "same visits, batches and signals (rows and hash). `floor` is Polars' scan and sort and makes none. All "
        "peers close batches with the same compiled kernel.",
        "",
        "| rows | peer | wall s | cpu s | rows/s | peak GiB | peer ÷ ours, wall | peer ÷ ours, cpu |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for size in result["sizes"]:
        own = size["peers"][US]
        for name, one in size["peers"].items():
            lines.append(
                f"| {size['rows']:,} | {name} | {one['wall']:.2f} | {one['cpu']:.2f} | {one['rows_per_second']:,.0f} | "
                f"{one['peak'] / 2**30:.2f} | {one['wall'] / own['wall']:.2f} | {one['cpu'] / own['cpu']:.2f} |"
            )
    largest = result["sizes"][-1]["peers"]
    lines += ["", "| aim at the largest size | wanted | wall | cpu |", "|---|---|---|---|"]
    for name, aim in AIMS.items():
        if name in largest:
            wall, cpu = (largest[name][kind] / largest[US][kind] for kind in ("wall", "cpu"))
            lines.append(f"| {name} ÷ ours | ≥ {aim:.2f} | {wall:.2f} | {cpu:.2f} |")
    lines.append(f"| peak memory, GiB | ≤ {MAX_BYTES / 2**30:.0f} | {largest[US]['peak'] / 2**30:.2f} | |")
    if result["exponent"]["wall"] is not None:
        wall, cpu = result["exponent"]["wall"], result["exponent"]["cpu"]
        lines.append(f"| scaling exponent | ≤ {MAX_EXPONENT} | {wall:.2f} | {cpu:.2f} |")
    if pool := result.get("pools"):
        lines.append(
            f"| pools, 16,000 transitions × 10 × 3 over 4,667 categories, s | < {MAX_POOL_SECONDS:.0f} | "
            f"{pool['wall']:.2f} | {pool['cpu']:.2f} |"
        )
    if checks := result.get("checks"):
        lines += ["", "Timed apart:", "", "| table | rows | expectations s | publishing s |", "|---|---|---|---|"]
        for name, one in checks.items():
            lines.append(f"| {name} | {one['rows']:,} | {one['expectations']:.2f} | {one['publishing']:.2f} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure, print, write `results/`; returns what was written."""
    parser = argparse.ArgumentParser(prog="bench.commerce", description=__doc__)
    parser.add_argument("--rows", default="1000000,10000000", help="sizes, comma-separated")
    parser.add_argument("--repeat", type=int, default=3, help="turns of every peer")
    parser.add_argument("--peers", default=",".join(PEERS), help="peers, comma-separated")
    parser.add_argument("--quick", action="store_true", help="100,000 and 300,000 rows, one turn; writes nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of commerce.json and commerce.md")
    given = parser.parse_args(arguments)
    sizes = list(QUICK_ROWS) if given.quick else sorted(int(rows) for rows in given.rows.split(","))
    peers = [US, *(name for name in given.peers.split(",") if name != US)]
    if unknown := set(peers) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    result: dict[str, Any] = {"machine": machine()}
    result["sizes"] = [compare(rows, 1 if given.quick else given.repeat, peers) for rows in sizes]
    result["machine"]["load_after"] = f"{os.getloadavg()[0]:.1f}"
    result["exponent"] = {kind: exponent(result["sizes"], kind) for kind in ("wall", "cpu")}
    if not given.quick:
        result["pools"] = run("bench.apart", "pools", str(CACHE))
        result["checks"] = run("bench.apart", "checks", str(cached(sizes[0], CACHE)))
        given.out.mkdir(parents=True, exist_ok=True)
        given.out.joinpath("commerce.json").write_text(json.dumps(result, indent=1) + "\n")
        given.out.joinpath("commerce.md").write_text(report(result))
    print(report(result))
    return result


if __name__ == "__main__":
    main()
