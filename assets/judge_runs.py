"""A judge of an arm on what it is shown, within what the experiment may spend."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from assets.arms import GivenArm
from assets.asking import asking
from assets.experiment_costs import engine_of
from assets.judges import judge_model, rubric_judge
from assets.publishing import UNANSWERED
from resources.dag import Models
from resources.models.budget import Amount


@dataclass(frozen=True)
class JudgeRun:
    """What a judge said, and what that took."""

    verdicts: pl.DataFrame
    """As `RubricJudge.verdicts` gives them."""
    stated: dict[str, Any]
    """What tables state of the judge: its fingerprint, whether it is weak, how many calls got no reply."""
    spent: Amount


def run_judge(name: str, given: GivenArm, models: Models, parts: pl.DataFrame) -> JudgeRun:
    """What the judge that an arm calls `name` says of `parts` (`judging.PARTS`). Raises `dg.Failure` as `asking`."""
    with asking(), engine_of(given, models, {"judge": judge_model(name, given.spec.models)}) as engine:
        judge = rubric_judge(name, engine.model("judge", given.scope("judge")), models.access)
        verdicts = judge.verdicts(parts)
        stated = {"judge": judge.fingerprint, "weak_judge": judge.weak, UNANSWERED: engine.failed}
        run = JudgeRun(verdicts, stated, engine.spent)
    return run
