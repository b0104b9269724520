"""What people read in a terminal of 80 columns."""

import pytest
from rich.console import Console

from trailbench import console
from trailbench.commands import evaluation

SAID = [(2.4, "2 s"), (99.4, "99 s"), (100, "2 min"), (4500, "75 min"), (5999, "100 min"), (9000, "2.5 h")]


@pytest.mark.parametrize(("seconds", "says"), SAID)
def test_a_length_of_time_is_said_as_a_person_would(seconds: float, says: str) -> None:
    assert console.about(seconds) == f"about {says}"


def test_an_estimate_breaks_no_name_of_a_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ("SmolLM2-135M-Instruct.Q4_1.gguf", "a-laboratory/a-model-of-many-words-235b-a22b-instruct-2507-fp8")
    row = {"role": "reader", "calls": 12_000, "tokens_in": 12_345_678, "tokens_out": 1_234_567, "cost": 1234.5}
    for module in (console, evaluation):
        monkeypatch.setattr(module, "out", Console(highlight=False, width=80))
    rows = [row | {"model": models[0], "seconds": 4500.0}, row | {"model": models[1], "seconds": 8.0}]
    evaluation._print_estimate(rows)
    said = capsys.readouterr().out
    assert all(f"Calls of {model}" in said for model in models)
    whole = ["reader", "12,000", "12,345,678", "1,234,567", "1234.500", "about"]
    assert [line.split() for line in said.splitlines() if "reader" in line] == [
        [*whole, "75", "min"],
        [*whole, "8", "s"],
    ]
