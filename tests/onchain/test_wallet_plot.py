"""The chart of a wallet: its page shows the names of markets as text, whatever they hold."""

import json
import re

import polars as pl
import pytest

from pipelines.evaluation.drilldown.timeline_chart import svg
from pipelines.onchain.wallet_plot import html, png, spec

HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_no_name_of_a_market_ends_the_script_of_the_page() -> None:
    rows = {"market": HOSTILE, "outcome_name": "<!--<script>", "block_number": 5, "log_index": 0, "position_after": 7}
    page = html(spec(pl.DataFrame([rows]), "<b>wallet</b>"))
    assert page.count("</script>") == html(
        spec(pl.DataFrame([{**rows, "market": "m", "outcome_name": "o"}]), "w")
    ).count("</script>")
    assert HOSTILE not in page and "<!--<script>" not in page and "<b>wallet" not in page
    (chart,) = re.findall(r"const spec = (\{.*\});\n", page)
    shown = json.loads(chart)
    assert shown["title"]["text"] == "<b>wallet</b>"
    assert shown["data"]["values"] == [
        {"market": HOSTILE, "outcome_name": "<!--<script>", "block_number": 5, "shares": 7e-6}
    ]


@pytest.mark.parametrize("sign", ["\x1b", "\x00", "\x0b", "\x85", "\u2028", "\u202e", "\ufffe", "\uffff"])
def test_a_sign_that_no_picture_can_hold_is_made_visible(sign: str) -> None:
    # The renderer ends the whole process at a sign that XML does not know.
    row = {"market": f"a{sign}b", "outcome_name": sign, "block_number": 5, "log_index": 0, "position_after": 7}
    chart = spec(pl.DataFrame([row]), f"w{sign}")
    drawn = svg(chart, {})
    assert sign not in drawn and len(png(chart)) > 1_000
    assert chart["data"]["values"][0]["market"] in drawn and sign not in chart["title"]["text"]
