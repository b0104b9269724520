"""A folder of synthetic users, made by one seed and one code: whole users only, and what is there is kept.

`card.json` says what the users are made from, `USER/app_log_large.json` is what a memory may know,
`gold/USER/` holds what is true of the user, with its measures and the hashes of its files (`statistics.json`).
"""

import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.applogs.synthesis.cards import Measured, measured
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.drawing import drawn
from pipelines.applogs.synthesis.ontology.forms import Ontology
from pipelines.applogs.synthesis.trajectories import trajectory
from pipelines.applogs.synthesis.user_files import user_files
from pipelines.applogs.synthesis.world import Span
from pipelines.applogs.synthesis.worlds import user_id_of
from resources.code import code_version
from resources.documents import sync, write_atomic
from resources.store import StoreError

CARD, STATISTICS, GOLD = "card.json", "statistics.json", "gold"
_STAGED, _LOCK = ".partial", ".lock"
_DOCUMENT = ".*.tmp"
"""A document that was being written when a run was killed."""
_MAKER = "trailbench synth"
_USER = re.compile(r"\d{3,}_user_\d{3,}")
_OWN = frozenset({CARD, STATISTICS, GOLD, _STAGED, _LOCK})


class UsersRefused(StoreError):
    """A folder that synthetic users are not written to; names what stands in the way, and what to do."""


@dataclass(frozen=True)
class Plan:
    """What users are made from: the same plan makes the same bytes of every user."""

    seed: int
    span: Span
    states: int | None = None
    """States of every domain, drawn by the seed; None: all."""

    @property
    def ontology(self) -> Ontology:
        """What can be true of the users."""
        return ONTOLOGY if self.states is None else drawn(self.states, self.seed)

    def says(self) -> dict[str, Any]:
        """What `card.json` holds of it."""
        span = self.span
        return {
            "made by": _MAKER,
            "seed": self.seed,
            "windows": span.windows,
            "logs a user aimed at": span.logs,
            "states of a domain": "all" if self.states is None else self.states,
            "begins": span.start.isoformat(" "),
            "code": code_version("pipelines.applogs.synthesis"),
        }


@contextmanager
def users_folder(to: Path, plan: Plan) -> Iterator[None]:
    """Hold a folder for users of a plan, which is made or gone on with; what a killed run left is cleared away.

    Raises `UsersRefused` for a folder with files of others, of another plan or code, or that another run writes to.
    """
    if to.is_symlink() or (to.exists() and not to.is_dir()):
        raise UsersRefused(f"{to} is no folder; name another one")
    if to.is_dir():
        _refuse_foreign(to, plan)
    to.mkdir(parents=True, exist_ok=True)
    with (to / _LOCK).open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsersRefused(f"another run writes to {to}; wait for it, or name another folder") from None
        # Again: until it was held, the folder may have become another run's.
        _refuse_foreign(to, plan)
        shutil.rmtree(to / _STAGED, ignore_errors=True)
        for cut_off in to.glob(_DOCUMENT):
            cut_off.unlink()
        write_atomic(to / CARD, _text(plan.says()))
        (to / GOLD).mkdir(exist_ok=True)
        yield
        shutil.rmtree(to / _STAGED, ignore_errors=True)


def _refuse_foreign(to: Path, plan: Plan) -> None:
    unfinished = {to / _LOCK, *to.glob(_DOCUMENT)}
    if unfinished.issuperset(to.iterdir()):
        return
    try:
        found = json.loads((to / CARD).read_text(encoding="utf-8"))
        made_by = found.get("made by")
    except (OSError, ValueError, AttributeError):
        made_by = None
    if made_by != _MAKER:
        raise UsersRefused(f"{to} is not empty and was not made by {_MAKER}; name another folder")
    for name, wanted in plan.says().items():
        if (other := found.get(name)) != wanted:
            raise UsersRefused(
                f"{to} holds users made with {name} {other}, not {wanted}; name another folder, or remove it"
            )
    known = {*unfinished, *(to / name for name in _OWN)}
    for path in sorted([*to.iterdir(), *(to / GOLD).glob("*")]):
        if path not in known and not _USER.fullmatch(path.name):
            raise UsersRefused(f"{path} is no file of synthetic users; move it, or name another folder")


def write_user(to: Path, plan: Plan, index: int) -> None:
    """Make the user at an index, from 0, and put its files in place: its gold first, so that a user with logs is whole.

    What is true and what the logs say leave the same trajectory, so they never disagree.
    """
    made = trajectory(plan.seed, index, plan.span, plan.ontology)
    files, name = user_files(made), made.user_id
    counted = measured(made)
    hashes = {file: hashlib.sha256(data).hexdigest() for file, data in {**files.logs, **files.gold}.items()}
    record = {"user_id": name, "measures": counted.measures, "apis": counted.apis, "sha256": hashes}
    staged = to / _STAGED / name
    shutil.rmtree(staged, ignore_errors=True)
    _put(staged / GOLD, {**files.gold, STATISTICS: _text(record).encode()}, to / GOLD / name)
    _put(staged / "logs", files.logs, to / name)
    staged.rmdir()


def _put(staged: Path, files: dict[str, bytes], to: Path) -> None:
    staged.mkdir(parents=True)
    for name, data in files.items():
        (staged / name).write_bytes(data)
        sync(staged / name)
    sync(staged)
    # Only gold without logs is ever in the way: the other half was cut off.
    shutil.rmtree(to, ignore_errors=True)
    staged.rename(to)
    sync(to.parent)


def finished(to: Path, index: int) -> bool:
    """Whether the user at an index is there. Raises `UsersRefused` where its files are not those that were written."""
    name = user_id_of(index)
    if not (to / name).exists():
        return False
    gold = to / GOLD / name
    try:
        known = {**_record(to, name)["sha256"], STATISTICS: None}
        inside = {path: path.name for folder in (to / name, gold) for path in folder.iterdir()}
        whole = sorted(inside.values()) == sorted(known)
        wrong = [path for path, file in inside.items() if whole and known[file] not in (None, _sha256(path))]
    except (OSError, ValueError, LookupError, TypeError):
        whole, wrong = False, []
    if not whole or wrong:
        what = wrong[0] if wrong else to / name
        raise UsersRefused(f"{what} is not as it was written; remove {to / name} and {gold}, and they are made again")
    return True


def measures_of(to: Path) -> list[Measured]:
    """What every user of the folder was measured to be, in the order of their numbers."""
    names = sorted((path.name for path in to.iterdir() if _USER.fullmatch(path.name)), key=lambda n: (len(n), n))
    records = (_record(to, name) for name in names)
    return [Measured(one["measures"], [(app, api) for app, api in one["apis"]]) for one in records]


def write_statistics(to: Path, rows: list[dict[str, Any]], users: int) -> None:
    """Write the folder's `statistics.json`."""
    write_atomic(to / STATISTICS, _text({"users": users, "measures": rows}))


def _record(to: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((to / GOLD / name / STATISTICS).read_text(encoding="utf-8"))
    return found


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
