"""The two stores as Dagster resources: an asset is handed only what it may read."""

from functools import cached_property

import dagster as dg

from resources.catalog import Catalog
from resources.drops import DropRegister
from resources.home import open_home
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

    def release(self, key: str) -> ReleaseSpec:
        """Specification of a release partition."""
        return load_release(self.catalog.store, key)


class GoldStore(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The tables that only labelling and scoring may read."""

    @cached_property
    def catalog(self) -> Catalog:
        """References over the gold store."""
        return open_home().gold
