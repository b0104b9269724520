"""A model judges answers by a rubric: one call an item, typed verdicts for each of its parts (ours).

A verdict is read from its own field of a JSON reply. What cannot be read (no JSON,
NaN, a value out of range, a part left out or judged twice) is a `judge_error`: counted,
never a zero, never a pass.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, create_model
from pydantic import Field as Bounds

from pipelines.evaluation.judging import PARTS, checked
from pipelines.hashing import digest, digest_json
from pipelines.memory.contract import Settings, Tokens, setting
from pipelines.memory.rendering import plain
from pipelines.models import Message, Model, Reply, Request
from pipelines.prompts import Prompt, fill, load, prompts_hash
from pipelines.prompts.quoting import quoted
from pipelines.replies import parse

NOTHING = "(nothing)"
"""Stands for an empty question, reference or answer."""
MESSAGE_TOKENS = 16
"""Room for what an endpoint writes around the messages."""
VERDICT_COLUMNS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "judge": pl.String,
    "user_id": pl.String,
    "item": pl.String,
    "part": pl.String,
    "gate": pl.Boolean,
    "content": pl.String,
    "status": pl.String,
    "reason": pl.String,
    "analysis": pl.String,
    "call": pl.String,
}
"""Columns of verdicts before those of the rubric's fields.

`judge` fingerprint of the judge; `content` hash of all that it was shown and of the part, by which a person's label
finds its verdict; `status` ok | judge_error, `reason` why not ok, as one word; `analysis` the judge's own words; `call`
identity of the model call.
"""


class MixedJudges(ValueError):
    """Verdicts of different judges, or of a judge other than the calibrated one."""


@dataclass(frozen=True)
class Field:
    """One verdict on a part: a yes or no (`bool`), a whole number from `low` to `high`, or one of `options`."""

    name: str
    kind: Literal["bool", "int", "choice"]
    low: int = 0
    high: int = 0
    options: tuple[str, ...] = ()

    @property
    def dtype(self) -> type[pl.DataType]:
        """Type of its column."""
        return {"bool": pl.Boolean, "int": pl.Int32, "choice": pl.String}[self.kind]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of its value."""
        if self.kind == "bool":
            return {"type": "boolean"}
        if self.kind == "int":
            return {"type": "integer", "enum": list(range(self.low, self.high + 1))}
        return {"type": "string", "enum": list(self.options)}

    @property
    def type(self) -> Any:
        """Type that a reply's value must have, without any coercion."""
        if self.kind == "bool":
            return bool
        if self.kind == "int":
            return Annotated[int, Bounds(ge=self.low, le=self.high)]
        return Literal[self.options]


@dataclass(frozen=True)
class Rubric:
    """What a judge is asked about every part, and the prompt file that explains it."""

    name: str
    instructions: str
    fields: tuple[Field, ...]

    @cached_property
    def reply(self) -> type[BaseModel]:
        """What a reply must be."""
        strict = ConfigDict(extra="forbid", strict=True)
        fields: dict[str, Any] = {field.name: (field.type, ...) for field in self.fields}
        judgment = create_model("Judgment", __config__=strict, part=(str, ...), analysis=(str, ...), **fields)
        return create_model("Judgments", __config__=strict, judgments=(list[judgment], ...))  # type: ignore[valid-type]

    def schema(self, labels: list[str]) -> dict[str, Any]:
        """JSON schema of a reply on the parts with these labels."""
        properties = {
            "part": {"type": "string", "enum": labels},
            "analysis": {"type": "string"},
            **{field.name: field.schema for field in self.fields},
        }
        count = {"minItems": len(labels), "maxItems": len(labels)}
        return _closed({"judgments": {"type": "array", "items": _closed(properties), **count}})


class JudgeSettings(Settings):
    """What a judge must know of the endpoint behind its model, and how often it asks."""

    context_tokens: int = setting(
        32_768, "context of the model, by the counter of the readouts", unit="tokens", origin="ours", ge=256
    )
    part_tokens: int = setting(160, "room in the reply for one part's judgment", unit="tokens", origin="ours", ge=32)
    reply_tokens: int = setting(
        256, "room in the reply beyond the judgments, for models that think first", unit="tokens", origin="ours", ge=0
    )
    attempts: int = setting(
        2, "calls made at most for an item whose reply cannot be read", unit="calls", origin="ours", ge=1
    )


class RubricJudge:
    """Asks `model` once an item, again where the reply cannot be read; `tokens` measures prompts."""

    version = "1"

    def __init__(self, model: Model, rubric: Rubric, tokens: Tokens, settings: JudgeSettings | None = None) -> None:
        self._model = model
        self._rubric = rubric
        self._tokens = tokens
        self._settings = settings or JudgeSettings()
        self._instructions, self._question = load(rubric.instructions), load("judge/question")

    @property
    def prompt(self) -> str:
        """Hash of the prompt files."""
        return prompts_hash(self._instructions, self._question)

    @property
    def weak(self) -> bool:
        """Whether tables must label its verdicts as those of a weak model."""
        return self._model.weak

    @property
    def fingerprint(self) -> str:
        """Hash of version, rubric, prompts, model, counter and settings: verdicts of another one are never mixed in."""
        made = [self.version, asdict(self._rubric), self._settings.model_dump(mode="json")]
        return digest(digest_json(made), self.prompt, self._model.fingerprint, self._tokens.sha256)

    def prompts_for(self, parts: pl.DataFrame) -> pl.DataFrame:
        """What is sent for every item of `parts`, exactly.

        Columns: `item`; `parts` in the order of their labels; `system` and `user`, the two messages; `tokens` of both;
        `reply_tokens`, the room for the reply; `fits`, whether all is within the context. Sorted by item.
        Raises `BadParts`.
        """
        grouped = checked(parts).group_by("item", maintain_order=True).agg(pl.exclude("item"))
        users = [_asked(self._question, row) for row in grouped.iter_rows(named=True)]
        fixed = self._tokens.count(self._instructions.text) + MESSAGE_TOKENS
        counted = pl.Series("tokens", [fixed + self._tokens.count(text) for text in users], dtype=pl.Int64)
        room = pl.col("parts").list.len().cast(pl.Int64) * self._settings.part_tokens + self._settings.reply_tokens
        return (
            grouped.select("item", pl.col("part").alias("parts"))
            .with_columns(
                pl.lit(self._instructions.text).alias("system"), pl.Series("user", users, dtype=pl.String), counted
            )
            .with_columns(room.alias("reply_tokens"))
            .with_columns((pl.col("tokens") + pl.col("reply_tokens") <= self._settings.context_tokens).alias("fits"))
        )

    def verdicts(self, parts: pl.DataFrame) -> pl.DataFrame:
        """One row a part: columns `VERDICT_COLUMNS` and the rubric's fields, null where the judge erred.

        An item is asked again, as another attempt, while a reply came that cannot be read in whole; the first attempt
        without an error counts, else the last. A prompt beyond the context is not sent and not cut.
        Raises `BadParts`; `ModelStopped` when no call may be made (finished calls are kept by the model).
        """
        prompts = self.prompts_for(parts).rows(named=True)
        judged = {row["item"]: _failed(row, "prompt_over_context", "") for row in prompts}
        left = [row for row in prompts if row["fits"]]
        for attempt in range(self._settings.attempts):
            replies = self._model.ask_all([self._request(row, attempt) for row in left])
            judged |= {row["item"]: self._judgments(row, reply) for row, reply in zip(left, replies, strict=True)}
            # A call that got no reply was tried often enough by the model itself.
            left = [
                row
                for row, reply in zip(left, replies, strict=True)
                if reply.status != "failed" and any(one["status"] != "ok" for one in judged[row["item"]])
            ]
        rows = [one for item in judged.values() for one in item]
        schema = {name: PARTS[name] for name in ("item", "part")}
        schema |= {name: VERDICT_COLUMNS[name] for name in ("status", "reason", "analysis", "call")}
        frame = pl.DataFrame(rows, schema=schema | {field.name: field.dtype for field in self._rubric.fields})
        return (
            contents(parts)
            .join(frame, on=["item", "part"], how="left", maintain_order="left")
            .select(pl.lit(self.fingerprint).alias("judge"), pl.all())
            .select(*VERDICT_COLUMNS, *(field.name for field in self._rubric.fields))
        )

    def _request(self, row: dict[str, Any], attempt: int) -> Request:
        return Request(
            (Message("system", row["system"]), Message("user", row["user"])),
            schema=self._rubric.schema(part_labels(len(row["parts"]))),
            schema_name="judgments",
            max_tokens=row["reply_tokens"],
            attempt=attempt,
            unit=row["item"],
        )

    def _judgments(self, row: dict[str, Any], reply: Reply) -> list[dict[str, Any]]:
        parsed = parse(reply, self._rubric.reply)
        if parsed.value is None:
            return _failed(row, f"reply_{parsed.status}", reply.key)
        labels = part_labels(len(row["parts"]))
        said: dict[str, list[Any]] = {label: [] for label in labels}
        for judgment in parsed.value.judgments:  # type: ignore[attr-defined]
            if judgment.part not in said:
                return _failed(row, "unknown_part", reply.key)
            said[judgment.part].append(judgment)
        return [
            _verdict(row["item"], part, said[label], reply.key)
            for label, part in zip(labels, row["parts"], strict=True)
        ]


def contents(parts: pl.DataFrame) -> pl.DataFrame:
    """The columns user_id, item, part, gate and `content` of every part; see `VERDICT_COLUMNS`. Raises `BadParts`."""
    frame = checked(parts)
    shown = [name for name in PARTS if name not in ("user_id", "item", "gate")]
    whole = {
        item: digest_json(group.select(shown).rows()) for (item,), group in frame.group_by("item", maintain_order=True)
    }
    hashes = [digest(whole[item], part) for item, part in frame.select("item", "part").iter_rows()]
    return frame.select("user_id", "item", "part", "gate").with_columns(pl.Series("content", hashes, dtype=pl.String))


def only_judge(verdicts: pl.DataFrame) -> str:
    """Fingerprint of the one judge that gave `verdicts`. Raises `MixedJudges` when there are several or none."""
    judges = verdicts["judge"].unique().sort().to_list()
    if len(judges) != 1:
        raise MixedJudges(f"verdicts of {len(judges)} judges ({', '.join(judges)}); judge all of it with one")
    return str(judges[0])


def part_labels(n: int) -> list[str]:
    """Labels of an item's n parts: p01, p02, …, of equal length."""
    width = max(2, len(str(n)))
    return [f"p{place:0{width}}" for place in range(1, n + 1)]


def _asked(question: Prompt, row: dict[str, Any]) -> str:
    cells = zip(part_labels(len(row["part"])), row["part"], row["expected"], row["given"], strict=True)
    return fill(
        question,
        **{name: quoted(row[name][0] or "", NOTHING) for name in ("question", "reference", "answer")},
        parts="\n".join(_part_line(*cell) for cell in cells),
        n_parts=str(len(row["part"])),
    )


def _part_line(label: str, part: str, expected: str | None, given: str | None) -> str:
    values = [("reference", expected), ("answer", given if expected is None else given or NOTHING)]
    said = [f"{name}: {plain(value)}" for name, value in values if value is not None]
    return " | ".join([f"{label}: {plain(part)}", *said])


def _failed(row: dict[str, Any], reason: str, call: str) -> list[dict[str, Any]]:
    return [_error(row["item"], part, reason, call) for part in row["parts"]]


def _error(item: str, part: str, reason: str, call: str) -> dict[str, Any]:
    return {"item": item, "part": part, "status": "judge_error", "reason": reason, "analysis": "", "call": call}


def _verdict(item: str, part: str, said: list[Any], call: str) -> dict[str, Any]:
    if len(said) != 1:
        return _error(item, part, "part_left_out" if not said else "part_judged_twice", call)
    found: dict[str, Any] = said[0].model_dump(exclude={"part"})
    return {"item": item, "part": part, "status": "ok", "reason": "", "call": call} | found


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
