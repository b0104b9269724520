"""Google Maps: places found and visited, ways to them, and the own location shown to others.

The published list names only the APIs; their fields are ours, in its style.
"""

from datetime import datetime, timedelta

from pipelines.applogs.synthesis.apps.app import Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import bits_of, contact_id, identifier, rating_of, whole_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

SHOWN = 8
"""Places that a search shows."""
RECENT = 3
"""Check-ins that are shown beside a new one."""
STREETS = (
    *("Juniper Street", "Canal Road", "Station Avenue", "Mill Lane", "Harbour Street", "Orchard Road", "Bridge Street"),
    *("Foundry Lane", "Meadow Road", "Chapel Street", "Ropewalk", "Garden Avenue", "Quarry Road", "Market Street"),
    *("Willow Lane", "Tannery Street", "Observatory Road", "Wharf Road", "Kiln Street", "Park Avenue", "Ferry Lane"),
    *("School Street", "Depot Road", "Beacon Street", "Lower Street", "Glassworks Lane", "Union Road", "North Parade"),
)
SURROUNDINGS = (
    *("Alder Corner", "Bellhouse", "Crown Arcade", "Dovecote", "East Gate", "Fountain Court", "Granary", "High Steps"),
    *("Ivy Yard", "Juniper House", "Kiln Yard", "Longacre", "Millrace", "North Quay", "Old Exchange", "Pump Room"),
    *("Queen's Wharf", "Ropery", "Signal Box", "Tram Depot", "Upper Lock", "Vine Court", "Weigh House", "Yard Nine"),
)
"""Places that stand only beside what was searched for; the class of the search is added."""
STARTS = (
    "Head north on {}",
    "Head south on {}",
    "Head east on {}",
    "Head west on {}",
    "Head towards {}",
    "Start on {}",
    "Leave towards {}",
    "Set off along {}",
    "Head uphill on {}",
    "Head downhill on {}",
)
TURNS = (
    "Turn left onto {}",
    "Turn right onto {}",
    "Continue straight on {}",
    "At the roundabout, take the second exit onto {}",
    "Keep left and join {}",
    "Keep right at the fork to stay on {}",
    "At the lights, turn onto {}",
    "Slight left onto {}",
    "Slight right onto {}",
    "Cross the junction and follow {}",
    "Follow the signs to {}",
)
RIDES = (
    "Board at {}",
    "Ride to {}",
    "Change at {}",
    "Leave at {} and go up the stairs",
    "Wait at the platform on {}",
    "Take the next line towards {}",
    "Transfer on foot along {}",
    "Ride three stops to {}",
    "Get off at {}",
    "Cross to the stop on {}",
)
"""Steps by public transport."""
WARNINGS = (
    "Usual traffic.",
    "Lighter traffic than usual.",
    "This is the fastest route now.",
    "Similar time by two other routes.",
    "Roadworks nearby; no delay expected.",
    "Best route, no tolls.",
    "Your destination may be closed on arrival; check its opening hours.",
    "Arrival on the right-hand side.",
    "Arrival on the left-hand side.",
    "Part of the route is a private road.",
)
MODES = {
    "transit": ("transit", "tram", "train", "bus", "metro", "underground", "ferry", "line", "express"),
    "cycling": ("cycl", "bike"),
    "walking": ("walk", "foot"),
}
"""Travel mode → what its vehicles are called by; all else is driven."""
KM_AN_HOUR = {"driving": 34, "transit": 22, "cycling": 15, "walking": 5}
"""Travel mode → speed, by which the length of a way follows from its duration."""


def _address(name: str) -> str:
    draw = bits_of("address", name)
    return f"{draw % 180 + 1} {STREETS[draw // 1024 % len(STREETS)]}"


def _place(name: str, category: str, address: str = "") -> Json:
    return {
        "place_id": identifier("place", name),
        "name": name,
        "category": category or "place",
        "address": address or _address(name),
    }


def _own(call: Call) -> Json:
    """The place of an event: `place`, else `entity`."""
    name = call.said("place", "entity")
    category = call.said("category")
    place = _place(name, category, call.said("address"))
    # The user's own note of a saved place: what the event says of its class.
    return {**place, "saved_note": note} if (note := call.fact(category, "")) else place


def _beside(call: Call) -> list[str]:
    """Names of places that stand beside the event's own: `others` among some of the surroundings."""
    others = call.rivals(2)
    return call.several("order", [*others, *call.several("beside", SURROUNDINGS, 3 - len(others))], 3)


def _rated(call: Call, place: Json) -> Json:
    name = place["name"]
    return {
        **place,
        "rating": rating_of(name),
        "review_count": whole_of("reviews", name, 8, 2400),
        "distance_km": call.place.whole(("far", name), 2, 90) / 10,
        "open_now": call.place.chance(("open", name), 0.85),
    }


class Account:
    """Where one user checked in, and with whom the location is shared until when."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._visits: dict[str, int] = {}
        self._recent: list[Json] = []
        self._shared: dict[str, datetime] = {}

    def share(self, call: Call) -> Exchange:
        """Shares the location (`place`, where the event tells it) with `person` for a while."""
        contact = contact_id(call.said("person"))
        minutes = call.one("minutes", (15, 30, 60, 120))
        place = _own(call) if call.said("place", "entity") else _place("Current location", "", call.said("address"))
        self._shared = {to: until for to, until in self._shared.items() if until > call.moment}
        self._shared[contact] = call.moment + timedelta(minutes=minutes)
        shared = {
            "share_id": call.new_id("share"),
            "contact_id": contact,
            "place": place,
            "duration_minutes": minutes,
            "started_at": call.stamp(),
            "active_shares": len(self._shared),
        }
        return {"contact_id": contact, "duration_minutes": minutes}, {"shared_location": shared}

    def check_in(self, call: Call) -> Exchange:
        """A visit of the place (`place`, else `entity`), with `text` as its note; and where the user was before."""
        place, note = _own(call), call.said("text")
        known = place["place_id"]
        self._visits[known] = self._visits.get(known, 0) + 1
        noted = {"note": note} if note else {}
        checkin = {
            "checkin_id": call.new_id("checkin"),
            "place": place,
            **noted,
            "nearby": _beside(call),
            "checked_in_at": call.stamp(),
            "visit_count": self._visits[known],
        }
        before = self._recent[::-1]
        seen = {"place_id": known, "name": place["name"], "checked_in_at": checkin["checked_in_at"]}
        self._recent = [*self._recent, seen][-RECENT:]
        return {"place_id": known, **noted}, {"checkin": checkin, "earlier_checkins": before}

    def directions(self, call: Call) -> Exchange:
        """The way to the place in steps, by `fields.travel_mode`, a mode or a vehicle.

        `others` are places that one might go to instead.
        """
        destination, asked = _own(call), call.fact("travel_mode", "")
        mode = _mode(asked)
        minutes = call.fact("travel_minutes", 0) or call.place.whole("minutes", 5, 38)
        metres = round(minutes * KM_AN_HOUR[mode] / 60 * 1000)
        origin = call.fact("origin", "Your location")
        parts, draw = min(minutes, call.place.whole("steps", 3, 6)), call.place.bits("parts")
        ways = RIDES if mode == "transit" else TURNS
        streets = call.several("streets", STREETS, parts)
        steps = [
            {"instruction": way.format(street), "distance_km": length / 1000, "minutes": spent}
            for way, street, length, spent in zip(
                [call.one("start", STARTS), *call.several("ways", ways, parts - 1)],
                streets,
                _split(metres, parts, draw),
                _split(minutes, parts, draw),
                strict=True,
            )
        ]
        directions = {
            "origin": origin,
            "destination": destination,
            "travel_mode": mode,
            **({"vehicle": asked} if asked not in ("", mode) else {}),
            "distance_km": metres / 1000,
            "duration_minutes": minutes,
            "steps": steps,
            "alternatives": [
                {"name": name, "duration_minutes": call.place.whole(("way", name), 4, 45)} for name in _beside(call)
            ],
            "summary": f"via {streets[0]}. {call.one('warning', WARNINGS)}",
            "requested_at": call.stamp(),
        }
        request = {"origin": origin, "destination": destination["name"], **({"travel_mode": mode} if asked else {})}
        return request, {"directions": directions}

    def search(self, call: Call) -> Exchange:
        """The place and `others` among places of the class (`category`), in drawn order."""
        category = call.said("category")
        query = call.said("text", "category", "entity", "place", otherwise="nearby")
        places = []
        if call.said("place", "entity"):
            places.append(_own(call))
        other_category = call.fact("other_category", category)
        places += [_place(name, other_category) for name in call.rivals(3)]
        taken = {place["name"] for place in places}
        for name in call.several("around", SURROUNDINGS, SHOWN):
            shown = f"{name} {category.title()}".strip()
            if shown not in taken and len(places) < SHOWN:
                places.append(_place(shown, category))
        rated = [_rated(call, place) for place in call.several("order", places, SHOWN)]
        request = {"query": query, **({"category": category} if category else {})}
        return request, {"places": rated, "search_timestamp": call.stamp()}


def _mode(vehicle: str) -> str:
    """Travel mode of a vehicle by its name."""
    return next((mode for mode, names in MODES.items() if any(name in vehicle.lower() for name in names)), "driving")


def _split(total: int, parts: int, draw: int) -> list[int]:
    """A whole number in so many whole parts of at least 1 (`total` ≥ `parts`), by a draw."""
    weights = [(draw >> (8 * n)) % 256 + 64 for n in range(parts)]
    cuts = [0]
    for n in range(1, parts):
        cut = (total - parts) * sum(weights[:n]) // sum(weights)
        cuts.append(cut + n)
    return [after - before for before, after in zip(cuts, [*cuts[1:], total], strict=True)]


APP = App(
    "Google Maps",
    Account,
    {
        "ShareLocation": Api(Account.share, ("person",), running=("shared_location.active_shares",)),
        "CheckIn": Api(Account.check_in, ("place|entity",), running=("checkin.visit_count", "earlier_checkins")),
        "GetDirections": Api(Account.directions, ("place|entity",)),
        "SearchPlaces": Api(Account.search),
    },
)
