"""Every API renders exactly its published shape (reference 1.3); the shapes are written by hand in golden_shapes/.

A shape is a nested map of names to types; a name that ends in `?` may be absent, a list holds items of one shape, a
map with the name `*` holds any names. Types: text, number, whole, bool, stamp, date, scalar, words to choose from
(`low|high`) or a single one (`=playing`).
"""

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from app_events import CALLS, HOME, PERSONA, drawn_event, log_of, many_events
from applog_worlds import DATA

from pipelines.applogs.synthesis.apps import (
    RUNNING,
    amazon,
    chase,
    fitbit,
    gmail,
    linkedin,
    robinhood,
    spotify,
    whatsapp,
)
from pipelines.applogs.synthesis.apps.phone import Phone
from pipelines.applogs.synthesis.tree import Place

GOLDEN = {
    file.stem: json.loads(file.read_text()) for file in sorted((Path(__file__).parent / "golden_shapes").glob("*.json"))
}
TYPES = {
    "text": lambda v: isinstance(v, str) and v.strip() == v != "",
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "whole": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, bool),
    "stamp": lambda v: isinstance(v, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", v)),
    "date": lambda v: isinstance(v, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\d", v)),
    "scalar": lambda v: isinstance(v, str | int | float),
}


def differences(value: object, shape: object, path: str) -> list[str]:
    """What in a value is not as its shape says, by path."""
    if isinstance(shape, str):
        fits = TYPES[shape](value) if shape in TYPES else value in shape.removeprefix("=").split("|")
        return [] if fits else [f"{path}: {value!r} is not {shape}"]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no list"]
        return [wrong for n, item in enumerate(value) for wrong in differences(item, shape[0], f"{path}[{n}]")]
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no object"]
    if "*" in shape:
        return [wrong for name, part in value.items() for wrong in differences(part, shape["*"], f"{path}.{name}")]
    known = {name.rstrip("?"): part for name, part in shape.items()}
    wrong = [f"{path}.{name} is absent" for name in shape if not name.endswith("?") and name not in value]
    wrong += [f"{path}.{name} is not in the shape" for name in value if name not in known]
    return wrong + [
        fault
        for name, part in value.items()
        if name in known
        for fault in differences(part, known[name], f"{path}.{name}")
    ]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"a": "x", "b": 1}, []),
        ({"a": "x"}, []),
        ({"b": 1}, ["r.a is absent"]),
        ({"a": "x", "b": True}, ["r.b: True is not whole"]),
        ({"a": "", "c": 1}, ["r.c is not in the shape", "r.a: '' is not text"]),
        ([], ["r: [] is no object"]),
    ],
)
def test_a_shape_refuses_what_differs(value: object, wrong: list[str]) -> None:
    assert differences(value, {"a": "text", "b?": "whole"}, "r") == wrong


@pytest.mark.parametrize(("app", "api"), CALLS)
def test_an_api_renders_its_golden_shape(app: str, api: str) -> None:
    golden = GOLDEN[app.lower().replace(" ", "_")][api]
    phone, seen, given = Phone(PERSONA, HOME), Counter[str](), 60
    for n in range(given):
        log = log_of(phone, drawn_event(app, api, n * 700, Place(f"{app}/{api}/{n}")))
        assert differences(log["request"], golden["request"], "request") == []
        assert differences(log["response"], golden["response"], "response") == []
        seen.update(list(log["request"]))
    optional = {name.rstrip("?") for name in golden["request"] if name.endswith("?")}
    # What may be absent is at times there and at times not.
    assert {name for name in optional if not 0 < seen[name] < given} == set()


@pytest.mark.parametrize(("app", "api"), CALLS)
def test_running_parts_are_parts_of_the_shape(app: str, api: str) -> None:
    for path in RUNNING[app, api]:
        shape: object = GOLDEN[app.lower().replace(" ", "_")][api]["response"]
        for step in path.split("."):
            shape = shape[0] if isinstance(shape, list) else shape
            assert isinstance(shape, dict)
            assert step in shape or f"{step}?" in shape, path
            shape = shape.get(step, shape.get(f"{step}?"))


def stamps(value: object) -> list[str]:
    if isinstance(value, dict):
        return [stamp for part in value.values() for stamp in stamps(part)]
    if isinstance(value, list | tuple):
        return [stamp for part in value for stamp in stamps(part)]
    return [value] if isinstance(value, str) and TYPES["stamp"](value) else []


def test_no_stamp_lies_more_than_20_minutes_ahead_of_its_log() -> None:
    phone, ahead = Phone(PERSONA, HOME), []
    for one in many_events(2000, hours=1):
        for stamp in stamps(phone.call(one)):
            ahead.append(datetime.fromisoformat(stamp).replace(tzinfo=None) - one.moment)
    assert max(ahead) <= timedelta(minutes=21)
    assert sum(timedelta(seconds=2) <= wait < timedelta(seconds=61) for wait in ahead) > len(ahead) / 4


def test_logs_are_of_the_published_size() -> None:
    phone = Phone(PERSONA, HOME)
    sizes = [len(json.dumps(log_of(phone, one))) for one in many_events(3000)]
    assert max(sizes) <= 6000
    assert 300 < sum(sizes) / len(sizes) < 1500


def test_real_logs_fit_the_golden_shapes() -> None:
    file = DATA / "user001_app_log_excerpt.json"
    if not file.exists():
        pytest.skip("no published log at ../shared/data/applogs")
    for log in json.loads(file.read_text())["app_logs"]:
        golden = GOLDEN[log["app_name"].lower().replace(" ", "_")][log["api_name"]]
        assert differences(log["request"], golden["request"], "request") == []
        assert differences(log["response"], golden["response"], "response") == []


TABLES = [
    *(amazon.MAKERS, amazon.REVIEWS, amazon.ORDINARY, spotify.ARTISTS, spotify.SONGS, spotify.GENRES),
    *(fitbit.STARTS, fitbit.ROUTES, chase.EVERYDAY, robinhood.INDEXES, robinhood.COMPANIES, whatsapp.SMALL_TALK),
    *(gmail.ARRIVING, gmail.SUBJECTS, gmail.BODIES, gmail.OPENINGS, gmail.CLOSINGS),
    *(linkedin.PAGES, linkedin.POSTS, linkedin.TITLES, linkedin.COMPANIES),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table[0])[:30])
def test_what_is_made_up_is_said_in_10_to_30_ways(table: tuple) -> None:
    assert 10 <= len(set(table)) == len(table) <= 30
