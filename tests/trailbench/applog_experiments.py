"""Experiments on the release `lives_built`: what they ask, what a scripted endpoint says, what they published."""

import json
import re
from types import SimpleNamespace
from typing import Any

import polars as pl
from model_server import Call

WITHOUT_MODEL = """
name: small
methods:
  recent_k: [{}]
  rag_bm25: [{}]
  oracle: [{}]
readers: [extractive]
budgets: [3000]
"""
ASKING = """
name: asking
methods:
  recent_k: [{k: 12}]
  oracle: [{}]
readers: [llm]
budgets: [1500]
readings: 9
"""
KEY = "key-that-nobody-may-see"


def table(
    release: SimpleNamespace, name: str, arm: str = "", wall: str = "store", experiment: str = ""
) -> pl.DataFrame:
    """What an arm or the board of an experiment published, or the release."""
    from resources.home import open_home
    from resources.settings import HomeSettings

    home = open_home(HomeSettings(home=release.home), make=False)
    catalog = home.gold if wall == "gold" else home.store
    if experiment:
        return catalog.scan(name, {"experiment": f"{experiment}~{release.release}"}).collect()
    axes = {"arm": f"{arm}~{release.release}"} if arm else {"release": release.key}
    return catalog.scan(name, axes, home.shards).collect()


def sensible(call: Call) -> str:
    """Nothing for a message, the template filled with one word for all else, and the first id of the memory."""
    value = call.schema["properties"]["value"]
    cited = re.findall(r'"app_log_id":"(log_\d+)"', call.text)
    return json.dumps({"value": filled(value), "evidence": cited[:1]})


def filled(shape: dict[str, Any]) -> Any:
    if shape.get("type") == "object":
        return {name: filled(inner) for name, inner in shape["properties"].items()}
    return None if shape == {"type": ["string", "null"]} else "x"
