"""Proofs over a whole release of app logs, before it is frozen and by `trailbench audit`."""

from collections.abc import Iterator

import polars as pl

from assets.steps import Given
from pipelines.applogs import release_rules as rules
from pipelines.applogs.merging import merged
from pipelines.applogs.rederiving import DERIVED, other_future, rederive, rederive_keys
from pipelines.applogs.step_tables import BROUGHT, DROPPED
from pipelines.hashing import key64_column
from pipelines.schema import TABLES

REDERIVED_USERS = 20
"""Users of the sample at freezing time; `trailbench audit` takes all of them."""

PROOFS = {
    "conserved": "the logs of the release are those of its drops, each once",
    "wall": "the input store holds no table of gold, and no table of it a column that is not declared",
    "whitelist": "a log holds its six fields as its row says, and no record of a generator at any depth",
    "checkpoints": "the last visible log is the one named, and none is later than the moment",
    "one_answer": "questions and right answers are there in pairs, and every right value has parts",
    "names_no_value": "no question shows a text of its right answer, nor a service the name of its state",
    "evidence": "every log that shows something is visible at its checkpoint",
    "no_future": "with everything after a checkpoint of sampled users replaced, nothing frozen for it moves",
    "derived_again": "both truths, questions and answers of sampled users come out of shuffled drops again",
}


def proofs(given: Given, everything: bool, audited: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Name and violations (no row = proven) of every proof, over all rows.

    Only `derived_again` takes a sample of users unless `everything`, and `no_future` one of `audited` users.
    """
    frozen = {name: given[name] for name in (*DERIVED, "state_keys")}
    logs, tasks, items, parts = (frozen[name] for name in ("app_logs", "tasks", "gold_items", "gold_parts"))
    yield "conserved", rules.conserved(given[f"{DROPPED}app_logs"], logs)
    yield "wall", _wall(given)
    yield "whitelist", rules.whitelisted(logs)
    yield "checkpoints", rules.cut_right(frozen["checkpoints"], logs)
    yield "one_answer", rules.one_answer(tasks, items, parts)
    yield "names_no_value", rules.names_no_value(tasks, items, parts)
    yield "evidence", rules.shown_by_then(items, frozen["gold_states"], frozen["checkpoints"], logs)
    few = _of(frozen, _sample(logs, audited))
    brought = {name: merged(name, by_drop) for name, by_drop in drops_of(given, few["app_logs"]).items()}
    yield "no_future", other_future(brought, few, given.settings)
    yield "derived_again", rederived(given) if everything else _sampled_again(given, frozen)


def rederived(given: Given) -> pl.DataFrame:
    """Tables that do not come out of the drops again."""
    frozen = {name: given[name] for name in (*DERIVED, "state_keys")}
    drops = drops_of(given)
    return pl.concat([rederive_keys(drops, frozen), rederive(drops, frozen, given.settings)])


def drops_of(given: Given, logs: pl.DataFrame | None = None) -> dict[str, dict[str, pl.DataFrame]]:
    """Every table of the drops, drop by drop; of the users of `logs` only, where they are given."""
    found: dict[str, dict[str, pl.DataFrame]] = {}
    for name in BROUGHT:
        scans = dict(zip(given.spec.drops, given.by_drop(f"{DROPPED}{name}"), strict=True))
        if logs is not None:
            users = logs.lazy().select("user_id").unique()
            scans = {drop: rows.join(users, on="user_id", how="semi") for drop, rows in scans.items()}
        found[name] = {drop: rows.collect() for drop, rows in scans.items()}
    return found


def _sampled_again(given: Given, frozen: dict[str, pl.DataFrame]) -> pl.DataFrame:
    few = _of(frozen, _sample(frozen["app_logs"], REDERIVED_USERS))
    return rederive(drops_of(given, few["app_logs"]), few, given.settings)


def _of(frozen: dict[str, pl.DataFrame], users: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {
        name: rows.join(users, on="user_id", how="semi", maintain_order="left") if "user_id" in rows.columns else rows
        for name, rows in frozen.items()
    }


def _sample(logs: pl.DataFrame, users: int) -> pl.DataFrame:
    every = logs.select("user_id").unique()
    hashed = every.with_columns(key64_column(every["user_id"], "proof").alias("key"))
    return hashed.sort("key", "user_id").head(users).select("user_id")


def _wall(given: Given) -> pl.DataFrame:
    """What of the input store is gold, or is more than the registry says."""
    store = given.catalogs["store"].store
    found = []
    for name, table in TABLES.items():
        if table.wall == "gold" and (there := store.partitions(name)):
            found.append((name, f"{len(there)} partitions of gold in the input store"))
    for name in ("app_logs", "checkpoints", "tasks", *(f"{DROPPED}{name}" for name in BROUGHT)):
        if TABLES[name].wall == "store":
            more = set(given.lazy(name).collect_schema().names()) - set(TABLES[name].columns)
            found += [(name, f"column {column} is not declared") for column in sorted(more)]
    return pl.DataFrame(found, schema=rules.VIOLATIONS, orient="row")
