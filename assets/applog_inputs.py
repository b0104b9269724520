"""What the steps of an arm on app logs read: the questions that it is asked, the streams of memories, who answers."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import polars as pl

from assets.arms import GivenArm
from pipelines.applogs.answerers import answer
from pipelines.applogs.asking import AskingSettings, ask, fingerprint, prompts
from pipelines.applogs.checkpoints import visible
from pipelines.applogs.contenders import EXTRACTIVE, LLM, RULE
from pipelines.applogs.contexts import Streams
from pipelines.applogs.experiment import asked, until
from pipelines.applogs.extracting import extract
from pipelines.applogs.extracting import fingerprint as extractive_fingerprint
from pipelines.applogs.settings import AppLogSettings
from pipelines.applogs.tables import APPLOG_TABLES
from pipelines.models import Model, Role
from resources.model_access import ModelAccess
from resources.tokenizer import load_tokens

CODE = {
    RULE: "pipelines.applogs.answerers",
    EXTRACTIVE: "pipelines.applogs.extracting",
    LLM: "pipelines.applogs.asking",
}
"""Who answers → the module that does it."""


class GivenAppLogs(GivenArm):
    """The tables behind one shard of an arm on app logs."""

    @property
    def thresholds(self) -> AppLogSettings:
        """Settings of the release."""
        settings = self.store.release(self.spec.release_key).settings
        assert isinstance(settings, AppLogSettings)
        return settings

    @property
    def sample(self) -> list[Any]:
        """What of the release is asked on this shard, for fingerprints."""
        return [list(self.own_users), self.spec.slice.batches, self.spec.slice.pools]

    @cached_property
    def questions(self) -> pl.DataFrame:
        """Rows of `tasks` that the arm is asked on this shard."""
        return asked(self["tasks"], self["checkpoints"], self.spec.slice, self.own_users)

    def of_questions(self, table: str) -> pl.DataFrame:
        """Rows of a table about items that are asked."""
        own = self.questions.select("user_id", "item").lazy()
        return self.lazy(table).join(own, on=["user_id", "item"], how="semi", maintain_order="left").collect()

    def streams(self, stream: str) -> Streams:
        """Logs and checkpoints of those whose stream a method is fed, as far as the experiment goes."""
        read = {name: self.histories_table(name, stream).collect() for name in ("app_logs", "checkpoints")}
        return Streams.of(read["app_logs"], until(read["checkpoints"], self.spec.slice), self.spec.batch_days)

    @property
    def who(self) -> str:
        """Who answers: `rule`, `extractive` or `llm`."""
        return self.arm.reader.partition(":")[0]

    @property
    def asks(self) -> bool:
        """Whether a model answers."""
        return self.who == LLM

    def reader(self, access: ModelAccess) -> dict[str, Any]:
        """What of the reader an answer depends on: its fingerprint, its prompts, whether it is weak."""
        if not self.asks:
            own = extractive_fingerprint() if self.who == EXTRACTIVE else self.arm.method
            return {"reader": own, "prompt": "", "weak": self.who == EXTRACTIVE}
        model = access.unasked("reader", self.model_name("reader"))
        told = fingerprint(model.fingerprint, load_tokens(), asking_settings(access))
        return {"reader": told, "prompt": prompts(), "weak": model.weak}

    def reader_names(self) -> Mapping[Role, str]:
        """The model that answers, by role; none where no model does."""
        return self.names(["reader"]) if self.asks else {}

    def by_rule(self) -> pl.DataFrame:
        """Table `answers` of a baseline, which sees every visible log."""
        logs, places = self["app_logs"], self["checkpoints"]
        rows = [APPLOG_TABLES["answers"].empty()]
        for (user, checkpoint), mine in self.questions.group_by("user_id", "checkpoint_id", maintain_order=True):
            place = places.filter((pl.col("user_id") == user) & (pl.col("checkpoint_id") == checkpoint))
            rows.append(answer(self.arm.method, visible(logs, place), mine))
        return pl.concat(rows).sort("user_id", "item")

    def by_reader(
        self,
        contexts: pl.DataFrame,
        model: Model | None,
        settings: AskingSettings,
        tell: Callable[[int], None] = lambda _: None,
    ) -> pl.DataFrame:
        """Table `answers` of the arm's reader, from `contexts` and nothing else; `model` where it asks one."""
        if model is None:
            return extract(contexts, self.questions)
        return ask(model, contexts, self.questions, load_tokens(), settings, tell)


def asking_settings(access: ModelAccess) -> AskingSettings:
    """What the reader `llm` knows of its endpoint."""
    return AskingSettings(context_tokens=access.rules("reader").context_tokens)
