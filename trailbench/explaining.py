"""`trailbench explain`: one unit of an evaluated experiment, from its score to the events behind it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import dagster as dg
import polars as pl

import assets.applog_boards
import assets.boards  # noqa: F401  (every owner of a table)
from assets.applog_user_inputs import GivenStateTrails
from assets.drilldown_inputs import GivenTrails
from assets.wallet_inputs import GivenPredictions
from pipelines.applogs.drilldown.item_names import item_named
from pipelines.applogs.drilldown.question_worded import Logs, question_told
from pipelines.applogs.drilldown.state_worded import log_words
from pipelines.evaluation.drilldown.parts import Fold, Section
from pipelines.evaluation.drilldown.tracing import unit_names
from pipelines.evaluation.drilldown.trail import Moment, Trail, Visit
from pipelines.evaluation.drilldown.units import TARGET_UNIT, UnknownUnit, unit_named
from pipelines.evaluation.drilldown.worded import moment_section, visits_grid
from pipelines.onchain import ids
from pipelines.onchain.drilldown.wallet_tracing import target_names
from pipelines.onchain.drilldown.wallet_worded import target_section, trades_grid
from resources.dag import GoldStore, InputStore
from resources.experiment_spec import ArmSpec, BoundExperiment, load_experiment
from resources.home import Home
from trailbench.exporting import ExportError
from trailbench.running import dagster_instance

REPORTS = ("report", "onchain_report", "applog_report")
BESIDE = 2
"""Answers beside each other in a terminal of 80 columns."""


@dataclass(frozen=True)
class Explained:
    """A unit as values for machines and as sections for people."""

    experiment: str
    release: str
    values: dict[str, Any]
    sections: tuple[Section, ...]


def explain(home: Home, unit: str, experiment: str | None, method: str | None, reader: str | None) -> Explained:
    """A unit of an experiment, by default of the one whose report was written last; of one method or reader only.

    Raises `ExportError` for an experiment, method, reader or unit that is not there; names near ones.
    """
    key = _experiment(home, experiment)
    bound = load_experiment(home.store.store, key)
    keep = _kept(list(bound.arms), method, reader)
    make = MAKERS[home.store.document(f"specs/release/{bound.release_key}.json")["track"]]
    try:
        values, sections = make(key, unit, keep)
    except UnknownUnit as error:
        raise ExportError(f"{error}; the experiment is {bound.experiment.name}") from error
    return Explained(bound.experiment.name, bound.release, values, sections)


Keep = Callable[[ArmSpec], bool]


def _experiment(home: Home, name: str | None) -> str:
    with dagster_instance(home.folder) as instance:
        written: dict[str, int] = {}
        for asset in REPORTS:
            kind = dg.DagsterEventType.ASSET_MATERIALIZATION
            written |= instance.get_latest_storage_id_by_partition(dg.AssetKey(asset), kind)
    own = {key: at for key, at in written.items() if name in (None, key, key.partition("~")[0])}
    if own:
        return max(own, key=lambda key: (own[key], key))
    there = ", ".join(sorted({key.partition("~")[0] for key in written}))
    if name is None or not there:
        raise ExportError(f"nothing was evaluated in {home.folder} yet; run `trailbench evaluate`")
    raise ExportError(f"no experiment {name!r} was evaluated in {home.folder}; there are {there}")


def _kept(arms: list[ArmSpec], method: str | None, reader: str | None) -> Keep:
    """Which arms are shown. Raises `ExportError` when none is."""
    for what, asked, there in (
        ("method", method, {spec.arm.label for spec in arms}),
        ("reader", reader, {spec.arm.reader for spec in arms}),
    ):
        if asked is not None and asked not in there:
            raise ExportError(f"no {what} {asked!r} in this experiment; there are {', '.join(sorted(there))}")

    def keep(spec: ArmSpec) -> bool:
        return method in (None, spec.arm.label) and reader in (None, spec.arm.reader)

    if not any(map(keep, arms)):
        raise ExportError(f"reader {reader!r} answers no method {method!r} in this experiment")
    return keep


def _pool(key: str, unit: str, keep: Keep) -> tuple[dict[str, Any], tuple[Section, ...]]:
    given = GivenTrails(InputStore(), GoldStore(), key)
    name = unit_named(unit, unit_names(given.table("pools")))
    (trail,) = given.trails([name.who], keep)
    moment = next(one for one in trail.moments if one.index == name.place)
    moment = replace(moment, units=tuple(one for one in moment.units if one.pool == name.asked))
    visits = _evidence(trail, moment)
    section = moment_section(moment, trail.visits, BESIDE)
    behind = replace(visits_grid(visits), title="Visits behind the lines, with the borders of batches")
    values = {"unit": unit, "user": trail.user, **asdict(moment), "evidence": {one.index: one.line for one in visits}}
    return values, (replace(section, parts=(*section.parts, behind)),)


def _evidence(trail: Trail, moment: Moment) -> list[Visit]:
    """The visits behind the lines of a moment."""
    cited = {number for said in moment.said for line in said.lines for number in line.visits}
    return [one for one in trail.visits if one.index in cited]


def _target(key: str, unit: str, keep: Keep) -> tuple[dict[str, Any], tuple[Section, ...]]:
    given = GivenPredictions(InputStore(), GoldStore(), key)
    name = unit_named(_lower(unit), target_names(given.scored()), TARGET_UNIT)
    (trail,) = given.trails([bytes.fromhex(name.who.removeprefix("0x"))], keep)
    target = next(one for one in trail.targets if one.name == str(name))
    shown = {event for one in target.shown for event in one.events}
    trades = [one for one in trail.trades if one.event in shown]
    section = target_section(target)
    section = replace(section, parts=(*section.parts, replace(trades_grid(trades), title="Trades it could be shown")))
    return {"unit": unit, "wallet": trail.wallet, **asdict(target), "trades": list(map(asdict, trades))}, (section,)


def _question(key: str, unit: str, keep: Keep) -> tuple[dict[str, Any], tuple[Section, ...]]:
    given = GivenStateTrails(InputStore(), GoldStore(), key)
    user, item = item_named(unit.strip(), given.asked_items())
    (trail,) = given.trails([user], keep, item)
    place, question = next((place, one) for place in trail.checkpoints for one in place.questions if one.name == item)
    cited = {log for one in question.answers for log in one.cited} | set(question.roles)
    behind = [one for one in trail.logs[: place.n_visible] if one.id in cited]
    section = question_told(place, question, Logs(trail.logs, whole=True))
    section = replace(section, parts=(*section.parts, Fold("Evidence and cited logs", tuple(log_words(behind)))))
    at = {"checkpoint": place.name, "as_of": place.as_of, "n_visible": place.n_visible}
    values = {"unit": item, "user": user, **at, **asdict(question), "shared": list(map(asdict, place.delivered))}
    return values | {"logs": list(map(asdict, behind))}, (section,)


MAKERS = {"commerce": _pool, "onchain": _target, "applogs": _question}
"""Track → how a unit of an experiment is explained."""


def worth_explaining(home: Home, bound: BoundExperiment) -> str | None:
    """A unit that was answered badly, as `explain` takes it: the first of the lowest score; None if none was scored."""
    given = InputStore(), GoldStore(), bound.key
    track = home.store.document(f"specs/release/{bound.release_key}.json")["track"]
    if track == "commerce":
        rows = (
            GivenTrails(*given)
            .units()
            .with_columns(
                name=pl.format("{}:{}:{}", "user_id", "transition_index", pl.col("pool").cast(pl.String)),
                value=pl.col("n_hit") / pl.col("n_positives"),
            )
        )
    elif track == "onchain":
        rows = (
            GivenPredictions(*given)
            .scored()
            .with_columns(
                name=pl.format("{}:{}:{}", ids.hex_text(pl.col("wallet")), "event", pl.col("layer").cast(pl.String)),
                value=pl.col("correct").cast(pl.Float64),
            )
        )
    else:
        rows = GivenStateTrails(*given).of_arms("applog_units")
        rows = rows.with_columns(name=pl.col("item"), value=pl.col("mechanical"))
    # The mean over arms: a unit that only one of them missed tells less.
    means = rows.filter(pl.col("value").is_not_null()).group_by("name").agg(pl.col("value").sort().mean())
    names: list[str] = means.sort("value", "name")["name"].head(1).to_list()
    return next(iter(names), None)


def _lower(unit: str) -> str:
    """Addresses in lower case, with or without `0x` in front, as tables write them."""
    text = unit.strip().lower()
    return text if text.startswith("0x") or not text else f"0x{text}"
