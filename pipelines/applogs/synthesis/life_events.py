"""Life events: one to three a window, each of a kind that states of several domains answer to (reference 6.2.3).

States say themselves which kinds move them (`On`); what happens does not know them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import LifeEvent, Persona, Span


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of life event: how the user says it; `days` it lasts (None: for good) and how its end is said.

    `traits` are those to whom it may happen (none: everybody); `again`: days after
    which it may come again (None: never).
    """

    name: str
    weight: int
    words: tuple[str, ...]
    days: tuple[int, int] | None = None
    after: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    again: int | None = 365


KINDS = (
    Kind(
        "move",
        3,
        (
            "we got the keys to the new place and everything is still in boxes",
            "I have moved across town and nothing is where it used to be",
            "the lease ran out, so I found another place and moved",
            "the move is done, new street, new neighbours, new everything",
            "I finally moved out of the noisy place",
            "we moved last weekend and I am still looking for the kettle",
        ),
    ),
    Kind(
        "job_change",
        3,
        (
            "I handed in my notice and started somewhere new",
            "the new job has begun and my days look different",
            "I said yes to the offer, first week is behind me",
            "I changed employers and the commute with it",
            "my position was cut, but the new one is better",
            "new badge, new desk, new colleagues since last week",
        ),
        traits=("office", "student", "leader"),
    ),
    Kind(
        "promotion",
        2,
        (
            "I have been given the bigger role and the meetings that come with it",
            "they made me responsible for the whole group",
            "the promotion came through this week",
            "I took on a second team",
            "my review went well and my pay went up",
        ),
        traits=("office", "leader"),
    ),
    Kind(
        "injury",
        3,
        (
            "I twisted my ankle on the stairs and have to take it easy",
            "my knee is swollen and the doctor wants me to rest it",
            "I strained my back lifting a crate",
            "I pulled something in my shoulder and can hardly lift a bag",
            "I slipped on wet tiles and my wrist is in a splint",
            "the physio says weeks, not days, before I can train again",
        ),
        (35, 75),
        (
            "the doctor says I am fine again",
            "the pain is gone and I have been cleared",
            "I am back on my feet properly",
            "I finished the last physio session",
            "it has healed, I can do everything again",
        ),
        again=150,
    ),
    Kind(
        "new_child",
        2,
        (
            "the baby is here and nobody sleeps",
            "our little one arrived ten days early",
            "we came home from the clinic as one more",
            "there is a cradle in the bedroom now",
            "we are parents again and completely upside down",
        ),
        traits=("partner",),
        again=None,
    ),
    Kind(
        "pet",
        2,
        (
            "we brought a rescue dog home",
            "a puppy has moved in and chews everything",
            "I adopted the old terrier from the shelter",
            "there is a dog in the house now and he needs his rounds",
            "I said only to look at the dogs, and now one lives here",
        ),
    ),
    Kind(
        "course",
        3,
        (
            "I signed up for an evening course and the first class was full",
            "my course has started, so there is homework again",
            "I am back on a school bench two nights a week",
            "the certificate course began and it is more work than I thought",
            "I got the last place on the course I wanted",
        ),
        (60, 100),
        (
            "the course is over and I passed",
            "I handed in my last assignment",
            "the final class was yesterday",
            "the certificate is on the wall",
        ),
        again=150,
    ),
    Kind(
        "trip",
        3,
        (
            "we are away for some weeks and I am living out of a bag",
            "I am off on the long trip I kept postponing",
            "my leave has begun and I am on the road",
            "I am staying at the coast for a while",
            "I took all my saved-up days and left town",
        ),
        (24, 40),
        (
            "I am home again and the laundry is done",
            "we are back from the trip",
            "the suitcase is unpacked and life goes on",
            "I am back in my own bed",
        ),
        again=150,
    ),
    Kind(
        "illness",
        2,
        (
            "the blood test was not great and the doctor gave me a talk",
            "I was in bed for two weeks and it made me think",
            "my doctor found my blood pressure too high",
            "I have been told to look after myself better",
            "the check-up gave me a fright",
        ),
    ),
    Kind(
        "parent_ill",
        2,
        (
            "my mother had a fall and needs someone around",
            "my father came home from hospital and cannot manage alone",
            "mum is not well, so I am there a lot",
            "dad needs help with everything for now",
        ),
        (45, 90),
        (
            "mum is managing by herself again",
            "dad is well enough on his own now",
            "my parents have found a carer, so I have my time back",
        ),
    ),
    Kind(
        "wedding",
        1,
        (
            "we got married in a very small circle",
            "we tied the knot at the town hall",
            "we are married, and the party went on till four",
            "we said yes to each other last week",
        ),
        traits=("partner",),
        again=None,
    ),
    Kind(
        "new_circle",
        2,
        (
            "I have fallen in with a lovely group of people from the neighbourhood",
            "someone took me along to their group and I stayed",
            "I finally met people here who like the same things",
            "the street party was how I got to know half the block",
            "I have new friends and a fuller calendar",
        ),
    ),
    Kind(
        "windfall",
        1,
        (
            "an old savings bond came due and there is money over",
            "the tax refund was bigger than I thought",
            "my aunt left me a little money",
            "the bonus was paid out this week",
        ),
    ),
    Kind(
        "squeeze",
        2,
        (
            "the heating bill nearly knocked me over, I have to cut back",
            "money is tight since the car broke down",
            "the rent went up and something has to give",
            "the dentist's estimate ate my savings",
            "my hours were cut and I am counting coins",
        ),
    ),
    Kind(
        "new_car",
        1,
        (
            "I bought a used car after years without one",
            "there is a small electric car outside, mine",
            "the old car failed its inspection and I replaced it",
        ),
    ),
)
MOST = 3


def life_events_of(root: Place, persona: Persona, span: Span) -> list[LifeEvent]:
    """What happens to a user, 1–3 events a window, in their order."""
    traits = set(persona.facts["traits"])
    kinds = [kind for kind in KINDS if not kind.traits or not traits.isdisjoint(kind.traits)]
    found: list[LifeEvent] = []
    for window in range(span.windows):
        begin = span.opening(window)
        days = (span.opening(window + 1) - begin).days
        for place in range(root.at("life", window).whole("count", 1, MOST)):
            here = root.at("life", window, place)
            # The first weeks show what was true before; the last show what came of it.
            moment = begin + timedelta(
                days=here.whole("day", 14 if window == 0 else 0, days - (22 if window == span.windows - 1 else 8)),
                hours=here.whole("hour", 8, 20),
                minutes=here.whole("minute", 0, 59),
            )
            kind = _kind(here, kinds, found, moment)
            until = kind.days and moment + timedelta(days=here.whole("lasts", *kind.days))
            after = here.one("after", kind.after) if kind.after else ""
            said = here.one("words", kind.words)
            found.append(LifeEvent(f"{kind.name}-w{window}-{place}", kind.name, moment, said, until or None, after))
    return sorted(found, key=lambda one: (one.moment, one.id))


def _kind(here: Place, kinds: list[Kind], found: list[LifeEvent], moment: datetime) -> Kind:
    def may(kind: Kind) -> bool:
        past = [abs(one.moment - moment) for one in found if one.kind == kind.name]
        return not past or (kind.again is not None and min(past) >= timedelta(days=kind.again))

    # Where all has happened lately, what comes again soonest does.
    free = [kind for kind in kinds if may(kind)] or [kind for kind in kinds if kind.days is not None]
    return here.one("kind", [kind for kind in free for _ in range(kind.weight)])
