"""Preferences in the logs: choices between two options, the one not taken shown beside (reference 6.2.5).

P(pole b) = sigmoid(k · weight). A choice for the other pole is drawn as likely as the
weight says; it speaks against the preference and is tagged as imitating it.
"""

import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from pipelines.applogs.synthesis.acts import Api, slots_for, spoken
from pipelines.applogs.synthesis.apps.entities import slug
from pipelines.applogs.synthesis.apps.netflix import KINDS
from pipelines.applogs.synthesis.chains import causes
from pipelines.applogs.synthesis.events import Event, Shown, Slots
from pipelines.applogs.synthesis.moments import spread
from pipelines.applogs.synthesis.possessions import fits
from pipelines.applogs.synthesis.speech import VOICES
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
CAPTIONS = (
    "{kind}, and no filter needed",
    "a day of {kind} at {entity}",
    "{entity}: {kind} as it should be",
    "more {kind} tomorrow",
    "if you ask what we are about: {kind}",
    "{kind} in the making",
    "this week at {entity} - {kind}",
    "guess how long this took ({kind})",
    "{kind} again, you asked for it",
    "from the archive: {kind}",
)
"""What a post that is liked says (`entity`: whose it is)."""
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
    search = SEARCHES.get(app)
    earlier = moment - timedelta(seconds=place.whole("looked", 40, 400))
    if search not in (None, name) and earlier >= telling.begins and place.chance("looks", LOOKS):
        here = place.at("looks")
        # Either may be the one that was searched for: what is looked at does not tell what is taken.
        first, second = (taken, left) if here.chance("first", 0.5) else (left, taken)
        slots = choice_slots(here, (app, search), "options", first, second, category, facts, setting)
        yield Event(earlier, app, search, here.path, slots, (), telling.chain)
    agrees = pole == facts["pole"]
    shown = (Shown(one.key, one.value_id if agrees else "", "supports" if agrees else "distractor"),)
    slots = choice_slots(place, (app, name), "leaning", taken, left, category, facts, setting)
    yield Event(moment, app, name, place.path, slots, shown, telling.chain)


def choice_slots(
    place: Place,
    api: Api,
    purpose: str,
    taken: str,
    left: str,
    category: str,
    facts: Mapping[str, Any],
    setting: Setting,
) -> Slots:
    """Slots of one option taken and another passed over, each with its kind wherever the API shows one."""
    kinds: Mapping[str, str] = facts["kinds"]
    query = VOICES.get(api, "query") == "query"
    named = described(taken, kinds[taken], query and purpose == "leaning")
    other = left if query else described(left, kinds[left], query)
    words = {"entity": named, "other": other, "category": category, "label": facts["label"], "words": named}
    fields = {"other_category": kinds[left]}
    if category in KINDS:
        fields["content_type"] = KINDS[category]
    known = {
        "entity": taken,
        "others": [left],
        "category": kinds[taken],
        "fields": fields,
        "caption": place.one("caption", CAPTIONS).format(entity=taken, kind=kinds[taken]),
        "place": taken,
        "sender": f"{category} service",
        "quantity": 1,
        "rating": 5,
    }
    return slots_for(place, api, purpose, words, known, setting)


def described(option: str, kind: str, searched: bool = False) -> str:
    """An option with its kind, where its name does not say it; as one would search for it, or as one would say it."""
    if slug(kind) in slug(option):
        return option
    return f"{option} {kind}" if searched else f"{option} ({kind})"


def _other(pole: str) -> str:
    return "b" if pole == "a" else "a"


def _statement(telling: Telling, place: Place, setting: Setting) -> Event:
    one, facts = telling.interval, telling.interval.facts
    [moment] = spread(place, 1, telling.begins, telling.ends, setting.awake)
    liked, left = (facts["poles"][pole] for pole in (facts["pole"], _other(facts["pole"])))
    words = {name: facts[name] for name in ("axis", "qualifier", "label")} | {"liked": liked, "left": left}
    shown = (Shown(one.key, one.value_id, "supports"),)
    return spoken(place, moment, setting, "preference", words, shown, telling.chain)
