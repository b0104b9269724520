"""Table `contexts`: what memories deliver at checkpoints (reference 4; freezing and asking apart: ours).

A memory is built from checkpoint to checkpoint by what each adds, and kept there; only
then are questions asked, of another memory that is restored from what was kept. So no
memory that is being built ever meets a question, and none that is asked has seen a
log after its checkpoint: what is kept is all that passes from one to the other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from pydantic import BaseModel

from pipelines.applogs.checkpoints import segment_batches
from pipelines.applogs.delivered import logs_of
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.hashing import digest, frame_hash
from pipelines.memory.contract import (
    Batch,
    Method,
    MethodSpec,
    Readout,
    Retriever,
    SnapshotError,
    StateChanged,
    Tokens,
    within_budget,
)
from pipelines.memory.replay import NOTHING, Checkpoints, Served, donor_of, opened
from pipelines.memory.side_by_side import side_by_side

Row = dict[str, Any]
WHOLE = ""
"""Item of a context that is the same for every question of its checkpoint."""


@dataclass(frozen=True)
class Streams:
    """The logs and checkpoints of some users, user by user, and how many days one batch holds."""

    logs: dict[str, pl.DataFrame]
    checkpoints: dict[str, pl.DataFrame]
    batch_days: int = 1

    @staticmethod
    def of(logs: pl.DataFrame, checkpoints: pl.DataFrame, batch_days: int = 1) -> "Streams":
        """From the tables `app_logs` and `checkpoints`; users without a checkpoint are left out."""
        places = checkpoints.sort("user_id", "checkpoint_index")
        own = logs.join(places.select("user_id").unique(), on="user_id", how="semi").sort("user_id", "position")
        of_logs, of_places = ({name[0]: rows for name, rows in one.group_by("user_id")} for one in (own, places))
        return Streams(of_logs, of_places, batch_days)

    def segments(self, user: str) -> Iterator[tuple[str, list[Batch]]]:
        """The user's checkpoints in order, each with the batches that it adds."""
        return segment_batches(self.logs[user], self.checkpoints[user], self.batch_days)

    def borrowed(self, user: str, donor: str | None) -> Iterator[tuple[str, list[Batch]]]:
        """The user's checkpoints with the batches of `donor`, by the same moments; without a donor there are none."""
        own = self.checkpoints[user]
        if donor is None:
            return ((name, []) for name in own["checkpoint_id"])
        times = self.logs[donor]["time"]
        lent = pl.Series("n_visible", [int((times <= moment).sum()) for moment in own["as_of"]], dtype=pl.Int32)
        return segment_batches(self.logs[donor], own.with_columns(lent, user_id=pl.lit(donor)), self.batch_days)


def contexts(
    spec: MethodSpec,
    config: BaseModel,
    given: Streams,
    questions: pl.DataFrame,
    budget: int,
    tokens: Tokens,
    *,
    kept: Checkpoints,
    users: Sequence[str] | None = None,
    asked: MethodSpec | None = None,
    served: Served = NOTHING,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> pl.DataFrame:
    """Table `contexts` of one method for `questions` (rows of `tasks`) of `users`, all of `given` by default.

    A method that retrieves is asked question by question, any other for its readout, once a checkpoint that has
    questions. `budget` is in tokens. `asked` is the method in the process that answers, `spec` by default: a plug-in
    is built in one child and asked in another. `given` holds the donors of the shuffled control as well, which
    `seed` draws. `kept` holds what was built; memories that are there are not built again. `progress` is told the
    checkpoints done.

    Raises `SnapshotError` where a memory is not kept any more, `StateChanged` when asking changed it, and what the
    method raises.
    """
    chosen = sorted(given.checkpoints if users is None else users)
    lend = donor_of(given.checkpoints, seed) if spec.stream == "other_user" else {}
    of_user = {name[0]: rows for name, rows in questions.sort("user_id", "item").group_by("user_id")}
    done = iter(range(1, 1 << 62))

    def rows_of(user: str, stop: Callable[[], bool]) -> list[Row]:
        if (mine := of_user.get(user)) is None:
            return []
        borrowed = spec.stream == "other_user"
        owner = (lend.get(user) or user) if borrowed else user
        steps = given.borrowed(user, lend.get(user)) if borrowed else given.segments(user)
        frozen = list(_frozen(spec, config, owner, steps, tokens, served, kept, stop))
        memory, rows = opened(asked or spec, config, owner, tokens, served), []
        for checkpoint_id, key in frozen:
            if stop():
                break
            told = mine.filter(pl.col("checkpoint_id") == checkpoint_id)
            if told.height:
                _restore(memory, kept, key, f"{user} at {checkpoint_id}")
                rows += _asked(spec.name, memory, told, budget, tokens)
            progress(next(done))
        return rows if borrowed else with_ids(rows, given.logs[user], given.checkpoints[user])

    table = APPLOG_TABLES["contexts"]
    rows = [row for own in side_by_side(chosen, rows_of, threads) for row in own]
    return pl.DataFrame(rows, schema=table.schema).sort(table.sort_by)


def query_of(question: Row) -> str:
    """What a memory is searched for: the published query, else the body of the question as the reader is shown it."""
    if question["retrieval_query"]:
        return str(question["retrieval_query"])
    parts = (question[name] for name in ("question_text", "scenario", "instruction", "output_template"))
    return "\n".join(part for part in parts if part)


def with_ids(rows: list[Row], logs: pl.DataFrame, checkpoints: pl.DataFrame) -> list[Row]:
    """Rows of `contexts` of one user with `retrieved`: ids of its visible logs that stand in the text.

    A text without any such line is in other words, and null; a text without words delivers nothing.
    """
    position = dict(logs.select("app_log_id", "position").iter_rows())
    n_visible = dict(checkpoints.select("checkpoint_id", "n_visible").iter_rows())
    out = []
    for row in rows:
        told = [log["app_log_id"] for log in logs_of(row["text"])]
        ids = [one for one in told if position.get(one, 1 << 31) < n_visible[row["checkpoint_id"]]]
        out.append({**row, "retrieved": ids if ids or not row["text"].strip() else None})
    return out


def _frozen(
    spec: MethodSpec,
    config: BaseModel,
    owner: str,
    steps: Iterator[tuple[str, list[Batch]]],
    tokens: Tokens,
    served: Served,
    kept: Checkpoints,
    stop: Callable[[], bool],
) -> Iterator[tuple[str, str]]:
    """Each checkpoint with the key under which its memory is kept; built from the last one that was kept already."""
    memory, key = opened(spec, config, owner, tokens, served), _root(spec, config, owner, served)
    behind = False
    for checkpoint_id, batches in steps:
        if stop():
            return
        before = key
        if batches:
            added = frame_hash(pl.concat([batch.visits for batch in batches]))
            key = digest(key, added, *(f"{batch.batch_id}:{batch.visits.height}" for batch in batches))
        if kept.find(key) is not None:
            behind = True
        else:
            if behind:
                _restore(memory, kept, before, f"{owner} before {checkpoint_id}")
                behind = False
            for batch in batches:
                memory.ingest(batch)
            kept.keep(key, memory.snapshot)
        yield checkpoint_id, key


def _root(spec: MethodSpec, config: BaseModel, owner: str, served: Served) -> str:
    model = served.llm(spec)
    embedder = served.embedder.fingerprint if "embedder" in spec.needs and served.embedder is not None else ""
    return digest("applogs", spec.fingerprint(config), owner, model.fingerprint if model else "", embedder)


def _restore(memory: Method, kept: Checkpoints, key: str, whose: str) -> None:
    # Never another one in its place: an older memory would be blamed for what it could not know, a newer one would
    # know what is to come.
    if (folder := kept.find(key)) is None:
        raise SnapshotError(f"the memory of {whose} is not kept any more: evaluate again, it is built anew")
    memory.restore(folder)


def _asked(name: str, memory: Method, questions: pl.DataFrame, budget: int, tokens: Tokens) -> list[Row]:
    before = memory.state_hash()
    place = {"user_id": questions["user_id"][0], "checkpoint_id": questions["checkpoint_id"][0]}
    if isinstance(memory, Retriever):
        told = [
            {**place, "item": row["item"], **_text(memory.retrieve(query_of(row), budget), budget, tokens)}
            for row in questions.to_dicts()
        ]
    else:
        told = [{**place, "item": WHOLE, **_text(memory.readout(budget), budget, tokens)}]
    if memory.state_hash() != before:
        raise StateChanged(f"method {name!r}: asking changed the memory; a question must not")
    return [{**row, "state_hash": before} for row in told]


def _text(readout: Readout, budget: int, tokens: Tokens) -> Row:
    """Both slots as one text within the budget, whatever the method says of its tokens."""
    text = "\n".join(slot for slot in (readout.description, readout.tree) if slot)
    held = within_budget(Readout(text, "", 0, readout.tokens_cut), budget, tokens)
    return {"text": held.description, "tokens": held.tokens, "tokens_cut": held.tokens_cut}
