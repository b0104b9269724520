"""The trail of a user of app logs as the pages that show it: one a checkpoint, with the logs that it adds."""

from collections.abc import Mapping
from functools import partial

from markupsafe import Markup

from pipelines.applogs.drilldown.question_worded import Logs
from pipelines.applogs.drilldown.state_trail import StateTrail
from pipelines.applogs.drilldown.state_worded import checkpoint_section, logs_grid, overview
from pipelines.applogs.drilldown.states_in_time import states_picture
from pipelines.evaluation.drilldown.pages import Leaf, Story

CAPTION = (
    "A bar is a value while it is true; points are logs that show it, tell its cause or only imitate it, and lead to "
    "them; dashed lines are the checkpoints. The tables below hold the same."
)


def state_story(trail: StateTrail) -> Story:
    """A user's pages."""
    logs = Logs(trail.logs)
    leaves, known = [], 0
    for place in trail.checkpoints:
        added = trail.logs[known : place.n_visible]
        leaves.append(Leaf((checkpoint_section(place, logs),), (logs_grid(added),)))
        known = max(known, place.n_visible)
    picture = None if trail.intervals.is_empty() else partial(_picture, trail)
    return Story(trail.user, "user", overview(trail), tuple(leaves), picture, CAPTION, repeated=False)


def _picture(trail: StateTrail, places: Mapping[str, str]) -> Markup:
    return states_picture(trail.intervals, trail.evidence, trail.places, places)
