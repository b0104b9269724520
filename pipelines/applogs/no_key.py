"""Questions that name no state: all that is true of one family, told in a list (ours; reference 9.3).

The name of a state says what to look for, and often half of the answer. Here neither is
told, nor how much there is to tell: everybody is asked the same three questions.
"""

import json
from collections.abc import Sequence

import polars as pl

from pipelines.applogs.gold_parts import state_parts
from pipelines.applogs.json_text import JsonObject, canonical, dump
from pipelines.applogs.question_forms import ENTRY, NAME, NO_KEY, list_query, list_question
from pipelines.applogs.state_values import humanised
from pipelines.applogs.tables import FAMILIES, table_of
from pipelines.applogs.tasks import Asked, in_free_form, true_states


def no_key(states: pl.DataFrame, checkpoints: pl.DataFrame, truth: str, most: int) -> Asked:
    """One question a family, at each checkpoint of a user at which anything is true (rows of `gold_states`).

    A family of which nothing is true is asked for as well: the right answer is the empty list. Evidence is that of all
    its states; a log that shows an earlier value of one state and the current one of another is evidence.
    """
    places: dict[tuple[str, str], list[JsonObject]] = {}
    for state in true_states(states, checkpoints, truth, expectations=("value", "no_longer", "never")):
        places.setdefault((state["user_id"], state["checkpoint_id"]), []).append(state)
    lists = [
        _list([state for state in told if state["family"] == family], told[0], family, most)
        for told in places.values()
        if any(state["expectation"] == "value" for state in told)
        for family in FAMILIES
    ]
    return Asked(
        table_of("tasks", [question for question, _, _ in lists]),
        table_of("gold_items", [item for _, item, _ in lists]),
        table_of("gold_parts", (part for _, _, parts in lists for part in parts)),
    )


def _list(
    states: Sequence[JsonObject], at: JsonObject, family: str, most: int
) -> tuple[JsonObject, JsonObject, list[JsonObject]]:
    """Question, right answer and parts of the list of one family; `at` is any state of the checkpoint."""
    held = {state["state_key"]: in_free_form(json.loads(state["value"])) for state in states if state["value"]}
    place = {name: at[name] for name in ("user_id", "checkpoint_id")}
    item = f"{at['user_id']}/{at['checkpoint_id']}/list/{family}"
    question = {
        **place,
        "item": item,
        "as_of": at["as_of"],
        "task": NO_KEY,
        "asked_family": family,
        "question_text": list_question(family, most),
        "retrieval_query": list_query(family),
        "answer_template": dump([ENTRY]),
    }
    gone = any(state["expectation"] == "no_longer" for state in states)
    shows = _all_of(states, "evidence") or []
    gold = {
        **place,
        "item": item,
        "task": NO_KEY,
        "truth": at["truth"],
        "family": family,
        "expectation": "value" if held else "no_longer" if gone else "never",
        "reference": canonical([{NAME: humanised(key), **entry} for key, entry in held.items()]) if held else None,
        "evidence": shows,
        **{name: _all_of(states, name, shows) for name in ("evidence_previous", "distractors")},
    }
    return question, gold, _parts(at["user_id"], item, held)


def _parts(user_id: str, item: str, held: dict[str, JsonObject]) -> list[JsonObject]:
    rows = [
        {**part, "of_state": key, "part": f"{key}.{part['part']}", "judged": False}
        for key, entry in held.items()
        for part in state_parts(user_id, item, entry)
    ]
    return [{**row, "place": place} for place, row in enumerate(rows)]


def _all_of(states: Sequence[JsonObject], column: str, without: Sequence[str] = ()) -> list[str] | None:
    """The logs of all the states, each once; None where one state does not tell them."""
    if any(state[column] is None for state in states):
        return None
    named = dict.fromkeys(log for state in states for log in state[column])
    return [log for log in named if log not in set(without)]
