"""The estimate of a run: known answers by hand."""

import pytest

from resources.models.estimate import Estimate, Workload, estimate
from resources.models.settings import CallRules, Endpoint

RULES = CallRules(
    concurrency=4, prompt_rate=100, reply_rate=10, prices={"big": {"prompt": 3, "reply": 15}, "free": {"prompt": 0}}
)


def test_calls_tokens_cost_and_time_follow_from_counts() -> None:
    big = Endpoint(base_url="http://a/v1", model="big")
    small = Endpoint(base_url="http://b/v1", model="small", concurrency=1)
    work = {"judge": Workload(3, 600, 60), "reader": Workload(100, 40_000, 1_000), "builder": Workload(0, 0, 0)}
    assert estimate(work, {"reader": big, "judge": small, "builder": big}, RULES) == [
        Estimate("judge", "small", 3, 600, 60, None, 12.0),
        # (40,000 / 100 + 1,000 / 10) / 4 seconds; 40,000 x 3 + 1,000 x 15 micro-dollars
        Estimate("reader", "big", 100, 40_000, 1_000, 135_000_000, 125.0),
        Estimate("builder", "big", 0, 0, 0, 0, 0.0),
    ]


def test_fewer_calls_than_places_do_not_go_faster() -> None:
    free = Endpoint(base_url="http://a/v1", model="free")
    (one,) = estimate({"reader": Workload(2, 200, 0)}, {"reader": free}, RULES)
    assert (one.seconds, one.cost) == (1.0, 0)
    with pytest.raises(KeyError):
        estimate({"judge": Workload(1, 1, 1)}, {"reader": free}, RULES)
