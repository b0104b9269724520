"""What a domain step may ask of a language model (ours).

The domain knows only this: a request in, a reply out. Endpoints, caches, budgets
and retries are the business of `resources`; a memory or a reader is given a `Model`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from pipelines.hashing import digest

Role = Literal["builder", "reader", "judge", "profile"]
ROLES: tuple[Role, ...] = ("builder", "reader", "judge", "profile")
ReplyStatus = Literal["ok", "empty", "truncated", "refused", "failed"]
REPLY_STATUSES: tuple[ReplyStatus, ...] = ("ok", "empty", "truncated", "refused", "failed")


class ModelFailed(RuntimeError):
    """A call gave no usable reply after every retry; its text never becomes memory."""


class ModelStopped(RuntimeError):
    """No further call may be made now (a budget is spent, the endpoint is down); finished calls are kept.

    The run ends cleanly and goes on there when it is started again.
    """


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    speaker: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True)
class Request:
    """One call. Decoding is greedy; what makes a reply the same is everything here but `unit`."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    """JSON schema of the reply; None for free text."""
    schema_name: str = "answer"
    max_tokens: int = 512
    attempt: int = 0
    """Raised to ask the same question again on purpose; a cached reply answers only its own attempt."""
    unit: str = field(default="", compare=False)
    """What the call is for, in the accounting; enters no key."""


@dataclass(frozen=True)
class Reply:
    """What came back.

    `ok` a whole text; `truncated` a text that stopped at `max_tokens`; `empty` no text;
    `refused` the endpoint declined; `failed` no reply after every retry (`error` says why,
    without secrets). Only `ok` and `truncated` carry text.
    """

    text: str
    status: ReplyStatus
    key: str = ""
    """Hash of endpoint, model, messages, parameters and attempt: the call's identity in cache and accounting."""
    tokens_in: int = 0
    tokens_out: int = 0
    cached: bool = False
    error: str = ""

    def require(self) -> str:
        """The text of a whole reply; raises `ModelFailed` for any other."""
        if self.status != "ok":
            raise ModelFailed(f"model reply is {self.status}{': ' + self.error if self.error else ''}")
        return self.text


def prompt_hash(messages: Sequence[Message]) -> str:
    """Hash of the messages of a call, as the account of calls has it."""
    return digest(*(part for one in messages for part in (one.speaker, one.text)))


@runtime_checkable
class Model(Protocol):
    """A model in one role, behind one endpoint. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """Model name, as in tables."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of role, endpoint identity, model and decoding parameters: what a result depends on besides prompts."""
        ...

    @property
    def weak(self) -> bool:
        """Whether every table must label its results as those of a weak model."""
        ...

    def ask(self, request: Request) -> Reply:
        """One call, in its turn. Raises `ModelStopped`; a failing endpoint gives a reply with status `failed`."""
        ...

    def ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        """Many calls at once, replies in the order of the requests; raises as `ask`."""
        ...
