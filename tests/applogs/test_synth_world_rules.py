"""Rules over the states of a user, each from both sides of its border, and by breaking whole worlds."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from pipelines.applogs.synthesis.preferences import intensity_of
from pipelines.applogs.synthesis.timeline_rules import BUFFER, BrokenWorld, broken, check
from pipelines.applogs.synthesis.world import START, Interval, LifeEvent, Persona, Span, World
from pipelines.applogs.synthesis.worlds import world_of

SPAN = Span()
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
WHO = Persona("001_user_001", "school_teacher", "Northfold", "lives alone", "teacher")
GYM, TEA, RUN = "user_attributes_state:gym", "preferences_state:tea", "habits_state:run"


def day(n: float) -> datetime:
    return START + timedelta(days=n)


def gym(entity: str, begins: float, ends: float | None, operation: str = "initial", **more: Any) -> Interval:
    facts = {"entity": entity, "qualifier": "monthly", "others": ["Nowhere Hall"]} | more.pop("facts", {})
    return Interval(
        **{
            "key": GYM, "family": "attribute", "domain": "health_selfcare", "value_id": f"gym#{begins}",
            "value": f"{entity}, monthly", "valid_from": day(begins), "valid_to": None if ends is None else day(ends),
            "operation": operation, "facts": facts,
        }
        | more
    )  # fmt: skip


def run(start: str, end: str, days: list[int] | dict[str, Any], **more: Any) -> Interval:
    schedule = days if isinstance(days, dict) else {"frequency_type": "weekly", "days_of_week": days}
    value = {"schedule": schedule, "timing": {"start_time": start, "end_time": end}, "location": "Quay"}
    return Interval(
        **{
            "key": RUN, "family": "habit", "domain": "health_selfcare", "value_id": "run#0", "value": value,
            "valid_from": START, "valid_to": None, "operation": "initial",
        }
        | more
    )  # fmt: skip


def tea(weight: float, begins: float, ends: float | None, operation: str = "initial", **more: Any) -> Interval:
    level = more.pop("level", "strong")
    words = {"slight": "Leans towards", "clear": "Usually prefers", "strong": "Strongly prefers"}[level]
    poles, pole = {"a": "tea", "b": "coffee"}, "a" if weight < 0 else "b"
    other = {"a": "coffee", "b": "tea"}[pole]
    facts = {"weight": weight, "weights": [weight] * 5, "intensity": level, "pole": pole, "poles": poles}
    return Interval(
        **{
            "key": TEA, "family": "preference", "domain": "leisure_media", "value_id": f"tea#{begins}",
            "value": {"statement": f"{words} {poles[pole]} over {other}, at noon"}, "valid_from": day(begins),
            "valid_to": None if ends is None else day(ends), "operation": operation,
            "facts": facts | more.pop("facts", {}),
        }
        | more
    )  # fmt: skip


def found(*intervals: Interval, events: tuple[LifeEvent, ...] = ()) -> list[str]:
    return [rule for _, rule, _ in broken(World(WHO, SPAN, events, intervals))]


SHORT = "a value is true for 14 days before it changes"
GAP = "between two values are none or 14 days"
BEFORE = "what changes was true before"
INITIAL = "what is true at the start, and nothing else, is initial"
BUCKET = "a statement is the bucket of its weight"
FOLLOWED = "what ends is followed, or is ended by an ending"
APART = "two habits of a day are 30 minutes apart"
REVERT = "a revert returns to an earlier value"
CAUSE = "a cause happens before what it causes"


def test_a_broken_world_names_user_key_and_rule() -> None:
    world = World(WHO, SPAN, (), (gym("Ironwood", 0, 13, ended_by="remove"),))
    with pytest.raises(BrokenWorld, match=f"001_user_001: {GYM} breaks the rule '{SHORT}': gym#0, 13 days"):
        check(world)


def test_a_world_that_keeps_the_rules_is_let_through() -> None:
    check(
        World(
            WHO, SPAN, (), (gym("Ironwood", 0, 14, ended_by="remove"), run("07:00", "07:30", [0]), tea(-0.8, 0, None))
        )
    )


@pytest.mark.parametrize(("days", "rules"), [(14, []), (13.999, [SHORT])])
def test_a_value_is_true_for_two_weeks_before_it_changes(days: float, rules: list[str]) -> None:
    line = gym("Ironwood", 0, days, ended_by="modify"), gym("Pier", days, None, "modify")
    assert found(*line) == rules
    assert found(gym("Ironwood", 0, days, ended_by="remove")) == rules


@pytest.mark.parametrize(
    ("begins", "rules"), [(30, []), (30 - 1 / 86400, ["values of a key and member do not overlap"])]
)
def test_values_of_a_key_do_not_overlap(begins: float, rules: list[str]) -> None:
    assert found(gym("Ironwood", 0, 30, ended_by="modify"), gym("Pier", begins, None, "modify")) == rules


def test_a_value_without_an_end_lets_none_follow() -> None:
    assert "values of a key and member do not overlap" in found(
        gym("Ironwood", 0, None), gym("Pier", 40, None, "modify")
    )


def test_members_of_a_set_may_be_true_together() -> None:
    one, other = (gym(name, 0, None, member=name, value_id=name) for name in ("Ironwood", "Pier"))
    assert found(one, other) == []
    assert found(one, replace(other, member="Ironwood")) == ["values of a key and member do not overlap"]


@pytest.mark.parametrize(("gap", "rules"), [(14, []), (13, [GAP]), (1, [GAP])])
def test_between_two_values_are_none_or_two_weeks(gap: float, rules: list[str]) -> None:
    assert found(gym("Ironwood", 0, 30, ended_by="remove"), gym("Pier", 30 + gap, None, "add")) == rules


def test_what_changes_was_true_just_before() -> None:
    assert found(gym("Pier", 30, None, "add")) == []
    assert found(gym("Pier", 30, None, "modify")) == [BEFORE]
    assert found(gym("Ironwood", 0, 30, ended_by="remove"), gym("Pier", 60, None, "modify")) == [BEFORE]


def test_a_value_ends_by_what_follows_it() -> None:
    rule = "a value ends by what follows it"
    assert found(gym("Ironwood", 0, 30, ended_by="remove"), gym("Pier", 30, None, "modify")) == [rule]
    assert found(gym("Ironwood", 0, 30, ended_by="add"), gym("Pier", 30, None, "add")) == [rule]


def test_an_end_without_a_follower_is_an_ending_of_the_family() -> None:
    for ending, rules in (("remove", []), ("revert", []), ("modify", [FOLLOWED]), ("drop", [FOLLOWED])):
        assert found(gym("Ironwood", 0, 30, ended_by=ending)) == rules
    for ending, rules in (("drop", []), ("remove", [FOLLOWED])):
        assert found(run("07:00", "07:30", [0], valid_to=day(30), ended_by=ending)) == rules
    assert found(tea(0.8, 0, 200, ended_by="drop")) == [FOLLOWED]
    assert found(gym("Ironwood", 0, 30, ended_by="modify"), gym("Pier", 60, None, "add")) == [FOLLOWED]


def test_what_ends_has_an_ending_and_what_holds_has_none() -> None:
    assert found(gym("Ironwood", 0, None, ended_by="remove")) == ["what ends has an ending"]
    assert found(gym("Ironwood", 0, 30)) == ["what ends has an ending"]


@pytest.mark.parametrize(
    ("begins", "operation", "rules"),
    [(0, "initial", []), (0, "add", [INITIAL]), (30, "initial", [INITIAL]), (30, "add", [])],
)
def test_what_is_true_at_the_start_is_initial(begins: float, operation: str, rules: list[str]) -> None:
    assert found(gym("Ironwood", begins, None, operation)) == rules


def test_an_interval_lies_in_the_span() -> None:
    rule = "an interval lies in the span and begins before it ends"
    late = replace(gym("Pier", 0, None, "add"), valid_from=SPAN.end)
    assert found(late) == [rule]
    assert found(replace(late, valid_from=SPAN.end - SECOND)) == []
    assert rule in found(replace(gym("Pier", 30, 30, "add"), ended_by="remove"))
    assert found(replace(gym("Pier", 30, None, "add"), valid_to=SPAN.end, ended_by="remove")) == [
        "what holds to the end has no end"
    ]
    assert rule in found(replace(gym("Pier", 30, None, "add"), valid_to=SPAN.end + SECOND, ended_by="remove"))


def test_a_change_changes_the_value() -> None:
    line = gym("Ironwood", 0, 30, ended_by="modify"), gym("Ironwood", 30, None, "modify")
    assert found(*line) == ["a change changes the value"]


def test_keys_families_operations_and_ids_agree() -> None:
    assert found(gym("Ironwood", 0, None, key=RUN)) == ["a key is of its family"]
    assert found(gym("Ironwood", 0, None, family="song")) == ["a key is of its family"]
    assert found(gym("Ironwood", 30, None, "acquire")) == ["an operation is of its family"]
    twins = gym("Ironwood", 0, 30, ended_by="remove"), gym("Pier", 60, None, "add", value_id="gym#0")
    assert found(*twins) == ["value ids are unique for a key"]
    other = gym("Pier", 60, None, "add", value_id="gym#0", key="user_attributes_state:pool")
    assert found(twins[0], other) == []


def test_an_attribute_is_its_entity_and_qualifier_and_no_near_miss() -> None:
    rule = "an attribute is its entity and its qualifier"
    assert found(gym("Ironwood", 0, None, value="Ironwood, yearly")) == [rule]
    assert found(gym("Ironwood", 0, None, value=["Ironwood"])) == [rule]
    assert found(gym("Ironwood", 0, None, facts={"others": ["Pier", "Ironwood"]})) == ["a near miss is never true"]


def trio(back: str | None, value: str = "Ironwood", operation: str = "modify") -> list[Interval]:
    facts = {} if back is None else {"returns_to": back}
    return [
        gym("Ironwood", 0, 30, ended_by="modify"),
        gym("Pier", 30, 60, "modify", ended_by="revert"),
        gym(value, 60, None, operation, facts=facts),
    ]


def test_reverts_return_to_the_value_they_name() -> None:
    assert found(*trio("gym#0")) == []
    assert found(*trio(None)) == [REVERT]
    assert found(*trio("gym#9")) == [REVERT]
    assert found(*trio("gym#0", value="Foundry")) == [REVERT]


def test_a_pause_may_return_and_something_new_may_end_by_a_revert() -> None:
    pause = gym("Ironwood", 0, 30, ended_by="remove")
    assert found(pause, gym("Ironwood", 60, None, "add", facts={"returns_to": "gym#0"})) == []
    assert found(pause, gym("Pier", 60, None, "add", facts={"returns_to": "gym#0"})) == [REVERT]
    assert found(gym("Pier", 30, 60, "add", ended_by="revert"), gym("Mill", 90, None, "add")) == []


def event(moment: datetime, kind: str = "move") -> LifeEvent:
    return LifeEvent("e1", kind, moment, "we moved")


def test_causes_happen_before_what_they_cause() -> None:
    caused = gym("Pier", 30, None, "add", cause="e1")
    assert found(caused, events=(event(day(30)),)) == []
    assert found(caused, events=(event(day(30) + SECOND),)) == [CAUSE]
    assert found(caused) == [CAUSE]
    ended = gym("Ironwood", 0, 30, ended_by="remove", facts={"end_cause": "e1"})
    assert found(ended, events=(event(day(30)),)) == []
    assert found(ended, events=(event(day(30) + SECOND),)) == [CAUSE]


def test_seasons_move_habits_only() -> None:
    winter = (event(day(20), "winter"),)
    more = {"valid_from": day(30), "cause": "e1"}
    assert found(run("07:00", "07:30", [0], operation="acquire", **more), events=winter) == []
    assert found(gym("Pier", 30, None, "add", cause="e1"), events=winter) == ["seasons move habits only"]
    assert found(gym("Pier", 0, 30, ended_by="remove", facts={"end_cause": "e1"}), events=winter) == [
        "seasons move habits only"
    ]


@pytest.mark.parametrize(
    ("start", "end", "rules"),
    [
        ("09:00", "12:00", []),
        ("09:00", "12:01", ["an occurrence is no longer than 180 minutes"]),
        ("09:00", "09:00", ["a habit begins before it ends, on one day"]),
        ("23:30", "00:15", ["a habit begins before it ends, on one day"]),
        ("23:30", "23:59", []),
        ("23:30", "24:00", ["a habit begins before it ends, on one day"]),
    ],
)
def test_an_occurrence_lasts_three_hours_at_most(start: str, end: str, rules: list[str]) -> None:
    assert found(run(start, end, [0])) == rules


@pytest.mark.parametrize(
    ("schedule", "good"),
    [
        ({"frequency_type": "daily"}, True),
        ({"frequency_type": "hourly"}, False),
        ({"frequency_type": "weekly", "days_of_week": [0, 6]}, True),
        ({"frequency_type": "weekly", "days_of_week": [0, 7]}, False),
        ({"frequency_type": "weekly", "days_of_week": []}, False),
        ({"frequency_type": "weekly", "days_of_week": [3, 1]}, False),
        ({"frequency_type": "biweekly", "days_of_week": [6], "start_date": "2023-10-01"}, True),
        ({"frequency_type": "biweekly", "days_of_week": [0], "start_date": "2023-10-01"}, False),
        ({"frequency_type": "biweekly", "days_of_week": [0, 6], "start_date": "2023-10-02"}, False),
        ({"frequency_type": "monthly_by_date", "days_of_month": [28]}, True),
        ({"frequency_type": "monthly_by_date", "days_of_month": [29]}, False),
        ({"frequency_type": "monthly_by_date", "days_of_month": []}, False),
        ({"frequency_type": "monthly_nth_weekday", "week_of_month": "last", "day_of_week": 6}, True),
        ({"frequency_type": "monthly_nth_weekday", "week_of_month": 5, "day_of_week": 6}, False),
        ({"frequency_type": "monthly_nth_weekday", "week_of_month": 4, "day_of_week": 7}, False),
    ],
)
def test_a_schedule_names_days_that_exist(schedule: dict[str, Any], good: bool) -> None:
    assert found(run("07:00", "07:30", schedule)) == ([] if good else ["a schedule names days that exist"])


def other(start: str, end: str, days: list[int] | dict[str, Any], **more: Any) -> Interval:
    return run(start, end, days, key="habits_state:swim", value_id="swim#0", **more)


@pytest.mark.parametrize(
    ("start", "end", "rules"),
    [
        ("08:00", "08:30", []),
        ("07:59", "08:30", [APART]),
        ("06:00", "06:30", []),
        ("06:00", "06:31", [APART]),
        ("07:10", "07:20", [APART]),
        ("06:00", "09:00", [APART]),
    ],
)
def test_two_habits_of_a_day_are_half_an_hour_apart(start: str, end: str, rules: list[str]) -> None:
    assert found(run("07:00", "07:30", [0, 2]), other(start, end, [2, 4])) == rules
    assert found(run("07:00", "07:30", [0, 2]), other(start, end, [1, 4])) == []


def test_habits_that_share_no_day_do_not_meet() -> None:
    fortnight = [
        {"frequency_type": "biweekly", "days_of_week": [0], "start_date": first}
        for first in ("2023-10-02", "2023-10-09")
    ]
    assert found(run("07:00", "07:30", fortnight[0]), other("07:00", "07:30", fortnight[1])) == []
    assert found(run("07:00", "07:30", fortnight[0]), other("07:00", "07:30", fortnight[0])) == [APART]
    ends = run("07:00", "07:30", [0], valid_to=day(30), ended_by="drop")
    assert found(ends, other("07:00", "07:30", [0], valid_from=day(30), operation="acquire")) == []
    # Day 29 is a Monday.
    assert found(ends, other("07:00", "07:30", [0], valid_from=day(29), operation="acquire")) == [APART]
    assert found(ends, other("07:00", "07:30", [1], valid_from=day(29), operation="acquire")) == []


@pytest.mark.parametrize(
    ("weight", "bucket"),
    [
        (0.15, "slight"), (0.399, "slight"), (0.4, "clear"), (-0.699, "clear"), (-0.7, "strong"), (1.0, "strong"),
        (-1.0, "strong"),
    ],
)  # fmt: skip
def test_buckets_of_weights(weight: float, bucket: str) -> None:
    assert intensity_of(weight) == bucket
    assert found(tea(weight, 0, None, level=bucket)) == []


@pytest.mark.parametrize("weight", [0.0, 0.149, -0.149, 1.001, -1.001])
def test_weights_outside_the_bounds_are_none(weight: float) -> None:
    with pytest.raises(ValueError, match="is no preference"):
        intensity_of(weight)
    assert found(tea(weight, 0, None)) == ["a weight is a preference in [-1, 1]"]


def test_a_statement_is_the_bucket_of_every_weight() -> None:
    assert found(tea(0.8, 0, None, facts={"weights": [0.8, 0.7, 0.99, 0.8, 0.8]})) == []
    assert found(tea(0.8, 0, None, facts={"weights": [0.8, 0.69, 0.8, 0.8, 0.8]})) == [BUCKET]
    assert found(tea(0.8, 0, None, facts={"weights": [0.8, -0.8, 0.8, 0.8, 0.8]})) == [BUCKET]
    assert found(tea(0.8, 0, None, value={"statement": "Strongly prefers tea over coffee, at noon"})) == [BUCKET]


@pytest.mark.parametrize(("days", "cause", "rules"), [
    (180, None, []), (179, None, ["a preference moves by itself after 180 days"]), (20, "e1", []),
])  # fmt: skip
def test_preferences_move_seldom_by_themselves(days: int, cause: str | None, rules: list[str]) -> None:
    line = tea(0.8, 0, days, ended_by="shift"), tea(-0.8, days, None, "shift", cause=cause)
    assert found(*line, events=(event(day(10)),)) == rules


WHOLE = world_of(5, 0)


@pytest.mark.parametrize("place", range(0, len(WHOLE.intervals), 3))
def test_no_damage_to_a_whole_world_passes(place: int) -> None:
    one = WHOLE.intervals[place]
    damages = [
        replace(one, operation="revert"),
        replace(one, ended_by="lost" if one.ended_by is None else None),
        replace(one, key=f"x{one.key}"),
        replace(one, cause="nothing-w9-0"),
        replace(one, valid_to=one.valid_from),
    ]
    if one.operation in ("initial", "modify", "adjust", "shift", "refine"):
        damages += [replace(one, valid_from=one.valid_from + shift) for shift in (-DAY, DAY)]
    for damage in damages:
        intervals = (*WHOLE.intervals[:place], damage, *WHOLE.intervals[place + 1 :])
        with pytest.raises(BrokenWorld, match=r"001_user_001: x?[a-z_]+:[a-z_]+ breaks the rule"):
            check(replace(WHOLE, intervals=intervals))


def test_whole_worlds_keep_every_rule() -> None:
    for index in range(40):
        assert list(broken(world_of(11, index))) == []
    assert timedelta(days=14) == BUFFER
