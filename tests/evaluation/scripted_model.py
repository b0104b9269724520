"""A model whose replies a function decides, for tests of what the domain asks and how it reads."""

from collections.abc import Callable, Sequence

from pipelines.hashing import digest
from pipelines.models import Model, Reply, Request


class ScriptedModel:
    """Answers with `script(request)`: a text or a whole reply. Keeps what it was asked, in order."""

    weak = False

    def __init__(self, script: Callable[[Request], str | Reply], name: str = "scripted") -> None:
        self.name = name
        self.asked: list[Request] = []
        self._script = script

    @property
    def fingerprint(self) -> str:
        return digest("scripted", self.name)

    def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        said = self._script(request)
        key = digest(self.name, *(message.text for message in request.messages), str(request.attempt))
        return Reply(said, "ok", key=key) if isinstance(said, str) else said

    def ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        return [self.ask(request) for request in requests]


_: Model = ScriptedModel(lambda request: "")
