"""The card of an exported folder of questions: how to run it, what its numbers are, what to beware of (ours)."""

from collections.abc import Mapping
from typing import Any

from pipelines.exports.data_card import GOLD_CAUTION, UNKNOWN, front_matter, release_facts
from pipelines.exports.markdown import escaped

_PART = {"pools": "-T pool=infer", "predictions": "-T layer=belief", "states": "-T kind=free_form"}
_NEEDS = {"states": " polars scipy"}
"""What else is to be installed."""
_NUMBERS = {
    "pools": (
        "`remember` and `infer`: chosen positives / positives over all questions of the pool; `…_by_user`: the mean of "
        "users' own. A question asks for exactly as many labels as there are positives: missing ones miss, of more the "
        "first ones count, a reply with a label that is not in the list or stands twice counts nothing. These are the "
        "scores of trailbench's table `units`.",
    ),
    "predictions": (
        "`…_accuracy`: final side, or direction; `…_mae`, `…_medae`: mean and median absolute error of the confidence, "
        "or of the amount in millionths of a share. A target without a usable answer is wrong, its confidence error is "
        "1 and its amount counts as 0. These are the scores of trailbench's table `prediction_units`, reading `all`.",
    ),
    "states": (
        "`state_completion`, `personalised_service`, `free_form`: mean over questions of the agreement of an answer's "
        "fields with the truth by rule (times within minutes, weekdays as sets, entities by name); `no_key`: mean F1 "
        "of lists, their entries matched with all that is true; `…_no_longer`, `…_never`: share of abstentions where "
        "nothing is true. `…_by_user`: mean over users of that over their checkpoints. These are the scores "
        "`mechanical` of trailbench's table `applog_units`, by the same code: it lies in `scoring/`, as it was when "
        "this folder was made, and needs polars, for lists scipy as well.",
        "A question of which no field can be compared by rule has no score and enters no mean.",
        "trailbench's own reader asks once more where a reply cannot be read, `task.py` does not. Citations are asked "
        "for and not scored here.",
    ),
}
_APART = (
    "A sample never holds its answer: `samples.jsonl` has the questions alone, `gold/targets.jsonl` the answers by the "
    "same id, and `task.py` joins them when it runs, because inspect holds an answer against its target in one sample. "
    "Logs of a scored run therefore hold answers, too."
)
_FILES = (
    "`task.py` has what is particular to these questions, `trailbench_questions.py` beside it how they are read and "
    "asked. Several folders may be run at once; each runs by its own code."
)
_WITHOUT = (
    "The answers are not in this folder (`--gold` exports them): `task.py` collects replies and scores nothing. "
    "Put `gold/targets.jsonl` of the same export into the folder, and it scores."
)
_NO_ONE_LEAVES = (
    "No question leaves the denominator: a call that failed counts as a miss. With several epochs scores are averaged."
)
_FORM = (
    "Messages, room for the reply, temperature 0 and the form of the reply are those of trailbench's own reader; only "
    "the length of a list cannot be bounded by inspect's schemas. Intervals, paired differences and ranks are left to "
    "trailbench."
)


def samples_card(
    manifest: Mapping[str, Any],
    card: Mapping[str, Any],
    origin: Mapping[str, Any],
    task: str,
    gold: bool,
    stated: str = UNKNOWN,
) -> str:
    """README.md of a folder of questions; `task` is the kind of questions: pools, predictions or states."""
    parts = [
        f"# trailbench {escaped(manifest['track'])} {escaped(manifest['release'])}: {task}",
        "Questions of a frozen benchmark of user memory, for inspect:",
        f"```\npip install inspect-ai{_NEEDS.get(task, '')}\ninspect eval task.py --model PROVIDER/MODEL\n"
        f"inspect eval task.py {_PART[task]} --model PROVIDER/MODEL\n```",
        _FILES,
        "## Answers",
        *([_APART, GOLD_CAUTION] if gold else [_APART, _WITHOUT]),
        "## Numbers",
        *(f"- {text}" for text in (*_NUMBERS[task], _NO_ONE_LEAVES, _FORM)),
        release_facts(manifest, card, origin, stated),
    ]
    tags = ["inspect-ai", *(["gold"] if gold else [])]
    return front_matter(manifest, stated, tags, ()) + "\n" + "\n\n".join(parts) + "\n"
