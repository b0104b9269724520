"""The memories of an arm on app logs: what their contexts depend on, and how these are made."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
import polars as pl

from assets.applog_inputs import GivenAppLogs
from assets.asking import asking, progress_log, said
from assets.experiment_costs import engine_of
from assets.publishing import Made
from pipelines.applogs.contenders import RAG
from pipelines.applogs.contexts import contexts
from pipelines.applogs.peers import rag_top20
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.hashing import digest
from pipelines.memory.contract import MethodSpec
from pipelines.memory.replay import Served
from resources.dag import Models
from resources.embedder import StaticEmbedder
from resources.memories import KeptMemories
from resources.models.budget import Amount
from resources.plugin_process import open_method
from resources.tokenizer import load_tokens

READ = ("app_logs", "checkpoints", "tasks")


def stated_of(given: GivenAppLogs, models: Models, method: MethodSpec | None) -> dict[str, Any]:
    """What contexts depend on besides logs and questions; empty for an arm that is shown none here."""
    if method is None:
        own = {"method": RAG, "tokens": load_tokens().sha256, "embedder": StaticEmbedder().fingerprint}
        return own if given.arm.method == RAG else {}
    names = given.names(method.needs)
    return {
        "method": method.fingerprint(method.config_model(**given.arm.config)),
        "version": method.version,
        "wall": method.wall,
        "budget": given.arm.budget,
        "tokens": load_tokens().sha256,
        "model": [models.access.fingerprint(role, name) for role, name in names.items()],
        "embedder": StaticEmbedder().fingerprint if "embedder" in method.needs else "",
        "prompts": method.prompts,
        "weak_builder": any(models.access.endpoint(role, name).weak for role, name in names.items()),
    }


def content_of(given: GivenAppLogs, method: MethodSpec | None) -> dict[str, Any]:
    """Logical hashes of the tables that contexts are made from."""
    stream = "own" if method is None else method.stream
    return {name: given.histories_content(name, "own" if name == "tasks" else stream) for name in READ}


def made_contexts(
    context: dg.AssetExecutionContext,
    given: GivenAppLogs,
    models: Models,
    method: MethodSpec | None,
    stated: Mapping[str, Any],
    spent: list[Amount],
) -> Made:
    """Table `contexts` of an arm on its shard."""
    if method is not None:
        made = _remembered(context, given, models, method, spent)
    elif stated and given.questions.height:
        made = rag_top20(given["app_logs"], given["checkpoints"], given.questions, StaticEmbedder(), load_tokens())
    else:
        made = APPLOG_TABLES["contexts"].empty()
    beside = {"tasks": given.questions, "app_logs": given["app_logs"], "checkpoints": given["checkpoints"]}
    return Made({"contexts": made}, extra=stated, companions=beside)


def _remembered(
    context: dg.AssetExecutionContext, given: GivenAppLogs, models: Models, method: MethodSpec, spent: list[Amount]
) -> pl.DataFrame:
    """Build the users' memories from checkpoint to checkpoint, ask each there; those that cost calls are kept."""
    names, asked = given.names(method.needs), given.questions
    with ExitStack() as stack:
        served, threads = Served(embedder=StaticEmbedder()), 1
        total = asked.select("user_id", "checkpoint_id").n_unique()
        tell = progress_log(context, "checkpoints", total, lambda: "no model calls")
        if names and asked.height:
            stack.enter_context(asking())
            engine = stack.enter_context(engine_of(given, models, names))
            served = replace(served, **{str(role): engine.model(role, given.scope("build")) for role in names})
            # Kept apart by scope: calls that were made for another sample come from the cache, and are accounted for.
            folder = given.store.folder / "memories" / digest(given.scope("build"))
            threads = engine.rules.concurrency
            stack.callback(lambda: spent.append(engine.spent))
            tell = progress_log(context, "checkpoints", total, lambda: said(engine.spent))
        else:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="memories-")))
        # A plug-in is asked in another child than it is built in: nothing passes but what it wrote down.
        apart = method.wall != "builtin"
        return contexts(
            method,
            method.config_model(**given.arm.config),
            given.streams(method.stream),
            asked,
            given.arm.budget,
            load_tokens(),
            kept=KeptMemories(folder),
            users=given.own_users,
            asked=stack.enter_context(open_method(method.name, given.store.hidden)) if apart else None,
            served=served,
            seed=given.spec.seed,
            threads=threads,
            progress=tell,
        )
