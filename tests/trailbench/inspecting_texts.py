"""Replies of every kind: texts that are read, and what a scripted endpoint says to a question."""

import json
import re
from hashlib import sha256
from typing import Any

from model_server import Answer, Call, too_long

TEXTS = (
    *("", " ", "null", "[]", "{}", '"c01"', "{", '{"chosen": []}', '{"chosen": ["c01"]}', '{"chosen": ["c01", "c01"]}'),
    *('{"chosen": "c01"}', '{"chosen": ["c04"]}', '{"chosen": ["c01", 2]}', '{"chosen": ["c01"], "chosen": ["c02"]}'),
    *('{"chosen": ["c03", "c01", "c02"]}', '{"chosen": ["c01"], "why": 1}', '```json\n{"chosen": ["c02"]}\n```', "NaN"),
    *(' ```\n{"chosen": ["c02"]}``` ', '{"chosen": ["c01"]} {"chosen": ["c02"]}', '{"chosen": null}', "[" * 5000),
)  # fmt: skip
SIDES = ("Yes", "yes ", "FLAT", "no", "NO", "Maybe", "", 1, None, ["Yes"])
CONFIDENCES = ("1", "0.5", "-0.0", "1.0000001", "-1e-9", "1e999", "NaN", "true", "null", '"1"', "1e-400")
DIRECTIONS = ("BUY", "SELL", "buy", "", None, ["BUY"], True)
AMOUNTS = (
    *("1", "0", "-1", "1.0", "1.5", "1e3", "1e19", "-0.0", "9223372036854775807", "9223372036854775808", "1e400"),
    *("9223372036854775807.0", "true", "null", '"1"', "9" * 4000, "9" * 5000),
)
BELIEFS = tuple(f'{{"side": {json.dumps(side)}, "confidence": {one}}}' for side in SIDES for one in CONFIDENCES)
TRADES = tuple(f'{{"direction": {json.dumps(said)}, "amount": {one}}}' for said in DIRECTIONS for one in AMOUNTS)


def choosing(call: Call) -> str | Answer:
    """By what is asked: whole, fenced, short, over, repeated, unknown, in words, cut off, declined."""
    number = int(sha256(call.text.encode()).hexdigest(), 16)
    labels = re.findall(r"^(c\d+): ", call.text, re.MULTILINE)
    n = int(re.search(r"Choose exactly (\d+) of", call.text)[1])  # type: ignore[index]
    labels = labels[number % 7 % len(labels) :] + labels[: number % 7 % len(labels)]
    whole = json.dumps({"chosen": labels[:n]})
    return (
        whole,
        f"```json\n{whole}\n```",
        json.dumps({"chosen": labels[: n - 1]}),
        json.dumps({"chosen": labels[: n + 2]}),
        json.dumps({"chosen": [labels[0], *labels[:n]]}),
        json.dumps({"chosen": [*labels[: n - 1], "c999"]}),
        f"I choose {whole}",
        too_long(whole),
        whole,
        Answer(whole, finish="content_filter"),
    )[number % 10]


def predicting(call: Call) -> str | Answer:
    """Sides and amounts of every kind, by what is asked."""
    number = int(sha256(call.text.encode()).hexdigest(), 16) % 9
    if "confidence" in call.text.splitlines()[-1]:
        return (
            '{"side": "Yes", "confidence": 0.5}',
            '{"side": " NO ", "confidence": 1}',
            '{"side": "flat", "confidence": 0}',
            '{"side": "No", "confidence": 1.5}',
            '{"side": "Maybe", "confidence": 0.5}',
            "Yes",
            '{"side": "No", "confidence": true}',
            too_long('{"side": "No", "confidence": 1}'),
            '{"side": "No", "confidence": 0.25}',
        )[number]
    return (
        '{"direction": "BUY", "amount": 1000000}',
        '{"direction": "SELL", "amount": 2.0}',
        '{"direction": "BUY", "amount": 1.5}',
        '{"direction": "buy", "amount": 1}',
        '{"direction": "BUY", "amount": -1}',
        '{"direction": "SELL", "amount": 0}',
        '```\n{"direction": "BUY", "amount": 7}\n```',
        "",
        '{"direction": "BUY", "amount": 99000000, "why": "x"}',
    )[number]


NAMED = {
    **{"statement": "calm jazz", "style": "loud rock, mostly", "venue": "Olive Hill (north)", "value": "Thai Garden"},
    **{"frequency_type": "every week", "days_of_week": ["Sunday", "Monday"], "start_time": "9:33"},
}
"""Field → what a scripted endpoint says of it."""


def stating(call: Call) -> str | Answer:
    """States of every kind, by what is asked: right, near, nothing, in words, cut off, declined, of another form."""
    number = int(sha256(call.text.encode()).hexdigest(), 16)
    value = _stated("value", call.schema["properties"]["value"])  # type: ignore[index]
    whole = json.dumps({"value": value, "evidence": re.findall(r'"app_log_id":"(log_\d+)"', call.text)[:2]})
    if "night swim" in call.text:
        # What nobody does: known of a user of whom nothing is told, and made up of the others.
        return '{"value": null, "evidence": []}' if "\n(nothing)\n" in call.text else whole
    return (
        whole,
        f"```json\n{whole}\n```",
        '{"value": null, "evidence": []}',
        whole,
        f"It is {whole}",
        too_long(whole),
        json.dumps({"value": value, "evidence": "log_1"}),
        whole,
        '{"value": null, "evidence": []}',
        Answer(whole, finish="content_filter"),
        json.dumps({"value": ["Olive Hill"], "evidence": []}),
    )[number % 22 % 15 % 11]


def _stated(name: str, shape: dict[str, Any]) -> Any:
    if shape.get("type") == "object":
        return {inner: _stated(inner, of) for inner, of in shape["properties"].items()}
    if shape == {"type": ["string", "null"]}:
        return "Your budget review is due, as every Sunday at 10:30."
    for one in shape.get("anyOf", ()):
        if one.get("items", {}).get("type") == "object":
            return [_stated(name, one["items"])]
    return NAMED.get(name)
