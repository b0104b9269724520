"""Reader `llm`: a language model is shown a readout and a pool, and names the labels it chooses (paper §3.3, A.3).

One call a pool. The prompt holds both readout slots, the candidates in the pool's own
order behind short labels, and how many to choose: no method, no key, no role. The
reply is JSON and is read strictly; one that cannot be read is no answer.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict

from pipelines.evaluation.readers import PLACEHOLDER, STATE, UNIT, candidates
from pipelines.hashing import digest, digest_json
from pipelines.memory.contract import Settings, Tokens, setting
from pipelines.memory.rendering import plain
from pipelines.models import Message, Model, Reply, Request
from pipelines.prompts import fill, load, prompts_hash
from pipelines.prompts.quoting import quoted
from pipelines.replies import parse
from pipelines.schema import TABLES, conform

INSTRUCTIONS, QUESTION = load("reader/instructions"), load("reader/question")
LABEL_TOKENS = 8
"""Room in a reply for one label with its quotes and comma, in any tokenizer."""
TOLD_EVERY = 256
"""Pools asked at once, and between two reports of progress."""
MESSAGE_TOKENS = 16
"""Room for what an endpoint writes around the two messages."""


class LlmReaderSettings(Settings):
    """What a reader must know of the endpoint behind its model."""

    context_tokens: int = setting(
        32_768, "context of the model, by the counter of the readouts", unit="tokens", origin="ours", ge=256
    )
    reply_tokens: int = setting(
        256, "room in the reply beyond the labels, for models that think first", unit="tokens", origin="ours", ge=16
    )
    count_in_schema: bool = setting(
        True,
        "whether the reply's schema bounds how many labels it holds",
        unit="",
        origin="ours",
    )


class Choice(BaseModel):
    """The reply."""

    model_config = ConfigDict(extra="forbid", strict=True)

    chosen: list[str]


class LlmReader:
    """Asks `model` once a pool; `tokens` measures prompts against the declared context.

    `progress` is told the number of pools that were read so far.
    """

    name = "llm"
    version = "1"

    def __init__(
        self,
        model: Model,
        tokens: Tokens,
        settings: LlmReaderSettings | None = None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._model = model
        self._tokens = tokens
        self._settings = settings or LlmReaderSettings()
        self._progress = progress

    @property
    def prompt(self) -> str:
        """Hash of the prompt files."""
        return prompts_hash(INSTRUCTIONS, QUESTION)

    @property
    def weak(self) -> bool:
        """Whether tables must label its results as those of a weak model."""
        return self._model.weak

    @property
    def fingerprint(self) -> str:
        """Hash of name, version, prompts, model, counter and settings."""
        settings = digest_json(self._settings.model_dump(mode="json"))
        return digest(self.name, self.version, self.prompt, self._model.fingerprint, self._tokens.sha256, settings)

    def read(self, readouts: pl.DataFrame, pools: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
        """Table `readings`, without scores; see `Reader`. `reason` says why a reading is not ok.

        - `failed`: the endpoint gave no reply, or the prompt does not fit the context (it is not sent, nothing is cut).
        - `invalid`: the reply is empty, cut off, declined, not JSON or of another form, names a label that is not in
          the list, one twice, or none at all.
        - `short`, `over`: fewer or more labels than asked for.

        Raises `ModelStopped` when no call may be made; finished calls are kept by the model.
        """
        asked = self.prompts_for(readouts, pools, names)
        sent = asked.filter("fits").rows(named=True)
        replies = iter(self._ask([pool_request(row, self._settings) for row in sent]))
        rows = [
            _reading(row, next(replies)) if row["fits"] else _unit(row) | _no_answer("failed", "prompt_over_context")
            for row in asked.iter_rows(named=True)
        ]
        return conform(pl.LazyFrame(rows, schema=TABLES["readings"].schema), "readings").collect()

    def _ask(self, requests: Sequence[Request]) -> list[Reply]:
        replies: list[Reply] = []
        for first in range(0, len(requests), TOLD_EVERY):
            replies += self._model.ask_all(requests[first : first + TOLD_EVERY])
            self._progress(len(replies))
        return replies

    def prompts_for(self, readouts: pl.DataFrame, pools: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
        """What is sent for every pool that has a readout, exactly.

        Columns: the unit; `n_choose`; `positions` in the order of their labels; `system` and `user`, the two messages;
        `tokens` of both; `reply_tokens`, the room for the reply; `fits`, whether all is within the context. Sorted.
        """
        return pool_prompts(readouts, pools, names, self._tokens, self._settings)


def pool_prompts(
    readouts: pl.DataFrame, pools: pl.DataFrame, names: pl.DataFrame, tokens: Tokens, settings: LlmReaderSettings
) -> pl.DataFrame:
    """`LlmReader.prompts_for`, without a model: what would be sent for every pool that has a readout."""
    slots: list[Any] = readouts.sort(STATE).select("description", "tree").rows()
    grouped = (
        candidates(pools, readouts, names)
        .group_by(UNIT, maintain_order=True)
        .agg(pl.col("n_choose", "state").first(), pl.col("position").alias("positions"), pl.col("text"))
    )
    users = [_question(slots[row["state"]], row["text"], row["n_choose"]) for row in grouped.iter_rows(named=True)]
    fixed = tokens.count(INSTRUCTIONS.text) + MESSAGE_TOKENS
    counted = pl.Series("tokens", [fixed + tokens.count(text) for text in users], dtype=pl.Int64)
    room = pl.col("n_choose").cast(pl.Int64) * LABEL_TOKENS + settings.reply_tokens
    return (
        grouped.drop("state", "text")
        .with_columns(pl.lit(INSTRUCTIONS.text).alias("system"), pl.Series("user", users, dtype=pl.String), counted)
        .with_columns(room.alias("reply_tokens"))
        .with_columns((pl.col("tokens") + pl.col("reply_tokens") <= settings.context_tokens).alias("fits"))
    )


def pool_request(row: dict[str, Any], settings: LlmReaderSettings) -> Request:
    """The call that asks one row of `pool_prompts`; its unit is user, transition and pool, parted by `/`."""
    return Request(
        (Message("system", row["system"]), Message("user", row["user"])),
        schema=_schema(len(row["positions"]), row["n_choose"] if settings.count_in_schema else None),
        schema_name="choice",
        max_tokens=row["reply_tokens"],
        unit="/".join(str(row[name]) for name in UNIT),
    )


@cache
def _schema(n: int, n_choose: int | None) -> dict[str, Any]:
    """The form of a choice among n labels; pools of one size share it, so that it is hashed once."""
    chosen: dict[str, Any] = {"type": "array", "items": {"type": "string", "enum": label_names(n)}}
    if n_choose is not None:
        chosen |= {"minItems": n_choose, "maxItems": n_choose}
    return {"type": "object", "properties": {"chosen": chosen}, "required": ["chosen"], "additionalProperties": False}


def label_names(n: int) -> list[str]:
    """Labels of a pool's n candidates, in its order: c01, c02, …, of equal length."""
    width = max(2, len(str(n)))
    return [f"c{place:0{width}}" for place in range(1, n + 1)]


def _question(slots: tuple[str | None, str | None], names: Sequence[str], n_choose: int) -> str:
    description, tree = (quoted(slot or "", PLACEHOLDER) for slot in slots)
    listed = zip(label_names(len(names)), names, strict=True)
    return fill(
        QUESTION,
        description=description,
        tree=tree,
        candidates="\n".join(f"{label}: {_one_line(name)}" for label, name in listed),
        n_choose=str(n_choose),
        n_candidates=str(len(names)),
    )


@lru_cache(maxsize=1 << 14)
def _one_line(name: str) -> str:
    """Cached: a taxonomy has some thousand names, and every pool shows some of them."""
    return plain(name)


def _unit(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in UNIT} | {"scores": [], "call": ""}


def _no_answer(status: str, reason: str) -> dict[str, Any]:
    return {"status": status, "reason": reason, "chosen": []}


def _reading(row: dict[str, Any], reply: Reply) -> dict[str, Any]:
    return _unit(row) | {"call": reply.key} | _answer(row["positions"], row["n_choose"], reply)


def _answer(positions: Sequence[int], n_choose: int, reply: Reply) -> dict[str, Any]:
    parsed = parse(reply, Choice)
    if parsed.value is None:
        return _no_answer("failed" if parsed.status == "failed" else "invalid", f"reply_{parsed.status}")
    known = dict(zip(label_names(len(positions)), positions, strict=True))
    labels = parsed.value.chosen
    if not labels:
        return _no_answer("invalid", "none_chosen")
    if any(label not in known for label in labels):
        return _no_answer("invalid", "unknown_label")
    if len(set(labels)) < len(labels):
        return _no_answer("invalid", "label_twice")
    if len(labels) == n_choose:
        status, reason = "ok", ""
    else:
        status, reason = ("short", "too_few") if len(labels) < n_choose else ("over", "too_many")
    return {"status": status, "reason": reason, "chosen": [known[label] for label in labels]}
