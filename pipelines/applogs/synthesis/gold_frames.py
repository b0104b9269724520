"""The gold of a trajectory as tables: intervals, changes as the published replay takes them, evidence by value."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import polars as pl

from pipelines.applogs.json_text import JsonObject, canonical
from pipelines.applogs.state_values import fields
from pipelines.applogs.synthesis.events import Event
from pipelines.applogs.synthesis.tellings import Chain
from pipelines.applogs.synthesis.world import Interval
from pipelines.applogs.tables import table_of

LogId = Mapping[str, tuple[int, str]]
"""Place of an event → position and id of its log."""


def interval_table(user_id: str, intervals: Iterable[Interval]) -> pl.DataFrame:
    """Table `state_intervals`."""
    return table_of(
        "state_intervals",
        (
            {
                "user_id": user_id,
                "state_key": one.key,
                "value_id": one.value_id,
                "member": one.member,
                "value": canonical(one.value),
                "valid_from": _utc(one.valid_from),
                "valid_to": None if one.valid_to is None else _utc(one.valid_to),
            }
            for one in intervals
        ),
    )


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


def evidence_table(user_id: str, events: Iterable[Event], logs: LogId) -> pl.DataFrame:
    """Table `state_evidence`: what each event shows, at its log."""
    return table_of(
        "state_evidence",
        (
            {
                "user_id": user_id,
                "state_key": show.key,
                "value_id": show.value_id,
                "app_log_id": logs[event.place][1],
                "position": logs[event.place][0],
                "role": show.role,
                "fields": list(show.fields),
            }
            for event in events
            for show in event.shows
        ),
    )


def change_table(user_id: str, chains: Iterable[Chain], logs: LogId) -> pl.DataFrame:
    """Table `state_changes`: each chain at its last log, with the value that its state has after it.

    Of a collection that is the list of all members told so far and not taken away, in the order of their beginning:
    the published replay would keep only the last member. A member that goes is therefore a `modify` while others
    stay, and a `remove` only with the last. A chain is `valid` when its logs show every field of its value (gate G0).
    """
    by_key: dict[str, list[Chain]] = defaultdict(list)
    for chain in chains:
        if any(_touching(chain)):
            by_key[chain.interval.key].append(chain)
    rows = []
    for of_key in by_key.values():
        members: dict[str, Interval] = {}
        for chain in sorted(of_key, key=lambda one: (_end(one, logs), one.id)):
            one = chain.interval
            change, value = chain.change_type, canonical(one.value)
            if one.member is not None:
                change, value = _of_member(chain, members)
            rows.append(
                {
                    "user_id": user_id,
                    "state_key": one.key,
                    "chain_id": chain.id,
                    "place": 0,
                    "end_position": _end(chain, logs),
                    "change_type": change,
                    "value": None if change in _ENDS else value,
                    "evidence": [name for _, name in sorted(logs[event.place] for event in _touching(chain))],
                    "valid": change in _ENDS or chain.change_type in _ENDS or _shows_all(chain),
                }
            )
    return table_of("state_changes", rows)


_ENDS = ("drop", "remove")


def _end(chain: Chain, logs: LogId) -> int:
    return max(logs[event.place][0] for event in chain.events)


def _touching(chain: Chain) -> Iterable[Event]:
    return (event for event in chain.events if any(show.role != "distractor" for show in event.shows))


def _of_member(chain: Chain, members: dict[str, Interval]) -> tuple[str, str]:
    """Moves the members and tells the change and the value of the whole collection."""
    one = chain.interval
    if chain.change_type in _ENDS:
        members.pop(one.value_id, None)
    else:
        members[one.value_id] = one
    held = sorted(members.values(), key=lambda member: (member.valid_from, member.value_id))
    value = canonical([member.value for member in held])
    return (("modify" if held else "remove") if chain.change_type in _ENDS else chain.change_type), value


def _shows_all(chain: Chain) -> bool:
    shown: set[str] = set()
    for event in chain.events:
        for show in event.shows:
            if show.role == "supports" and show.value_id == chain.interval.value_id:
                if not show.fields:
                    return True
                shown.update(show.fields)
    paths: list[str] = [path for path, _, _ in fields(chain.interval.value)]
    return all(any(path == one or path.startswith(f"{one}.") for one in shown) for path in paths)


def log_rows(events: Iterable[Event], exchanges: Iterable[tuple[JsonObject, JsonObject]]) -> list[JsonObject]:
    """Events in the order of time and what their apps said, as logs in the published form with their ids."""
    return [
        {
            "app_log_id": f"log_{number:05}",
            "timestamp": event.moment.isoformat(" "),
            "app_name": event.app,
            "api_name": event.api,
            "request": request,
            "response": response,
        }
        for number, (event, (request, response)) in enumerate(zip(events, exchanges, strict=True), start=1)
    ]
