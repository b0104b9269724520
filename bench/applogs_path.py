"""The app-log path under one measure: a stage of it in a process of its own, printed as JSON.

`python -m bench.applogs_path synth|slices|scoring FOLDER USERS`. FOLDER holds synthetic users (of `SEED`), or for
`synth` gets them. Each stage first does its work on one user, so that imports and the allocator are ready.
"""

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from pipelines.applogs.answers import standing
from pipelines.applogs.checkpoints import segment_batches
from pipelines.applogs.json_text import dump
from pipelines.applogs.mechanical import agreements
from pipelines.applogs.questions import questions, state_keys
from pipelines.applogs.reading_drop import read_drop
from pipelines.applogs.scores import units
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.state_values import humanised
from pipelines.applogs.step_tables import BROUGHT, DROPPED
from pipelines.applogs.synthesis.world import Span
from pipelines.applogs.synthesis.worlds import user_id_of
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.applogs.users import checkpoints
from pipelines.hashing import frame_hash
from resources.drops import expand
from resources.synthetic_users import Plan, measures_of, users_folder, write_user

SEED = 20262
PLAN = Plan(SEED, Span())
FIELDS = 100_000
"""Fields that are scored by rule."""
ROUNDS = 3
"""Times that work of a second or less is done in a run."""
SETTINGS = AppLogSettings()
Tables = dict[str, pl.DataFrame]
Made = TypeVar("Made")


@contextmanager
def clock(into: dict[str, Any]) -> Iterator[None]:
    """Seconds of a block by the clock and of the processor, and the largest resident memory up to its end, in bytes."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    into["wall"] = time.perf_counter() - wall
    into["cpu"] = time.process_time() - cpu
    into["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    into["load"] = os.getloadavg()[0]


def rounds(work: Callable[[], Made]) -> tuple[dict[str, Any], Made]:
    """Median seconds of some rounds of the same work, and what it made."""
    found: list[dict[str, Any]] = []
    for _ in range(ROUNDS):
        found.append({})
        with clock(found[-1]):
            made = work()
    return {**found[-1], **{kind: statistics.median(one[kind] for one in found) for kind in ("wall", "cpu")}}, made


def synth(to: Path, users: int) -> dict[str, Any]:
    """Users made, measured and written through to disk, one after the other."""
    found: dict[str, Any] = {}
    with users_folder(to, PLAN):
        write_user(to, PLAN, 0)
        with clock(found):
            for index in range(1, users + 1):
                write_user(to, PLAN, index)
    logs = [int(one.measures["logs a user"]) for one in measures_of(to)]
    return {**found, "users": users, "logs": sum(logs[1:])}


def read(folder: Path, users: int) -> Tables:
    """Tables of `BROUGHT` of the first users of a folder."""
    names = [user_id_of(index) for index in range(users)]
    files = expand([path for name in names for path in (folder / name, folder / "gold" / name)])
    drop = read_drop(files)
    return {name: drop[f"{DROPPED}{name}"].select(BROUGHT[name].schema.names()) for name in BROUGHT}


def sliced(brought: Tables) -> tuple[pl.DataFrame, int]:
    """Checkpoints of all users, and the visits in the day batches between them."""
    cuts = checkpoints(brought["app_logs"], brought["anchors"], SETTINGS)
    n_visits = 0
    for (user,), logs in brought["app_logs"].group_by("user_id", maintain_order=True):
        for _, batches in segment_batches(logs, cuts.filter(user_id=user)):
            n_visits += sum(batch.visits.height for batch in batches)
    return cuts, n_visits


def asked(brought: Tables, cuts: pl.DataFrame) -> Tables:
    """Questions and the gold side at all checkpoints."""
    return questions(brought, brought["app_logs"], cuts, state_keys(brought["state_intervals"]), SETTINGS)


def slices(folder: Path, users: int) -> dict[str, Any]:
    """From tables of a drop to checkpoints and day batches (`slicing`), and to questions with their gold (`packs`)."""
    small = read(folder, 1)
    asked(small, sliced(small)[0])
    brought = read(folder, users)
    slicing, (cuts, n_visits) = rounds(lambda: sliced(brought))
    packs, made = rounds(lambda: asked(brought, cuts))
    return {
        "users": users,
        "logs": brought["app_logs"].height,
        "visits": n_visits,
        "questions": made["tasks"].height,
        "slicing": slicing,
        "packs": packs,
    }


def answers_to(gold: pl.DataFrame) -> pl.DataFrame:
    """Table `answers`: of four questions two are answered rightly, one as another one is, one not at all."""
    rows = []
    for n, row in enumerate(gold.iter_rows(named=True)):
        other = gold.row((n * 7 + 3) % gold.height, named=True) if n % 4 == 2 else row
        told = f"Time for your {humanised(other['state_key'] or '')}, at half past six."
        answer = other["reference"] if row["service_family"] != "user_communication" else dump(told)
        given = n % 4 < 3 and answer is not None
        rows.append({
            **dict.fromkeys(APPLOG_TABLES["answers"].schema),
            "user_id": row["user_id"],
            "item": row["item"],
            "status": "ok" if given else "abstained",
            "answer": answer if given else None,
            "evidence": row["evidence"][:3],
        })  # fmt: skip
    return pl.DataFrame(rows, schema=APPLOG_TABLES["answers"].schema)


def repeated(made: Tables, parts: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`gold_items` and `gold_parts` of as many users, alike but in name, as bring so many parts."""
    times = -(-parts // made["gold_parts"].height)
    items, rows = (
        pl.concat(
            made[name].with_columns(pl.format("{}/{}", pl.lit(n), "user_id").alias("user_id")) for n in range(times)
        )
        for name in ("gold_items", "gold_parts")
    )
    kept = rows.head(parts)
    return items.join(kept, on=["user_id", "item"], how="semi"), kept


def scoring(folder: Path, users: int) -> dict[str, Any]:
    """Answers to so many fields held against the right ones by rule, up to one row a question."""
    brought = read(folder, users)
    made = asked(brought, checkpoints(brought["app_logs"], brought["anchors"], SETTINGS))
    found: dict[str, Any] = {}
    for n_fields in (2_000, FIELDS):
        items, parts = repeated(made, n_fields)
        answers = answers_to(items)
        with clock(found):
            told = standing(items, answers)
            agreed = agreements(parts, told, SETTINGS.minutes)
            scored = units(told, agreed)
    right = agreed["agreement"]
    return {
        **found,
        "fields": parts.height,
        "items": items.height,
        "agreement": right.mean(),
        "hash": frame_hash(scored),
    }


STAGES = {"synth": synth, "slices": slices, "scoring": scoring}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench.applogs_path", description=__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("users", type=int)
    given = parser.parse_args()
    print(json.dumps(STAGES[given.stage](given.folder, given.users)))
