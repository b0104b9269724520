"""The app-log path: users made and written, their logs sliced at checkpoints, questions made, answers scored by rule.

`python -m bench.applogs`, part of `make bench`. Every measure runs in a process of its own (module `applogs_path`);
sizes take turns, so that a busy minute of the machine falls on all of them, and figures are medians, by the clock and
by processor time (the steadier one on a shared machine).
"""

import argparse
import json
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench.commerce import CACHE, RESULTS, Unequal, machine, run

SIZES = (40, 80)
"""Users of the small and of the doubled run."""
QUICK = (2, 4)
MANY = 200
"""Users whose making must take no more memory than that of a few."""
MIN_RATE = 3_000.0
"""Logs a second on one core, through to disk."""
MAX_GROWTH = 2.2
"""How many times the seconds twice the logs may take."""
MAX_MEMORY_GROWTH = 1.25
"""How many times the peak of the few users that of the many may be."""
MAX_SCORING = 10.0
"""Seconds in which 100,000 fields must be scored."""
KINDS = ("wall", "cpu")


def made(users: int) -> dict[str, Any]:
    """So many users made into a folder that is removed again."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        return run("bench.applogs_path", "synth", str(Path(folder) / "users"), str(users))


def folder_of(users: int) -> Path:
    """A folder of so many users, made anew: the code may make others now."""
    to = CACHE / f"applogs-{users}"
    shutil.rmtree(to, ignore_errors=True)
    CACHE.mkdir(exist_ok=True)
    run("bench.applogs_path", "synth", str(to), str(users))
    return to


def medians(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Median seconds, largest peak."""
    return {
        **{kind: statistics.median(one[kind] for one in runs) for kind in KINDS},
        "peak": max(one["peak"] for one in runs),
    }


def doubled(folder: Path, sizes: tuple[int, int], repeat: int) -> list[dict[str, Any]]:
    """Slicing and packs of the small and of the doubled size. Raises `Unequal` when turns made other numbers."""
    runs: dict[int, list[dict[str, Any]]] = {users: [] for users in sizes}
    for turn in range(repeat):
        for users in sizes:
            one = run("bench.applogs_path", "slices", str(folder), str(users))
            runs[users].append(one)
            counts = [{name: each[name] for name in ("logs", "visits", "questions")} for each in runs[users]]
            if counts[-1] != counts[0] or one["visits"] != one["logs"]:
                raise Unequal(f"{users} users came to {counts[-1]} in turn {turn + 1}, to {counts[0]} in the first")
            print(f"  {users:>4} users, turn {turn + 1}: {one['logs']:,} logs, {one['questions']:,} questions, slicing "
                  f"{one['slicing']['cpu']:.2f} s cpu, packs {one['packs']['cpu']:.2f} s cpu", flush=True)  # fmt: skip
    return [
        {
            "users": users,
            **{name: of[0][name] for name in ("logs", "questions")},
            **{stage: medians([one[stage] for one in of]) for stage in ("slicing", "packs")},
        }
        for users, of in runs.items()
    ]


def aims(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Every aim with what was measured, by the clock and by processor time, and whether it is met by each."""
    rows: list[dict[str, Any]] = []

    def add(what: str, wanted: float, at_least: bool, measured: dict[str, float]) -> None:
        met = {kind: value >= wanted if at_least else value <= wanted for kind, value in measured.items()}
        rows.append({"aim": what, "wanted": wanted, "at_least": at_least, "measured": measured, "met": met})

    few, many = result["synth"][0], result["synth"][-1]
    add("users made: logs a second, one core", MIN_RATE, True, {kind: many["logs"] / many[kind] for kind in KINDS})
    what = f"users made: peak of {many['users']} ÷ peak of {few['users']}"
    add(what, MAX_MEMORY_GROWTH, False, {"peak": many["peak"] / few["peak"]})
    small, large = result["doubled"]
    for stage in ("slicing", "packs"):
        # Users differ in length: seconds are held against twice the logs, not twice the users.
        ratio = {kind: 2 * large[stage][kind] / small[stage][kind] * small["logs"] / large["logs"] for kind in KINDS}
        add(f"{stage}: seconds for twice the logs ÷ seconds", MAX_GROWTH, False, ratio)
    scored = result["scoring"]
    add(f"scoring {scored['fields']:,} fields by rule, s", MAX_SCORING, False, {kind: scored[kind] for kind in KINDS})
    return rows


def report(result: dict[str, Any]) -> str:
    """The result as a page of Markdown, with every aim beside what was measured."""
    busy = max(float(result["machine"][name]) for name in ("load_before", "load_after")) > int(
        result["machine"]["cores"]
    )
    lines = [
        "# App-log path: users made, logs sliced, questions asked, answers scored",
        "",
        ", ".join(f"{key} {value}" for key, value in result["machine"].items()),
        "",
        "Each measure in a process of its own, after one user to warm up; seconds are medians of turns, peaks the "
        "largest. Users are made by one process through to disk, fsync and their statistics included."
        + (" Other processes shared the machine: judge by processor seconds, wall seconds swing." * busy),
        "",
        "| users made | logs | wall s | cpu s | logs/s | logs/cpu s | peak MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in result["synth"]:
        wall, cpu = (one["logs"] / one[kind] for kind in KINDS)
        lines.append(
            f"| {one['users']} | {one['logs']:,} | {one['wall']:.2f} | {one['cpu']:.2f} | {wall:,.0f} | {cpu:,.0f} | "
            f"{one['peak'] / 2**20:.0f} |"
        )
    lines += [
        "",
        "`slicing`: checkpoints and the day batches between them. `packs`: both truths at every checkpoint, questions "
        "of all four tasks and their gold.",
        "",
        "| users | logs | questions | slicing wall s | cpu s | packs wall s | cpu s | peak MiB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in result["doubled"]:
        cells = [f"{one[stage][kind]:.2f}" for stage in ("slicing", "packs") for kind in KINDS]
        lines.append(
            f"| {one['users']} | {one['logs']:,} | {one['questions']:,} | {' | '.join(cells)} | "
            f"{one['packs']['peak'] / 2**20:.0f} |"
        )
    scored = result["scoring"]
    lines += [
        "",
        f"Scoring: {scored['fields']:,} fields of {scored['items']:,} questions in {scored['wall']:.2f} s "
        f"({scored['cpu']:.2f} s cpu, {scored['peak'] / 2**20:.0f} MiB); mean agreement {scored['agreement']:.2f}.",
        "",
        "| aim | wanted | measured | met |",
        "|---|---|---|---|",
    ]
    for row in aims(result):
        measured = ", ".join(f"{kind} {value:,.2f}" for kind, value in row["measured"].items())
        met = ", ".join(f"{kind} {'yes' if value else 'no'}" for kind, value in row["met"].items())
        lines.append(f"| {row['aim']} | {'≥' if row['at_least'] else '≤'} {row['wanted']:g} | {measured} | {met} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Measure, print, write `results/`; returns what was written."""
    parser = argparse.ArgumentParser(prog="bench.applogs", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="turns of every size")
    parser.add_argument("--many", type=int, default=MANY, help="users of the largest run of the synthesiser")
    parser.add_argument("--quick", action="store_true", help="few users, one turn; writes nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of applogs.json and applogs.md")
    given = parser.parse_args(arguments)
    sizes, many, repeat = (QUICK, QUICK[1], 1) if given.quick else (SIZES, given.many, given.repeat)
    result: dict[str, Any] = {"machine": machine()}
    result["synth"] = [made(users) for users in (sizes[0], many)]
    folder = folder_of(sizes[1])
    result["doubled"] = doubled(folder, sizes, repeat)
    result["scoring"] = run("bench.applogs_path", "scoring", str(folder), str(sizes[0]))
    result["machine"]["load_after"] = f"{os.getloadavg()[0]:.1f}"
    result["aims"] = aims(result)
    if not given.quick:
        given.out.mkdir(parents=True, exist_ok=True)
        given.out.joinpath("applogs.json").write_text(json.dumps(result, indent=1) + "\n")
        given.out.joinpath("applogs.md").write_text(report(result))
    print(report(result))
    return result


if __name__ == "__main__":
    main()
