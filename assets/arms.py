"""What the steps of an arm read: the release's tables of the shard, and the arm's own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from assets.inputs import content, whole
from assets.partitions import RELEASES
from assets.steps import OWNERS
from pipelines.commerce.settings import CommerceSettings
from pipelines.evaluation.experiment_arms import Arm
from pipelines.evaluation.judging.grounded import GROUNDED
from pipelines.hashing import bucket_column, digest_json
from pipelines.models import ROLES, Role
from pipelines.schema import TABLES
from resources.catalog import Catalog
from resources.dag import InputStore
from resources.experiment_spec import ArmSpec, load_arm
from resources.home import buckets_of
from resources.store import Published


def users_of(spec: ArmSpec, shard: str, shards: tuple[str, ...]) -> tuple[str, ...]:
    """The sampled users that fall into a shard."""
    users = pl.Series("user_id", list(spec.slice.users), dtype=pl.String)
    return tuple(users.filter(bucket_column(users).is_in(buckets_of(shard, shards))))


def scope_of(spec: ArmSpec, step: str, shard: str, shards: tuple[str, ...]) -> str:
    """What the account of model calls files a step of an arm under: what is made, and for whom.

    Arms that share a memory share its calls, and those that share readouts share the calls of judges of readouts; so do
    experiments whose samples have the same users in a shard, because what is published of these is the same.
    """
    made = {"build": spec.arm.memory, "read": spec.arm.fingerprint}
    if step == "judge":
        # What other judges are shown depends on the arm's answers, which no two arms share.
        readouts = all(judge.partition(":")[0] == GROUNDED.name for judge in spec.judges)
        of = {"readout": spec.arm.readout} if readouts else {"arm": spec.arm.fingerprint}
        made[step] = digest_json({**of, "judges": spec.judges, "judged": spec.judged})
    return f"{step}:{made[step]}:{digest_json(list(users_of(spec, shard, shards)), size=8)}"


@dataclass(frozen=True)
class GivenArm:
    """The tables behind one shard of an arm; rows are limited to the experiment's users where it says so."""

    store: InputStore
    catalogs: Mapping[str, Catalog]
    axes: Mapping[str, str]

    @cached_property
    def spec(self) -> ArmSpec:
        """The arm with its release and users."""
        return load_arm(self.store.catalog.store, self.axes["arm"])

    @property
    def arm(self) -> Arm:
        """The cell of the experiment."""
        return self.spec.arm

    def model_name(self, role: Role) -> str:
        """The model that the arm, or else the experiment, names for a role; empty for the configured one."""
        own = {"builder": self.arm.builder, "profile": self.arm.builder, "reader": self.arm.reader.partition(":")[2]}
        return own.get(role, "") or self.spec.models.get(role, "")

    def names(self, roles: Iterable[str]) -> dict[Role, str]:
        """`model_name` of every model role among `roles`."""
        return {role: self.model_name(role) for role in ROLES if role in roles}

    def scope(self, step: str) -> str:
        """What the account of model calls files the arm's calls of this shard under."""
        return scope_of(self.spec, step, self.axes["shard"], self.store.shards)

    @property
    def settings(self) -> CommerceSettings:
        """Thresholds of the release."""
        settings: CommerceSettings = self.store.release(self.spec.release_key).settings
        return settings

    @cached_property
    def own_users(self) -> tuple[str, ...]:
        """The sampled users that fall into this shard."""
        return users_of(self.spec, self.axes["shard"], self.store.shards)

    def published(self, table: str) -> list[Published]:
        """The partition behind a table."""
        catalog = self.catalogs[TABLES[table].wall]
        if table not in OWNERS:
            return [catalog.require(table, self.axes)]
        release = {"release": self.spec.release_key}
        if OWNERS[table].partitions_def == RELEASES:
            return [catalog.require(table, release)]
        return [catalog.require(table, {**release, "shard": self.axes["shard"]})]

    def lazy(self, table: str) -> pl.LazyFrame:
        """Rows of a table of the shard."""
        return self.catalogs[TABLES[table].wall].scan_published(self.published(table))

    def sampled(self, table: str) -> pl.LazyFrame:
        """Rows that the experiment asks about."""
        return self.spec.slice.of(self.lazy(table), self.own_users)

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.lazy(table).collect()

    def content(self, table: str) -> Any:
        """Logical hash of a table of the shard."""
        return content(self.published(table)[0])

    def _everywhere(self, table: str) -> list[Published]:
        return self.store.catalog.all(table, {"release": self.spec.release_key}, self.store.shards)

    def histories_table(self, table: str, stream: str) -> pl.LazyFrame:
        """Rows of the users whose stream a method is fed: this shard's, or anyone's for the shuffled control."""
        if stream == "own":
            return self.sampled(table)
        rows = self.store.catalog.scan_published(self._everywhere(table))
        return self.spec.slice.of(rows)

    def histories_content(self, table: str, stream: str) -> Any:
        """Logical hash behind `histories_table`."""
        if stream == "own" or OWNERS[table].partitions_def == RELEASES:
            return self.content(table)
        return [whole(table, self._everywhere(table)), list(self.spec.slice.users)]
