"""From the tables of an experiment on app logs to the trail of a user (ours)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl

from pipelines.applogs.answers import ITEM, standing
from pipelines.applogs.asking import AskingSettings, prompted, request
from pipelines.applogs.attribution import attribute, shown_fields
from pipelines.applogs.board import ARM
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.drilldown.state_trail import (
    Agreement,
    Answer,
    Checkpoint,
    Delivered,
    Failure,
    Field,
    Log,
    Question,
    Role,
    StateTrail,
    Verdict,
)
from pipelines.applogs.mechanical import agreements
from pipelines.evaluation.drilldown.choosing import chosen
from pipelines.evaluation.drilldown.trail import Call
from pipelines.memory.contract import Tokens
from pipelines.models import Message, prompt_hash

Row = dict[str, Any]
ASKED = {
    "question_text": "Question",
    "answer_template": "Answer template",
    "scenario": "Scenario",
    "instruction": "Instruction",
    "output_template": "Output template",
    "retrieval_query": "Text to search a memory with",
}
"""Column of `tasks` → what its text is called."""
IN_FULL = 24
"""Questions of a checkpoint that a page shows in full (ours): of more it would be megabytes."""
_AGREED = ("part", "given", "agreement")
_MARKS = ("part", "status", "reason", "core_correct", "detail_quality", "analysis")
_SAID = ("label", "status", "reason", "analysis")
_DELIVERED = ("method", "budget", "text", "tokens", "tokens_cut", "state_hash")
_CALL = ("step", "unit", "model", "key", "status", "cached", "prompt_tokens", "reply_tokens", "latency_ms", "retries")


@dataclass(frozen=True)
class StateTables:
    """Tables of some users of an experiment, as their names say.

    Those of arms have the columns `ARM`: `units` (`applog_units`), `answers` (of the oracle too), `verdicts` and
    `judged` (`applog_verdicts`, `applog_judged`), `failures` (`applog_failures`), `contexts` (what the oracle's reader
    was shown among them), `model_calls` of readers, and `agreed` and `labels` of `held_against_gold`.
    """

    app_logs: pl.DataFrame
    checkpoints: pl.DataFrame
    tasks: pl.DataFrame
    gold_items: pl.DataFrame
    gold_parts: pl.DataFrame
    state_intervals: pl.DataFrame
    state_evidence: pl.DataFrame
    units: pl.DataFrame
    answers: pl.DataFrame
    agreed: pl.DataFrame
    labels: pl.DataFrame
    contexts: pl.DataFrame
    verdicts: pl.DataFrame
    judged: pl.DataFrame
    failures: pl.DataFrame
    model_calls: pl.DataFrame
    replies: Mapping[str, str]
    """Key of a model call → its reply."""
    full: frozenset[str]
    """Items that are shown in full; of others `agreed`, `labels`, `contexts` and `model_calls` hold nothing."""

    def of(self, user: str) -> "StateTables":
        """The tables of one user."""
        own: dict[str, Any] = {
            one.name: frame.filter(pl.col("user_id") == user)
            for one in fields(self)
            if isinstance(frame := getattr(self, one.name), pl.DataFrame) and "user_id" in frame.columns
        }
        return replace(self, **own)


def value_by_user(units: pl.DataFrame) -> pl.DataFrame:
    """`scores` of `choosing.chosen` from units of all arms: questions, and mean agreement by rule over all arms."""
    return units.group_by(pl.col("user_id").alias("user")).agg(
        pl.col("item").n_unique().cast(pl.Int64).alias("n_units"),
        pl.col("mechanical").fill_null(0.0).mean().alias("value"),
    )


def items_in_full(units: pl.DataFrame, seed: int) -> frozenset[str]:
    """Of each checkpoint of each user, up to `IN_FULL` questions: half of the lowest agreement by rule, half drawn."""
    place = ["user_id", "checkpoint_id"]
    worth = value_by_user(units.with_columns(user_id=pl.col("item")))
    parts = worth.join(units.select(*place, user="item").unique(), on="user").partition_by(place, include_key=False)
    return frozenset(item for rows in parts for item in chosen(rows, IN_FULL, seed)["user"])


def held_against_gold(
    units: pl.DataFrame,
    answers: pl.DataFrame,
    items: pl.DataFrame,
    parts: pl.DataFrame,
    evidence: pl.DataFrame,
    minutes: float,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of one arm: `mechanical.agreements` of its answers, and the labels of those that are wrong, as its board has it.

    `units` and `answers` are the arm's, `evidence` is `state_evidence`.
    """
    mine = items.join(units, on=ITEM, how="semi")
    stand = standing(mine, answers)
    shown = shown_fields(mine, evidence) if evidence.height else None
    scores = units.select(*ITEM, pl.col("mechanical").alias("score"))
    return agreements(parts, stand, minutes), attribute(stand, scores, parts, shown)


def state_trail(user: str, tables: StateTables, tokens: Tokens) -> StateTrail:
    """What is known of a user; `tokens` is the counter that prompts were measured by."""
    own = tables.of(user)
    places = own.checkpoints.sort("checkpoint_index")
    known = max(places["n_visible"].to_list(), default=0)
    visible = own.app_logs.filter(pl.col("position") < known).sort("position")
    told = _Told(own, tokens)
    return StateTrail(
        user,
        tuple(_logs(visible)),
        tuple(told.checkpoint(row) for row in places.iter_rows(named=True)),
        own.state_intervals,
        own.state_evidence.join(visible.select("app_log_id", "time"), on="app_log_id"),
        places,
    )


def _logs(rows: pl.DataFrame) -> Iterator[Log]:
    named = rows.select("position", "app_log_id", "time", pl.format("{}.{}", "app", "api"), "record")
    return (Log(*row) for row in named.iter_rows())


class _Told:
    """The rows of one user, found by what they are about."""

    def __init__(self, own: StateTables, tokens: Tokens) -> None:
        self._full = own.full
        self._tasks = _grouped(own.tasks.sort("item"), "checkpoint_id")
        self._items = _first(own.gold_items, "item")
        self._parts = _grouped(own.gold_parts.sort("place"), "item")
        self._units = _grouped(own.units.sort(ARM), "item")
        self._answers = _first(own.answers, *ARM, "item")
        self._agreed = _grouped(own.agreed.sort("place"), *ARM, "item")
        self._labels = _first(own.labels, *ARM, "item")
        self._verdicts = _grouped(own.verdicts, *ARM, "item")
        self._scores = _first(own.judged, *ARM, "item")
        self._failures = _first(own.failures, *ARM, "item")
        said = own.contexts.unique(["method", "budget", "checkpoint_id", "item"], maintain_order=True)
        self._contexts = _grouped(said.sort("method", "budget"), "checkpoint_id", "item")
        self._calls = _Calls(own, tokens)

    def checkpoint(self, row: Row) -> Checkpoint:
        name = row["checkpoint_id"]
        return Checkpoint(
            row["checkpoint_index"],
            name,
            row["as_of"],
            row["n_visible"],
            row["last_log_id"],
            row["cut_by"],
            self._delivered(name, WHOLE),
            tuple(self._question(task, number) for number, task in enumerate(self._tasks.get((name,), []), start=1)),
        )

    def _delivered(self, checkpoint: str, item: str) -> tuple[Delivered, ...]:
        return tuple(
            Delivered(
                **{name: row[name] for name in _DELIVERED},
                logs=None if row["retrieved"] is None else tuple(row["retrieved"]),
            )
            for row in self._contexts.get((checkpoint, item), [])
        )

    def _question(self, task: Row, number: int) -> Question:
        item = task["item"]
        gold = self._items[(item,)]
        return Question(
            name=item,
            number=number,
            in_full=item in self._full,
            **{name: gold[name] for name in ("task", "family", "truth", "expectation", "reference")},
            **{name: gold[name] or "" for name in ("state_key", "service_family")},
            asked=tuple(_asked(task)),
            fields=tuple(
                Field(
                    part=one["part"],
                    kind=one["kind"],
                    gate=one["gate"],
                    criterion=one["criterion"] or "",
                    expected=one["expected"],
                    of_state=one["of_state"] or "",
                )
                for one in self._parts.get((item,), [])
            ),
            roles=_roles(gold),
            tagged=gold["evidence_previous"] is not None and gold["distractors"] is not None,
            delivered=self._delivered(task["checkpoint_id"], item),
            answers=tuple(map(self._answer, self._units.get((item,), []))),
        )

    def _answer(self, unit: Row) -> Answer:
        arm = tuple(unit[name] for name in ARM)
        key = (*arm, unit["item"])
        told = self._answers.get(key, {})
        ok = unit["status"] == "ok"
        return Answer(
            **{name: unit[name] for name in ARM},
            status=unit["status"],
            reason=told.get("reason") or "",
            answer=told.get("answer") if ok else None,
            cited=tuple(told["evidence"]) if ok else (),
            fields=tuple(Agreement(*(one[name] for name in _AGREED)) for one in self._agreed.get(key, [])),
            mechanical=unit["mechanical"],
            points=unit["points"],
            evidence=(unit["evidence_precision"], unit["evidence_recall"], unit["evidence_f1"]),
            stale=unit["stale_evidence"],
            label=self._labels[key]["label"] if key in self._labels else "",
            failure=Failure(*(self._failures[key][name] for name in _SAID)) if key in self._failures else None,
            score=self._scores[key]["score"] if key in self._scores else None,
            verdicts=tuple(Verdict(*(one[name] for name in _MARKS)) for one in self._verdicts.get(key, [])),
            call=self._calls.of(key, told.get("call")),
        )


def _asked(task: Row) -> Iterator[tuple[str, str]]:
    for name, title in ASKED.items():
        # Most are searched for as they are asked.
        if task[name] and not (name == "retrieval_query" and task[name] == task["question_text"]):
            yield title, task[name]


def _roles(item: Row) -> dict[str, Role]:
    """Role of every log that has one; a log of the current value is that, whatever else it shows."""
    found: dict[str, Role] = {}
    named: tuple[tuple[str, Role], ...] = (
        ("evidence", "current"), ("evidence_previous", "earlier"), ("distractors", "distractor"),
    )  # fmt: skip
    for column, role in named:
        for log in item[column] or []:
            found.setdefault(log, role)
    return found


def _grouped(rows: pl.DataFrame, *by: str) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows.iter_rows(named=True):
        found.setdefault(tuple(row[name] for name in by), []).append(row)
    return found


def _first(rows: pl.DataFrame, *by: str) -> dict[tuple[Any, ...], Row]:
    return {key: several[0] for key, several in _grouped(rows, *by).items()}


class _Calls:
    """The model calls of readers, prompts made again as they were sent."""

    def __init__(self, own: StateTables, tokens: Tokens) -> None:
        self._own, self._tokens = own, tokens
        self._rows = _first(own.model_calls, *ARM, "key")
        self._prompts: dict[tuple[Any, ...], dict[str, tuple[Message, ...]]] = {}

    def of(self, answer: tuple[Any, ...], key: str | None) -> Call | None:
        """The call behind an answer (arm, item); its prompt only where it is the one that was sent, by its hash."""
        account = None if key is None else self._rows.get((*answer[:-1], key))
        if account is None:
            return None
        messages = self._prompted(answer[:-1]).get(answer[-1], ())
        same = bool(messages) and prompt_hash(messages) == account["prompt"]
        return Call(
            **{name: account[name] for name in _CALL},
            error=account["error"],
            messages=tuple((one.speaker, one.text) for one in messages) if same else (),
            reply=self._own.replies.get(account["key"]),
        )

    def _prompted(self, arm: tuple[Any, ...]) -> dict[str, tuple[Message, ...]]:
        """Item → messages of an arm."""
        if arm not in self._prompts:
            method, reader, budget = arm
            asked = self._own.answers.filter(
                pl.col("method") == method, pl.col("reader") == reader, pl.col("budget") == budget
            )
            mine = self._own.contexts.filter(pl.col("method") == method, pl.col("budget") == budget)
            questions = self._own.tasks.join(asked, on=ITEM, how="semi")
            # What the endpoint holds decides whether a prompt is sent, never what it says.
            settings = AskingSettings()
            self._prompts[arm] = {
                one.question["item"]: tuple(request(one, settings).messages)
                for one in prompted(mine, questions, self._tokens, settings)
            }
        return self._prompts[arm]
