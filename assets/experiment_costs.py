"""Model calls of an experiment: engines within its limits, and what its arms' calls took."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import polars as pl

from assets.arms import GivenArm, scope_of
from pipelines.evaluation.experiment import Limits
from pipelines.evaluation.tables import STEPS
from pipelines.models import Role
from pipelines.schema import TABLES, conform
from resources.dag import Models
from resources.experiment_spec import experiment_key, load_experiment
from resources.models.accounting import paid_scope
from resources.models.budget import Amount
from resources.models.engine import ModelEngine
from resources.models.ledger import Ledger
from resources.store import NotPublished


@contextmanager
def engine_of(given: GivenArm, models: Models, names: Mapping[Role, str]) -> Iterator[ModelEngine]:
    """An engine for the arm's models, within what the experiment's limits leave.

    Raises `ModelStopped` at the end when an endpoint answered no call at all: what was made of that is no result.
    """
    limits = given.spec.limits
    spent = Amount() if limits == Limits() else spent_on(given, models)
    with models.access.open(names, limits, spent, _payer(given)) as engine:
        yield engine
        engine.require_answer()


def spent_on(given: GivenArm, models: Models) -> Amount:
    """What the experiment has spent on its arms on this home so far.

    Cached replies are left out, and what other experiments spent on memories that they share with it.
    """
    payer, shards = _payer(given), given.store.shards
    bound = load_experiment(given.store.catalog.store, payer)
    scopes = {scope_of(spec, step, shard, shards) for spec in bound.arms for step in STEPS for shard in shards}
    with ledger_of(models) as ledger:
        rows = [ledger.calls(paid_scope(scope, payer)) for scope in sorted(scopes)]
    made = pl.concat(rows)
    prompt, reply, cost = made.select("prompt_tokens", "reply_tokens", "cost").sum().row(0)
    return Amount(made.height, prompt + reply, cost)


def _payer(given: GivenArm) -> str:
    return experiment_key(given.arm.experiment, given.arm.release)


@contextmanager
def ledger_of(models: Models) -> Iterator[Ledger]:
    """The account of model calls of the home folder."""
    ledger = Ledger(models.access.ledger)
    try:
        yield ledger
    finally:
        ledger.close()


def calls_of(given: GivenArm, models: Models) -> pl.DataFrame:
    """Table `model_calls`: every call that the arm's memory and readings needed on this shard.

    What was published of the same scopes stays where the account was moved away: no number depends on that file.
    """
    told = _published(given)
    if not models.access.ledger.is_file():
        return told
    with ledger_of(models) as ledger:
        found = [ledger.calls(scope).with_columns(step=pl.lit(step)) for step, scope in scopes_of(given).items()]
    rows = conform(pl.concat(found).lazy(), "model_calls").collect()
    lost = told.join(rows, on=["step", "key"], how="anti")
    return conform(pl.concat([rows, lost]).lazy(), "model_calls").collect()


def scopes_of(given: GivenArm) -> dict[str, str]:
    """Step → what the account files its calls of this shard under."""
    return {step: given.scope(step) for step in STEPS}


def _published(given: GivenArm) -> pl.DataFrame:
    try:
        found = given.store.catalog.require("model_calls", given.axes)
    except NotPublished:
        return TABLES["model_calls"].empty()
    said = found.extra.get("scopes", {})
    same = [step for step, scope in scopes_of(given).items() if said.get(step) == scope]
    return given.store.catalog.scan_published([found]).filter(pl.col("step").is_in(same)).collect()
