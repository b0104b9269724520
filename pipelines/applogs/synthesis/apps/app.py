"""What an app is: the state of one user's account, and one function an API that renders a call and moves the state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from pipelines.applogs.synthesis.events import Slots
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

Json = dict[str, Any]
Exchange = tuple[Json, Json]
"""Request and response of one call."""
Item = TypeVar("Item")
Account = TypeVar("Account")

KEPT = 15
"""An account keeps the last so many of what grows (messages, posts, transactions, …); ours, published: 10–20."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an API: what its event says, when, and where in the tree the rest is drawn."""

    slots: Slots
    moment: datetime
    place: Place

    def stamp(self, seconds: int = 0) -> str:
        """When the app did it: mostly seconds, at times up to 20 minutes after the moment, always alike in a call.

        `seconds` come on top, for what follows within the same call.
        """
        draw = self.place.bits("stamp")
        wait = 2 + draw % 58 if draw >> 62 else 60 + draw % 1140
        return iso(self.moment + timedelta(seconds=wait + seconds))

    def before(self, name: object, low: int, high: int) -> str:
        """A stamp from `low` to `high` minutes before the moment."""
        return iso(self.moment - timedelta(seconds=self.place.whole(name, 60 * low, 60 * high)))

    def one(self, name: object, items: Sequence[Item]) -> Item:
        """One of the items, drawn under a name."""
        return self.place.one(name, items)

    def several(self, name: object, items: Sequence[Item], count: int) -> list[Item]:
        """`count` different items (all, if fewer) in drawn order, of a single draw; for a count of up to 8."""
        rest, draw = list(items), self.place.bits(name)
        chosen: list[Item] = []
        while rest and len(chosen) < count:
            draw, at = divmod(draw, len(rest))
            chosen.append(rest[at])
            rest[at] = rest[-1]
            rest.pop()
        return chosen

    def new_id(self, kind: str) -> str:
        """Id of what this call makes (`post_3f9a0c12`)."""
        return f"{kind}_{self.place.bits(kind) >> 32:08x}"

    def said(self, *names: str, otherwise: str = "") -> str:
        """Words of the first of these slots that the event fills."""
        return next((str(said) for name in names if (said := self.slots.get(name))), otherwise)

    def rivals(self, count: int) -> list[str]:
        """The first of the slot `others`, none twice and none the event's own thing."""
        own = (self.slots.get("entity"), self.slots.get("place"))
        return [name for name in dict.fromkeys(self.slots.get("others", ())) if name not in own][:count]

    def fact(self, name: str, otherwise: Any) -> Any:
        """What `slots.fields` says under a name, else the given."""
        return self.slots.get("fields", {}).get(name, otherwise)


def iso(moment: datetime) -> str:
    """ISO text of a moment of the log's wall clock, with the published `+00:00`, which means no zone."""
    return f"{moment.isoformat()}+00:00"


@dataclass(frozen=True, slots=True)
class Api(Generic[Account]):
    """An API: how it renders, the slots it cannot do without, and the running parts of its response.

    A need like `title|text` is met by either. `running` are dotted paths of the response that depend on earlier calls
    (a step into a list goes into every item of it); all else may only depend on persona, slots, moment and place.
    """

    render: Callable[[Account, Call], Exchange]
    needs: tuple[str, ...] = ()
    running: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class App(Generic[Account]):
    """An app: how a user's account in it begins, and its APIs by name."""

    name: str
    opens: Callable[[Persona, Place], Account]
    apis: dict[str, Api[Account]] = field(default_factory=dict)
