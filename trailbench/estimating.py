"""`trailbench estimate`: what the model calls of an experiment take, before any is made."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from typing import Any

import polars as pl

from assets.readers import asks_model, model_reader
from pipelines.memory.contract import MethodSpec
from pipelines.memory.rendering import visit_lines
from pipelines.memory.timeline import Histories, histories
from pipelines.models import ROLES, Role
from resources.dag import InputStore, Models
from resources.experiment_spec import ArmSpec, BoundExperiment
from resources.home import Home
from resources.model_access import ModelAccess
from resources.models.estimate import Workload, estimate
from resources.models.prices import NANO
from resources.plugin_process import open_method
from resources.tokenizer import load_tokens
from trailbench import predicting, questioning
from trailbench.evaluating import release_track
from trailbench.judging import judge_workloads

REPLY_SHARE = 0.5
"""How much of the room for a reply a call is taken to use."""


def estimate_experiment(home: Home, bound: BoundExperiment) -> list[dict[str, Any]]:
    """One row a role and model: `calls` at most, prompt and reply `tokens` and `seconds` about, `cost` in USD or None.

    Nothing of it is taken to be cached. Memories that arms share are counted once.
    """
    models, asked = Models().access, defaultdict[tuple[Role, str], list[Workload]](list)
    track = release_track(home, bound.release_key)
    works = (
        chain(_readings(home, bound, models), _memories(home, bound), judge_workloads(home, bound))
        if track == "commerce"
        else {"onchain": predicting, "applogs": questioning}[track].workloads(home, bound)
    )
    for role, name, work in works:
        asked[role, name].append(work)
    rows = []
    for (role, name), parts in sorted(asked.items()):
        total = Workload(*(sum(getattr(one, field) for one in parts) for field in ("calls", "tokens_in", "tokens_out")))
        (one,) = estimate({role: total}, {role: models.endpoint(role, name)}, models.rules(role))
        rows.append(asdict(one) | {"cost": None if one.cost is None else one.cost / NANO})
    return rows


def _readings(home: Home, bound: BoundExperiment, models: ModelAccess) -> Iterator[tuple[Role, str, Workload]]:
    arms = [spec for spec in bound.arms if asks_model(spec.arm.reader)]
    if not arms:
        return
    at = {"release": bound.release_key}
    pools = bound.slice.of(home.store.scan("pools", at, home.shards)).collect()
    names = home.store.scan("taxonomy", at).collect()
    unread = pools.select("user_id", "transition_index").unique().with_columns(description=pl.lit(""), tree=pl.lit(""))
    prompts = model_reader(models.unasked("reader"), models.rules("reader").context_tokens).prompts_for(
        unread, pools, names
    )
    reply = int(prompts.select(4 + 6 * pl.col("n_choose")).sum().item() or 0)
    prompt = int(prompts["tokens"].sum()) - reply
    for spec in arms:
        with open_method(spec.arm.method, InputStore().hidden) as method:
            readouts = 0 if method.reads_nothing else spec.arm.budget * prompts.height
        yield "reader", _name(spec, "reader"), Workload(prompts.height, prompt + readouts, reply)


def _memories(home: Home, bound: BoundExperiment) -> Iterator[tuple[Role, str, Workload]]:
    memories = {spec.arm.memory: spec for spec in bound.arms}
    given: Histories | None = None
    for spec in memories.values():
        with open_method(spec.arm.method, InputStore().hidden) as method:
            roles = [role for role in ROLES if role in method.needs]
            if not roles:
                continue
            given = given or _histories(home, bound)
            yield roles[0], _name(spec, roles[0]), _memory(method, spec, given, bound.slice.users)


def _memory(method: MethodSpec, spec: ArmSpec, given: Histories, users: tuple[str, ...]) -> Workload:
    config: Any = method.config_model(**spec.arm.config)
    tokens, calls, prompt = load_tokens(), 0, 0
    assert method.most_calls is not None, f"{method.name} asks a model and does not say how often"
    for user in users:
        for position in range(len(given.batches[user])):
            records = sum(tokens.counts(visit_lines(given.batch(user, position).visits)))
            made, sent = method.most_calls(config, records)
            calls, prompt = calls + made, prompt + sent
    return Workload(calls, prompt, round(calls * config.reply_tokens * REPLY_SHARE))


def _histories(home: Home, bound: BoundExperiment) -> Histories:
    at = {"release": bound.release_key}
    scans = {name: home.store.scan(name, at, home.shards) for name in ("visits", "batches", "transitions")}
    tables = {name: bound.slice.of(rows).collect() for name, rows in scans.items()}
    return histories(**tables, taxonomy=home.store.scan("taxonomy", at).collect())


def _name(spec: ArmSpec, role: Role) -> str:
    own: Mapping[str, str] = {"reader": spec.arm.reader.partition(":")[2]}
    return own.get(role, spec.arm.builder) or spec.models.get(role, "")
