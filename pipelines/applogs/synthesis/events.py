"""What happens in an app, before it is a log: the hand-over from event chains to the renderers of the apps."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

Role = Literal["supports", "cause", "distractor"]


class Slots(TypedDict, total=False):
    """What an event says; a renderer takes what its API has a place for and makes up the rest by place.

    `text`: the words themselves (query, message, mail body, note, caption, review, comment).
    `title`: heading (mail subject, page title, headline).
    `entity`: the main thing acted on (product, song, artist, film, book, restaurant, place, stock, company, skill,
    page, playlist, job title), by the name the user knows it by.
    `others`: other things shown beside it: the rejected alternative of a choice first.
    `category`: its class (genre, cuisine, product category, transaction category, activity, shelf, asset type).
    `person`: the counterpart by relation ("my sister", "a colleague in design"); contact ids and addresses are
    made from it.
    `reply`: words of the counterpart or of the assistant.
    `place`, `address`: where. `minutes`: duration. `distance`: km. `intensity`: low | medium | high.
    `amount`: money in cents (price of one, or the sum moved). `quantity`: pieces or shares.
    `rating`: 1–5. `steps`: of the day. `fields`: further named values (database properties, goals).
    """

    text: str
    title: str
    entity: str
    others: list[str]
    category: str
    person: str
    reply: str
    place: str
    address: str
    minutes: int
    distance: float
    intensity: str
    amount: int
    quantity: int
    rating: int
    steps: int
    fields: dict[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a log says of a state: supports a value, tells its cause, or only imitates the state.

    `value_id` is empty where a distractor imitates the state as such; `fields` are the dotted
    paths of the value that it shows, empty for the whole.
    """

    key: str
    value_id: str
    role: Role
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One call of an API at a moment (whole seconds, the log's own clock).

    `place` is the path of the event in the seeded tree: all that its renderer draws is drawn there. It also orders
    events of the same second. `chain` groups the events that tell one change; None for background.
    """

    moment: datetime
    app: str
    api: str
    place: str
    slots: Slots
    shows: tuple[Shown, ...] = ()
    chain: str | None = None
