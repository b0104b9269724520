"""How long to wait before a call is made again."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pipelines.hashing import key64
from resources.models.settings import CallRules


def asked_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that Retry-After asks for, given as a number or an HTTP date; None where it says nothing readable."""
    said = headers.get("retry-after", "").strip()
    try:
        seconds = float(said)
    except ValueError:
        try:
            until = parsedate_to_datetime(said)
        except (ValueError, TypeError):
            return None
        seconds = (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - now.timestamp()
    return max(seconds, 0.0) if seconds < float("inf") else None


def wait_before(rules: CallRules, key: str, retry: int, asked: float | None) -> float:
    """Seconds before retry number `retry` (from 0) of a call: what the endpoint asked for, else a doubling wait.

    The spread that keeps callers from returning together is drawn from the call's key.
    """
    spread = key64(f"{key} {retry}", "retry") / 2**64
    if asked is not None:
        return min(asked * (1 + spread / 10), rules.longest_wait_seconds)
    doubled = rules.backoff_seconds * 2.0 ** min(retry, 30)
    return min(doubled * (0.5 + spread / 2), rules.longest_wait_seconds)
