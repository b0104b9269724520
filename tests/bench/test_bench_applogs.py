"""The app-log bench measures what it says: all logs sliced, all fields scored, aims met on their border."""

from pathlib import Path

import pytest

from bench import applogs, applogs_path, commerce
from pipelines.applogs.synthesis.world import Span
from resources.synthetic_users import Plan


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("bench") / "users"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(applogs_path, "PLAN", Plan(applogs_path.SEED, Span(2, 150)))
        made = applogs_path.synth(to, 2)
    assert made["users"] == 2 and made["wall"] > 0 and made["peak"] > 2**20
    # The first of the three is made to warm up.
    everyone = applogs_path.read(to, 3)["app_logs"]
    assert made["logs"] == everyone.filter(everyone["user_id"] != "001_user_001").height > 100
    return to


def test_every_log_is_sliced_once_and_more_users_are_asked_more(users: Path) -> None:
    one, two = (applogs_path.slices(users, n) for n in (1, 2))
    assert one["visits"] == one["logs"] and two["visits"] == two["logs"] > one["logs"]
    assert two["questions"] > one["questions"] > 0


def test_fields_are_scored_and_half_of_the_answers_are_right(users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applogs_path, "FIELDS", 5_000)
    one = applogs_path.scoring(users, 1)
    assert one["fields"] == 5_000 and 0.3 < one["agreement"] < 0.7
    assert applogs_path.scoring(users, 1)["hash"] == one["hash"]


def test_quick_mode_runs_and_stops_on_a_difference(tmp_path, monkeypatch, capsys):
    def small(module, stage, folder, users):
        return {
            "synth": {"users": int(users), "logs": 1_800 * int(users), "wall": 1.0, "cpu": 1.0, "peak": 2**27},
            "slices": {"logs": 10, "visits": 10, "questions": 5, "slicing": SECOND, "packs": SECOND},
            "scoring": {"fields": 100_000, "items": 9, "agreement": 0.5, "hash": "", **SECOND},
        }[stage]

    monkeypatch.setattr(applogs, "CACHE", tmp_path)
    monkeypatch.setattr(applogs, "run", small)
    result = applogs.main(["--quick"])
    assert [one["users"] for one in result["doubled"]] == list(applogs.QUICK)
    assert "| scoring 100,000 fields by rule, s | ≤ 10 | wall 1.00, cpu 1.00 |" in capsys.readouterr().out
    monkeypatch.setattr(applogs, "run", lambda *words: {**small(*words), "visits": 9})
    with pytest.raises(commerce.Unequal, match="2 users came to"):
        applogs.main(["--quick"])


SECOND = {"wall": 1.0, "cpu": 1.0, "peak": 2**27}


def test_an_aim_is_met_on_its_border_and_missed_beyond_it():
    def of(seconds: float, rate: float) -> list[dict[str, bool]]:
        stage = {"wall": seconds, "cpu": seconds, "peak": 1}
        result = {
            "synth": [{"users": n, "logs": rate, "wall": 1.0, "cpu": 1.0, "peak": 100} for n in (2, 200)],
            "doubled": [
                {"users": 2, "logs": 100, "slicing": SECOND, "packs": SECOND},
                {"users": 4, "logs": 200, "slicing": stage, "packs": stage},
            ],
            "scoring": {"fields": 100_000, "wall": 10.0, "cpu": 10.0},
        }
        return [row["met"] for row in applogs.aims(result)]

    yes, no = {"wall": True, "cpu": True}, {"wall": False, "cpu": False}
    assert of(2.2, 3_000) == [yes, {"peak": True}, yes, yes, yes]
    assert of(2.21, 2_999) == [no, {"peak": True}, no, no, yes]
