"""Sentences by purpose: what is said of a state, of others' states, of a choice; the cores of all speech (ours)."""


def lines(text: str) -> tuple[str, ...]:
    """The lines of a text, without what stands around them."""
    return tuple(line.strip() for line in text.strip().splitlines())


CORES: dict[str, tuple[str, ...]] = {
    "use": lines("""
        I {act}.
        these days I {act}.
        as you know, I {act}.
        I {act}, and it still suits me.
        for the record: I {act}.
        if anyone asks, I {act}.
        I {act}; nothing to complain about.
        my set-up is simple: I {act}.
        yes, I {act}, same as ever.
        right now I {act}.
        I {act} - just confirming.
        nothing new on {label}: I {act}.
    """),
    "new": lines("""
        I now {act}.
        it's done: I now {act}.
        first days in and I now {act}.
        change of plan worked out, I now {act}.
        so from now on I {act}.
        finally settled: I now {act}.
        it's official, I now {act}.
        I switched things round and now I {act}.
        I now {act}, getting used to it.
        update on {label}: I now {act}.
        the new normal: I {act}.
    """),
    "trigger": lines("""
        thinking about {label} again, because {reason}.
        something has to change with {label}: {reason}.
        {reason}, so {label} has to be rethought.
        can't keep {label} as it is, since {reason}.
        long story short: {reason}. So much for {label} as it was.
        {reason}. On my list because of it: {topic}.
        the thing is, {reason}. That changes the picture: {topic}.
        what changed? {reason}. Next up: {topic}.
        {reason} - that settles it ({topic}).
        as {reason}, one thing cannot stay the same: {topic}.
        {topic}: {reason}. I should act on it.
        {reason}. A new start, then: {topic}.
    """),
    "plan": lines("""
        I'm going to {act} soon, not there yet.
        the plan is to {act} before long.
        next step: {act}. Still a plan.
        I've decided to {act}, starting soon.
        leaning towards it: I want to {act}.
        if all goes well I will {act}.
    """),
    "farewell": lines("""
        I used to {act}, but that's over: {end_reason}.
        that's it, I no longer {act}. {end_reason}.
        cancelled for good: I don't {act} any more, {end_reason}.
        end of a chapter - I stopped; I used to {act}. {end_reason}.
        I don't {act} any more because {end_reason}.
        done with {label}: {end_reason}. I used to {act}.
        no more {label} for me; {end_reason}. (I used to {act}.)
        {end_reason}, so I quit; I don't {act} now.
    """),
    "third party": lines("""
        {person} told me about {other}; that's their thing, not mine.
        {person} has {other} now and won't stop talking about it.
        {person} swears by {other}.
        looks like {person} went for {other}.
        {person} asked me to look up {other} for them.
        I'm helping {person} with {other}.
        {person} uses {other}, in case you need someone to ask.
    """),
    "near miss": lines("""
        got an ad for {other} again, ignoring it.
        walked past {other} today, never been.
        {other} keeps turning up, no idea why.
        someone mixed me up with a customer of {other}.
        {other} sent me a flyer. Straight to the bin.
        is {other} any good? Just curious, asking for nobody.
        passed on {other}, was only looking.
    """),
    "hypothetical": lines("""
        maybe one day {other}, but not now.
        if I had all the money in the world: {other}.
        imagine me with {other}. Not happening.
        what would it take to go for {other}? Purely hypothetical.
        in another life I'd pick {other}.
        daydreaming about {other}; staying put though.
        would {other} even make sense for someone like me? Just a thought.
    """),
    "stale": lines("""
        remember when I used to {act}? Ages ago.
        found old papers from when I used to {act}.
        an old reminder popped up from when I used to {act}.
        back when I used to {act}, things were different.
        someone still thinks I {act}. That was before.
        funny to think I used to {act}.
    """),
    "occurrence": lines("""
        {activity} at {place} now, {minutes} minutes. {words}.
        {words}. {activity} here at {place}, about {minutes} min.
        off to {place} for {activity}, back in {minutes} minutes.
        {activity}: {minutes} minutes at {place}, as always. {words}.
        starting {activity} at {place}; {minutes} min planned. {words}.
        busy for the next {minutes} minutes - {activity}, {place}.
        at {place}. {activity}, {minutes} min. {words}.
        my {activity} slot: {place}, {minutes} minutes.
        {words}, {activity} at {place} for {minutes} min.
        can't talk for {minutes} minutes, {activity} at {place}.
    """),
    "brief occurrence": lines("""
        {words}.
        {activity}. {words}.
        {activity} time. {words}.
        {words} - {activity} again.
        now: {activity}.
        {activity}, {words}.
        in the middle of {activity}.
        {words}. That's {activity} for you.
    """),
    "routine": lines("""
        new routine: {activity}, {when}, {place}.
        I've put {activity} into my week: {when} at {place}.
        {activity} is now fixed, {when}, at {place}.
        from now on it's {activity} {when} ({place}).
        block this for me: {activity}, {when}, {place}.
        trying to be regular: {activity} {when}, {place}.
    """),
    "missed": lines("""
        skipped {activity} last time, making up for it now.
        did {activity} at an odd hour for once, had missed it.
        {activity} out of turn today, just this time.
        a late {activity} because the last one fell through.
        one-off {activity}, wrong day, I know.
    """),
    "one-off": lines("""
        tagged along with {person} for {activity}, just this once.
        tried {activity} a single time with {person}. Not for me every week.
        {person} dragged me to {activity} today. One time thing.
        {activity} today because {person} had a spare slot. Won't repeat.
        filled in for {person} at {activity}, once.
    """),
    "extra": lines("""
        an extra round of {activity} with {person} today, outside my usual days.
        squeezed in {activity} because {person} asked, just today.
        {person} wanted company for {activity}, so one more this week.
        {activity} at a strange hour with {person}. Not the start of anything.
        swapped with {person} today: {activity} now instead of an errand.
    """),
    "other routine": lines("""
        {person} does {activity} {when}; their time, not mine.
        {person} is at {activity} {when}, so call someone else then.
        reminder that {person} has {activity} {when}.
        {person} keeps {activity} {when} sacred.
        the group of {person} meets for {activity} {when}.
    """),
    "leaning": lines("""
        given the choice I took {entity} over {other}.
        {entity} or {other}? Went with {entity}.
        it had to be {entity}, {other} can wait.
        picked {entity}; {other} was there too.
        {entity} today. Left {other} alone.
        they offered {other}, I asked for {entity}.
        another vote for {entity} against {other}.
        between {entity} and {other} it was an easy call: {entity}.
    """),
    "preference": lines("""
        when it comes to {axis}, I notice I go for {liked} over {left}, {qualifier}.
        with {axis} it's {liked} rather than {left} for me, {qualifier}.
        {qualifier}, {liked} beats {left} for me. That's {axis} sorted.
        if you ask me about {axis}: {liked}, not so much {left}, {qualifier}.
        for {axis} I lean to {liked} instead of {left}, {qualifier}.
        I keep choosing {liked} over {left}, {qualifier}. {axis}, that is.
    """),
    "other preference": lines("""
        {person} always wants {liked}, never {left}. Keep it in mind for them.
        for {person} it has to be {liked}; {left} won't do.
        ordering for {person}: {liked}, please, not {left}.
        {person} would pick {liked} over {left} any day.
        {person} and I disagree: they want {liked}.
    """),
    "treat": lines("""
        got {entity} because {person} wanted it, my own pick would differ.
        {entity} this time, only since {person} was choosing.
        {person} ordered {entity} for both of us.
        {entity}, a one-time exception for {person}.
    """),
}  # fmt: skip
"""Purpose → its core sentences."""

LETTERS: dict[str, tuple[str, ...]] = {
    "use": lines("""
        a reminder from {entity}: {qualifier}.
        your {label} with {entity} ({qualifier}) continues unchanged.
        {entity}: {qualifier}. Nothing for you to do.
        this is your regular note from {entity}. On file: {qualifier}.
        news from {entity} for everybody with {qualifier}.
        your next date with {entity} is confirmed ({qualifier}).
        receipt from {entity} for {qualifier}.
        your details at {entity}: {qualifier}. Please tell us of changes.
    """),
    "new": lines("""
        welcome to {entity}! You are set up: {qualifier}.
        {entity} confirms: {qualifier}.
        thank you for choosing {entity}. We noted: {qualifier}.
        your start with {entity} is confirmed, {qualifier}.
        all done, {entity} is ready for you ({qualifier}).
        {entity}: we have received your request ({qualifier}).
    """),
    "brief occurrence": lines("""
        a reminder that {activity} starts shortly.
        agenda for today: {activity}. {words}.
        see you at {activity}. {words}.
        {activity} today as always. {words}.
        notes for {activity}: {words}.
        starting in a moment: {activity}.
    """),
    "leaning": lines("""
        your choice: {entity}. {other} was available too.
        confirmed: {entity}.
        thank you for picking {entity} over {other}.
        receipt for {entity}.
    """),
}  # fmt: skip
"""Purpose → what others write about it; a purpose without any never comes by letter."""

QUERIES: dict[str, tuple[str, ...]] = {
    "use": (
        "{entity}", "{entity} opening hours", "{entity} contact", "{entity} account", "{entity} news",
        "{entity} help page", "{entity} log in",
    ),
    "new": (
        "{entity} how it works", "{entity} first steps", "{entity} welcome", "{entity} account",
        "getting started {entity}",
    ),
    "research": (
        "{entity} or {other}", "{other} vs {entity}", "{entity} reviews", "{category} compared", "{other} reviews",
        "best {category} nearby", "{entity} cost", "how to choose a {category}", "{category} worth it", "{other} cost",
    ),
    "near miss": ("{other}", "{other} reviews", "{other} near me", "what is {other}", "{other} opening hours"),
    "third party": (
        "{other} gift card", "{other} for {person}", "{other} directions for {person}",
        "is {other} right for {person}",
    ),
    "hypothetical": ("what if {other}", "{other} someday", "how much would {other} cost", "{other} daydream"),
    "occurrence": ("{activity} {place}", "{activity} {place} {minutes} min", "{place} {activity} today"),
    "brief occurrence": ("{activity}", "{activity} tips", "{activity} ideas", "{words}", "better {activity}"),
    "options": (
        "{category}", "best {category}", "{category} today", "{category} ideas", "{category} recommendations",
        "new {category}", "{entity} {other}", "{category} options",
    ),
    "leaning": (
        "{entity}", "{entity} rather than {other}", "{entity} instead of {other}", "{entity} not {other}",
        "{entity} again", "{entity} this time", "{entity}, no {other}",
    ),
    "one-off": ("{activity} for beginners", "{activity} single visit", "{activity} day pass"),
    "extra": ("{activity} today with {person}", "{activity} open now"),
    "other routine": ("{activity} for {person}", "{activity} schedule {person}"),
    "treat": ("{entity} for {person}", "{entity} gift for {person}"),
}  # fmt: skip
"""Purpose → search queries; a purpose without any is never searched for."""
