"""An experiment on an on-chain release: bound to it, and told to people."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from assets.predictors import GivenPredictor
from assets.wallet_inputs import GivenPredictions
from pipelines.evaluation.experiment import Experiment
from pipelines.hashing import digest_json
from pipelines.models import Role
from pipelines.onchain.baselines import RULE
from pipelines.onchain.experiment import arms, readers_of, slice_of
from pipelines.onchain.prediction_report import in_shares
from pipelines.onchain.scores import LAYERS
from pipelines.onchain.wording import prompt_hash, request
from resources.dag import GoldStore, InputStore, Models
from resources.experiment_spec import ArmSpec, BoundExperiment, save_experiment
from resources.home import Home
from resources.models.budget import Amount
from resources.models.estimate import Workload
from resources.models.prices import NANO
from resources.tokenizer import load_tokens
from trailbench.console import out, plain, print_table
from trailbench.exporting import ExportError

REPLY_TOKENS = 24
"""Of an answer in the form asked for, about."""
LEGEND = """
belief: accuracy of the final side, error of the confidence; trade: accuracy of the direction, error of the amount in
shares; over all targets, those without a usable answer included, with 95 % intervals over wallets
"""
HEADINGS = {"accuracy": "accuracy", "mae": "mean error", "medae": "median error"}


def bind_predictors(
    home: Home, experiment: Experiment, key: str, release: str, card: Mapping[str, Any]
) -> BoundExperiment:
    """An experiment on a frozen on-chain release, by partition key and name, its wallets and targets sampled.

    Raises `ExportError` when the release has no target to ask, and `BadExperiment` for what it does not know.
    """
    cells = arms(experiment, release, _readers(experiment))
    asked = slice_of(home.store.scan("histories", {"release": key}, home.shards), experiment)
    if not asked.users:
        why = "; ".join((card.get("refusals") or {}).values()) or f"no wallet has a target in split {experiment.split}"
        raise ExportError(f"release {release} has no target to ask: {why}")
    more = (experiment.seed, experiment.models, experiment.limits)
    specs = tuple(ArmSpec(arm, key, asked, *more) for arm in cells)
    return BoundExperiment(experiment, release, key, asked, specs)


def _readers(experiment: Experiment) -> dict[str, str]:
    """Fingerprints of the readers that ask a model, with the prompts that they are sent."""
    models = Models().access
    named = {
        reader: reader.partition(":")[2] or experiment.models.get("reader", "")
        for reader in readers_of(experiment)
        if reader != RULE
    }
    return {reader: digest_json([models.fingerprint("reader", name), prompt_hash()]) for reader, name in named.items()}


def workloads(home: Home, bound: BoundExperiment) -> Iterator[tuple[Role, str, Workload]]:
    """What the arms that ask a model will ask it, from their real prompts: role, model name, calls and tokens."""
    store, tokens = InputStore(), load_tokens()
    save_experiment(home.store.store, bound)
    for spec in bound.arms:
        if spec.arm.reader == RULE:
            continue
        calls, sent = 0, 0
        for shard in home.shards:
            given = GivenPredictor(store, {"store": store.catalog}, {"arm": spec.key, "shard": shard})
            for layer in LAYERS:
                texts = [request(shown).messages[0].text for _, shown in given.inputs(layer)]
                calls, sent = calls + len(texts), sent + sum(tokens.counts(texts))
        name = spec.arm.reader.partition(":")[2] or spec.models.get("reader", "")
        yield "reader", name, Workload(calls, sent, calls * REPLY_TOKENS)


def summary(bound: BoundExperiment, made: Amount) -> dict[str, Any]:
    """What an evaluation did: targets asked, statuses, model calls `made` now, the report, the headline rows."""
    given = GivenPredictions(InputStore(), GoldStore(), bound.key)
    units, costs = given.scored(), given.board("costs")
    return {
        "release": bound.release,
        "experiment": bound.experiment.name,
        "wallets": len(given.users),
        "split": bound.slice.split,
        "units": units.height,
        "statuses": dict(units.group_by("status").len().sort("status").iter_rows()),
        "model_calls": made.calls,
        "cache_hits": max(int(costs["n_calls"].sum()) - made.calls, 0),
        "tokens": made.tokens,
        "cost": None if made.calls and costs["cost"].has_nulls() else made.cost / NANO,
        "rows": headline(bound).drop("flags").to_dicts(),
        "report": str(given.results.folder / "report.html"),
        "leaderboard": str(given.results.folder / "prediction_board.csv"),
    }


def headline(bound: BoundExperiment) -> pl.DataFrame:
    """The board over all targets, every target counted, best first; errors of amounts in 10⁻⁶ share."""
    board = GivenPredictions(InputStore(), GoldStore(), bound.key).board("prediction_board")
    whole = board.filter(pl.col("group_kind").cast(pl.String) == "all", pl.col("reading").cast(pl.String) == "all")
    columns = ("board", "layer", "metric", "rank", "method", "value", "low", "high", "by_wallet", "coverage", "flags")
    return whole.sort("board", "layer", "metric", "rank", "method").select(columns)


def print_boards(bound: BoundExperiment) -> None:
    """One table a reader and layer: every method, best by the first metric first."""
    rows = in_shares(headline(bound), ("value", "low", "high", "by_wallet"))
    for (board, layer), part in rows.group_by("board", "layer", maintain_order=True):
        metrics = part["metric"].unique(maintain_order=True).to_list()
        notes = list(dict.fromkeys(flag for flag in part["flags"] if flag))
        shown = []
        for method, own in part.group_by("method", maintain_order=True):
            cells = {row["metric"]: row for row in own.to_dicts()}
            flags = sorted({notes.index(row["flags"]) + 1 for row in cells.values() if row["flags"]})
            marks = "".join(f"[{number}]" for number in flags)
            shown.append(
                [method[0], *(_cell(cells[metric]) for metric in metrics), cells[metrics[0]]["coverage"], marks]
            )
        title = f"{str(layer).capitalize()} · " + ("baselines" if board == RULE else f"reader {board}")
        print_table(title, ["method", *(HEADINGS[metric] for metric in metrics), "coverage", "flags"], shown)
        for number, note in enumerate(notes, start=1):
            out.print(plain(f"  [{number}] {note}"))
    out.print(LEGEND, soft_wrap=True)


def _cell(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return ""
    digits = 3 if row["layer"] == "belief" or row["metric"] == "accuracy" else 1
    shown = f"{row['value']:.{digits}f}"
    return shown if row["low"] is None else f"{shown} ({row['low']:.{digits}f}–{row['high']:.{digits}f})"
