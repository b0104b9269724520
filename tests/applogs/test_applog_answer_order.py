"""What answers without a model depends on the logs and questions alone, not on how a process hashes its words."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import polars as pl

from pipelines.applogs.answerers import RULES, answer
from pipelines.applogs.checkpoints import visible
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.extracting import extract
from pipelines.applogs.questions import questions, state_keys
from pipelines.applogs.reading_drop import read_drop
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.step_tables import BROUGHT, DROPPED
from pipelines.applogs.synthesis.world import Span
from pipelines.applogs.tables import table_of
from pipelines.applogs.users import checkpoints
from resources.drops import expand
from resources.synthetic_users import Plan, users_folder, write_user

ROOT = Path(__file__).resolve().parents[2]


def digest(folder: Path) -> str:
    """Hash of all answers by rule and by the weak reader about the users of a folder."""
    drop, settings = read_drop(expand([folder])), AppLogSettings()
    brought = {name: drop[f"{DROPPED}{name}"].select(BROUGHT[name].schema.names()) for name in BROUGHT}
    logs, cuts = brought["app_logs"], checkpoints(brought["app_logs"], brought["anchors"], settings)
    asked = questions(brought, logs, cuts, state_keys(brought["state_intervals"]), settings)["tasks"]
    seen = visible(logs, cuts)
    found = []
    for place in cuts.partition_by("checkpoint_id", maintain_order=True):
        mine = asked.join(place, on=["user_id", "checkpoint_id"], how="semi", maintain_order="left")
        known = seen.join(place, on=["user_id", "checkpoint_id"], how="semi", maintain_order="left")
        found += [answer(rule, known.select(logs.columns), mine) for rule in sorted(RULES)]
        texts = known.group_by("user_id", "checkpoint_id", maintain_order=True).agg(pl.col("record").str.join("\n"))
        rows = [
            {"user_id": user, "checkpoint_id": checkpoint, "item": WHOLE, "text": text, "tokens": 0, "tokens_cut": 0,
             "retrieved": None, "state_hash": ""}
            for user, checkpoint, text in texts.iter_rows()
        ]  # fmt: skip
        found.append(extract(table_of("contexts", rows), mine))
    answered = pl.concat(found)
    assert (answered["status"].cast(pl.String) == "ok").sum() > answered.height / 4
    return hashlib.sha256(answered.write_json().encode()).hexdigest()


def test_answers_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    to, plan = tmp_path / "users", Plan(7, Span(windows=2, logs=150))
    with users_folder(to, plan):
        write_user(to, plan, 0)
    code = "import sys, pathlib, test_applog_answer_order as t; print(t.digest(pathlib.Path(sys.argv[1])))"
    made = set()
    for seed, zone in (("1", "UTC"), ("2", "Asia/Kolkata"), ("3", "Pacific/Auckland")):
        own = {
            "PYTHONHASHSEED": seed,
            "TZ": zone,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)]),
        }
        done = subprocess.run(
            [sys.executable, "-c", code, str(to)], env={**os.environ, **own}, capture_output=True, text=True, check=True
        )
        made.add(done.stdout.strip())
    assert len(made) == 1
