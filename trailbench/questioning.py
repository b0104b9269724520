"""An experiment on a release of app logs: bound to it, estimated, and told to people."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from assets.applog_board_inputs import GivenAppLogBoard
from assets.applog_inputs import asking_settings
from assets.judges import judge_model, rubric_judge
from pipelines.applogs import asking
from pipelines.applogs.answers import ITEM
from pipelines.applogs.board_report import EXPECTED
from pipelines.applogs.board_tables import ALL
from pipelines.applogs.contenders import EXTRACTIVE, LLM, PEERS, RULE
from pipelines.applogs.contexts import WHOLE, Streams
from pipelines.applogs.experiment import arms, asked, experiment_readers, memories, refuse, slice_of, until
from pipelines.applogs.extracting import fingerprint as extractive_fingerprint
from pipelines.applogs.failures import FAILURE, failure_parts
from pipelines.applogs.judging import JUDGES, drawn_items
from pipelines.applogs.peers import TOP
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.scores import judge_parts
from pipelines.applogs.tables import table_of
from pipelines.evaluation.experiment import Experiment
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.memory.registry import builtin_methods
from pipelines.memory.rendering import visit_lines
from pipelines.models import ROLES, Role
from resources.dag import GoldStore, InputStore, Models
from resources.experiment_spec import ArmSpec, BoundExperiment, memory_fingerprints
from resources.home import Home
from resources.models.budget import Amount
from resources.models.estimate import Workload
from resources.models.prices import NANO
from resources.plugin_process import open_method, plugin_entries
from resources.tokenizer import load_tokens
from trailbench.console import out, plain, print_table
from trailbench.exporting import ExportError
from trailbench.judging import VERDICT_TOKENS, judges_of, marked_rows

REPLY_TOKENS, LIST_TOKENS = 120, 1_200
"""Of an answer with its evidence, and of a list of many, about."""
REPLY_SHARE = 0.5
"""How much of the room for a reply a memory's call is taken to use."""
LEGEND = """
mechanical: agreement of the answers' fields with the truth, by rule; score: core and detail by the judge; means over
users, with 95 % intervals; unanswered questions count 0 (an abstention is right where nothing is true); the reader
extractive asks no model and is weak
"""
TASK_NAMES = {NO_KEY: "without a key"}
"""Tasks that people call otherwise than tables do."""


def bind_questions(
    home: Home, experiment: Experiment, key: str, release: str, card: Mapping[str, Any]
) -> BoundExperiment:
    """An experiment on a frozen release of app logs, by partition key and name, its users and questions sampled.

    Raises `ExportError` when the release has no question to ask, and `BadExperiment` for what it does not know.
    """
    refuse(experiment, {*builtin_methods(), *(entry.name for entry in plugin_entries())})
    at = {"release": key}
    tasks, checkpoints = (home.store.scan(name, at, home.shards) for name in ("tasks", "checkpoints"))
    sampled = slice_of(tasks, checkpoints, experiment)
    if not sampled.users:
        why = "; ".join((card.get("refusals") or {}).values()) or "no user has a question to ask"
        raise ExportError(f"release {release} has nothing to ask: {why}")
    models = Models().access
    told = memory_fingerprints(memories(experiment), experiment.models, models.fingerprint, InputStore().hidden)
    cells = arms(experiment, release, told, _readers(experiment))
    judges = judges_of(experiment, models, JUDGES)
    questions = asked(tasks.collect(), checkpoints.collect(), sampled, sampled.users)
    drawn = drawn_items(questions, experiment)
    more = (experiment.seed, experiment.models, experiment.limits, judges, drawn, experiment.batch_days)
    return BoundExperiment(experiment, release, key, sampled, tuple(ArmSpec(arm, key, sampled, *more) for arm in cells))


def _readers(experiment: Experiment) -> dict[str, str]:
    """Fingerprints of the readers, with the prompts of those that ask a model."""
    models, found = Models().access, {}
    for reader in experiment_readers(experiment):
        who, _, named = reader.partition(":")
        if who == LLM:
            model = models.fingerprint("reader", named or experiment.models.get("reader", ""))
            found[reader] = asking.fingerprint(model, load_tokens(), asking_settings(models))
        elif who == EXTRACTIVE:
            found[reader] = extractive_fingerprint()
    return found


def workloads(home: Home, bound: BoundExperiment) -> Iterator[tuple[Role, str, Workload]]:
    """What the arms that ask a model will ask it: role, model name, calls and tokens. Nothing is taken to be cached.

    Prompts are counted with a context as long as the budget; one without a budget as `TOP` logs of the mean length.
    Judges are taken to be asked about every sampled question, as if each were answered at the length of the right
    answer, and wrongly.
    """
    at = {"release": bound.release_key}
    read = ("app_logs", "checkpoints", "tasks")
    logs, places, tasks = (bound.slice.of(home.store.scan(name, at, home.shards)).collect() for name in read)
    questions = asked(tasks, places, bound.slice, bound.slice.users)
    length = _lengths(logs)
    yield from _answers(bound, questions, length)
    yield from _judges(home, bound, questions, length)
    built: dict[str, ArmSpec] = {spec.arm.memory: spec for spec in bound.arms if spec.arm.reader != RULE}
    streams = Streams.of(logs, until(places, bound.slice), bound.experiment.batch_days)
    for spec in built.values():
        if spec.arm.method not in PEERS:
            yield from _memory(spec, streams)


def _lengths(logs: pl.DataFrame) -> Callable[[ArmSpec], int]:
    """Tokens of what an arm's memory delivers to a question, about."""
    lines = load_tokens().counts(logs.sample(min(logs.height, 200), seed=0)["record"].to_list())
    top = TOP * sum(lines) // max(len(lines), 1)
    nothing = {name for name, spec in builtin_methods().items() if spec.reads_nothing}
    return lambda spec: 0 if spec.arm.method in nothing else spec.arm.budget or top


def _answers(
    bound: BoundExperiment, questions: pl.DataFrame, length: Callable[[ArmSpec], int]
) -> Iterator[tuple[Role, str, Workload]]:
    specs = [spec for spec in bound.arms if spec.arm.reader.partition(":")[0] == LLM]
    if not specs:
        return
    tokens, settings = load_tokens(), asking_settings(Models().access)
    bare = questions.select("user_id", "checkpoint_id").unique().with_columns(item=pl.lit(WHOLE), text=pl.lit(""))
    sent = list(asking.prompted(table_of("contexts", bare.to_dicts()), questions, tokens, settings))
    fixed = sum(one.tokens for one in sent)
    replies = sum(LIST_TOKENS if one.question["task"] == NO_KEY else REPLY_TOKENS for one in sent)
    for spec in specs:
        name = spec.arm.reader.partition(":")[2] or spec.models.get("reader", "")
        yield "reader", name, Workload(len(sent), fixed + length(spec) * len(sent), replies)


def _judges(
    home: Home, bound: BoundExperiment, questions: pl.DataFrame, length: Callable[[ArmSpec], int]
) -> Iterator[tuple[Role, str, Workload]]:
    one, at = bound.arms[0], {"release": bound.release_key}
    if not one.judges:
        return
    drawn = pl.DataFrame(one.judged, schema={"user_id": pl.String, "item": pl.String}, orient="row")
    tasks = questions.join(drawn, on=ITEM, how="semi")
    items, parts = (
        home.gold.scan(table, at, home.shards).collect().join(drawn, on=ITEM, how="semi")
        for table in ("gold_items", "gold_parts")
    )
    right = items.filter(pl.col("expectation") == "value").with_columns(status=pl.lit("ok"), answer="reference")
    bare = tasks.select("user_id", "checkpoint_id").unique().with_columns(item=pl.lit(WHOLE), text=pl.lit(""))
    # Arms that share what was delivered share what is asked of it.
    delivered = {spec.arm.readout: spec for spec in bound.arms if spec.arm.reader != RULE}.values()
    for judge in one.judges:
        name, models = judge_model(judge, one.models), Models().access
        if judge.partition(":")[0] == FAILURE.name:
            shown, asked_of = failure_parts(tasks, parts, bare, right), [length(spec) for spec in delivered]
        else:
            given = parts.with_columns(given="expected")
            shown, asked_of = judge_parts(tasks, given, right), [0] * len(bound.arms)
        prompts = rubric_judge(judge, models.unasked("judge", name), models).prompts_for(shown)
        sent, said = int(prompts["tokens"].sum()), shown.height * VERDICT_TOKENS
        for n in asked_of:
            yield "judge", name, Workload(prompts.height, sent + n * prompts.height, said)


def _memory(spec: ArmSpec, streams: Streams) -> Iterator[tuple[Role, str, Workload]]:
    with open_method(spec.arm.method, InputStore().hidden) as method:
        roles = [role for role in ROLES if role in method.needs]
        if not roles:
            return
        config: Any = method.config_model(**spec.arm.config)
        tokens, calls, prompt = load_tokens(), 0, 0
        assert method.most_calls is not None, f"{method.name} asks a model and does not say how often"
        for user in streams.checkpoints:
            for _, batches in streams.segments(user):
                for batch in batches:
                    made, sent = method.most_calls(config, sum(tokens.counts(visit_lines(batch.visits))))
                    calls, prompt = calls + made, prompt + sent
        name = spec.arm.builder or spec.models.get(roles[0], "")
        yield roles[0], name, Workload(calls, prompt, round(calls * config.reply_tokens * REPLY_SHARE))


def summary(bound: BoundExperiment, made: Amount) -> dict[str, Any]:
    """What an evaluation did: questions, statuses, model calls `made` now, the main rows of the board, the report."""
    given = GivenAppLogBoard(InputStore(), GoldStore(), bound.key)
    units, calls = given.of_arms("applog_units"), given.board("costs")
    return {
        "release": bound.release,
        "experiment": bound.experiment.name,
        "users": len(bound.slice.users),
        "units": units.height,
        "statuses": dict(units.group_by(pl.col("status").cast(pl.String)).len().sort("status").iter_rows()),
        "model_calls": made.calls,
        "cache_hits": max(int(calls["n_calls"].sum()) - made.calls, 0),
        "tokens": made.tokens,
        "cost": None if made.calls and calls["cost"].has_nulls() else made.cost / NANO,
        "rows": main_rows(given.board("applog_board")).to_dicts(),
        **({"judged": marked_rows(given)} if given.judges_by(CORE_DETAIL) else {}),
        "report": str(given.results.folder / "report.html"),
        "leaderboard": str(given.results.folder / "applog_board.csv"),
    }


def main_rows(board: pl.DataFrame) -> pl.DataFrame:
    """One row a board, task, expectation and method, best first: its first metric with interval, and evidence F1."""
    whole = board.with_columns(pl.col("family", "metric").cast(pl.String)).filter(
        (pl.col("place") == 0) & (pl.col("family") == ALL)
    )
    at = ["board", "task", "expectation"]
    judged = (pl.col("metric") == "score").any()
    first = whole.group_by(at).agg(
        pl.when(judged).then(pl.lit("score")).otherwise(pl.lit("mechanical")).alias("metric")
    )
    evidence = whole.filter(pl.col("metric") == "evidence_f1").select(*at, "method", evidence_f1="value")
    columns = ("rank", "method", "reader", "value", "low", "high", "evidence_f1", "coverage", "n_items", "flags")
    rows = whole.join(first, on=[*at, "metric"]).join(evidence, on=[*at, "method"], how="left")
    return rows.select(*at, "metric", *columns).sort(*at, "rank", "method", nulls_last=True)


COLUMNS = ("method", "value", "evidence F1", "answered", "questions", "flags")


def print_boards(bound: BoundExperiment) -> None:
    """One table a board, task and expectation; flags as numbers, in full below."""
    rows = main_rows(GivenAppLogBoard(InputStore(), GoldStore(), bound.key).board("applog_board"))
    for cell, mine in rows.group_by("board", "task", "expectation", "metric", maintain_order=True):
        board, task, expectation, metric = map(str, cell)
        notes = list(dict.fromkeys(flag for flag in mine["flags"] if flag))
        title = (
            f"{TASK_NAMES.get(task, task.replace('_', ' ')).capitalize()}, {EXPECTED[expectation]} · {board} · {metric}"
        )
        print_table(title, list(COLUMNS), [_shown(row, notes) for row in mine.to_dicts()])
        for number, note in enumerate(notes, start=1):
            out.print(plain(f"  [{number}] {note}"))
    out.print(LEGEND, soft_wrap=True)


def _shown(row: Mapping[str, Any], notes: list[str]) -> list[object]:
    value = "none" if row["value"] is None else f"{row['value']:.3f}"
    if row["low"] is not None:
        value += f" ({row['low']:.3f}–{row['high']:.3f})"
    flag = f"[{notes.index(row['flags']) + 1}]" if row["flags"] else ""
    return [row["method"], value, row["evidence_f1"], row["coverage"], row["n_items"], flag]
