"""The chart of a wallet: its page shows the names of markets as text, whatever they hold."""

import json
import re

import polars as pl

from pipelines.onchain.wallet_plot import html, spec

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
