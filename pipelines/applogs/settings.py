"""Every threshold of the app-log track: default, unit, origin (`paper §…` is arXiv:2606.22877; `ours`)."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

from pipelines.thresholds import setting

Task = Literal["state_completion", "personalised_service", "free_form", "no_key"]
ALL_TASKS: tuple[Task, ...] = ("state_completion", "personalised_service", "free_form", "no_key")


class AppLogSettings(BaseModel):
    """Thresholds of checkpoints, questions and their scoring; part of every content hash of app logs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    truth: Literal["as_of", "finished_chain"] = setting(
        "as_of",
        "what is taken for true where the gold is a timeline: what holds at the moment, or the last finished chains",
        unit="",
        origin="ours (the paper: finished_chain)",
    )
    checkpoint_months: int = setting(
        3, "time between checkpoints of users without a task pack", unit="months", origin="paper §3", ge=1, le=24
    )
    tasks: tuple[Task, ...] = setting(
        ALL_TASKS, "what is asked of users without a task pack", unit="", origin="paper §4; free_form, no_key ours"
    )
    only_told: bool = setting(
        True,
        "ask at a checkpoint only for what a visible log tells: else a change that no log has told yet is asked, too",
        unit="",
        origin="ours",
    )
    never_keys: int = setting(
        5,
        "states that never were true of a user and are asked for at each checkpoint in the free form",
        unit="states",
        origin="ours",
        ge=0,
        le=1_000,
    )
    most_listed: int = setting(
        30,
        "entries that a question without a key asks for at most: the same for all, whatever is true of them",
        unit="entries",
        origin="ours",
        ge=1,
        le=1_000,
    )
    minutes: float = setting(
        5.0, "tolerance of times of day where answers are compared by rule", unit="min", origin="paper §5.8", ge=0
    )
    seed: int = setting(20262, "seed of the choice of states that never were true", unit="", origin="ours", ge=0)

    @field_validator("tasks")
    @classmethod
    def _in_one_order(cls, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
        if not tasks:
            raise ValueError(f"name at least one of {', '.join(ALL_TASKS)}")
        return tuple(task for task in ALL_TASKS if task in tasks)
