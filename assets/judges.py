"""The judges by name, and what of an arm they are shown."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from assets.arms import GivenArm
from pipelines.applogs.failures import FAILURE
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.judging.grounded import GROUNDED, Room, grounded_parts, room_of
from pipelines.evaluation.judging.rubric import JudgeSettings, RubricJudge
from pipelines.memory.timeline import histories
from pipelines.models import Model, Role
from resources.dag import Models
from resources.model_access import ModelAccess
from resources.tokenizer import load_tokens

RUBRICS = {rubric.name: rubric for rubric in (GROUNDED, CORE_DETAIL, FAILURE)}
PART_TOKENS = 80
"""Room in the reply for a line: an analysis of 15 words and two verdicts."""
EVIDENCE = ("visits", "batches", "transitions", "taxonomy")


def judge_model(judge: str, models: Mapping[Role, str]) -> str:
    """The model that `RUBRIC:NAME`, or else the experiment, names; empty for the configured one."""
    return judge.partition(":")[2] or models.get("judge", "")


def rubric_judge(judge: str, model: Model, access: ModelAccess) -> RubricJudge:
    """The judge that an experiment calls `judge`, over a model."""
    return RubricJudge(model, RUBRICS[judge.partition(":")[0]], load_tokens(), _settings(access))


def _settings(access: ModelAccess) -> JudgeSettings:
    return JudgeSettings(context_tokens=access.rules("judge").context_tokens, part_tokens=PART_TOKENS)


def known_judges(given: GivenArm, models: Models) -> dict[str, RubricJudge]:
    """The arm's judges as far as they are known without asking: by name, none twice."""
    access, named = models.access, given.spec.models
    return {
        one: rubric_judge(one, access.unasked("judge", judge_model(one, named)), access) for one in given.spec.judges
    }


def judged_of(given: GivenArm) -> list[tuple[str, Any]]:
    """(user, transition) of the readouts of this shard that are judged; on app logs (user, item) of the answers."""
    own = set(given.own_users)
    return [(user, judged) for user, judged in given.spec.judged if user in own]


def parts_of(given: GivenArm, models: Models) -> pl.DataFrame:
    """The lines of the arm's sampled readouts beside the user's visits up to then, as judges and people get them."""
    asked = judged_of(given)
    users = pl.col("user_id").is_in(sorted({user for user, _ in asked}))
    read = {name: given.sampled(name).filter(users).collect() for name in EVIDENCE[:-1]}
    streams = histories(**read, taxonomy=given["taxonomy"])
    return grounded_parts(given["readouts"], streams, asked, load_tokens(), room(models))


def room(models: Models) -> Room:
    """How much a judge is shown in one call."""
    return room_of(_settings(models.access))


def stated(judge: str, known: RubricJudge, given: GivenArm, models: Models) -> dict[str, Any]:
    """What tables say of a judge beside its verdicts."""
    model = models.access.unasked("judge", judge_model(judge, given.spec.models))
    return {
        "rubric": judge.partition(":")[0],
        "model": model.name,
        "weak": known.weak,
        "prompt": known.prompt,
        "evidence_tokens": room(models).evidence_tokens,
    }
