"""`profile_gen`: one profile, written anew as the history grows, and kept when a reply cannot be read."""

import json
import re
from typing import Any

import pytest
from scripted_models import Scripted, day_batch

from pipelines.memory.asking import ContextTooSmall, ModelNeeded
from pipelines.memory.contract import SnapshotError
from pipelines.memory.contract_tests import check_method
from pipelines.memory.contract_worlds import HOSTILE
from pipelines.memory.methods.profile_gen import SPEC, ProfileGen, ProfileGenConfig, most_calls
from pipelines.models import ModelFailed, ModelStopped, Reply, Request
from resources.tokenizer import load_tokens

EMPTY: dict[str, Any] = {
    "summary": "", "interests": [], "habits": [], "preferences": [], "current_needs": [], "circumstances": [],
}  # fmt: skip


def opened(script: Any, **config: Any) -> tuple[ProfileGen, Scripted]:
    llm = script if isinstance(script, Scripted) else Scripted(script)
    memory = SPEC.factory(load_tokens())
    memory.open("u", ProfileGenConfig(**config), llm, None)
    assert isinstance(memory, ProfileGen)
    return memory, llm


def counting(request: Request) -> dict[str, Any]:
    """A profile that says how many behaviours it was shown since the profile before."""
    behaviours = request.messages[-1].text.split("New behaviours:\n")[1].split("\n")
    return {**EMPTY, "summary": f"{len(behaviours)} behaviours", "habits": ["shops"]}


def test_each_batch_rewrites_the_profile_from_the_old_one_and_the_new_behaviours() -> None:
    memory, llm = opened(counting)
    memory.ingest(day_batch(0, 0))
    memory.ingest(day_batch(1, 1, n=2))
    assert llm.data("profile") == [
        "Profile so far:\n(none)\n\nNew behaviours:\n"
        "2022-01-03 08:00 | Food | item i0-0 | purchased | Food › Flour, brand Acme\n"
        "2022-01-03 09:00 | Food | item i0-1 | purchased | Food › Flour, brand Acme\n"
        "2022-01-03 10:00 | Food | item i0-2 | purchased | Food › Flour, brand Acme",
        "Profile so far:\nsummary: 3 behaviours\nhabits: shops\n\nNew behaviours:\n"
        "2022-01-04 09:00 | Food | item i1-0 | purchased | Food › Flour, brand Acme\n"
        "2022-01-04 10:00 | Food | item i1-1 | purchased | Food › Flour, brand Acme",
    ]
    assert memory.readout(500).description == "summary: 2 behaviours\nhabits: shops"
    assert memory.readout(500).tree == ""


def test_every_k_batches_the_waiting_ones_go_together_and_until_then_are_shown_as_they_are() -> None:
    memory, llm = opened(counting, every_batches=2)
    memory.ingest(day_batch(0, 0, n=1))
    assert llm.asked == [] and memory.stats()["waiting"] == 1
    assert memory.readout(500).description.startswith("recent: 2022-01-03 10:00 | Food")
    memory.ingest(day_batch(1, 1, n=2))
    assert memory.readout(500).description == "summary: 3 behaviours\nhabits: shops"
    memory.ingest(day_batch(2, 2, n=1))
    assert memory.readout(500).description.split("\n")[0] == "summary: 3 behaviours"
    assert len(memory.readout(500).description.split("\n")) == 3 and memory.stats()["waiting"] == 1


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("I am sorry", "not_json"),
        ({"summary": "x"}, "wrong_schema"),
        ({**EMPTY, "habits": [7]}, "wrong_schema"),
        (Reply('{"summary": "x', "truncated"), "truncated"),
        (Reply("", "empty"), "empty"),
        (Reply("", "refused"), "refused"),
    ],
)
def test_a_bad_reply_keeps_the_profile_and_is_counted(reply: Any, status: str) -> None:
    memory, llm = opened(lambda request: counting(request) if len(llm.asked) == 1 else reply, retries=1)
    memory.ingest(day_batch(0, 0))
    before = memory.readout(500)
    memory.ingest(day_batch(1, 1, n=2))
    assert memory.readout(500) == before
    stats = memory.stats()
    assert (stats[f"parse_failures:{status}"], stats["lost_steps:profile"], stats["lost_visits"]) == (2, 1, 2)
    assert stats["degraded"] == 1 and [one.attempt for one in llm.asked] == [0, 0, 1]
    assert "sorry" not in json.dumps(memory.state)


@pytest.mark.parametrize("fault", ["failed", "stopped"])
def test_a_failing_endpoint_leaves_the_memory_as_it_was(fault: str) -> None:
    def script(request: Request) -> Any:
        if len(llm.asked) == 2 and fault == "failed":
            return Reply("", "failed", error="timeout")
        if len(llm.asked) == 2:
            raise ModelStopped("spent")
        return counting(request)

    memory, llm = opened(script)
    memory.ingest(day_batch(0, 0))
    before = memory.state_hash()
    with pytest.raises(ModelFailed if fault == "failed" else ModelStopped):
        memory.ingest(day_batch(1, 1))
    assert memory.state_hash() == before
    memory.ingest(day_batch(1, 1))
    assert memory.stats()["batches"] == 2 and memory.stats()["lost_steps"] == 0


def test_a_profile_too_long_is_cut_by_lines_and_counted() -> None:
    long = {**EMPTY, "habits": [f"buys flour number {number}" for number in range(50)]}
    memory, _ = opened(lambda request: long, profile_tokens=100)
    memory.ingest(day_batch(0, 0))
    kept = memory.readout(5_000)
    assert kept.tokens <= 100 and all(line.startswith("habits: buys flour") for line in kept.description.split("\n"))
    whole = load_tokens().count("\n".join(f"habits: buys flour number {number}" for number in range(50)))
    assert memory.stats()["profile_tokens_cut"] == whole - kept.tokens > 0


def test_many_behaviours_go_in_windows_that_fit_and_none_is_left_out() -> None:
    longest = {**EMPTY, "habits": ["word " * 19] * 30}
    memory, llm = opened(lambda request: longest, context_tokens=1_600, reply_tokens=400, profile_tokens=300)
    memory.ingest(day_batch(0, 100, n=70))
    tokens = load_tokens()
    seen = [line for text in llm.data("profile") for line in text.split("New behaviours:\n")[1].split("\n")]
    assert [re.findall(r"item (\S+)", line)[0] for line in seen] == [f"i0-{place}" for place in range(70)]
    assert len(llm.asked) == memory.stats()["extra_windows"] + 1 > 2
    foretold, prompt = most_calls(memory.config, tokens.count("\n".join(seen)))
    sent = sum(tokens.count(message.text) for one in llm.asked for message in one.messages)
    assert len(llm.asked) <= foretold <= len(llm.asked) + 2 and sent / 2 < prompt < sent * 2
    for one in llm.asked:
        assert sum(tokens.count(message.text) for message in one.messages) + one.max_tokens <= 1_600


def test_hostile_text_stays_on_its_line_and_out_of_the_instructions() -> None:
    def echo(request: Request) -> dict[str, Any]:
        return {**EMPTY, "interests": [request.messages[-1].text.split("\n")[-1], "\ud800half\x07", " \n "]}

    memory, llm = opened(echo)
    columns = {"l1_name": HOSTILE, "l2_name": HOSTILE, "brand": HOSTILE, "item_id": HOSTILE}
    memory.ingest(day_batch(0, 0, **columns))
    assert len(llm.data("profile")[0].split("New behaviours:\n")[1].split("\n")) == 3
    calm, other = opened(echo)
    calm.ingest(day_batch(0, 0))
    assert llm.asked[0].messages[0] == other.asked[0].messages[0]
    lines = memory.readout(2_000).description.split("\n")
    assert len(lines) == 2 and lines[1] == "interests: ?half" and all(line.isprintable() for line in lines)


def test_it_needs_a_model_and_room() -> None:
    with pytest.raises(ModelNeeded):
        SPEC.factory(load_tokens()).open("u", ProfileGenConfig(), None, None)
    with pytest.raises(ContextTooSmall, match="at least"):
        opened(counting, context_tokens=2_000)


def test_a_snapshot_belongs_to_its_model(tmp_path: Any) -> None:
    memory, _ = opened(counting)
    memory.ingest(day_batch(0, 0))
    memory.snapshot(tmp_path)
    other, _ = opened(Scripted(counting, fingerprint="another"))
    with pytest.raises(SnapshotError):
        other.restore(tmp_path)
    same, _ = opened(counting)
    same.restore(tmp_path)
    assert same.state_hash() == memory.state_hash()


@pytest.mark.parametrize("every", [1, 3])
def test_the_contract_is_kept(every: int) -> None:
    assert check_method(SPEC, load_tokens(), ProfileGenConfig(every_batches=every)) == []
