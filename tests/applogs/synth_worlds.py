"""A world made by hand: every family, operation and end once, for the tests of events and trajectories."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pipelines.applogs.synthesis.ontology.forms import Attribute, Habit, Ontology, Preference, Slot
from pipelines.applogs.synthesis.world import START, Interval, LifeEvent, Persona, Span, World

GYM, SHOES = "user_attributes_state:gym_membership", "user_attributes_state:sports_gear"
RUN, REVIEW = "habits_state:canal_run", "habits_state:budget_review"
COFFEE = "preferences_state:coffee_source"
SPAN = Span(windows=3, logs=600)


def day(n: int) -> datetime:
    return START + timedelta(days=n)


def persona() -> Persona:
    facts = {
        "traits": ["sport"], "people": ["my sister", "a friend from work"], "age": 34, "income": 420_000,
        "wake": "06:30", "sleep": "22:45", "district": "Quayside", "others_people": ["my cousin", "a neighbour"],
    }  # fmt: skip
    return Persona("001_user_001", "planner", "Larkton", "alone", "archivist", facts)


def attribute(
    key: str, entity: str, qualifier: str, begins: int, ends: int | None, operation: str, **more: Any
) -> Interval:
    facts = {
        "label": key.partition(":")[2].replace("_", " "), "entity": entity, "qualifier": qualifier,
        "act": f"use {entity} on the {qualifier}", "category": "gym", "amount": 3900,
        "shows": [["Google Maps", "CheckIn"], ["Chase", "PayBill"]], "others": ["Ironquay Gym", "Pulse Barn"],
    }  # fmt: skip
    number = more.pop("number", 0)
    return Interval(
        key=key, family="attribute", domain="health_selfcare", value_id=f"{key.partition(':')[2]}/{entity}#{number}",
        value=f"{entity}, {qualifier}", valid_from=day(begins), valid_to=None if ends is None else day(ends),
        operation=operation, member=more.pop("member", None), ended_by=more.pop("ended_by", None),
        cause=more.pop("cause", None), facts=facts | more,
    )  # fmt: skip


def habit(
    key: str, n: int, value: dict[str, Any], begins: int, ends: int | None, operation: str, **more: Any
) -> Interval:
    facts = {
        "label": key.partition(":")[2].replace("_", " "), "activity": "canal running", "category": "running",
        "apps": [["Fitbit", "RecordActivity", "any"], ["Fitbit", "LogWorkout", "workday"]],
        "words": ["a slow loop", "legs like lead", "nice light today"], "minutes": 45, "place": value["location"],
        "address": "1 Quay Street", "person": "", "weak": [["Fitbit", "SyncDevice"], ["WhatsApp", "SendMessage"]],
        "intensity": "medium", "amount": 0, "changed": [],
    }  # fmt: skip
    return Interval(
        key=key, family="habit", domain="health_selfcare", value_id=f"{key.partition(':')[2]}#{n}", value=value,
        valid_from=day(begins), valid_to=None if ends is None else day(ends), operation=operation,
        ended_by=more.pop("ended_by", None), cause=more.pop("cause", None), facts=facts | more,
    )  # fmt: skip


def preference(
    n: int, pole: str, weight: float, begins: int, ends: int | None, operation: str, **more: Any
) -> Interval:
    poles = {"a": "small roasters", "b": "coffee chains"}
    facts = {
        "label": "coffee source", "axis": "where coffee comes from", "poles": poles, "pole": pole,
        "intensity": "clear", "qualifier": "on workdays", "weight": weight, "weights": [weight] * SPAN.windows,
        "choices": [["UberEats", "PlaceOrder", "coffee"], ["Google Maps", "GetDirections", "coffee"]],
        "pools": {"a": ["Bean Loft", "Roast Shed", "Kiln Coffee"], "b": ["Cupline", "Daily Drip"]},
        "kinds": {"Bean Loft": "micro-roastery", "Roast Shed": "roastery bar", "Kiln Coffee": "bean shop",
                  "Cupline": "franchise", "Daily Drip": "drive-through"},
    }  # fmt: skip
    liked, left = (poles[pole], poles["b" if pole == "a" else "a"])
    return Interval(
        key=COFFEE, family="preference", domain="leisure_media", value_id=f"coffee_source#{n}",
        value={"statement": f"Usually prefers {liked} over {left}, on workdays"}, valid_from=day(begins),
        valid_to=None if ends is None else day(ends), operation=operation, facts=facts | more,
    )  # fmt: skip


def schedule(days: list[int], start: str = "07:00", end: str = "07:45", place: str = "Canal Path") -> dict[str, Any]:
    return {
        "schedule": {"frequency_type": "weekly", "days_of_week": days},
        "timing": {"start_time": start, "end_time": end},
        "location": place,
    }


def intervals() -> list[Interval]:
    first = {"frequency_type": "monthly_nth_weekday", "week_of_month": 1, "day_of_week": 6}
    return [
        attribute(GYM, "Harbor Lane", "annual plan", 0, 60, "initial", ended_by="modify"),
        attribute(GYM, "Cedar Barn", "day pass", 60, 200, "modify", reason="we moved over the river", cause="move",
                  number=1, ended_by="remove", end_reason="I run outdoors now"),
        attribute(SHOES, "Brook Shoes", "size 41", 0, 130, "initial", member="Brook Shoes", ended_by="remove",
                  end_reason="they fell apart"),
        attribute(SHOES, "Yoga Mat", "blue one", 0, None, "initial", member="Yoga Mat"),
        attribute(SHOES, "Kettle Bell", "eight kilos", 100, None, "add", member="Kettle Bell", reason="it was on sale"),
        habit(RUN, 0, schedule([1, 3]), 0, 95, "initial", ended_by="adjust"),
        habit(RUN, 1, schedule([1, 3, 5], "18:00", "18:45"), 95, 180, "adjust", reason="mornings got too dark",
              changed=["schedule", "timing"], ended_by="drop", end_reason="my knee said no"),
        habit(REVIEW, 0, {**schedule([], "09:30", "10:15", "kitchen table"), "schedule": first}, 0, None, "initial",
              activity="budget review", apps=[["Chase", "GetTransactions", "any"]], weak=[]),
        preference(0, "a", -0.6, 0, 150, "initial"),
        preference(1, "b", 0.5, 150, None, "shift", reason="a chain opened downstairs"),
    ]  # fmt: skip


def world(**changes: Any) -> World:
    ordered = sorted(intervals(), key=lambda one: (one.key, one.member or "", one.valid_from))
    moved = LifeEvent("move", "move", day(52) + timedelta(hours=11), "we moved over the river")
    return replace(World(persona(), SPAN, (moved,), tuple(ordered), seed=7), **changes)


def ontology() -> Ontology:
    """States that the hand-made world does not hold."""
    bank = Attribute(
        name="savings_account", label="savings account", act="save with {entity}, {qualifier}", category="bank",
        shows=("Chase/GetBalance",),
        entities=("Fernbank", "Quill Credit", "Ridge Union"), qualifiers=("fixed", "daily"),
    )  # fmt: skip
    choir = Habit(
        name="choir_practice", label="choir practice", activity="choir practice", category="music",
        apps=("WhatsApp/SendMessage",), words=("two new songs",), minutes=(90,), slot=Slot("18:00", "21:00", (2,)),
        places=(("Old Chapel", "3 Mill Lane"),),
    )  # fmt: skip
    films = Preference(
        name="film_age", label="age of films", axis="how old a film may be", a="old films", b="new films",
        qualifiers=("at weekends",), choices=("Netflix/PlayContent/drama",), options_a=("The Ivory Ledger",),
        kinds_a=("silent film",),
        options_b=("Signal Nine",), kinds_b=("premiere",),
    )  # fmt: skip
    return {"finances_living": (bank,), "leisure_media": (choir, films)}
