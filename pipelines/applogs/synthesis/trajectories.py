"""A whole synthetic user: logs of 16 apps over the span, and the gold of every state (reference 6.2)."""

from dataclasses import dataclass

import polars as pl

from pipelines.applogs.json_text import JsonObject, dump
from pipelines.applogs.synthesis.apps.phone import Phone
from pipelines.applogs.synthesis.gold_frames import change_table, evidence_table, interval_table, log_rows
from pipelines.applogs.synthesis.happenings import chains_of, in_time, noise_of
from pipelines.applogs.synthesis.ontology import ONTOLOGY
from pipelines.applogs.synthesis.ontology.forms import Ontology
from pipelines.applogs.synthesis.service_moments import moment_table
from pipelines.applogs.synthesis.tellings import root_of
from pipelines.applogs.synthesis.world import LifeEvent, Persona, Span, World
from pipelines.applogs.synthesis.worlds import world_of


@dataclass(frozen=True)
class Trajectory:
    """One user: the input view (`app_logs`, the six published fields each) and the gold, in the tables of the track.

    Logs share parts with each other (a cart shown twice); they are read, never changed.
    """

    user_id: str
    app_logs: list[JsonObject]
    intervals: pl.DataFrame
    """Table `state_intervals`."""
    changes: pl.DataFrame
    """Table `state_changes`."""
    evidence: pl.DataFrame
    """Table `state_evidence`."""
    moments: pl.DataFrame
    """Table `state_moments`."""
    life_events: tuple[LifeEvent, ...]
    persona: Persona


def trajectory(seed: int, index: int, span: Span | None = None, ontology: Ontology = ONTOLOGY) -> Trajectory:
    """The user at an index from 0, alike at every call with the same seed and span.

    What is true is told in full whatever the span's `logs`, which only the background is measured by.
    """
    return lived(world_of(seed, index, span or Span(), ontology), ontology)


def lived(world: World, ontology: Ontology = ONTOLOGY) -> Trajectory:
    """A world lived through: its events in the order of moment and place, each called in its app."""
    chains = list(chains_of(world))
    events = in_time([event for chain in chains for event in chain.events] + list(noise_of(world, ontology)))
    phone = Phone(world.persona, root_of(world))
    logs = log_rows(events, map(phone.call, events))
    places = {event.place: (n, log["app_log_id"]) for n, (event, log) in enumerate(zip(events, logs, strict=True))}
    user_id = world.persona.user_id
    return Trajectory(
        user_id,
        logs,
        interval_table(user_id, world.intervals),
        change_table(user_id, chains, places),
        evidence_table(user_id, events, places),
        moment_table(user_id, world.intervals, root_of(world)),
        world.life_events,
        world.persona,
    )


def log_file(made: Trajectory) -> bytes:
    """The bytes of the user's `app_log_large.json`."""
    return dump({"user_id": made.user_id, "app_logs": made.app_logs}).encode()
