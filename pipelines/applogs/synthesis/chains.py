"""Event chains of attributes and of members of collections, by what happens to them (reference 6.1, chain sizes).

A value is shown only while it is true. What is said of it before, why it comes and what
else was looked at, is its cause; so is what is said of its end, after it.
"""

from datetime import datetime, timedelta

from pipelines.applogs.synthesis.acts import slots_for, spoken
from pipelines.applogs.synthesis.events import Event, Role, Shown, Slots
from pipelines.applogs.synthesis.moments import spread
from pipelines.applogs.synthesis.possessions import known_of, shown_in
from pipelines.applogs.synthesis.speech import said
from pipelines.applogs.synthesis.tellings import Chain, Setting, Telling
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval

LEAD = timedelta(days=10)
"""How long before a change its cause is spoken of, at most."""
LOOK_BACK = timedelta(days=40)
"""How long before a change the old value is shown, at most."""
SETTLING = timedelta(days=6)
"""How long after a change it is being carried out, and after an end spoken of."""
SHOWN_FOR = timedelta(days=35)
"""How long a change is shown in use, at least, even over the end of its window."""


def attribute_chain(telling: Telling, place: Place, setting: Setting) -> Chain:
    """The chain of an attribute's telling."""
    one = telling.interval
    if telling.kind == "farewell":
        return farewell(telling, place, setting)
    if telling.kind == "lasting":
        low, high = (1, 2) if one.member is not None else (3, 5)
        return Chain(telling.chain, "unchanged", one, tuple(_uses(telling, place, setting, low, high)))
    added = one.operation == "add"
    events = [
        *([] if added else old_value(telling, place, setting)),
        *causes(telling, place, setting),
        *(_research(telling, place, setting) if added else ()),
        *_uses(telling, place, setting, *((3, 6) if added else (3, 5))),
    ]
    return Chain(telling.chain, one.operation, one, tuple(sorted(events, key=_order)))


def _order(event: Event) -> tuple[datetime, str]:
    return event.moment, event.place


def causes(telling: Telling, place: Place, setting: Setting) -> list[Event]:
    """One or two times that the reason of a change is spoken of: before it, or just after it where it came at once."""
    one, at = telling.interval, place.at("cause")
    known = max(_first_moment(telling, setting), _happened(one, setting))
    room = one.valid_from - known >= timedelta(hours=6)
    begins, ends = (known, one.valid_from) if room else (one.valid_from, min(telling.ends, one.valid_from + SETTLING))
    shown = (Shown(one.key, one.value_id, "cause"),)
    topic = one.facts.get("axis") or one.facts.get("activity") or one.facts["category"]
    reason = one.facts.get("reason", "it was time for it")
    words = {"label": one.facts["label"], "topic": topic, "reason": reason}
    return [
        spoken(at.at(n), moment, setting, "trigger", words, shown, telling.chain)
        for n, moment in enumerate(spread(at, at.whole("count", 1, 2), begins, ends, setting.awake))
    ]


def _happened(one: Interval, setting: Setting) -> datetime:
    if (event := setting.life.get(one.cause or "")) is None:
        return setting.start
    return event.until if "returns_to" in one.facts and event.until else event.moment


def _first_moment(telling: Telling, setting: Setting) -> datetime:
    before = setting.start if telling.before is None else telling.before.valid_from
    return max(before, setting.start, telling.interval.valid_from - LEAD)


def old_value(telling: Telling, place: Place, setting: Setting) -> list[Event]:
    """One or two times that the value before is seen, while it was true."""
    if (before := telling.before) is None:
        return []
    at, ends = place.at("old"), telling.interval.valid_from
    begins = max(before.valid_from, ends - LOOK_BACK)
    if ends - begins < timedelta(hours=1):
        return []
    moments = spread(at, at.whole("count", 1, 2), begins, ends, setting.awake)
    return [_use(at.at(n), moment, setting, before, "use", telling.chain) for n, moment in enumerate(moments)]


def _research(telling: Telling, place: Place, setting: Setting) -> list[Event]:
    one, at = telling.interval, place.at("research")
    begins = _first_moment(telling, setting)
    if one.valid_from - begins < timedelta(hours=1):
        return []
    shown = (Shown(one.key, one.value_id, "cause"),)
    events = []
    for n, moment in enumerate(spread(at, at.whole("count", 1, 4), begins, one.valid_from, setting.awake)):
        here = at.at(n)
        if here.chance("plan", 0.25):
            words = {"act": one.facts["act"], "label": one.facts["label"]}
            events.append(spoken(here, moment, setting, "plan", words, shown, telling.chain))
            continue
        api = "ClickResult" if here.chance("click", 0.3) else "Search"
        other = here.one("other", one.facts["others"] or [f"another {one.facts['category']}"])
        query = said(here, "research", "query", entity=one.facts["entity"], other=other, category=one.facts["category"])
        slots = Slots(text=query, entity=one.facts["entity"], others=[other], category=one.facts["category"])
        events.append(Event(moment, "Google", api, here.path, slots, shown, telling.chain))
    return events


def _uses(telling: Telling, place: Place, setting: Setting, low: int, high: int) -> list[Event]:
    """The value in use. What is new is carried out at once, within its window, and may be shown beyond its end:
    until then the change is true, and its chain not finished."""
    one, at = telling.interval, place.at("use")
    begins, ends = telling.begins, telling.ends
    fresh, awake = telling.kind == "fresh", setting.awake
    if fresh:
        last = min(one.valid_to or setting.end, setting.end, max(ends, begins + SHOWN_FOR))
        settled, ends = min(ends, begins + SETTLING, begins + (last - begins) / 2), last
        first = spread(at.at("settling"), 1, begins, settled, awake)
        moments = first + spread(at, at.whole("count", low, high) - 1, first[0] + timedelta(seconds=1), ends, awake)
    else:
        moments = spread(at, at.whole("count", low, high), begins, ends, awake)
    return [
        _use(at.at(n), moment, setting, one, "new" if fresh and not n else "use", telling.chain, whole=not n)
        for n, moment in enumerate(moments)
    ]


def _use(
    place: Place, moment: datetime, setting: Setting, one: Interval, purpose: str, chain: str, whole: bool = False
) -> Event:
    """The value in use: in words with all of it, or in an app that shows its entity."""
    shown = (Shown(one.key, one.value_id, "supports"),)
    shows = shown_in(one.facts)
    if whole or not shows or place.chance("said", 0.35):
        words = {name: one.facts[name] for name in ("act", "label", "entity")}
        return spoken(place, moment, setting, purpose, words, shown, chain)
    # The most telling first: it is drawn twice as often as each other.
    api = place.one("app", [shows[0], *shows])
    words = {name: one.facts[name] for name in ("act", "label", "entity", "qualifier", "category")}
    words["words"] = one.facts["entity"]
    slots = slots_for(place, api, purpose, words, known_of(place, api, one.facts, setting), setting)
    return Event(moment, *api, place.path, slots, shown, chain)


def farewell(telling: Telling, place: Place, setting: Setting) -> Chain:
    """One or two times that it is said that something is over, and why; after its end."""
    one = telling.interval
    ends = min(telling.ends, telling.begins + SETTLING)
    taken = "drop" if one.family == "habit" else "remove"
    role: Role = "cause"
    shown = (Shown(one.key, one.value_id, role),)
    act = one.facts.get("act") or f"do {one.facts.get('activity', one.facts['label'])}"
    words = {
        "act": act,
        "label": one.facts["label"],
        "end_reason": one.facts.get("end_reason", "it had run its course"),
    }
    events = [
        spoken(place.at(n), moment, setting, "farewell", words, shown, telling.chain)
        for n, moment in enumerate(spread(place, place.whole("count", 1, 2), telling.begins, ends, setting.awake))
    ]
    return Chain(telling.chain, taken, one, tuple(events))
