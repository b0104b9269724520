"""The small documents of a frozen release: manifest, card, and which specifications led to it."""

from collections.abc import Mapping
from typing import Any

from resources.store import NotPublished, Store, StoreError


class FrozenAlready(StoreError):
    """A release of this name is frozen with another content."""


def freeze_release(
    store: Store, key: str, manifest: Mapping[str, Any], card: Mapping[str, Any], lineage: Mapping[str, Any]
) -> None:
    """Write a release's documents once; a release that is frozen already only gains a lineage.

    The manifest is written last of the release's own documents, and the pointer from the
    partition key after it: a crash leaves a release that is not there yet.
    Raises `FrozenAlready` when the name stands for another content hash.
    """
    name = manifest["release"]
    frozen = frozen_manifest(store, name)
    if frozen is None:
        store.write_json(f"releases/{name}/card.json", card)
        store.write_json(f"releases/{name}/key.json", {"key": key})
        store.write_json(f"releases/{name}/manifest.json", manifest)
    elif frozen["content_hash"] != manifest["content_hash"]:
        raise FrozenAlready(
            f"release {name} is frozen with content {frozen['content_hash']}, not {manifest['content_hash']}"
        )
    store.write_json(f"releases/{name}/lineage/{key}.json", lineage)
    counts = {table: entry["rows"] for table, entry in manifest["tables"].items()}
    summary = {"release": name, "content_hash": manifest["content_hash"], "counts": counts}
    store.write_json(f"specs/frozen/{key}.json", summary)


def frozen_manifest(store: Store, name: str) -> dict[str, Any] | None:
    """Manifest of a frozen release, or None."""
    try:
        manifest: dict[str, Any] = store.read_json(f"releases/{name}/manifest.json")
    except NotPublished:
        return None
    return manifest


def frozen_releases(store: Store) -> list[str]:
    """Names of the releases that are frozen, sorted."""
    paths = [path.split("/") for path in store.documents("releases")]
    return sorted(name for _, name, *rest in paths if rest == ["manifest.json"])
