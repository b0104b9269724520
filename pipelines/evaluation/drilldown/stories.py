"""The trail of a user as the pages that show it."""

from functools import partial

from pipelines.evaluation.drilldown.pages import Leaf, Story, paged
from pipelines.evaluation.drilldown.timeline_chart import timeline
from pipelines.evaluation.drilldown.trail import Trail
from pipelines.evaluation.drilldown.worded import moment_section, overview, visits_grid

_NO_END = 1 << 40
CAPTION = (
    "Bars: visits by their strongest action. Dashed lines: borders of batches. Points: recall over all memories at a "
    "transition, by pool; each leads to its transition. The tables below hold the same."
)


def story(trail: Trail) -> Story:
    """A user's pages: every transition with the visits of its batch; the last page has the visits after it too."""
    sections = paged([moment_section(moment, trail.visits) for moment in trail.moments])
    lasts = [moments[-1].n_visits for moments in paged(trail.moments)[:-1]]
    leaves = [
        Leaf(some, (visits_grid([one for one in trail.visits if first <= one.index < end]),))
        for some, first, end in zip(sections, [0, *lasts], [*lasts, _NO_END], strict=True)
    ]
    return Story(trail.user, "user", overview(trail), tuple(leaves), partial(timeline, trail), CAPTION)
