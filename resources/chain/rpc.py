"""One JSON-RPC node over web3: answers as they stand on the wire, failures in words without the endpoint's key."""

import logging
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import requests
from urllib3.exceptions import NewConnectionError

from resources.chain.settings import ChainError, ChainSettings
from resources.chain.web3_imports import recursion_limit_kept

_SHOWN = 200
"""Characters of a node's own words that are repeated."""
_WAITS = (0.1, 10.0)
"""Seconds between tries while a node is away or busy: first, doubled each time, and longest."""
_TRIES = 8
"""How often a busy node is asked, or one whose answers are broken."""
_BATCH = 50
"""Requests sent together, at most."""
_BUSY = re.compile(r"rate.?limit|rate exceeded|too many requests|compute units|throughput|quota|throttl", re.I)
_RANGES = (
    re.compile(r"\[\s*(0x[0-9a-f]+)\s*,\s*(0x[0-9a-f]+)\s*\]", re.I),
    re.compile(r"range\s+(\d+)\s*-\s*(\d+)", re.I),
)
Kind = Literal["away", "busy", "refused", "broken"]


class RpcFailure(Exception):
    """A request without a good answer.

    `kind`: away (no connection), busy (asked too often), refused (the node says no), broken
    (no answer in time, or none that can be read). `wait`: seconds that the node asks for.
    `suggested`: the range of blocks that the node says would work.
    """

    def __init__(
        self, kind: Kind, text: str, wait: float | None = None, suggested: tuple[int, int] | None = None
    ) -> None:
        super().__init__(text)
        self.kind, self.wait, self.suggested = kind, wait, suggested


def _web3_provider() -> Any:
    """web3's provider: 0.7 s that only a process with a live source pays."""
    with recursion_limit_kept():
        from web3 import HTTPProvider
    return HTTPProvider


class RpcNode:
    """The node of the settings; may be used by several threads."""

    def __init__(self, settings: ChainSettings) -> None:
        """Raises `ChainError` when no endpoint is set."""
        if not settings.url.get_secret_value():
            raise ChainError("no endpoint: set TRAILBENCH_RPC_URL to the JSON-RPC URL of a Polygon archive node")
        provider = _web3_provider()
        # These write whole URLs at level DEBUG.
        for name in ("web3", "urllib3"):
            logging.getLogger(name).setLevel(logging.INFO)
        self.settings = settings
        self._provider = provider(
            settings.url.get_secret_value(),
            request_kwargs={"timeout": settings.timeout},
            exception_retry_configuration=None,
        )
        self._answered = time.monotonic()
        self._batch = _BATCH

    def call(self, method: str, params: Sequence[Any]) -> Any:
        """The `result` of one request, repeated while the node is away or busy, or its answer is broken.

        Raises `RpcFailure` when the node refuses it, when a few waits did not help, and at
        once when a range of logs, which may be asked for in parts, gets a broken answer;
        `ChainError` when the node gave no answer at all for `patience` seconds.
        """
        return _result(self._waiting(method, params), self)

    def batch(self, method: str, params: Sequence[Sequence[Any]]) -> list[Any]:
        """The `result` of many requests, sent together as long as the node takes batches. Raises as `call`."""
        results: list[Any] = []
        while len(results) < len(params):
            part = params[len(results) :][: self._batch]
            if len(part) == 1:
                results.append(self.call(method, part[0]))
                continue
            try:
                answers = self._waiting(method, part, together=True)
                if not isinstance(answers, list) or len(answers) != len(part):
                    raise RpcFailure("broken", f"{method}: a batch without one answer a request")
                results += [_result(answer, self) for answer in answers]
            except RpcFailure:
                self._batch = len(part) // 2
        return results

    def _waiting(self, method: str, params: Sequence[Any], together: bool = False) -> Any:
        wait, longest = _WAITS
        tries, start = 0, time.monotonic()
        while True:
            answer = self._answer(method, params, together)
            if not isinstance(answer, RpcFailure):
                self._answered = time.monotonic()
                return answer
            tries += 1
            # What can be asked for in parts is not repeated whole for long: a node may hang up on a request that is
            # too large for it, or call it one too many.
            divisible = answer.kind == "broken" and (together or method == "eth_getLogs")
            if answer.kind == "refused" or divisible or (answer.kind != "away" and tries == _TRIES):
                raise answer
            pause = wait if answer.wait is None else answer.wait
            if time.monotonic() + pause - max(self._answered, start) > self.settings.patience:
                raise ChainError(
                    f"{self.settings.endpoint}: {answer}; no answer for {self.settings.patience:g} s "
                    "(TRAILBENCH_RPC_PATIENCE). What was fetched is kept: run the same again later"
                )
            time.sleep(pause)
            wait = min(2 * wait, longest)

    def _answer(self, method: str, params: Sequence[Any], together: bool) -> Any:
        """One exchange. Failures are returned, so that no traceback carries the library's texts, which hold the URL."""
        from web3.types import RPCEndpoint

        name = RPCEndpoint(method)
        try:
            if together:
                answer: Any = self._provider.make_batch_request([(name, one) for one in params])
            else:
                answer = self._provider.make_request(name, params)
        except requests.HTTPError as error:
            return _of_status(method, error.response, self.settings)
        except requests.Timeout as error:
            away = isinstance(error, requests.ConnectTimeout)
            return RpcFailure("away" if away else "broken", f"{method}: no answer in {self.settings.timeout:g} s")
        except requests.exceptions.SSLError:
            return RpcFailure("refused", f"{method}: no trusted TLS connection")
        except requests.exceptions.ChunkedEncodingError:
            return RpcFailure("broken", f"{method}: the answer was cut off")
        except requests.ConnectionError as error:
            # Nobody listens: come back later. A connection closed in the midst may be the request's fault.
            cause = getattr(error.args[0] if error.args else None, "reason", None)
            away = isinstance(cause, NewConnectionError)
            return RpcFailure(
                "away" if away else "broken", f"{method}: no connection" if away else f"{method}: hung up"
            )
        except (requests.RequestException, ValueError, TypeError, KeyError, AttributeError):
            return RpcFailure("broken", f"{method}: the answer is no JSON-RPC")
        error_of = _error(method, answer, self.settings) if isinstance(answer, dict) else None
        return error_of if error_of is not None and error_of.kind == "busy" else answer


def _result(answer: Any, node: RpcNode) -> Any:
    if isinstance(answer, dict):
        failure = _error("the node", answer, node.settings)
        if failure is not None:
            raise failure
        if "result" in answer:
            return answer["result"]
    raise RpcFailure("broken", "an answer without result")


def _error(method: str, answer: dict[str, Any], settings: ChainSettings) -> RpcFailure | None:
    """The failure that an answer states, if it does."""
    error = answer.get("error")
    if error is None:
        return None
    said = error.get("message", "") if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    text = str(said)
    if error_data := error.get("data") if isinstance(error, dict) else None:
        text = f"{text} {error_data}"
    suggested = _suggested(text)
    busy = code == 429 or (suggested is None and _BUSY.search(text) is not None)
    shown = settings.redacted(text)[:_SHOWN]
    return RpcFailure("busy" if busy else "refused", f"{method}: {code}: {shown}", suggested=suggested)


def _suggested(text: str) -> tuple[int, int] | None:
    for pattern in _RANGES:
        if match := pattern.search(text):
            first, last = (int(number, 16 if number.lower().startswith("0x") else 10) for number in match.groups())
            return first, last
    return None


def _of_status(method: str, response: requests.Response | None, settings: ChainSettings) -> RpcFailure:
    if response is None:
        return RpcFailure("broken", f"{method}: no answer")
    status = response.status_code
    if status in (429, 503):
        return RpcFailure("busy", f"{method}: HTTP {status}", wait=_retry_after(response.headers.get("Retry-After")))
    try:
        stated = _error(method, response.json(), settings)
    except (ValueError, AttributeError, TypeError):
        stated = None
    if stated is not None:
        return stated
    # A gateway that gave up is like an answer that did not come; any other status is the node's word.
    kind: Kind = "broken" if status >= 500 else "refused"
    return RpcFailure(kind, f"{method}: HTTP {status}: {settings.redacted(response.text)[:_SHOWN]}")


def _retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, which may be a number or an instant."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        instant = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (instant.replace(tzinfo=instant.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
