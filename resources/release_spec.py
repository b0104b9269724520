"""What a release is made of: a frozen list of drops and the settings, named before it is built."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import BaseModel

from pipelines.hashing import digest_json
from pipelines.tracks import TRACKS, release_source, track_of
from resources.drops import Drop, current
from resources.store import Store


@dataclass(frozen=True)
class ReleaseSpec:
    """A track, a source with its mapping, the drops and the settings (the model of the track).

    `key` names the release's partitions while it is built; the frozen release is named
    by its content hash, which several keys may share (a re-sent drop changes the list of
    drops and nothing else).
    """

    track: str
    source: str
    drops: tuple[str, ...]
    settings: Any
    mapping: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Partition key of the `release` axis."""
        return f"{self.source}-{digest_json(self.document(), size=6)}"

    def document(self) -> dict[str, Any]:
        """The specification as plain values."""
        return {**asdict(self), "drops": list(self.drops), "settings": self.settings.model_dump()}


def release_of(drops: Sequence[Drop], settings: BaseModel) -> ReleaseSpec:
    """The specification of a release over `drops`, superseded ones left out.

    Raises `ValueError` when there is no drop, drops of sources that make no release
    together, of several mappings, or settings of another track.
    """
    kept = current(drops)
    source = release_source(drop.source for drop in kept)
    if len(mappings := {digest_json(dict(drop.mapping)) for drop in kept}) != 1:
        raise ValueError(f"a release is made of drops of one source and mapping, not of {len(mappings)}")
    track = track_of(kept[0].source)
    if not isinstance(settings, track.settings):
        raise ValueError(f"a release of {track.name} has {track.settings.__name__}, not {type(settings).__name__}")
    return ReleaseSpec(track.name, source, tuple(drop.id for drop in kept), settings, kept[0].mapping)


def save_release(store: Store, spec: ReleaseSpec) -> str:
    """Write the specification under its key and return the key; idempotent."""
    store.write_json(f"specs/release/{spec.key}.json", spec.document())
    return spec.key


def load_release(store: Store, key: str) -> ReleaseSpec:
    """The specification of a key; raises `NotPublished` when there is none."""
    raw = store.read_json(f"specs/release/{key}.json")
    settings = TRACKS[raw["track"]].settings(**raw["settings"])
    return ReleaseSpec(raw["track"], raw["source"], tuple(raw["drops"]), settings, raw["mapping"])
