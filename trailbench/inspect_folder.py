"""`trailbench export --as inspect`: the questions of a release as a folder that `inspect eval` runs as it is."""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from pipelines.exports.data_card import UNKNOWN
from pipelines.exports.samples import Row, json_line
from pipelines.exports.samples_card import samples_card
from resources.code import copy_sources
from resources.export_folder import export_folder, refuse_foreign
from resources.home import Home
from trailbench.console import Steps
from trailbench.data_folder import checked_license, documents, origin_of
from trailbench.exporting import ExportError
from trailbench.harness_questions import QUESTIONS, Questions
from trailbench.wanted_arms import Wanted

SHARED = "trailbench_questions.py"
"""What the tasks of all tracks share; it leaves under a name that nothing else bears."""


def write_inspect_folder(
    home: Home, release: str, to: Path, wanted: Wanted, step: Steps, *, gold: bool = False, stated: str = UNKNOWN
) -> dict[str, Any]:
    """Write samples, task and card of a release, and what is right where `gold`.

    Raises `ExportError` for what cannot be asked, and `FolderRefused` for a folder that is not to be replaced.
    """
    refuse_foreign(to.absolute())
    key, spec, manifest, card = documents(home, checked_license(stated) and release)
    if spec.track not in QUESTIONS:
        raise ExportError(f"there are no samples of track {spec.track}; there are of {', '.join(QUESTIONS)}")
    step("questions")
    questions = QUESTIONS[spec.track](home, spec, key, manifest["release"], wanted)
    says = {
        **{"export": "inspect", "release": manifest["release"], "content_hash": manifest["content_hash"]},
        **{"context": questions.context, "prompts": questions.prompts},
    }
    with export_folder(to, says) as folder:
        n = write_questions(folder, questions, step, gold=gold)
        if not n:
            why = "; ".join(card["refusals"].values()) or "no user of it has an outcome to ask for"
            raise ExportError(f"release {manifest['release']} has no question: {why}")
        about = {"questions": n, "context": questions.context, "hash of the prompts": questions.prompts}
        text = samples_card(manifest, card, {**origin_of(spec), **about}, questions.task, gold, stated)
        (folder / "README.md").write_text(text, encoding="utf-8")
    return {"release": manifest["release"], "as": "inspect", "folder": str(to), "samples": n}


def write_questions(folder: Path, questions: Questions, step: Steps, *, gold: bool = False) -> int:
    """Write samples, what is right where `gold`, and what runs and scores them; the number of samples."""
    n = _write_lines(folder / "samples.jsonl", questions.samples)
    if gold:
        step("answers")
        (folder / "gold").mkdir()
        _write_lines(folder / "gold" / "targets.jsonl", questions.targets())
    templates = files("resources") / "inspect_tasks"
    for name, template in {"task.py": f"{questions.task}.py", SHARED: SHARED}.items():
        (folder / name).write_bytes((templates / template).read_bytes())
    if questions.scored_by:
        copy_sources(folder / "scoring", *questions.scored_by)
    return n


def _write_lines(file: Path, rows: Iterable[Row]) -> int:
    n = 0
    with file.open("w", encoding="utf-8", newline="\n") as text:
        for row in rows:
            text.write(json_line(row))
            n += 1
    return n
