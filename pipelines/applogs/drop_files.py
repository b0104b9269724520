"""The files of a drop of app logs told apart by their names: whose, and what of."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pipelines.commerce.reading import SourceError

LOGS, PACK = "app_log_large.json", "task_packs.json"
TIMELINES = {f"{name}.jsonl": name for name in ("state_intervals", "state_changes", "state_evidence", "state_moments")}
"""Name of a file → the table whose rows its lines are."""
PASSED_OVER = frozenset({"README.md", "SOURCE.md", "LICENSE", "card.json", "statistics.json"})
"""Names of files that say something about the others."""
_LAYOUT = f"A drop holds USER/{LOGS}, USER/{PACK} as published, and gold/USER/{{{', '.join(TIMELINES)}}}"


@dataclass(frozen=True)
class UserFile:
    """One file of a user; the folder it lies in names the user."""

    path: Path
    user_id: str
    name: str

    @property
    def label(self) -> str:
        """How messages name the file, and what of its place enters the identity of a drop."""
        return f"{self.user_id}/{self.name}"


def user_file(path: Path) -> UserFile:
    """The file at a path, whatever it holds."""
    return UserFile(path, path.parent.name, path.name)


def tell_apart(paths: Sequence[Path]) -> list[UserFile]:
    """Files of the drop by user and name; those that say something about the others are passed over.

    Raises `SourceError` for a file of another name, a user whose name is no text, two of one user and name, and when
    none is left.
    """
    files = sorted((user_file(path) for path in paths if path.name not in PASSED_OVER), key=lambda file: file.label)
    for file in files:
        if file.name not in (LOGS, PACK, *TIMELINES):
            raise SourceError(file.label, None, "is no file of app logs", f"{_LAYOUT}; take it out of the drop")
        if (text := file.label.encode(errors="replace").decode()) != file.label:
            # As text, names that differ in such bytes alone would be one.
            raise SourceError(text, None, "the name of the user's folder is no UTF-8", "Give the folder another name")
    for file, after in pairwise(files):
        if file.label == after.label:
            what = f"there are two of them: {file.path} and {after.path}"
            raise SourceError(file.label, None, what, "Make two drops of them, or leave one out")
    if not files:
        raise SourceError("drop", None, "no file of app logs is in it", _LAYOUT)
    return files
