"""Seasons: winter and summer come to everybody, a little sooner or later, and adjust habits, never preferences."""

from datetime import datetime, timedelta

from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import LifeEvent, Span

SEASONS = {"winter": ((11, 16), (3, 1)), "summer": ((6, 12), (8, 25))}
"""Month and day about which a season begins and ends."""
LATER = 18
"""Days at most that a user's season begins or ends after these."""
WORDS = {
    "winter": (
        "it is dark before I even get out of the door",
        "the pavements have been icy all week",
        "it is too cold and wet for the way I did things in autumn",
        "the days have got so short that I need another plan",
        "the first frost is here and I am not made for it",
        "it rains sideways every evening now",
        "winter has properly arrived",
        "I can see my breath in the hall, it is that time of the year",
        "the clocks went back a while ago and I feel it",
        "there is no daylight left after work",
    ),
    "summer": (
        "it is far too hot by the middle of the day",
        "the long evenings are back and I want to use them",
        "everybody is away and the weeks feel different",
        "the heat makes me slow",
        "it is light so early that I wake up anyway",
        "the summer break has begun",
        "the flat turns into an oven in July",
        "half of the groups pause over the summer",
        "I want to be outside while it lasts",
        "summer hours have started",
    ),
}
AFTER = {
    "winter": (
        "the days are longer again",
        "spring is here at last",
        "it is light enough again",
        "the ice is gone for good",
        "the mornings are mild again",
        "I have had enough of hibernating",
    ),
    "summer": (
        "the heat is over",
        "everybody is back and so is my usual week",
        "the summer break is over",
        "it is cool enough again",
        "the evenings are drawing in",
        "September put everything back in its place",
    ),
}


def seasons_of(root: Place, span: Span) -> list[LifeEvent]:
    """Seasons that begin within a span, as events of the kinds `winter` and `summer`."""
    found = []
    for year in range(span.start.year, span.end.year + 1):
        for kind, (begins, ends) in SEASONS.items():
            here = root.at("season", f"{kind}-{year}")
            moment = datetime(year, *begins, here.whole("hour", 8, 20)) + timedelta(days=here.whole("late", 0, LATER))
            until = datetime(year + (ends < begins), *ends, 9) + timedelta(days=here.whole("over", 0, LATER))
            if span.start <= moment < span.end:
                words, after = here.one("words", WORDS[kind]), here.one("after", AFTER[kind])
                found.append(LifeEvent(f"{kind}-{year}", kind, moment, words, until, after))
    return found
