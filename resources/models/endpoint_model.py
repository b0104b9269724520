"""A model in one role, as the domain knows it: the cache first, then the endpoint."""

from collections.abc import Sequence
from functools import partial

from pipelines.models import Reply, Request, Role
from resources.models.client import EndpointClient, Outcome
from resources.models.dispatch import Call, Dispatcher, outcome_of
from resources.models.identity import CallKey, body, call_keys, fingerprint
from resources.models.settings import Endpoint


class EndpointModel:
    """`pipelines.models.Model` of one role; made by `ModelEngine.model`."""

    def __init__(self, dispatcher: Dispatcher, endpoint: Endpoint, role: Role, scope: str) -> None:
        self._dispatcher = dispatcher
        self._endpoint = endpoint
        self._role: Role = role
        self._scope = scope
        self._fingerprint = fingerprint(role, endpoint, dispatcher.rules.seed)

    @property
    def name(self) -> str:
        """Model name, as the endpoint knows it."""
        return self._endpoint.model

    @property
    def fingerprint(self) -> str:
        """Hash of role, endpoint identity, model and decoding parameters."""
        return self._fingerprint

    @property
    def weak(self) -> bool:
        """Whether every table must label its results as those of a weak model."""
        return self._endpoint.weak

    def ask(self, request: Request) -> Reply:
        """One call. Raises `ModelStopped`; a failing endpoint gives a reply with status `failed`."""
        return self.ask_all([request])[0]

    def ask_all(self, requests: Sequence[Request]) -> list[Reply]:
        """Many calls, replies in the order of the requests. Raises `ModelStopped` once those in flight have ended."""
        keys = call_keys(self._fingerprint, requests)
        calls: dict[str, Call] = {}
        for request, key in zip(requests, keys, strict=True):
            if key.key not in calls:
                calls[key.key] = self._call(request, key)
        kept = self._dispatcher.ledger.find(list(calls))
        self._dispatcher.ledger.note([self._dispatcher.hit(calls[key], reply) for key, reply in kept.items()])
        replies = {key: _reply(outcome_of(reply), key, True) for key, reply in kept.items()}
        missing = [call for key, call in calls.items() if key not in kept]
        made = self._dispatcher.make(missing) if missing else []
        for call, answer in zip(missing, made, strict=True):
            replies[call.key] = _reply(answer.outcome, call.key, answer.cached)
        return [replies[key.key] for key in keys]

    def _call(self, request: Request, key: CallKey) -> Call:
        endpoint = self._endpoint
        return Call(
            *(self._role, endpoint, self._scope, request.unit, key.key, key.prompt),
            # Three bytes a token is more than the tokenizers of today need for Latin text.
            most_tokens_in=sum(len(one.text) // 3 + 8 for one in request.messages),
            most_tokens_out=request.max_tokens,
            send=partial(_send, request, endpoint.model, self._dispatcher.rules.seed),
        )


async def _send(request: Request, model: str, seed: int, client: EndpointClient, conceded: frozenset[str]) -> Outcome:
    return await client.chat(body(request, model, seed, conceded))


def _reply(outcome: Outcome, key: str, cached: bool) -> Reply:
    reason = "" if outcome.status == "ok" else outcome.reason
    return Reply(outcome.text, outcome.status, key, outcome.tokens_in, outcome.tokens_out, cached, reason)
