"""Preferences in the logs: choices between two options, the one not taken shown beside (reference 6.2.5).

P(pole b) = sigmoid(k · weight). A choice for the other pole is drawn as likely as the
weight says; it speaks against the preference and is tagged as imitating it.
"""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from pipelines.applogs.synthesis.acts import slots_for, spoken
from pipelines.applogs.synthesis.chains import causes
from pipelines.applogs.synthesis.events import Event, Shown
from pipelines.applogs.synthesis.moments import spread
from pipelines.applogs.synthesis.possessions import fits
from pipelines.applogs.synthesis.tellings import Chain, Setting, Telling
from pipelines.applogs.synthesis.tree import Place

STEEPNESS = 4.0
"""k: at a weight of 0.5 a choice falls on the preferred pole in 88 of 100 cases (ours)."""
LOOKS = 0.6
"""Chance that both options are seen side by side in a search before one is taken (ours)."""
SEARCHES = {
    "Amazon": "SearchProducts",
    "Goodreads": "SearchBooks",
    "Google Maps": "SearchPlaces",
    "LinkedIn": "SearchJobs",
    "Netflix": "SearchContent",
    "Robinhood": "SearchStocks",
    "Spotify": "SearchSongs",
    "UberEats": "SearchRestaurants",
}
"""App → API in which options stand side by side."""
SAID = 0.7
"""Chance that a chain also says the preference in words; one that never shows it by a choice always does (ours)."""


def preference_chain(telling: Telling, place: Place, setting: Setting) -> Chain:
    """Four to six choices in a window; where the preference is new there, with the reason."""
    one = telling.interval
    count = min(place.whole("count", 4, 6), int((telling.ends - telling.begins).total_seconds()))
    moments = spread(place, count, telling.begins, telling.ends, setting.awake)
    events = [event for n, moment in enumerate(moments) for event in _choice(place.at(n), moment, telling, setting)]
    agreeing = any(show.role == "supports" for event in events for show in event.shows)
    if not agreeing or place.chance("said", SAID):
        events.append(_statement(telling, place.at("statement"), setting))
    fresh = telling.kind == "fresh"
    if fresh:
        events += causes(telling, place, setting)
    ordered = sorted(events, key=lambda event: (event.moment, event.place))
    return Chain(telling.chain, one.operation if fresh else "unchanged", one, tuple(ordered))


def chosen_pole(place: Place, weight: float) -> str:
    """`a` or `b`, drawn by a weight between -1 (a) and 1 (b)."""
    return "b" if place.chance("pole", 1 / (1 + math.exp(-STEEPNESS * weight))) else "a"


def _choice(place: Place, moment: datetime, telling: Telling, setting: Setting) -> Iterator[Event]:
    one, facts = telling.interval, telling.interval.facts
    pole = chosen_pole(place, facts["weights"][telling.window])
    taken, left = place.one("taken", facts["pools"][pole]), place.one("left", facts["pools"][_other(pole)])
    app, name, category = place.one("app", [one for one in facts["choices"] if fits((one[0], one[1]), one[2])])
    words = {"entity": taken, "other": left, "category": category, "label": facts["label"], "words": taken}
    known = {
        "entity": taken,
        "others": [left],
        # Fitbit names only the class of what was done.
        "category": taken if app == "Fitbit" else category,
        "place": taken,
        "sender": taken,
        "quantity": 1,
        "rating": 5,
    }
    search = SEARCHES.get(app)
    earlier = moment - timedelta(seconds=place.whole("looked", 40, 400))
    if search not in (None, name) and earlier >= telling.begins and place.chance("looks", LOOKS):
        here = place.at("looks")
        slots = slots_for(here, (app, search), "options", words, known, setting)
        yield Event(earlier, app, search, here.path, slots, (), telling.chain)
    agrees = pole == facts["pole"]
    shown = (Shown(one.key, one.value_id if agrees else "", "supports" if agrees else "distractor"),)
    slots = slots_for(place, (app, name), "leaning", words, known, setting)
    yield Event(moment, app, name, place.path, slots, shown, telling.chain)


def _other(pole: str) -> str:
    return "b" if pole == "a" else "a"


def _statement(telling: Telling, place: Place, setting: Setting) -> Event:
    one, facts = telling.interval, telling.interval.facts
    [moment] = spread(place, 1, telling.begins, telling.ends, setting.awake)
    liked, left = (facts["poles"][pole] for pole in (facts["pole"], _other(facts["pole"])))
    words = {name: facts[name] for name in ("axis", "qualifier", "label")} | {"liked": liked, "left": left}
    shown = (Shown(one.key, one.value_id, "supports"),)
    return spoken(place, moment, setting, "preference", words, shown, telling.chain)
