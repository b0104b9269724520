"""The page of thresholds is the one that the settings make, and no threshold of a track lacks its origin."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from documentation import documented

from pipelines.thresholds import settings_stated
from pipelines.tracks import TRACKS
from trailbench.thresholds_page import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "thresholds.md"


def test_the_page_is_up_to_date(cli: Callable[..., SimpleNamespace]) -> None:
    printed = cli(*documented("trailbench settings --markdown")[1:])
    assert printed.code == 0
    assert PAGE.read_text(encoding="utf-8") == printed.out, "run `trailbench settings --markdown > docs/thresholds.md`"


@pytest.mark.parametrize("track", TRACKS)
def test_every_threshold_says_what_it_is_and_where_it_comes_from(track: str) -> None:
    made = TRACKS[track].settings()
    for row in settings_stated(made):
        assert row["meaning"], row["name"]
        assert "ours" in row["origin"] or "paper" in row["origin"], row["name"]
    told = {row["name"]: yaml.safe_load(row["value"]) for row in settings_stated(made)}
    assert TRACKS[track].settings.model_validate(told) == made, "as a configuration file has them"


def test_a_known_threshold_stands_on_it() -> None:
    assert (
        "| `visit_gap_minutes` | `30` | min | paper §A.1.1 | largest gap between consecutive events of one visit "
        "(inclusive, from the last event) |"
    ) in page()
