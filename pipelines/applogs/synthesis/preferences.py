"""Preferences of a user: a weight between two poles that drifts, and the statement of its bucket (reference 6.2.5).

Between two moves the weight walks from window to window inside its bucket, so the statement is true of it at any
moment. Moves come every 2–4 windows, or after a life event.
"""

from bisect import bisect_right
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pipelines.applogs.synthesis.ontology.forms import Preference
from pipelines.applogs.synthesis.timelines import Change, Life, Line, in_order, lived, plan
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Interval, Span

BOUNDS = (0.15, 0.4, 0.7, 1.0)
"""Borders of the three buckets of |weight|; a weight nearer to 0 is no preference and never drawn."""
INTENSITIES = ("slight", "clear", "strong")
WORDS = {"slight": "Leans towards", "clear": "Usually prefers", "strong": "Strongly prefers"}
STEP = 0.05
"""Standard deviation of the walk a window."""
REST = timedelta(days=180)
"""What moves by itself has not moved for so long: two windows."""
MOVES = 0.55
"""Chance that a weight moves by itself when 2–4 windows are over."""
REASONS = (
    "it kept working out better for me",
    "I have had enough of how it went before",
    "I noticed what I kept going back to",
    "a few good experiences won me over",
    "I got tired of the fuss",
    "someone showed me how nice it can be",
    "I looked back and saw what I had really enjoyed",
    "it suits the way I live now",
    "I was let down a few times too often",
    "I tried the other way for a month and liked it",
)


def intensity_of(weight: float) -> str:
    """Bucket of a weight. Raises `ValueError` where it is none: |weight| below 0.15 or above 1."""
    if not BOUNDS[0] <= abs(weight) <= BOUNDS[-1]:
        raise ValueError(f"a weight of {weight} is no preference; it must lie in ±[{BOUNDS[0]}, {BOUNDS[-1]}]")
    return INTENSITIES[min(bisect_right(BOUNDS, abs(weight)) - 1, len(INTENSITIES) - 1)]


def statement(state: Preference, weight: float, qualifier: str) -> str:
    """What a weight says: "Strongly prefers small roasters over coffee chains, above all on workdays"."""
    better, worse = (state.a, state.b) if weight < 0 else (state.b, state.a)
    return f"{WORDS[intensity_of(weight)]} {better} over {worse}, {qualifier}"


def kinds_of(state: Preference) -> dict[str, str]:
    """Option → what it is. Raises `ValueError` where not every option has a kind."""
    options, kinds = (*state.options_a, *state.options_b), (*state.kinds_a, *state.kinds_b)
    return dict(zip(options, kinds, strict=True))


def weight_at(interval: Interval, span: Span, moment: datetime) -> float:
    """Weight of a preference in the window of a moment; below 0 for pole a, above 0 for pole b."""
    weight: float = interval.facts["weights"][span.window_of(moment)]
    return weight


@dataclass(frozen=True, slots=True)
class _Choice:
    side: int
    level: int
    qualifier: str
    share: float
    """Where in its bucket the weight begins."""


@dataclass(frozen=True, slots=True)
class _Teller:
    state: Preference
    span: Span
    walk: list[float]
    begins: str = "initial"
    ends: str = "drop"

    def told(self, choice: _Choice) -> tuple[dict[str, str], dict[str, Any]]:
        state = self.state
        low, high = BOUNDS[choice.level], BOUNDS[choice.level + 1]
        # A hair inside, so that rounding never leaves the bucket.
        room = [min(max(low + (high - low) * choice.share + step, low + 0.01), high - 0.01) for step in self.walk]
        weights = [choice.side * round(one, 3) for one in room]
        return {"statement": statement(state, weights[0], choice.qualifier)}, {
            "label": state.label,
            "axis": state.axis,
            "poles": {"a": state.a, "b": state.b},
            "pole": "a" if choice.side < 0 else "b",
            "intensity": INTENSITIES[choice.level],
            "qualifier": choice.qualifier,
            "weights": weights,
            "choices": [one.split("/") for one in state.choices],
            "pools": {"a": list(state.options_a), "b": list(state.options_b)},
            "kinds": kinds_of(state),
        }

    def operation(self, before: _Choice, after: _Choice) -> str:
        return "refine" if before.side == after.side else "shift"


def _walk(home: Place, windows: int) -> list[float]:
    steps = [STEP * home.at(window).normal("walk") for window in range(windows)]
    return [sum(steps[: window + 1]) for window in range(windows)]


def _by_itself(life: Life, home: Place) -> list[Change]:
    changes, window = [], home.at("rest", 0).whole("windows", 2, 4)
    while window < life.span.windows:
        here = home.at(window, "move")
        if here.chance("moved", MOVES):
            moment = life.span.opening(window) + timedelta(days=here.whole("day", 0, 60))
            changes.append(Change(moment, "move", here, here.one("reason", REASONS)))
        window += home.at("rest", window).whole("windows", 2, 4)
    return changes


def _step(state: Preference, held: _Choice | None, change: Change) -> _Choice | None:
    here = change.place
    if held is None:
        return None
    share = here.share("share")
    side = {"a": -1, "b": 1}.get(change.does, -held.side if here.chance("shift", 0.3) else held.side)
    if side != held.side:
        return _Choice(side, here.whole("level", 0, 1), here.one("qualifier", state.qualifiers), share)
    if change.does != "move":
        level = held.level + 1
    elif here.chance("detail", 0.35):
        rest = [one for one in state.qualifiers if one != held.qualifier]
        return _Choice(side, held.level, here.one("qualifier", rest), held.share)
    else:
        level = held.level + here.one("step", (-1, 1))
    if not 0 <= level < len(INTENSITIES):
        level = 1 if change.does == "move" else held.level
    return held if level == held.level else _Choice(side, level, held.qualifier, share)


def preference_intervals(life: Life, domain: str, state: Preference) -> list[Interval]:
    """Intervals of a preference; it is held from the beginning or never."""
    if not life.begins_with(domain, state):
        return []
    home = life.home(domain, state)
    level = min(int(home.share("level") * 3), 2)
    first = _Choice(home.one("side", (-1, 1)), level, home.one("qualifier", state.qualifiers), home.share("share"))
    # What has moved a preference does not undo it when it is over.
    moved = [replace(change, until=None) for change in plan(life, home, state, {}, {})]
    changes = in_order(moved + _by_itself(life, home), life.span)
    teller = _Teller(state, life.span, _walk(home, life.span.windows))
    line: Line[_Choice] = Line(state.name, "preference", domain, life.span, teller)
    intervals = lived(line, first, changes, lambda held, change: _step(state, held, change), REST)
    for one in intervals:
        one.facts["weight"] = weight_at(one, life.span, one.valid_from)
    return intervals
