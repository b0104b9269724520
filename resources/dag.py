"""What the DAG is handed: the two stores as Dagster resources, so that an asset reaches only what it may read."""

from functools import cached_property
from pathlib import Path

import dagster as dg

from resources.catalog import Catalog
from resources.drops import DropRegister
from resources.home import open_home
from resources.model_access import ModelAccess
from resources.release_spec import ReleaseSpec, load_release


class InputStore(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Drops, and the tables that a method's input is made from. Gold is not reachable from here."""

    @cached_property
    def _home(self) -> tuple[Catalog, DropRegister, tuple[str, ...]]:
        home = open_home()
        return home.store, home.register, home.shards

    @property
    def catalog(self) -> Catalog:
        """References over the store."""
        return self._home[0]

    @property
    def register(self) -> DropRegister:
        """Registered drops."""
        return self._home[1]

    @property
    def shards(self) -> tuple[str, ...]:
        """Shard keys of the home folder."""
        return self._home[2]

    @property
    def folder(self) -> Path:
        """The home folder."""
        return open_home().folder

    @property
    def hidden(self) -> list[Path]:
        """What a method of another package must not see: the home folder, store, gold, and the files of drops.

        Files lie where their owner put them, and what is true of synthetic users lies beside their logs.
        """
        home = open_home()
        local = [Path(root) for root in (home.settings.store_root, home.settings.gold_root) if "://" not in root]
        files = sorted({Path(file.path) for drop in home.register for file in drop.files})
        return [home.folder, *local, *(file for file in files if not file.is_relative_to(home.folder))]

    def release(self, key: str) -> ReleaseSpec:
        """Specification of a release partition."""
        return load_release(self.catalog.store, key)


class Models(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The language models of the home folder; the embedded one is started when a step needs it and ends after it."""

    @cached_property
    def access(self) -> ModelAccess:
        """Endpoints, and engines over them."""
        return ModelAccess(open_home().folder)


class GoldStore(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The tables that only labelling and scoring may read."""

    @cached_property
    def catalog(self) -> Catalog:
        """References over the gold store."""
        return open_home().gold
