"""From the tables of an experiment to the trail of a user (ours)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl

from pipelines.evaluation.drilldown.evidence import Evidence, Told
from pipelines.evaluation.drilldown.trail import (
    Answer,
    Batch,
    Call,
    Candidate,
    Fate,
    Line,
    Moment,
    Said,
    Trail,
    Unit,
    Visit,
)
from pipelines.evaluation.drilldown.units import UnitName
from pipelines.evaluation.readers import PLACEHOLDER
from pipelines.evaluation.readers.llm import LlmReader, label_names
from pipelines.evaluation.scores import ANSWERED
from pipelines.memory.contract import VISIT_COLUMNS, Tokens
from pipelines.memory.rendering import ACTIONS, category
from pipelines.models import Message, Model, prompt_hash
from pipelines.schema import TABLES

_ARM = ["method", "reader", "budget"]
_CALL = ("step", "unit", "model", "key", "status", "cached", "prompt_tokens", "reply_tokens", "latency_ms", "retries")


@dataclass(frozen=True)
class TrailTables:
    """Tables of some users of an experiment, as their names say.

    Those of arms carry `method` and `budget`, and `readings` and `model_calls` also `reader`; `model_calls` is that of
    `calls_by_user`.
    """

    visits: pl.DataFrame
    batches: pl.DataFrame
    transitions: pl.DataFrame
    taxonomy: pl.DataFrame
    pools: pl.DataFrame
    pool_gold: pl.DataFrame
    units: pl.DataFrame
    readouts: pl.DataFrame
    claims: pl.DataFrame
    readings: pl.DataFrame
    model_calls: pl.DataFrame
    replies: Mapping[str, str]
    """Key of a model call → its reply."""
    borrowed: frozenset[str] = frozenset()
    """Methods that were fed another user's visits: the user's own are no evidence for them."""

    def of(self, user: str) -> "TrailTables":
        """The tables of one user."""
        own: dict[str, Any] = {
            one.name: frame.filter(pl.col("user_id") == user)
            for one in fields(self)
            if isinstance(frame := getattr(self, one.name), pl.DataFrame) and "user_id" in frame.columns
        }
        return replace(self, **own)


def unit_names(pools: pl.DataFrame) -> list[UnitName]:
    """Every unit of table `pools`, sorted."""
    rows = pools.select("user_id", "transition_index", pl.col("pool").cast(pl.String)).unique().sort(pl.all())
    return [UnitName(*row) for row in rows.iter_rows()]


def calls_by_user(calls: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of `model_calls` of memories and readers, with the `user_id` that a call was made for."""
    # `<user>/<transition>/<pool>` of readers; `<method>:<user>:<batch>:<step>` of memories. Either may hold its sign.
    read = pl.col("unit").str.replace(r"/[^/]*/[^/]*$", "")
    build = pl.col("unit").str.replace(r"^[^:]*:", "").str.replace(r":[^:]*:[^:]*$", "")
    step = pl.col("step").cast(pl.String)
    return calls.filter(step.is_in(["build", "read"])).with_columns(
        pl.when(step == "read").then(read).otherwise(build).alias("user_id")
    )


def trail(user: str, tables: TrailTables, tokens: Tokens) -> Trail:
    """What is known of a user; `tokens` is the counter that readers measured prompts by."""
    own = tables.of(user)
    visits = (
        own.visits.sort("visit_index")
        .join(own.taxonomy, on=["l1", "l2"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(text=pl.lit(None, pl.String))
    )
    evidence = Evidence(visits.select(pl.col(name).cast(kind) for name, kind in VISIT_COLUMNS.items()))
    batches = tuple(
        Batch(row["batch_index"], row["start"], row["end"], row["first_visit"], row["n_visits"])
        for row in own.batches.sort("batch_index").iter_rows(named=True)
    )
    calls = _Calls(own, tokens)
    moments = [
        Moment(
            index=row["transition_index"],
            **{name: row[name] for name in ("history_end", "target_start", "target_end")},
            n_visits=(known := _known(batches, row["transition_index"])),
            said=tuple(_said(own, row["transition_index"], evidence, known)),
            built=calls.of_batch(row["transition_index"]),
            units=tuple(_units(own, row["transition_index"], calls)),
        )
        for row in own.transitions.sort("transition_index").iter_rows(named=True)
    ]
    return Trail(user, tuple(_visits(visits, batches, evidence.lines)), batches, tuple(moments))


def _known(batches: tuple[Batch, ...], transition: int) -> int:
    return next(one.first + one.n for one in batches if one.index == transition)


def _visits(visits: pl.DataFrame, batches: tuple[Batch, ...], lines: list[str]) -> Iterator[Visit]:
    strongest = pl.coalesce(pl.when(pl.col(name) > 0).then(pl.lit(word)) for name, word in ACTIONS.items())
    rows = visits.select("visit_index", "start", strongest.fill_null("other").alias("action"))
    of_batch = {number: one.index for one in batches for number in range(one.first, one.first + one.n)}
    for (number, start, action), line in zip(rows.iter_rows(), lines, strict=True):
        # An experiment may ask about the first batches only.
        if number in of_batch:
            yield Visit(number, of_batch[number], start, action, line)


def _said(own: TrailTables, transition: int, evidence: Evidence, known: int) -> Iterator[Said]:
    at = pl.col("transition_index") == transition
    claims = own.claims.filter(at)
    rows = own.readouts.filter(at).unique(["method", "budget"], maintain_order=True).sort("method", "budget")
    for row in rows.iter_rows(named=True):
        mine = (pl.col("method") == row["method"]) & (pl.col("budget") == row["budget"])
        held = claims.filter(mine).unique("claim", maintain_order=True).to_dicts()
        yield Said(
            **{name: row[name] for name in ("method", "budget", "tokens", "tokens_cut", "state_hash")},
            lines=tuple(_lines(row, held, evidence, known, row["method"] in own.borrowed)),
        )


def _lines(
    row: Mapping[str, Any], held: list[dict[str, Any]], evidence: Evidence, known: int, borrowed: bool
) -> Iterator[Line]:
    active = {one["line"]: one for one in held if one["state"] == "active"}
    told: Told = {line: tuple(one["visits"]) for line, one in active.items()}
    spoken: set[str] = set()
    for slot in ("description", "tree"):
        text = row[slot] or ""
        for line in text.split("\n") if text.strip() not in ("", PLACEHOLDER) else []:
            source, visits = ("", ()) if borrowed else evidence.of(line, known, told)
            claim = active.get(line) if source == "claim" else None
            spoken.add(line)
            yield _line(slot, line, source, visits, claim)
    for one in held:
        if one["line"] not in spoken or one["state"] != "active":
            yield _line("at rest", one["line"], "claim", tuple(one["visits"]), one)


def _line(slot: Any, text: str, source: Any, visits: tuple[int, ...], claim: dict[str, Any] | None) -> Line:
    held = {} if claim is None else {name: claim[name] for name in ("claim", "state", "confidence")}
    return Line(slot, text, source, visits, **held)


def _units(own: TrailTables, transition: int, calls: "_Calls") -> Iterator[Unit]:
    names = own.taxonomy.select(
        "l1", "l2", pl.coalesce("l1_name", "l1").alias("n1"), pl.coalesce("l2_name", "l2").alias("n2")
    )
    asked = (
        own.pools.filter(pl.col("transition_index") == transition)
        .join(own.pool_gold.drop("l1", "l2"), on=["user_id", "transition_index", "pool", "position"])
        .join(names, on=["l1", "l2"], how="left", nulls_equal=True)
        .sort("pool", "position")
    )
    for (pool,), rows in asked.group_by("pool", maintain_order=True):
        labels = label_names(rows.height)
        candidates = tuple(
            Candidate(row["position"], label, category(row["n1"] or row["l1"], row["n2"] or row["l2"]), *_role(row))
            for row, label in zip(rows.iter_rows(named=True), labels, strict=True)
        )
        name = UnitName(rows["user_id"][0], transition, str(pool))
        yield Unit(
            str(name),
            str(pool),
            rows["n_choose"][0],
            sum(one.role in ("matched", "history") for one in candidates),
            candidates,
            tuple(_answers(own, name, candidates, calls)),
        )


def _role(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["role"], row["familiarity"]


def _answers(own: TrailTables, name: UnitName, candidates: tuple[Candidate, ...], calls: "_Calls") -> Iterator[Answer]:
    here = (pl.col("transition_index") == name.place) & (pl.col("pool").cast(pl.String) == name.asked)
    scored = own.units.filter(here).join(
        own.readings.filter(here).select(*_ARM, "reason", "chosen", "scores", "call"), on=_ARM, how="left"
    )
    for row in scored.sort(_ARM).iter_rows(named=True):
        counted = _counted(row)
        scores = [] if row["scores"] is None else row["scores"]
        ranking = sorted(range(len(scores)), key=lambda place: (-scores[place], place)) if scores else counted
        ranks = {place: number for number, place in enumerate(ranking, start=1)}
        yield Answer(
            method=row["method"],
            reader=row["reader"],
            budget=row["budget"],
            status=row["status"],
            reason=row["reason"] or "",
            n_hit=row["n_hit"],
            n_exposed=row["n_exposed"],
            fates=tuple(_fate(one.role, one.position in counted) for one in candidates),
            ranks=tuple(ranks.get(one.position) for one in candidates),
            scores=tuple(scores),
            call=calls.of_reading(name, row),
        )


def _counted(row: Mapping[str, Any]) -> list[int]:
    """The choices that scoring counts: of an answer that can be used, the first distinct ones."""
    chosen = row["chosen"] if row["status"] in ANSWERED and row["chosen"] is not None else []
    return list(dict.fromkeys(chosen))[: row["n_positives"]]


def _fate(role: str, chosen: bool) -> Fate:
    if role == "positive":
        return "chosen" if chosen else "missed"
    if not chosen:
        return ""
    return "exposed" if role in ("matched", "history") else "other"


class _Calls:
    """The model calls of one user, prompts made again as they were sent."""

    def __init__(self, own: TrailTables, tokens: Tokens) -> None:
        self._own, self._tokens = own, tokens
        rows = own.model_calls.iter_rows(named=True)
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {(row["method"], row["key"]): row for row in rows}

    def of_batch(self, batch: int) -> tuple[Call, ...]:
        """Calls by which memories took in a batch; their prompts are not kept."""
        of = str(batch)
        mine = [row for row in self._rows.values() if row["step"] == "build" and row["unit"].split(":")[-2] == of]
        return tuple(self._call(row, ()) for row in sorted(mine, key=lambda row: (row["method"], row["unit"])))

    def of_reading(self, name: UnitName, row: Mapping[str, Any]) -> Call | None:
        """The call behind a reading. Without its account, it is none that is known."""
        account = self._rows.get((row["method"], row["call"])) if row["call"] else None
        if account is None:
            return None
        messages = self._prompt(name, row)
        same = prompt_hash(messages) == account["prompt"]
        return self._call(account, messages if same else ())

    def _prompt(self, name: UnitName, row: Mapping[str, Any]) -> tuple[Message, ...]:
        here = pl.col("transition_index") == name.place
        mine = here & (pl.col("method") == row["method"]) & (pl.col("budget") == row["budget"])
        readout = self._own.readouts.filter(mine).head(1).select(TABLES["readouts"].schema.names())
        pool = self._own.pools.filter(here, pl.col("pool").cast(pl.String) == name.asked)
        asked = LlmReader(_NOBODY, self._tokens).prompts_for(readout, pool, self._own.taxonomy)
        return tuple(
            message
            for one in asked.iter_rows(named=True)
            for message in (Message("system", one["system"]), Message("user", one["user"]))
        )

    def _call(self, row: Mapping[str, Any], messages: tuple[Message, ...]) -> Call:
        return Call(
            **{name: row[name] for name in _CALL},
            error=row["error"],
            messages=tuple((one.speaker, one.text) for one in messages),
            reply=self._own.replies.get(row["key"]),
        )


_NOBODY: Model = None  # type: ignore[assignment]
"""Prompts are made without a model."""
