"""One answer held against what is right, by the rules of table `applog_units`; for a harness that asks by itself."""

from typing import Any

from pipelines.applogs.answers import standing
from pipelines.applogs.json_text import JsonObject, dump
from pipelines.applogs.mechanical import agreements, scores_by_rule
from pipelines.applogs.reading_replies import Said
from pipelines.applogs.tables import table_of
from pipelines.rounding import DECIMALS


def mechanical_score(said: Said, right: JsonObject) -> float | None:
    """Score `mechanical` of an answer, in [0, 1]; None where no field of it can be compared by rule.

    `right` holds columns of `gold_items`, as `parts` its rows of `gold_parts`, and `minutes`, the tolerance of times.
    """
    place = {"user_id": "", "item": right["id"]}
    answer: dict[str, Any] = {"status": said.status, "answer": dump(said.answer) if said.status == "ok" else None}
    items = table_of("gold_items", [{**right, **place}])
    stand = standing(items, table_of("answers", [{**place, **answer, "evidence": []}]))
    parts = table_of("gold_parts", ({**part, **place} for part in right["parts"]))
    (score,) = scores_by_rule(stand, agreements(parts, stand, right["minutes"]))["mechanical"]
    return None if score is None else round(float(score), DECIMALS)
