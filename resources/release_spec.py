"""What a release is made of: a frozen list of drops and the settings, named before it is built."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pipelines.commerce.settings import CommerceSettings
from pipelines.hashing import digest_json
from resources.drops import Drop, current
from resources.store import Store


@dataclass(frozen=True)
class ReleaseSpec:
    """A track, a source with its mapping, the drops and the settings.

    `key` names the release's partitions while it is built; the frozen release is named
    by its content hash, which several keys may share (a re-sent drop changes the list of
    drops and nothing else).
    """

    track: str
    source: str
    drops: tuple[str, ...]
    settings: CommerceSettings
    mapping: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Partition key of the `release` axis."""
        return f"{self.source}-{digest_json(self.document(), size=6)}"

    def document(self) -> dict[str, Any]:
        """The specification as plain values."""
        return {**asdict(self), "drops": list(self.drops), "settings": self.settings.model_dump()}


def release_of(drops: Sequence[Drop], settings: CommerceSettings, track: str = "commerce") -> ReleaseSpec:
    """The specification of a release over `drops`, superseded ones left out.

    Raises `ValueError` when there is no drop, or drops of several sources or mappings.
    """
    kept = current(drops)
    kinds = {(drop.source, digest_json(dict(drop.mapping))) for drop in kept}
    if len(kinds) != 1:
        raise ValueError(f"a release is made of drops of one source and mapping, not of {len(kinds)}")
    return ReleaseSpec(track, kept[0].source, tuple(drop.id for drop in kept), settings, kept[0].mapping)


def save_release(store: Store, spec: ReleaseSpec) -> str:
    """Write the specification under its key and return the key; idempotent."""
    store.write_json(f"specs/release/{spec.key}.json", spec.document())
    return spec.key


def load_release(store: Store, key: str) -> ReleaseSpec:
    """The specification of a key; raises `NotPublished` when there is none."""
    raw = store.read_json(f"specs/release/{key}.json")
    return ReleaseSpec(
        raw["track"], raw["source"], tuple(raw["drops"]), CommerceSettings(**raw["settings"]), raw["mapping"]
    )
