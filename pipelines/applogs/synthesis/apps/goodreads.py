"""Goodreads: books found, looked at, put on shelves, rated and reviewed."""

from pipelines.applogs.synthesis.apps.app import Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import bits_of, identifier, rating_of
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

SHOWN = 8
"""Books that a search shows."""
CATALOGUE = {
    "fiction": (
        "The Orchard Ledger",
        "What the Tide Kept",
        "A House of Small Rooms",
        "Northern Stairs",
        "The Glass Acre",
    ),
    "mystery": (
        "The Vanishing Clerk",
        "Chalk and Ivy",
        "A Key Too Many",
        "The Lighthouse Account",
        "Dead Reckoning Row",
    ),
    "science fiction": ("Salvage Moon", "The Thousandth Relay", "Drift Colony", "A Theory of Doors", "Ashlight"),
    "fantasy": ("The Bramble Throne", "Saltwitch", "The Ninth Gatekeeper", "Hollow Hill Road", "Crown of Reeds"),
    "history": (
        "Rivers and Tolls",
        "The Age of Lamps",
        "Wool, Iron, Paper",
        "Bridges of the North",
        "A History of Locks",
    ),
    "science": ("How Ice Remembers", "The Shape of Noise", "Tiny Giants", "Measuring Wind", "The Patient Planet"),
    "business": ("The Second Draft Company", "Fewer Meetings", "Slow Ledger", "Small Margins", "The Honest Forecast"),
    "self-help": ("One Drawer at a Time", "Enough for Today", "The Unhurried List", "Begin Badly", "Quiet Progress"),
    "cooking": ("Flour, Water, Window", "The One-Pot Year", "Salt at the End", "Kitchen Arithmetic", "Market Basket"),
    "travel": ("Slow Trains South", "The Ferry Timetable", "Forty Lighthouses", "A Map of Bakeries", "Over the Pass"),
    "poetry": ("Rain Index", "Small Hours, Large Birds", "Inventory of Light", "The Stone Calendar", "Field Notes"),
    "romance": ("The Umbrella Repair Shop", "Second Platform", "A Summer on Quay Street", "Postmarked", "The Late Bus"),
}
"""Genre → books of our own that fill a search."""
_GENRE_OF = {name: genre for genre, names in CATALOGUE.items() for name in names}
_NAMES = tuple(_GENRE_OF)
AUTHORS = (
    "The Lantern Street Collective",
    "Northgate Writers' Circle",
    "Editors of Tidewater Press",
    "The Mill Lane Workshop",
    "Harbour Room Authors",
    "The Night Desk",
    "Quarry Hill Editors",
    "The Almanac Group",
    "Six Chairs Collective",
    "Staff of the Paper Museum",
    "The Attic Table",
    "Fieldwork Editions",
    "The Long Table Writers",
    "Redbrick Story Lab",
    "The Winter School",
    "Studio Inkwell",
    "The Ferry House Circle",
    "Open Margin Editors",
    "The Ninth Floor",
    "Copperleaf Writing Group",
)
"""Who wrote a book: groups, for no person is made up."""
ABOUT = (
    "A {genre} title about a promise that outlives the people who made it.",
    "This {genre} book begins with a locked drawer and ends with an open window.",
    "A much-discussed {genre} title in twelve short chapters.",
    "A {genre} book for readers who like to take their time.",
    "An unusual {genre} title, told backwards from its last day to its first.",
    "A clear and compact {genre} book, now in its third edition.",
    "A {genre} title that follows one question through two centuries.",
    "Part {genre}, part travelogue: a journey along a forgotten road.",
    "A {genre} book built from letters, lists and margin notes.",
    "A lively {genre} title that asks what we keep and what we give away.",
    "A {genre} book of quiet surprises, set in a town between two rivers.",
    "The {genre} debut that readers' circles passed from hand to hand.",
    "A {genre} title with maps, drawings and a generous appendix.",
    "A modern {genre} book with an old-fashioned heart.",
    "A {genre} title about work, weather and the art of waiting.",
    "An essential {genre} book, revised and with a new foreword.",
)
PRAISE = (
    "Readers mention the pace of the first half and the calm of the second.",
    "Often chosen by reading circles; questions for discussion are included.",
    "Also available as an audiobook and in large print.",
    "The paperback has a new afterword.",
    "Shortlisted for two prizes in the year it came out.",
    "Translated into eleven languages.",
    "Reviewers disagree about the ending, which is left open.",
    "Recommended for its plain language and careful research.",
    "The book stands alone; no earlier volume is needed.",
    "Illustrated throughout in two colours.",
    "A companion volume is announced.",
    "Praised for its wit and for its index.",
)


NO_GENRES = frozenset({"book", "books", "reading"})


def _book(call: Call, name: str, category: str) -> Json:
    """A book by its name; of a genre that neither the event nor the catalogue tells, nothing is made up."""
    genre = "" if category.lower() in NO_GENRES else category
    author = AUTHORS[bits_of("author", name) % len(AUTHORS)]
    return {
        "book_id": identifier("book", name),
        "title": name,
        "author": call.fact("author", author) if name == call.slots.get("entity") else author,
        "genre": genre or _GENRE_OF.get(name, "general"),
    }


def _own(call: Call) -> Json:
    return _book(call, call.said("entity"), call.fact("genre", call.said("category")))


class Account:
    """The shelves of one user: every book is on one at most."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._shelf_of: dict[str, str] = {}

    def search(self, call: Call) -> Exchange:
        """`entity` and `others` among books of the genre (`category`) where the catalogue has it, and any."""
        genre = call.said("category")
        query = call.said("text", "category", "entity", otherwise="popular now")
        books = [_own(call)] if call.said("entity") else []
        other_genre = call.fact("other_category", genre)
        books += [_book(call, name, other_genre) for name in call.rivals(3)]
        known = next((names for word, names in CATALOGUE.items() if word in genre.lower()), ())
        more = [*call.several("alike", known, 3), *call.several("more", _NAMES, SHOWN)]
        taken = {book["title"] for book in books}
        for name in dict.fromkeys(more):
            if name not in taken and len(books) < SHOWN:
                books.append(_book(call, name, ""))
        return {"query": query}, {"books": call.several("order", books, SHOWN)}

    def show(self, call: Call) -> Exchange:
        """What the book (`entity`) is about, and the user's shelf that it is on, if any."""
        book = _own(call)
        draw = bits_of("about", book["title"])
        about, praise = ABOUT[draw % len(ABOUT)].format(genre=book["genre"]), draw // 1024 % len(PRAISE)
        response = {
            "book": book,
            "description": f"{about} {PRAISE[praise]} {PRAISE[(praise + 5) % len(PRAISE)]}",
            "average_rating": rating_of(book["title"]),
        }
        if shelf := self._shelf_of.get(book["book_id"]):
            response["on_shelf"] = shelf
        return {"book_id": book["book_id"]}, response

    def add(self, call: Call) -> Exchange:
        """Puts the book (`entity`) on the shelf (`category`), off the one where it was."""
        book = _book(call, call.said("entity"), call.fact("genre", ""))
        shelf = call.said("category", otherwise="to-read")
        self._shelf_of[book["book_id"]] = shelf
        entry = {
            "book_id": book["book_id"],
            "title": book["title"],
            "author": book["author"],
            "shelf": shelf,
            "added_at": call.stamp(),
        }
        return {"book_id": book["book_id"], "shelf": shelf}, {"shelf_entry": entry}

    def rate(self, call: Call) -> Exchange:
        """Gives the book (`entity`) its `rating`."""
        book, stars = _own(call), call.slots["rating"]
        rating = {"book_id": book["book_id"], "title": book["title"], "rating": stars}
        return {"book_id": book["book_id"], "rating": stars}, {"rating": rating, "rated_at": call.stamp()}

    def review(self, call: Call) -> Exchange:
        """Reviews the book (`entity`) in the words of `text`, with a `rating` or without."""
        book, text = _own(call), call.said("text")
        stars = {"rating": call.slots["rating"]} if "rating" in call.slots else {}
        review = {
            "review_id": call.new_id("review"),
            "book_id": book["book_id"],
            "title": book["title"],
            "review_text": text,
            **stars,
            "reviewed_at": call.stamp(),
        }
        return {"book_id": book["book_id"], "review_text": text, **stars}, {"review": review}


APP = App(
    "Goodreads",
    Account,
    {
        "SearchBooks": Api(Account.search),
        "ShowBook": Api(Account.show, ("entity",), ("on_shelf",)),
        "AddToShelf": Api(Account.add, ("entity",)),
        "RateBook": Api(Account.rate, ("entity", "rating")),
        "WriteReview": Api(Account.review, ("entity", "text")),
    },
)
