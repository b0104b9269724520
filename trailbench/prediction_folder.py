"""`trailbench export --as dynamicmem`: the answers of an arm as the prediction files of the published benchmark."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from assets.applog_board_inputs import answers_of
from pipelines.applogs.answers import ITEM, standing
from pipelines.applogs.experiment import asked
from pipelines.applogs.prediction_files import Predicted, prediction_files
from resources.experiment_spec import ArmSpec
from resources.export_folder import export_folder, refuse_foreign
from resources.home import Home
from resources.store import NotPublished
from trailbench.console import Steps
from trailbench.data_folder import documents
from trailbench.exporting import ExportError
from trailbench.wanted_arms import Wanted, answering_arm, evaluated

FILE = "predictions.json"
"""Name of a user's file, in a folder named after the user."""


def write_prediction_folder(
    home: Home, release: str, to: Path, wanted: Wanted, step: Steps, *, gold: bool = False
) -> dict[str, Any]:
    """Write one prediction file a user that an arm was asked about.

    Raises `ExportError` for what has no predictions, and without `gold`, because the files name the states that
    services are about; `FolderRefused` for a folder that is not to be replaced.
    """
    refuse_foreign(to.absolute())
    key, spec, manifest, _ = documents(home, release)
    if spec.track != "applogs":
        raise ExportError(f"predictions are answers on app logs, and {manifest['release']} is of track {spec.track}")
    if wanted.experiment is None:
        raise ExportError("predictions are the answers of an arm; name its experiment by --experiment")
    arm = answering_arm(evaluated(home, wanted.experiment, manifest["release"]), wanted)
    if not gold:
        raise ExportError("a prediction file names the states of services, which is gold; add --gold if you mean it")
    step("answers")
    given = _predicted(home, key, arm)
    system = f"{arm.arm.label}, {arm.arm.reader}"
    says = {
        **{"export": "dynamicmem", "release": manifest["release"], "content_hash": manifest["content_hash"]},
        **{"experiment": arm.arm.experiment, "method": arm.arm.label, "reader": arm.arm.reader},
        "budget": arm.arm.budget,
    }
    with export_folder(to, says) as folder:
        n = 0
        for user, predictions in prediction_files(given, system):
            if user in ("", ".", "..") or Path(user).name != user:
                raise ExportError(f"the user {user!r} can name no folder; export the table answers instead")
            file = folder / user / FILE
            file.parent.mkdir()
            file.write_text(json.dumps(predictions, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            n += 1
    return {"release": manifest["release"], "as": "dynamicmem", "arm": arm.key, "folder": str(to), "users": n}


def _predicted(home: Home, key: str, arm: ArmSpec) -> Predicted:
    """The answers of an arm with the questions and gold that they belong to."""
    at, users = {"release": key}, list(arm.slice.users)

    def own(table: str, gold: bool = False) -> pl.DataFrame:
        rows = (home.gold if gold else home.store).scan(table, at, home.shards)
        return rows.filter(pl.col("user_id").is_in(users)).collect()

    questions, checkpoints = own("tasks"), own("checkpoints")
    put = asked(questions, checkpoints, arm.slice, users)
    table = answers_of(arm)
    catalog = home.gold if table == "oracle_answers" else home.store
    try:
        answers = catalog.scan(table, {"arm": arm.key}, home.shards).collect()
    except NotPublished as error:
        raise ExportError(f"{error}; run `trailbench evaluate` with the experiment first") from error
    items = own("gold_items", gold=True).join(put, on=ITEM, how="semi")
    return Predicted(standing(items, answers), questions, checkpoints, own("gold_records", gold=True))
