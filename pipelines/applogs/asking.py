"""Reader `llm`: a language model answers each question from what the memory delivered (reference 4.3; wording ours).

One call a question. The prompt holds the delivered text, the moment and the question with its template: no method, no
gold, no name of the state in a service. The reply is JSON and is read strictly; one that cannot be read is asked for
again a few times, an abstention never.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict

from pipelines.applogs.answerers import most_cited
from pipelines.applogs.contexts import WHOLE
from pipelines.applogs.json_text import JsonObject, dump
from pipelines.applogs.question_forms import NO_KEY
from pipelines.applogs.reading_replies import said_by
from pipelines.applogs.tables import table_of
from pipelines.hashing import digest, digest_json
from pipelines.memory.contract import Settings, Tokens, setting
from pipelines.memory.rendering import plain
from pipelines.models import Message, Model, Reply, Request
from pipelines.prompts import Prompt, fill, load, prompts_hash
from pipelines.prompts.quoting import quoted
from pipelines.replies import parse

LLM = "llm"
VERSION = "1"
"""Raised when the words that fill a slot, the order of questions or the reading of replies change."""
INSTRUCTIONS = load("applogs/instructions")
STATE, FORM, MESSAGE, LIST = (load(f"applogs/{name}") for name in ("state", "form", "message", "list"))
NOTHING = "(nothing)"
MESSAGE_TOKENS = 16
"""Room for what an endpoint writes around the two messages."""
TOLD_EVERY = 256
"""Questions asked at once, and between two reports of progress."""
_SCALAR = {"type": ["string", "number", "boolean", "null"]}


class AskingSettings(Settings):
    """What the reader must know of the endpoint behind its model."""

    context_tokens: int = setting(
        32_768, "context of the model, by the counter of the contexts", unit="tokens", origin="ours", ge=256
    )
    reply_tokens: int = setting(768, "reply of one call at most", unit="tokens", origin="ours", ge=16)
    list_tokens: int = setting(
        3_072, "reply of one call that asks for a list, at most", unit="tokens", origin="ours", ge=16
    )
    retries: int = setting(1, "further tries for a reply that cannot be read", unit="calls", origin="ours", ge=0)


class Given(BaseModel):
    """The reply."""

    model_config = ConfigDict(extra="forbid", strict=True)

    value: Any
    evidence: list[str]


@dataclass(frozen=True)
class Prompted:
    """One question as it is sent."""

    question: JsonObject
    context: JsonObject
    user: str
    tokens: int
    """Of both messages."""
    fits: bool
    """Whether prompt and reply are within the context; else it is not sent, for nothing may be cut here."""


def prompts() -> str:
    """Hash of the prompt files and of `VERSION`: rows of different ones are not ranked together."""
    return digest(prompts_hash(INSTRUCTIONS, STATE, FORM, MESSAGE, LIST), VERSION)


def fingerprint(model: str, tokens: Tokens, settings: AskingSettings) -> str:
    """Hash of all that decides an answer besides its inputs; `model` is the model's own."""
    return digest(LLM, prompts(), model, tokens.sha256, digest_json(settings.model_dump(mode="json")))


def prompted(
    contexts: pl.DataFrame, questions: pl.DataFrame, tokens: Tokens, settings: AskingSettings
) -> Iterator[Prompted]:
    """What is sent for each of `questions` (rows of `tasks`) that has a context, by user, checkpoint and item."""
    delivered = {
        (row["user_id"], row["checkpoint_id"], row["item"]): row
        for row in contexts.select("user_id", "checkpoint_id", "item", "text", "retrieved").iter_rows(named=True)
    }
    fixed = tokens.count(INSTRUCTIONS.text) + MESSAGE_TOKENS
    for question in questions.sort("user_id", "checkpoint_id", "item").iter_rows(named=True):
        place = (question["user_id"], question["checkpoint_id"])
        if (told := delivered.get((*place, question["item"])) or delivered.get((*place, WHOLE))) is None:
            continue
        user = _user(question, told["text"])
        n = fixed + tokens.count(user)
        yield Prompted(question, told, user, n, n + room(question, settings) <= settings.context_tokens)


def ask(
    model: Model,
    contexts: pl.DataFrame,
    questions: pl.DataFrame,
    tokens: Tokens,
    settings: AskingSettings,
    progress: Callable[[int], None] = lambda _: None,
) -> pl.DataFrame:
    """Table `answers` of a model; a question without a context gets no row.

    - `ok`, `abstained`: a reply that holds a value in the shape of the template, or none at all.
    - `parse_error`: the reply is empty, cut off, declined, not JSON, of another form, or no text where one is due.
    - `transport_error`: no reply, or the prompt does not fit the context and was not sent (`prompt_over_context`).

    Raises `ModelStopped` when no call may be made; finished calls are kept by the model.
    """
    sent = list(prompted(contexts, questions, tokens, settings))
    rows: dict[int, JsonObject] = {
        n: _row(one, "transport_error", reason="prompt_over_context") for n, one in enumerate(sent) if not one.fits
    }
    waiting = [n for n in range(len(sent)) if n not in rows]
    for attempt in range(settings.retries + 1):
        requests = [replace(request(sent[n], settings), attempt=attempt) for n in waiting]
        for n, reply in zip(waiting, _all(model, requests, progress if attempt == 0 else lambda _: None), strict=True):
            rows[n] = _read(sent[n], reply)
        waiting = [n for n in waiting if rows[n]["status"] == "parse_error"]
    return table_of("answers", (rows[n] for n in range(len(sent))))


def room(question: JsonObject, settings: AskingSettings) -> int:
    """Tokens that the reply to a question may take."""
    return settings.list_tokens if question["task"] == NO_KEY else settings.reply_tokens


def request(one: Prompted, settings: AskingSettings) -> Request:
    """The call that asks one question."""
    shape = shape_of(one.question)
    schema = {
        "type": "object",
        "properties": {
            "value": {"type": ["string", "null"]} if shape is None else _schema(shape),
            "evidence": {"type": "array", "items": {"type": "string"}, "maxItems": most_cited(one.question)},
        },
        "required": ["value", "evidence"],
        "additionalProperties": False,
    }
    messages = (Message("system", INSTRUCTIONS.text), Message("user", one.user))
    return Request(messages, schema, "answer", room(one.question, settings), unit=one.question["item"])


def _all(model: Model, requests: Sequence[Request], progress: Callable[[int], None]) -> list[Reply]:
    replies: list[Reply] = []
    for first in range(0, len(requests), TOLD_EVERY):
        replies += model.ask_all(requests[first : first + TOLD_EVERY])
        progress(len(replies))
    return replies


def _user(question: JsonObject, text: str) -> str:
    shared = {"memory": quoted(text, NOTHING), "as_of": f"{question['as_of']:%A, %Y-%m-%d %H:%M}"}
    if question["service_family"] is None:
        asked = {"question": plain(question["question_text"]), "template": question["answer_template"] or "null"}
        return fill(LIST if question["task"] == NO_KEY else STATE, **shared, **asked)
    task: dict[str, str] = {name: plain(question[name]) for name in ("scenario", "instruction")}
    return _service(question["output_template"], shared | task)


def _service(template: str | None, slots: dict[str, str]) -> str:
    form: Prompt = MESSAGE if template is None else FORM
    return fill(form, **slots, **({} if template is None else {"template": template}))


def shape_of(question: JsonObject) -> Any:
    """The template of a question's answer; None where a message is asked for."""
    text = question["answer_template"] or question["output_template"]
    return None if text is None else json.loads(text)


def _schema(shape: Any) -> JsonObject:
    """JSON schema of a value in the shape of a template, every blank of which may stay null."""
    if isinstance(shape, dict):
        return {
            "type": "object",
            "properties": {name: _schema(inner) for name, inner in shape.items()},
            "required": list(shape),
            "additionalProperties": False,
        }
    if isinstance(shape, list):
        return {"anyOf": [{"type": "array", "items": _schema(shape[0] if shape else "")}, {"type": "null"}]}
    return dict(_SCALAR)


def _read(one: Prompted, reply: Reply) -> JsonObject:
    told = parse(reply, Given)
    if told.value is None:
        status = "transport_error" if told.status == "failed" else "parse_error"
        return _row(one, status, reason=f"reply_{told.status}", call=reply.key)
    said = said_by(told.value.value, shape_of(one.question))
    if said.status != "ok":
        return _row(one, said.status, reason=said.reason, call=reply.key)
    evidence = [cited for cited in dict.fromkeys(told.value.evidence) if cited]
    return _row(one, "ok", answer=dump(said.answer), evidence=evidence, call=reply.key)


def _row(one: Prompted, status: str, **more: Any) -> JsonObject:
    place = {name: one.question[name] for name in ("user_id", "item")}
    return {**place, "status": status, "evidence": [], "retrieved": one.context["retrieved"], **more}
