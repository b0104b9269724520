"""Fitbit: what was done today adds up, whether it was logged by hand, recorded on the way or seen by the device."""

from datetime import date

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

CALORIES = {"low": 4, "medium": 7, "high": 11}
"""Burned in a minute, by intensity."""
KM_AN_HOUR = {"walk": 5, "hik": 4, "run": 10, "jog": 9, "cycl": 18, "bik": 18, "swim": 2, "row": 8, "ski": 9}
"""Usual pace, by how the activity begins in one of its words; else 5."""
STARTS = (
    *("bike rack", "back gate", "bus stop", "main gate", "trailhead", "footbridge", "corner shop", "church green"),
    *("ferry landing", "stone bridge", "station steps", "playing field"),
)
ROUTES = (
    "out and back, mostly flat",
    "a loop with one short climb",
    "along the path and back the same way",
    "side streets, then the path by the water",
    "twice around",
    "gravel for the first half, paved after that",
    "the longer way, with a stop at the top",
    "straight there, no breaks",
    "a few detours because of roadworks",
    "wind from the front on the way out",
    "the quiet way behind the houses",
    "up the hill and down the far side",
)


class Fitbit:
    """Active minutes of the day that was seen last, and goals."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._place = place
        self._day = date.min
        self._minutes = 0
        self._goals: dict[str, Json] = {}

    def log_workout(self, call: Call) -> Exchange:
        """A workout put in by hand; `category` is the activity."""
        minutes, intensity = _minutes(call), _intensity(call)
        said = {
            "activity_type": call.slots["category"],
            "duration_minutes": minutes,
            "intensity": intensity,
        }
        burned = minutes * CALORIES[intensity] + call.place.whole("calories", 0, 2 * minutes)
        workout = {"workout_id": call.new_id("workout"), **said, "calories_burned": burned, "timestamp": call.stamp()}
        return said, {
            "workout": workout,
            "calories_burned": burned,
            "today_total_active_minutes": self._active(call, minutes),
        }

    def record_activity(self, call: Call) -> Exchange:
        """An activity recorded on the way, from `place` and back to it unless `fields.end_location` says otherwise."""
        minutes, intensity = _minutes(call), _intensity(call)
        start = call.slots.get("place") or call.one("start", STARTS)
        said = {
            "activity_type": call.slots["category"],
            "duration_minutes": minutes,
            "distance_km": call.slots.get("distance") or _distance(call, minutes),
            "start_location": start,
            "end_location": call.fact("end_location", start),
            "route_description": call.slots.get("text") or call.one("route", ROUTES),
        }
        burned = minutes * CALORIES[intensity] + call.place.whole("calories", 0, 2 * minutes)
        activity = {"activity_id": call.new_id("activity"), **said}
        return said, {
            "activity": {**activity, "calories_burned": burned, "timestamp": call.stamp()},
            "calories_burned": burned,
            "today_total_active_minutes": self._active(call, minutes),
        }

    def sync_device(self, call: Call) -> Exchange:
        """The day so far; `minutes` are what the device has seen since and no other log tells."""
        day, today = call.moment.date(), self._place.at(call.moment.date())
        awake = min(max((call.moment.hour - 6) / 16, 0.02), 1.0)
        steps = call.slots.get("steps") or int(today.whole("steps", 4800, 10_500) * awake)
        active = self._active(call, call.slots.get("minutes", 0))
        return {}, {
            "sync_data": {
                "sync_date": day.isoformat(),
                "steps": steps,
                "active_minutes": active,
                "calories_burned": 62 * (call.moment.hour + 1) + steps // 25,
                "sleep_hours": today.whole("sleep", 58, 84) / 10,
                "avg_heart_rate": call.place.whole("heart", 58, 92),
            },
            "sync_timestamp": call.stamp(),
        }

    def set_goals(self, call: Call) -> Exchange:
        """Goals by `fields`: type → target."""
        goals = [{"goal_type": kind, "target_value": target} for kind, target in call.slots["fields"].items()]
        for goal in goals:
            self._goals.pop(str(goal["goal_type"]), None)
            self._goals[str(goal["goal_type"])] = goal
        return {"goals": goals}, {"goals": list(self._goals.values())[-KEPT:], "updated_at": call.stamp()}

    def _active(self, call: Call, minutes: int) -> int:
        """Active minutes of the day with these: what happens by the way on that day, and all that was recorded."""
        if (day := call.moment.date()) != self._day:
            self._day, self._minutes = day, self._place.at(day).whole("by the way", 3, 18)
        self._minutes += minutes
        return self._minutes


def _minutes(call: Call) -> int:
    return call.slots.get("minutes") or call.place.whole("minutes", 18, 65)


def _intensity(call: Call) -> str:
    said = call.slots.get("intensity")
    return said if said in CALORIES else call.one("intensity", tuple(CALORIES))


def _distance(call: Call, minutes: int) -> float:
    words = call.slots["category"].lower().replace("-", " ").split()
    pace = next((km for begins, km in KM_AN_HOUR.items() if any(word.startswith(begins) for word in words)), 5)
    return round(pace * minutes / 60 * (0.85 + 0.3 * call.place.share("pace")), 2)


APP = App(
    "Fitbit",
    Fitbit,
    {
        "LogWorkout": Api(Fitbit.log_workout, needs=("category",), running=("today_total_active_minutes",)),
        "RecordActivity": Api(Fitbit.record_activity, needs=("category",), running=("today_total_active_minutes",)),
        "SyncDevice": Api(Fitbit.sync_device, running=("sync_data.active_minutes",)),
        "SetGoals": Api(Fitbit.set_goals, needs=("fields",), running=("goals",)),
    },
)
