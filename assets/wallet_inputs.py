"""What the board and report of an experiment on an on-chain release read, and the trails of its wallets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import polars as pl

from assets.board_inputs import GivenExperiment
from assets.drilldown_inputs import replies_of
from assets.inputs import content, whole
from assets.onchain_evaluation import INSTANCES
from assets.predictors import GivenPredictor
from pipelines.evaluation.comparable import agreed
from pipelines.evaluation.drilldown.choosing import chosen
from pipelines.evaluation.drilldown.pages import pages_of
from pipelines.models import Message
from pipelines.onchain.baselines import RULE
from pipelines.onchain.drilldown.wallet_tracing import WalletTables, right_by_wallet, wallet_trail
from pipelines.onchain.drilldown.wallet_trail import WalletTrail
from pipelines.onchain.drilldown.wallet_worded import wallet_story
from pipelines.onchain.experiment import asked
from pipelines.onchain.label_statistics import label_statistics
from pipelines.onchain.scores import LAYERS
from pipelines.onchain.settings import OnchainSettings
from pipelines.onchain.wording import request
from resources.experiment_spec import ArmSpec
from resources.model_access import ModelAccess

Keep = Callable[[ArmSpec], bool]
OF_WALLETS = ("cohort_trades", "histories", "holdings", "belief_instances", "trade_instances", "wallets")


@dataclass(frozen=True)
class GivenPredictions(GivenExperiment):
    """The tables behind an experiment on an on-chain release."""

    def scored(self) -> pl.DataFrame:
        """Units of all arms."""
        found = (self.gold.catalog.scan_published(self._of_arm("prediction_units", spec)) for spec in self.bound.arms)
        return pl.concat(found).collect()

    def contents(self) -> list[list[Any]]:
        """What of every arm decides the board: its names, and the logical hashes of its units and calls."""
        return [
            [
                *(spec.arm.label, spec.arm.reader, whole("prediction_units", self._of_arm("prediction_units", spec))),
                [content(one) for one in self._of_arm("model_calls", spec)],
            ]
            for spec in self.bound.arms
        ]

    def _stated(self, spec: ArmSpec) -> dict[str, object]:
        asked = asdict(self.bound.slice)
        parts: dict[str, dict[str, object]] = {}
        for table, keys in (("predictions", ("reader", "prompt", "weak")), ("prediction_units", ("evaluator",))):
            for shard, one in zip(self.store.shards, self._of_arm(table, spec), strict=True):
                own = parts.setdefault(shard, {"dataset": spec.arm.release, "asked": asked})
                own |= {key: one.extra[key] for key in keys}
        return agreed(spec.arm.key, parts)

    def labels(self) -> pl.DataFrame:
        """Statistics of the release's labels."""
        return label_statistics(*(self.table(INSTANCES[layer][0]) for layer in LAYERS))

    def shown(self) -> pl.DataFrame:
        """Frame `USERS`: which wallets get a page."""
        scores = right_by_wallet(self.scored())
        picked = chosen(scores, self.bound.experiment.pages, self.seed)
        return picked.with_columns(of=pl.lit(scores.height, pl.Int64))

    def pages(self, shown: pl.DataFrame) -> dict[str, str]:
        """Pages of the wallets of a frame `USERS`, by file name."""
        trails = self.trails([bytes.fromhex(name.removeprefix("0x")) for name in shown["user"]])
        return dict(page for one in trails for page in pages_of(wallet_story(one), self.bound.release))

    def trails(self, wallets: Sequence[bytes], keep: Keep = lambda _: True) -> list[WalletTrail]:
        """The trails of wallets, in their order, with the answers of the arms that `keep` keeps."""
        tables = self.wallet_tables(wallets, keep)
        return [wallet_trail(wallet, tables) for wallet in wallets]

    def wallet_tables(self, wallets: Sequence[bytes], keep: Keep) -> WalletTables:
        """Tables of the wallets, of the arms that `keep` keeps."""
        arms = [spec for spec in self.bound.arms if keep(spec)]
        mine = pl.col("wallet").is_in(list(wallets))
        release = {
            table: self._catalog(table).scan_published(self._published(table)).filter(mine).collect()
            for table in OF_WALLETS
        }
        answers = self._arms("predictions", arms).filter(mine).collect()
        keys = answers["call"].drop_nulls().unique()
        calls = self._arms("model_calls", arms).filter(pl.col("key").is_in(keys.implode())).collect()
        settings = self.store.release(self.bound.release_key).settings
        assert isinstance(settings, OnchainSettings)
        return WalletTables(
            **release | {"histories": asked(release["histories"], self.bound.slice)},
            markets=self.table("markets").join(_conditions(release), on="condition_id", how="semi"),
            prediction_units=self._arms("prediction_units", arms).filter(mine).collect(),
            predictions=answers,
            model_calls=calls,
            replies=replies_of(ModelAccess(self.store.folder), keys.sort().to_list()),
            prompts=dict(self._prompts(arms, wallets)),
            all_markets=settings.direct_scope == "all_markets",
        )

    def _arms(self, table: str, arms: Sequence[ArmSpec]) -> pl.LazyFrame:
        parts = [
            self._catalog(table)
            .scan_published(self._of_arm(table, spec))
            .with_columns(method=pl.lit(spec.arm.label), reader=pl.lit(spec.arm.reader))
            for spec in arms
        ]
        return pl.concat(parts)

    def _prompts(self, arms: Sequence[ArmSpec], wallets: Sequence[bytes]) -> Iterator[tuple[Any, tuple[Message, ...]]]:
        """What every reader was sent about the wallets, made again."""
        catalogs, shards = {"store": self.store.catalog}, self.store.shards
        for spec in arms:
            for shard in shards if spec.arm.reader != RULE else ():
                given = _OfWallets(self.store, catalogs, {"arm": spec.key, "shard": shard}, tuple(wallets))
                if given.targets.is_empty():
                    continue
                for layer in LAYERS:
                    for (wallet, event), one in given.inputs(layer):
                        yield (spec.arm.label, spec.arm.reader, layer, wallet, event), request(one).messages


def _conditions(release: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Markets that the wallets traded in or hold."""
    return pl.concat(release[table].select("condition_id") for table in ("cohort_trades", "holdings")).unique()


@dataclass(frozen=True)
class _OfWallets(GivenPredictor):
    """A shard of an arm, asked about some wallets only."""

    wallets: tuple[bytes, ...]

    @cached_property
    def targets(self) -> pl.DataFrame:
        """Rows of `histories` of the wallets that the arm is asked on this shard."""
        return super().targets.filter(pl.col("wallet").is_in(list(self.wallets)))
