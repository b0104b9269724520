"""Models for the contract tests and the audit: no network, no weights, the same reply to the same request (ours).

The parrot answers any JSON schema with values made of the request's own words, drawn
by a keyed hash of all of it, so that a memory that asks a model can be held to every
rule of the contract: whatever reaches a prompt moves the replies.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pipelines.hashing import digest_json, key64
from pipelines.memory.replay import Served
from pipelines.models import Message, Reply, Request

_CELL = " | "


class Parrot:
    """Satisfies `pipelines.models.Model`. Its replies mean nothing; every table labels them as weak."""

    name = "parrot"
    fingerprint = "parrot 1"
    weak = True

    def ask(self, request: Request) -> Reply:
        """A reply of the schema asked for; without one, a few cells of the data."""
        key = digest_json([[m.speaker, m.text] for m in request.messages] + [request.schema_name, request.attempt])
        words = _Words(key, request.messages)
        text = (
            json.dumps(words.value(request.schema, request.schema))
            if request.schema is not None
            else "\n".join(words.cell() for _ in range(4))
        )
        sizes = (sum(len(message.text.split()) for message in request.messages), len(text.split()))
        return Reply(text, "ok", key, *sizes)

    def ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        """One after the other."""
        return [self.ask(request) for request in requests]


class HashedWords:
    """Satisfies `pipelines.embeddings.Embedder`: texts that share words are alike."""

    fingerprint = "hashed words 1"

    def embed(self, texts: Sequence[str]) -> "np.typing.NDArray[np.float32]":
        """Unit vectors of word counts, each word on one of 256 axes; zero for a text without a word."""
        counts = np.zeros((len(texts), 256))
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                counts[row, key64(word, "axis") % 256] += 1
        norms = np.linalg.norm(counts, axis=1, keepdims=True)
        vectors: np.typing.NDArray[np.float32] = (counts / np.where(norms > 0, norms, 1)).astype(np.float32)
        return vectors


PARROTS = Served(builder=Parrot(), profile=Parrot(), embedder=HashedWords())
"""Parrots in every role, and hashed words."""


class _Words:
    """Draws from the cells of a request's data, in the order of a keyed sequence."""

    def __init__(self, key: str, messages: Sequence[Message]) -> None:
        self._draws = self._sequence(key)
        lines = messages[-1].text.split("\n")
        rows = [line for line in lines if _CELL in line] or lines
        self._cells = [cell for row in rows for cell in row.split(_CELL) if cell.strip()] or ["nothing"]

    @staticmethod
    def _sequence(key: str) -> Iterator[int]:
        place = 0
        while True:
            yield key64(f"{key}:{place}", "parrot")
            place += 1

    def _pick(self, among: Sequence[Any]) -> Any:
        return among[next(self._draws) % len(among)]

    def cell(self) -> str:
        """A cell of the data."""
        return str(self._pick(self._cells))

    def value(self, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
        """A value of a schema."""
        if "$ref" in schema:
            return self.value(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._pick(schema["enum"])
        if "anyOf" in schema:
            return self.value(self._pick(schema["anyOf"]), root)
        kind = schema.get("type")
        if kind == "object":
            return {name: self.value(part, root) for name, part in schema.get("properties", {}).items()}
        if kind == "array":
            least = schema.get("minItems", 1)
            return [self.value(schema["items"], root) for _ in range(least + next(self._draws) % 3)]
        if kind == "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", 100)
            return low + next(self._draws) % (high - low + 1)
        if kind == "number":
            return (next(self._draws) % 101) / 100
        if kind == "boolean":
            return bool(next(self._draws) % 2)
        if kind == "null":
            return None
        return self._text(schema.get("pattern"))

    def _text(self, pattern: str | None) -> str:
        if pattern is None:
            return self.cell()
        fitting = [cell for cell in ("", *self._cells) if re.search(pattern, cell)]
        return str(self._pick(fitting)) if fitting else self.cell()
