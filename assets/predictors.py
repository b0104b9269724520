"""What the steps of an on-chain arm read: the release's tables of the shard, and the targets it is asked about."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import polars as pl

from assets.arms import GivenArm
from assets.inputs import whole
from pipelines.models import Model
from pipelines.onchain.baselines import RULE
from pipelines.onchain.experiment import asked, settings_for
from pipelines.onchain.histories import Interface
from pipelines.onchain.profiles import profiles
from pipelines.onchain.prompting import Key, ask, contexts, prompts
from pipelines.onchain.prompts import BeliefInput, TradeInput
from pipelines.onchain.rules import Known, answers, known, reads_others
from pipelines.onchain.scores import LAYERS, Layer
from pipelines.onchain.settings import OnchainSettings

OWN = ("histories", "cohort_trades")
SHOWN = ("support_trades", "markets")
"""What an interface shows beside the wallet's own trades."""


class GivenPredictor(GivenArm):
    """The tables behind one shard of an on-chain arm; users are wallets as hex text."""

    @property
    def thresholds(self) -> OnchainSettings:
        """Settings of the release, with what the arm's configuration changes."""
        settings = self.store.release(self.spec.release_key).settings
        assert isinstance(settings, OnchainSettings)
        return settings_for(self.arm.method, self.arm.config, settings)

    @property
    def asks(self) -> bool:
        """Whether the arm asks a reader, rather than answer by a rule."""
        return self.arm.reader != RULE

    @cached_property
    def targets(self) -> pl.DataFrame:
        """Rows of `histories` that the arm is asked on this shard."""
        return self.asked_of(self["histories"])

    def asked_of(self, rows: pl.DataFrame, layer: str = "", event: str = "event") -> pl.DataFrame:
        """The rows of a table of targets that the arm is asked on this shard; arguments as of `experiment.asked`."""
        return asked(rows, replace(self.spec.slice, users=self.own_users), layer, event)

    def contents(self) -> dict[str, Any]:
        """Logical hashes of what the predictions are made from."""
        found = {table: self.content(table) for table in OWN}
        if self.asks:
            return found | {table: self.content(table) for table in SHOWN}
        if reads_others(self.arm.method):
            found |= {f"all {table}": whole(table, self._everywhere(table)) for table in OWN}
        return found

    def by_rule(self) -> pl.DataFrame:
        """Table `predictions` of a baseline on the targets that are asked."""
        own = self["cohort_trades"]
        every = answers(self.arm.method, known(self["histories"], own), own, self._train())
        return every.join(self.targets.select("layer", "wallet", "event"), on=["layer", "wallet", "event"], how="semi")

    def _train(self) -> Known:
        """Train rows of the evaluation wallets of all shards; none where the baseline reads its own wallet only."""
        if not reads_others(self.arm.method):
            return known(self["histories"].clear(), self["cohort_trades"].clear())
        rows = (self.store.catalog.scan_published(self._everywhere(table)) for table in OWN)
        return known(*(frame.collect() for frame in rows)).train()

    def by_model(self, model: Model) -> pl.DataFrame:
        """Table `predictions` of a reader that is shown the arm's interface for every target that is asked."""
        return pl.concat(ask(model, self.inputs(layer), self.arm.label, self.arm.reader) for layer in LAYERS)

    def inputs(self, layer: Layer) -> Iterator[tuple[Key, BeliefInput | TradeInput]]:
        """What the arm's interface shows for every target of a layer that is asked."""
        targets = self.targets.filter(pl.col("layer").cast(pl.String) == layer)
        own, shown, described = self["cohort_trades"], self["support_trades"], self["markets"]
        of_wallets = profiles(own, targets, described, layer)
        interface = cast(Interface, self.arm.method)
        return prompts(targets, own, shown, of_wallets, contexts(described), interface, self.thresholds)
