"""The tracks: which thresholds, sources and tables a release of each has."""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel

from pipelines.applogs.arm_tables import ARM_TABLES as APPLOGS_ARMS
from pipelines.applogs.board_tables import APPLOG_BOARD_TABLES
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.step_tables import HASHED as APPLOGS_HASHED
from pipelines.applogs.step_tables import PUBLISHED as APPLOGS_PUBLISHED
from pipelines.commerce.release import HASHED as COMMERCE_HASHED
from pipelines.commerce.settings import CommerceSettings
from pipelines.commerce.sources import SOURCES
from pipelines.onchain.board_tables import PREDICTION_TABLES
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.step_tables import HASHED as ONCHAIN_HASHED
from pipelines.onchain.step_tables import PUBLISHED

MAPPING_SOURCE = "mapping"
"""Source of any commerce log that a declared mapping describes."""
LOG_SOURCES = ("polygon_logs", "polygon_rpc")
"""Sources that bring logs of the chain: files, and what was fetched from a node."""
APP_SOURCE = "app_logs"
"""Source of app logs and of what is true of their users: published sets, and synthesised ones."""
MARKET_SOURCES = ("gamma_markets",)
"""Sources that describe markets; a release of logs may hold them as well."""


@dataclass(frozen=True)
class Track:
    """One kind of release.

    `settings` is the model of its thresholds, `hashed` the tables whose logical hashes
    name a release, `read` a table that every drop that could be read has. A release is
    made of drops of one of `sources`, or, where `family` names them together, of any of
    them and of drops of `companions`.
    """

    name: str
    settings: type[BaseModel]
    hashed: tuple[str, ...]
    read: str
    sources: tuple[str, ...]
    companions: tuple[str, ...] = ()
    family: str = ""

    @property
    def all_sources(self) -> tuple[str, ...]:
        """Sources and companions."""
        return self.sources + self.companions


TRACKS = {
    track.name: track
    for track in (
        Track("commerce", CommerceSettings, COMMERCE_HASHED, "events", (*SOURCES, MAPPING_SOURCE)),
        Track(
            "onchain",
            OnchainSettings,
            ONCHAIN_HASHED,
            "log_counts",
            LOG_SOURCES,
            MARKET_SOURCES,
            family="polygon",
        ),
        Track("applogs", AppLogSettings, APPLOGS_HASHED, "applog_drop_app_logs", (APP_SOURCE,)),
    )
}
"""Track by name."""
ALL_SOURCES = tuple(source for track in TRACKS.values() for source in track.all_sources)
"""Every source of every track."""


def track_of(source: str) -> Track:
    """The track of a source; raises `KeyError` for an unknown one."""
    for track in TRACKS.values():
        if source in track.all_sources:
            return track
    raise KeyError(f"no source {source!r}; sources are {', '.join(ALL_SOURCES)}")


def settings_of_table(table: str) -> BaseModel:
    """Default thresholds of the track that a table belongs to."""
    if table in APPLOGS_PUBLISHED or table in APPLOGS_ARMS or table in APPLOG_BOARD_TABLES:
        return AppLogSettings()
    return OnchainSettings() if table in PUBLISHED or table in PREDICTION_TABLES else CommerceSettings()


def release_source(sources: Iterable[str]) -> str:
    """What a release over drops of these sources is said to come from: the source, or the family of several.

    Raises `ValueError` when drops of these sources make no release together.
    """
    found = sorted(set(sources))
    for track in TRACKS.values():
        if track.family and set(found) <= set(track.all_sources) and set(found) & set(track.sources):
            return track.family
    if len(found) == 1 and found[0] in track_of(found[0]).sources:
        return found[0]
    if found and set(found) <= set(MARKET_SOURCES):
        raise ValueError(f"{found[0]} describes markets; a release needs a drop of {' or '.join(LOG_SOURCES)} as well")
    raise ValueError(f"a release is made of drops of one source and mapping, not of {len(found)}")
