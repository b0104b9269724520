"""A scripted OpenAI-compatible endpoint: real HTTP on loopback, whose replies and faults a function decides.

    def script(call: Call) -> str | Answer:
        return rate_limited() if call.number == 0 else "hello"

    with model_server(script) as server:
        ...  # server.base_url, server.requests

The script runs in the server's thread, once a chat call, in order of arrival; what it
raises is raised again when the `with` block ends. Embeddings are answered without it:
every text has its own fixed vector (`vector_of`), in the encoding that was asked for.
"""

import asyncio
import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

DIMENSIONS = 8


@dataclass(frozen=True)
class Call:
    """One request as it arrived."""

    number: int
    """From 0, over all calls of this server."""
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes

    @cached_property
    def body(self) -> dict[str, Any]:
        """The JSON body."""
        return json.loads(self.raw) if self.raw else {}

    @property
    def model(self) -> str:
        return self.body.get("model", "")

    @property
    def text(self) -> str:
        """Text of the last message."""
        return self.body["messages"][-1]["content"]

    @property
    def system(self) -> str:
        """Text of all system messages."""
        return "\n".join(one["content"] for one in self.body["messages"] if one["role"] == "system")

    @property
    def schema(self) -> dict[str, Any] | None:
        """JSON schema of the reply that was asked for through `response_format`."""
        wanted = self.body.get("response_format") or {}
        return wanted.get("json_schema", {}).get("schema")

    @property
    def key(self) -> str:
        """The bearer key that was sent."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")


@dataclass(frozen=True)
class Answer:
    """One reply; the functions below make the usual faults."""

    text: str | None = ""
    finish: str = "stop"
    choices: int = 1
    refusal: str | None = None
    tokens_in: int = 11
    tokens_out: int = 7
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent as it is, in place of a completion."""
    delay: float = 0.0
    """Seconds before the reply."""
    reset: bool = False
    """The connection is reset in place of a reply."""


def error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An error of the endpoint, in OpenAI's form."""
    body = {"error": {"message": message, "type": "scripted", "param": None, "code": None}}
    return Answer(status=status, headers=headers or {}, body=json.dumps(body).encode())


def rate_limited(retry_after: str | None = "0") -> Answer:
    """429; `retry_after` is a number of seconds, an HTTP date or None for no header."""
    return error(429, "rate limit reached", {} if retry_after is None else {"retry-after": retry_after})


def server_error(status: int = 500) -> Answer:
    return error(status, "the server had an error")


def connection_reset() -> Answer:
    return Answer(reset=True)


def slow(seconds: float, text: str = "late") -> Answer:
    return Answer(text, delay=seconds)


def malformed_body() -> Answer:
    """200 with a body that breaks off inside the JSON."""
    return Answer(body=b'{"id": "x", "choices": [{"index": 0, "mess')


def wrong_schema() -> Answer:
    """Valid JSON that fits no schema a step would ask for."""
    return Answer('{"unasked": [1, null, "x"]}')


def empty() -> Answer:
    return Answer("", tokens_out=0)


def too_long(text: str = '{"answer": "it goes on and') -> Answer:
    """A text that stopped at the token limit."""
    return Answer(text, finish="length")


def two_choices(text: str = "one of two") -> Answer:
    return Answer(text, choices=2)


def no_choices() -> Answer:
    return Answer(choices=0)


def refused(text: str = "I cannot help with that.") -> Answer:
    """Declined in the message's `refusal` field."""
    return Answer(None, refusal=text)


def content_filtered() -> Answer:
    return Answer("", finish="content_filter")


def key_echoed(call: Call, status: int = 401) -> Answer:
    """An error whose message and headers repeat the caller's key."""
    return error(status, f"Incorrect API key provided: {call.key}", {"x-key": call.key})


def schema_unsupported() -> Answer:
    """400 of an endpoint without structured output."""
    return error(400, "Unrecognized request argument supplied: response_format")


Script = Callable[[Call], "str | Answer"]


def vector_of(text: str, dimensions: int = DIMENSIONS) -> "np.typing.NDArray[np.float32]":
    """The vector, of no particular length, that the server gives a text."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    return np.random.Generator(np.random.Philox(seed)).normal(size=dimensions).astype(np.float32)


class ModelServer:
    """A running endpoint. `requests` holds every call that arrived, chat and embeddings, in order."""

    def __init__(self, script: Script, keep: bool = True) -> None:
        self.requests: list[Call] = []
        self.count = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.port = 0
        self._script = script
        self._keep = keep
        self._raised: list[BaseException] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Call]:
        """The chat calls among `requests`."""
        return [call for call in self.requests if call.path.endswith("/chat/completions")]

    def answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        """The reply to one call."""
        call = Call(self.count, path, headers, raw)
        self.count += 1
        if self._keep:
            self.requests.append(call)
        try:
            if path.endswith("/embeddings"):
                return Answer(body=_embeddings(call.body))
            if path.endswith("/models"):
                return Answer(body=b'{"object": "list", "data": [{"id": "scripted", "object": "model"}]}')
            if not path.endswith("/chat/completions"):
                return error(404, f"no such path: {path}")
            said = self._script(call)
            answer = Answer(said) if isinstance(said, str) else said
            whole = answer.body is not None or answer.reset
            return answer if whole else replace(answer, body=_completion(call, answer))
        except Exception as raised:
            self._raised.append(raised)
            return error(501, "the script of the test raised")

    def check(self) -> None:
        """Raise what the script raised."""
        if self._raised:
            raise self._raised[0]


@contextmanager
def model_server(script: Script = lambda call: "ok", keep: bool = True, port: int = 0) -> Iterator[ModelServer]:
    """Serve until the block ends. `keep=False` only counts the calls (for many of them)."""
    server = ModelServer(script, keep)
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    stop = asyncio.Event()

    async def run() -> None:
        listening = await loop.create_server(lambda: _Connection(server), "127.0.0.1", port, backlog=512)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()
        async with listening:
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), name="model-server", daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the model server did not start")
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
    server.check()


class _Connection(asyncio.Protocol):
    """One connection, kept alive; written by hand because a bench measures beside it."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._buffer = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            stop = end + 4 + int(headers.get("content-length", "0"))
            if len(self._buffer) < stop:
                return
            raw, self._buffer = self._buffer[end + 4 : stop], self._buffer[stop:]
            server = self._server
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
            answer = server.answer(first.split(" ")[1].partition("?")[0], headers, raw)
            if answer.delay:
                asyncio.get_running_loop().call_later(answer.delay, self._send, answer)
            else:
                self._send(answer)

    def _send(self, answer: Answer) -> None:
        self._server.in_flight -= 1
        if answer.reset:
            self._transport.abort()
            return
        body = answer.body or b""
        sent = {"content-type": "application/json", "content-length": str(len(body)), **answer.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        self._transport.write(f"HTTP/1.1 {answer.status} Scripted\r\n{head}\r\n".encode("latin-1") + body)


def _completion(call: Call, answer: Answer) -> bytes:
    message = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    return json.dumps(
        {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": 0,
            "model": call.model,
            "choices": [
                {"index": index, "message": message, "finish_reason": answer.finish, "logprobs": None}
                for index in range(answer.choices)
            ],
            "usage": {
                "prompt_tokens": answer.tokens_in,
                "completion_tokens": answer.tokens_out,
                "total_tokens": answer.tokens_in + answer.tokens_out,
            },
        }
    ).encode()


def _embeddings(body: Mapping[str, Any]) -> bytes:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    vectors = [vector_of(text, body.get("dimensions") or DIMENSIONS) for text in texts]
    as_text = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(vector.tobytes()).decode() if as_text else vector.tolist(),
        }
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return json.dumps({"object": "list", "data": data, "model": body.get("model"), "usage": usage}).encode()
