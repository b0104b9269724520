"""A synthetic user's phone: the accounts of all apps, through which every event becomes a log."""

from typing import Any

from pipelines.applogs.synthesis.apps import APPS, RUNNING
from pipelines.applogs.synthesis.apps.app import Call, Exchange, Json
from pipelines.applogs.synthesis.events import Event
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

_NOTHING: tuple[object, ...] = (None, "", {}, [])
"""With these a slot says nothing."""


class CannotRender(ValueError):
    """An event of an app or API that does not exist, or without a slot that its API needs."""


class Phone:
    """All accounts of one user; events are to be called in the order of their moments."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._persona = persona
        self._place = place
        self._accounts: dict[str, Any] = {}

    def call(self, event: Event) -> Exchange:
        """Request and response of an event; moves the account. Raises `CannotRender`.

        What is handed out must not be changed: accounts share parts of it.
        """
        if (app := APPS.get(event.app)) is None:
            raise CannotRender(f"{event.place}: there is no app {event.app!r}; the apps are {', '.join(sorted(APPS))}")
        if (api := app.apis.get(event.api)) is None:
            raise CannotRender(
                f"{event.place}: {event.app} has no API {event.api!r}; its APIs are {', '.join(app.apis)}"
            )
        for need in api.needs:
            if all(event.slots.get(name) in _NOTHING for name in need.split("|")):
                raise CannotRender(
                    f"{event.place}: {event.app}.{event.api} needs the slot {need}; fill it in the event"
                )
        if (account := self._accounts.get(event.app)) is None:
            account = self._accounts[event.app] = app.opens(self._persona, self._place.at(event.app))
        return api.render(account, Call(event.slots, event.moment, Place(event.place)))


def projected(log: Json) -> Json:
    """A log without its id and its running parts: what stays the same whatever else the user did."""
    response = log["response"]
    for path in RUNNING[log["app_name"], log["api_name"]]:
        response = _without(response, path.split("."))
    return {**{name: part for name, part in log.items() if name != "app_log_id"}, "response": response}


def _without(value: Any, steps: list[str]) -> Any:
    if isinstance(value, list):
        return [_without(item, steps) for item in value]
    if not isinstance(value, dict) or steps[0] not in value:
        return value
    if len(steps) == 1:
        return {name: part for name, part in value.items() if name != steps[0]}
    return {**value, steps[0]: _without(value[steps[0]], steps[1:])}
