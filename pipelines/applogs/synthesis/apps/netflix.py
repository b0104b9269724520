"""Netflix: titles found, looked at, played, rated and kept in My List."""

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import bits_of, identifier, rating_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

SHOWN = 8
"""Titles that a search shows."""
CATALOGUE = {
    "drama": ("Low Tide Letters", "The Salt Ferry", "Paper Harvest", "Nine Windows", "Where the Road Bends"),
    "comedy": ("Odd Socks", "The Wrong Casserole", "Two Left Hands", "Plan C", "Half a Parade"),
    "thriller": ("Cold Ledger", "The Third Key", "Static Line", "No Forwarding Address", "Quiet Signal"),
    "documentary": ("Ice and Iron", "How Bridges Stand", "The Seed Vault", "Deep Water Maps", "A Year of Clocks"),
    "science fiction": ("Orbit Nine", "The Second Sun", "Glass Engines", "Far Relay", "Borrowed Gravity"),
    "romance": (
        "Umbrella Weather",
        "The Long Platform",
        "Letters to Number Six",
        "Thirteen Springs",
        "A Table by the Door",
    ),
    "crime": ("Harbour Files", "The Chalk Case", "Evidence Room", "Missing Page", "Night Desk"),
    "animation": ("Pip and the Lantern", "Cloud Factory", "The Tin Fox", "Button Island", "Little Comet"),
    "fantasy": ("The Moss Crown", "Ember Gate", "Nine Rivers", "The Clockmaker's Dragon", "Thornwood"),
    "reality": ("Built in a Week", "The Big Swap", "Kiln Masters", "Shed to Show", "Market Day"),
    "history": ("The Tea Roads", "Kings of Salt", "Lamplighters", "The Canal Years", "Old Maps"),
    "sport": ("Extra Time", "The Long Lap", "Second Serve", "Home Ground", "Last Relay"),
}
"""Genre → titles of our own that fill a search."""
_GENRE_OF = {name: genre for genre, names in CATALOGUE.items() for name in names}
_NAMES = tuple(_GENRE_OF)
SCENES = (
    "In a town at the end of a railway line, an old promise comes back to light.",
    "A small crew takes on a task that nobody else would touch.",
    "When the lights go out, a chance meeting changes the course of a night.",
    "An unexpected parcel sets off a chain of events across three cities.",
    "Behind the doors of an ordinary house, nothing is quite as it seems.",
    "A broken map leads four strangers to the same place.",
    "After the storm, a village has to begin again.",
    "A quiet job turns into the longest week of the year.",
    "Two rivals have to share a roof, a kitchen and a secret.",
    "The last ferry has left, and someone has stayed behind.",
    "What starts as a wager grows into something larger.",
    "On the edge of a great forest, the rules are different.",
    "A forgotten archive holds the answer to an old riddle.",
    "Every door in the building has a story to tell.",
    "A letter arrives thirty years late.",
    "The festival is about to open, and nothing is ready.",
)
TONES = (
    "Told with patience and a dry sense of humour.",
    "Fast, loud and full of turns until the last minute.",
    "With striking pictures and a memorable score.",
    "Critics praised the writing and the ensemble.",
    "A slow build with a surprising end.",
    "Warm, a little strange, and easy to follow.",
    "Inspired by real places, with invented characters.",
    "Subtitles and audio description available.",
    "Based on a stage play of the same name.",
    "Shot on location over one winter.",
    "Winner of two audience awards.",
    "A new chapter of a well-loved story.",
)


KINDS = {"series": "series", "show": "series", "film": "movie", "films": "movie", "movie": "movie", "movies": "movie"}
"""Categories that are no genre but a type of content."""


def _title(call: Call, name: str, category: str) -> Json:
    """A title by its name; of a genre that neither the event nor the catalogue tells, nothing is made up."""
    kind = KINDS.get(category) or ("movie" if bits_of("content type", name) % 2 else "series")
    genre = "" if category in KINDS else category
    return {
        "title_id": identifier("title", name),
        "name": name,
        "content_type": call.fact("content_type", kind) if name == call.slots.get("entity") else kind,
        "genre": genre or _GENRE_OF.get(name, "general"),
    }


def _own(call: Call) -> Json:
    return _title(call, call.said("entity"), call.fact("genre", call.said("category")))


class Account:
    """My List of one user, in the order in which it grew."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._plan = place.one("plan", ("Standard", "Standard", "Premium"))
        self._list: dict[str, Json] = {}

    def search(self, call: Call) -> Exchange:
        """`entity` and `others` among titles of the genre (`category`) where the catalogue has it, and any."""
        genre = call.said("category")
        query = call.said("text", "category", "entity", otherwise="popular now")
        titles = [_own(call)] if call.said("entity") else []
        other_genre = call.fact("other_category", genre)
        titles += [_title(call, name, other_genre) for name in call.rivals(3)]
        known = next((names for word, names in CATALOGUE.items() if word in genre.lower()), ())
        more = [*call.several("alike", known, 3), *call.several("more", _NAMES, SHOWN)]
        taken = {title["name"] for title in titles}
        for name in dict.fromkeys(more):
            if name not in taken and len(titles) < SHOWN:
                titles.append(_title(call, name, ""))
        return {"query": query}, {"titles": call.several("order", titles, SHOWN)}

    def show(self, call: Call) -> Exchange:
        """What the title (`entity`) is about, and whether it is in My List."""
        title = _own(call)
        draw = bits_of("description", title["name"])
        scene, tone = draw % len(SCENES), draw // 1024 % len(TONES)
        description = f"{SCENES[scene]} {TONES[tone]} {TONES[(tone + 5) % len(TONES)]}"
        response = {
            "title": title,
            "description": description,
            "rating": rating_of(title["name"]),
            "in_my_list": title["title_id"] in self._list,
        }
        return {"title_id": title["title_id"]}, response

    def play(self, call: Call) -> Exchange:
        """Plays the title (`entity`)."""
        title = _own(call)
        response = {
            "title": title,
            "playing_status": "playing",
            "subscription_plan": call.fact("subscription_plan", self._plan),
            "play_started_at": call.stamp(),
        }
        return {"title_id": title["title_id"]}, response

    def add(self, call: Call) -> Exchange:
        """Puts the title (`entity`) at the end of My List, of which the last `KEPT` are shown."""
        title = _own(call)
        self._list.pop(title["title_id"], None)
        self._list[title["title_id"]] = title
        return {"title_id": title["title_id"]}, {"my_list": list(self._list.values())[-KEPT:]}

    def rate(self, call: Call) -> Exchange:
        """Thumbs up (1) for a `rating` of 4 or 5, else down (0)."""
        title, thumb = _own(call), int(call.slots["rating"] >= 4)
        response = {"title": title, "rating": thumb, "rated_at": call.stamp()}
        return {"title_id": title["title_id"], "rating": thumb}, response


APP = App(
    "Netflix",
    Account,
    {
        "SearchContent": Api(Account.search),
        "ShowTitle": Api(Account.show, ("entity",), ("in_my_list",)),
        "PlayContent": Api(Account.play, ("entity",)),
        "AddToMyList": Api(Account.add, ("entity",), ("my_list",)),
        "RateContent": Api(Account.rate, ("entity", "rating")),
    },
)
