"""Forms of questions and answers that are the same whatever the right answer is (ours; reference 9.3)."""

import re

from pipelines.applogs.json_text import canonical
from pipelines.applogs.state_values import BLANK

WEEKDAY_NOTE = (
    " Weekdays are numbers from 0 (Monday) to 6 (Sunday); days of the month are calendar days from 1; "
    "a week of the month is 1 to 4, or last."
)
FREE_FORM = {
    "value": BLANK,
    "frequency_type": BLANK,
    "days_of_week": [BLANK],
    "days_of_month": [BLANK],
    "week_of_month": BLANK,
    "day_of_week": BLANK,
    "start_date": BLANK,
    "start_time": BLANK,
    "end_time": BLANK,
    "location": BLANK,
}
"""The shape of every free-form answer; what does not apply or is not known is null."""
NO_KEY = "no_key"
"""The task that names no state, as tables call it."""
NAME = "name"
ENTRY = {NAME: BLANK, **FREE_FORM}
"""The shape of every entry of a list: a short name, which counts nothing, and the fields of the free form."""
_ASKED = {
    "attribute": "Which facts hold of the user now, routines and preferences apart?",
    "habit": "Which routines does the user keep now?",
    "preference": "Which preferences does the user have now?",
}
_VALUE = {
    "attribute": "`value` is what the fact says, with its details, or a list where several things belong together.",
    "habit": "Say when each takes place, and where if that is known.",
    "preference": "`value` is the preference in a sentence.",
}
_MOST = re.compile(r"\bat most (\d+) entries\b")


def list_question(family: str, most: int) -> str:
    """The question for all that is true of a family, of `most` entries at most: the same words for everybody."""
    return (
        f"{_ASKED[family]} {_VALUE[family]} Leave out what is true no longer. Answer with a list of at most {most} "
        "entries, each for another one, with a short name in your own words; null is what does not apply or is not "
        "known, and an empty list says that nothing is known. "
        f"Each entry has this form: {canonical(ENTRY)}.{WEEKDAY_NOTE}"
    )


def list_query(family: str) -> str:
    """What a memory is searched for: the question without the form of its answer."""
    return _ASKED[family]


def most_asked(question_text: str) -> int:
    """How many entries such a question asks for at most. Raises `ValueError` for another question."""
    if (found := _MOST.search(question_text)) is None:
        raise ValueError(f"no question for a list: {question_text!r}")
    return int(found[1])
