"""A home folder: where drops are registered and tables published, with its fixed shard count."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from resources.catalog import Catalog
from resources.documents import write_new
from resources.drops import DropRegister
from resources.settings import HomeSettings, home_settings
from resources.store import Store


class HomeError(ValueError):
    """A home folder that cannot be used as asked; names the remedy."""


@dataclass(frozen=True)
class Home:
    """The parts of one home folder."""

    settings: HomeSettings
    shards: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The folder itself, absolute."""
        return self.settings.home.absolute()

    @property
    def register(self) -> DropRegister:
        """Drops that were registered here."""
        return DropRegister(self.folder / "drops")

    @cached_property
    def store(self) -> Catalog:
        """What a method's input is made from."""
        return Catalog(Store(self.settings.store_root, self.settings.storage_options()))

    @cached_property
    def gold(self) -> Catalog:
        """What only scoring may read."""
        return Catalog(Store(self.settings.gold_root, self.settings.storage_options()))


def open_home(settings: HomeSettings | None = None, shards: int | None = None, make: bool = True) -> Home:
    """Open the home folder, making it on first use unless `make` is false; its shard count is fixed then.

    Raises `HomeError` when there is none and none is to be made, when a file has its
    name, or when `shards` differs from the count that the folder was made with.
    """
    settings = settings or home_settings()
    document = settings.home.absolute() / "home.json"
    if not document.is_file():
        if any(path.exists() and not path.is_dir() for path in (document.parent, *document.parent.parents)):
            raise HomeError(f"{document.parent} is a file or lies under one; a home folder is a folder")
        if not make:
            raise HomeError(f"no home folder at {document.parent}; `trailbench build` or `trailbench demo` makes one")
        write_new(document, json.dumps({"shards": shards or settings.shards}))
    made_with = int(json.loads(document.read_text())["shards"])
    if shards not in (None, made_with):
        raise HomeError(f"{document.parent} was made with {made_with} shards, not {shards}; use another home folder")
    settings.inbox.mkdir(parents=True, exist_ok=True)
    return Home(settings, tuple(f"s{number:02d}" for number in range(made_with)))


def shard_names() -> tuple[str, ...]:
    """Shard keys of this process's home folder, without making it."""
    document = home_settings().home.absolute() / "home.json"
    count = int(json.loads(document.read_text())["shards"]) if document.is_file() else home_settings().shards
    return tuple(f"s{number:02d}" for number in range(count))


def buckets_of(shard: str, shards: tuple[str, ...]) -> list[int]:
    """User buckets of a shard: those equal to its number modulo the shard count."""
    return list(range(int(shard.removeprefix("s")), 256, len(shards)))
