"""Words of everyday life that say nothing of any state: what background logs are made from (ours)."""

from itertools import product


def _each(forms: str, things: str) -> tuple[str, ...]:
    """Every form with every thing; one a line, `{}` where the thing stands."""
    return tuple(form.format(thing) for form, thing in product(_lines(forms), _lines(things)))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


_HOUSEHOLD = """
packing tape
AA batteries
a phone charger
light bulbs
a picture frame
drawer liners
a lint roller
cable ties
sticky notes
a door stop
furniture pads
a tape measure
dish sponges
coat hangers
an extension cord
a shower curtain
zip bags
a soap dish
a key hook
a travel adapter
"""
_CHORES = """
remove a wax stain
descale a kettle
fix a squeaky hinge
unclog a shower drain
reset a router
sharpen scissors
clean a window without streaks
get gum off a shoe
fold a fitted sheet
silence a smoke alarm chirp
patch a small hole in drywall
remove a sticker from glass
stop a tap from dripping
store fresh herbs
wash a wool sweater
cut a mango
"""
_FACTS = """
how tall is the tallest lighthouse
why do leaves change colour
when do the clocks change
how many ounces in a pint
what is a leap second
why is the sky red at sunset
how long do passport photos stay valid
what day is the next public holiday
how are rainbows made
what does a barometer measure
how old is the oldest tree
what is the capital of Bhutan
"""
_ERRANDS = """
the parcel
the spare key
the umbrella
the tickets
the borrowed ladder
the casserole dish
the photos
the group gift
the parking permit
the lost glove
the carpool
the recycling bins
"""

POOLS: dict[str, tuple[str, ...]] = {
    "product": tuple(
        f"{maker} {thing}"
        for maker, thing in product(
            ("Plainware", "Oddly", "Northbin", "Tidepost", "Hexa Home"),
            tuple(line.removeprefix("a ").removeprefix("an ") for line in _lines(_HOUSEHOLD)),
        )
    ),
    "product query": _each("{}\n{} pack\ncheap {}\n{} fast delivery", _HOUSEHOLD.replace("a ", "").replace("an ", "")),
    "grocery": (
        "Oat milk, 6 pack", "Brown rice, 2 kg", "Tinned tomatoes, 12 pack", "Red lentils, 1 kg", "Olive oil, 1 l",
        "Wholemeal flour, 1.5 kg", "Black beans, 8 pack", "Muesli, 750 g", "Apple juice, 6 pack",
        "Ground coffee, 500 g", "Pasta, 3 kg", "Peanut butter, 1 kg",
    ),
    "product review": _each(
        """
        Does what it says. {}.
        Arrived on time. {}.
        Bought two of these. {}.
        Fine for the price. {}.
        Not fancy. {}.
        """,
        """
        No complaints so far
        The box was a bit dented
        Would buy it again
        Smaller than I expected
        Instructions could be clearer
        """,
    ),
    "song": _each(
        "{} Rain\n{} Signal\nPaper {}\nAfter {}\n{} Avenue", "Copper\nSeptember\nHollow\nVelvet\nLantern\nOrbit",
    ),
    "song query": _each(
        "{}\n{} lyrics\n{} live", "song from the detergent ad\nthat whistling tune\ntop 50 this week\nrain sounds",
    ),
    "artist": _each("The {} Parade\n{} & Sons Orchestra", "Glass\nMeridian\nPaper\nOctober\nTin"),
    "playlist": ("Random finds", "Car", "Dishes", "This and that", "Found this month", "Loud", "Quiet"),
    "activity": ("stretching", "walking", "stairs", "housework"),
    "goal": ("steps", "active_minutes", "water_glasses"),
    "merchant": _each("{} Market\n{} Pharmacy\n{} Hardware", "Corner\nHarbourside\nEastgate\nMill Lane\nOld Mill"),
    "biller": ("Citywide Water", "Brightline Electric", "Metro Waste Services", "Clearwave Internet"),
    "stock": ("ORBX", "TLNT", "GRVA", "PLMO", "KESL", "NUVA"),
    "contact": ("a neighbour", "a cousin", "an old classmate", "the landlord's office", "a friend from the block"),
    "chat": _each(
        """
        Did you pick up {}?
        I can drop off {} tomorrow
        Thanks again for {}
        Any news about {}?
        Don't forget {} please
        Sorry, running late with {}
        """,
        _ERRANDS,
    ),
    "chat reply": ("ok", "will do", "thanks!", "no worries", "just saw this", "on it", "haha sure", "tomorrow then"),
    "media": (
        "photo of the parking spot", "the receipt", "funny sign on the way home", "the weather here",
        "cloud shaped like a duck",
    ),
    "mail subject": _each("Re: {}\nAbout {}\nQuick question on {}\nUpdate: {}", _ERRANDS),
    "mail body": _each(
        """
        Hello, just a short note about {}. Nothing urgent.
        Hi, could you let me know what happens with {}? Thank you.
        Following up on {}. Whenever you have a minute.
        Thank you for sorting out {}.
        """,
        _ERRANDS,
    ),
    "notice": _each(
        """
        Your statement for {} is ready
        Scheduled maintenance in {}
        Changes to our terms from {}
        Survey: how did we do in {}?
        Your receipt from {}
        """,
        "the spring\nthe last month\nthe coming week\nthis quarter\nthe weekend",
    ),
    "feed comment": (
        "Congratulations!", "Well said.", "Thanks for sharing.", "Great news!", "Interesting read.", "Good luck!",
    ),
    "post": _each(
        """
        Reminder that {} matter more than we think.
        Grateful today for {}.
        Small thing that made my week: {}.
        """,
        "good notes\nclear agendas\nkind emails\nshort meetings\nworking printers\npatient teams",
    ),
    "job query": ("jobs near me", "remote part time", "seasonal work", "volunteer coordinator", "openings this week"),
    "gig": ("Weekend Steward", "Poll Clerk", "Parcel Sorter", "Stocktaking Help", "Survey Caller", "Ticket Scanner"),
    "skill": ("Touch Typing", "Note Taking", "Minute Writing", "Spreadsheets", "Proofreading", "Public Transport"),
    "event crew": ("Lantern Night", "Street Fair Crew", "Open Doors Day", "Charity Book Stall", "Town Picnic Crew"),
    "headline": _each("Always {}\nStill {}\nMostly {}", "curious\nlearning\nhappy to help\nopen to a chat"),
    "page": _each(
        "{} list\n{} notes\n{} scratchpad", "Errands\nPacking\nGift ideas\nLoose ends\nSpring cleaning\nParty",
    ),
    "page body": _each(
        """
        - {} - check again on Friday
        To do: {}, then bin this page
        {}: ask, then tick off
        Remember: {}
        """,
        _ERRANDS,
    ),
    "database": ("Errands", "Borrowed things", "Warranty log"),
    "title": _each(
        "The {} Ledger\n{} Crossing\nThe Last {}\nA {} for Two",
        "Ivory\nHarbour\nThursday\nMidnight\nSparrow\nGlass",
    ),
    "title query": (
        "new this week", "leaving soon", "something short", "trailers", "award winners", "under 90 minutes",
    ),
    "book": _each(
        "The {} Almanac\n{} and Salt\nA Map of {}\n{}, Briefly", "Cedar\nWinter\nPaper\nRivers\nEmber\nTides",
    ),
    "shelf": ("to-read", "to-read", "currently-reading", "read"),
    "book query": (
        "new releases", "short books", "bestsellers this month", "book with the blue cover", "award longlist",
    ),
    "book review": (
        "Read it in two sittings.", "The middle part drags.", "Better than the cover suggests.", "Not for me.",
        "Lent it on already.",
    ),
    "caption": _each(
        "{} today\n{}, no filter\nfound this: {}",
        "sky\nshadows\na very round pigeon\npuddle mirror\nfirst frost\nlost balloon",
    ),
    "account": _each("daily.{}\nodd_{}\nthe{}page", "signs\ndoors\nmaps\nclouds\nstairs"),
    "comment": ("so good", "where is this?", "love the colours", "haha", "made my day", "wow"),
    "search": _each("how to {}\nbest way to {}\n{} without tools", _CHORES) + _lines(_FACTS),
    "question": _each(
        """
        How do I {}?
        I have ten minutes, can you tell me how to {}?
        What is the simplest way to {}?
        Explain like I'm new to this: how to {}
        """,
        _CHORES,
    ) + tuple(f"{fact[0].upper()}{fact[1:]}?" for fact in _lines(_FACTS)),
    "follow-up": (
        "Thanks. Anything I should avoid?", "Can you make that shorter?", "And if that does not work?",
        "Give me a checklist.", "Got it, thanks!",
    ),
    "errand place": _each(
        "{} post office\n{} petrol station\n{} car park\n{} town hall", "Central\nNorth\nStation\nRiver\nMarket",
    ),
    "place query": ("petrol station", "post office", "car wash", "cash machine", "public toilet", "parcel locker"),
    "restaurant": _each("{} Kitchen\n{} Canteen\nThe {} Pot", "Blue\nCorner\nPepper\nStation\nLucky\nOlive"),
    "food query": ("open now", "under 20 minutes", "free delivery", "something warm", "new nearby"),
}  # fmt: skip
"""Pool → texts."""
