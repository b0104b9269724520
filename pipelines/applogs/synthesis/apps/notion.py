"""Notion: pages that can be written, rewritten and found again, and entries of databases.

A page is known by its title: to create one of a title that is there writes that page anew.
"""

import re

from pipelines.applogs.synthesis.apps.app import KEPT, Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import identifier
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

FOUND = 5
"""Pages that a search shows at most."""
_PREVIEW = 160
"""Letters of a page's content that a search shows."""
STARTERS = (
    ("Getting started", "Click anywhere and begin to type. Use / for headings, lists and tables."),
    ("Quick note", "Write something here."),
    ("Untitled", "Empty page."),
    ("Templates", "Duplicate a template before you fill it in."),
    ("Archive", "Pages moved here stay searchable."),
    ("Scratch", "Space for drafts. Nothing here is final."),
    ("Keyboard shortcuts", "Press the slash key to see all blocks."),
    ("Inbox", "Clipped pages arrive here."),
    ("How to share a page", "Open the menu in the upper right corner and copy the link."),
    ("Import guide", "Text, tables and documents can be imported from files."),
    ("Blank table", "Name | Status | Note"),
    ("Trash notes", "Pages in the trash are kept for thirty days."),
)
"""Pages that come with an account, and what they say."""
CONTENTS = (
    "Notes below.",
    "Nothing here yet.",
    "Started on another device.",
    "Outline only.",
    "See the attached table.",
    "First lines, to be continued.",
    "Copied from an older page.",
    "Draft.",
    "Text follows.",
    "Moved here from the inbox.",
)
"""What pages say that were written elsewhere."""
STATUSES = ("Not started", "Open", "Draft", "Logged", "Saved", "New", "Listed", "Noted", "Recorded", "Filed")
_WORD = re.compile(r"[^\W_]{4,}")
_LITTLE = frozenset(
    {"about", "from", "have", "here", "into", "list", "more", "that", "this", "what", "when", "with", "your"}
)
"""Words that no page is found by, as are those of up to three letters."""


class Account:
    """The pages of one user, the one written last at the end."""

    def __init__(self, persona: Persona, place: Place) -> None:
        self._owner = persona.user_id
        self._begins = place.some("starters", STARTERS, 3)
        self._pages: dict[str, Json] = {}
        # When each page was made: what a list no longer holds may still be written again.
        self._made: dict[str, str] = {}

    def _id(self, title: str) -> str:
        return identifier("page", f"{self._owner}\n{title}")

    def _written(self, call: Call, page_id: str, title: str, content: str, made: str) -> Json:
        if not self._made:
            for n, (heading, words) in enumerate(self._begins):
                stamp = call.before(("starter", n), 1440, 20_000)
                known = self._id(heading)
                self._made[known] = stamp
                self._pages[known] = _page(known, heading, words, stamp, stamp)
        created = self._made.setdefault(page_id, made)
        # The app may have taken its time over the page before: nothing is written before it was made.
        page = _page(page_id, title, content, created, max(created, call.stamp()))
        self._pages.pop(page_id, None)
        self._pages[page_id] = page
        while len(self._pages) > KEPT:
            del self._pages[next(iter(self._pages))]
        return page

    def _seen(self, call: Call) -> list[Json]:
        """The pages, last written first; one that the event names was written elsewhere if it is not there."""
        if title := call.said("title", "entity"):
            named = next((page for page in self._pages.values() if page["title"] == title), None)
            if named is None:
                words = call.one("content", CONTENTS)
                named = self._written(call, self._id(title), title, words, call.before("page", 5, 60))
            return [named, *(page for page in reversed(self._pages.values()) if page is not named)]
        if not self._pages:
            self._written(call, self._id("Home"), "Home", "Pin pages here.", call.before("page", 5, 60))
        return list(reversed(self._pages.values()))

    def get_pages(self, call: Call) -> Exchange:
        """All pages without their content; the one that the event names (`title`, `entity`) first."""
        shown = ("page_id", "title", "created_at", "updated_at")
        return {}, {"pages": [{name: page[name] for name in shown} for page in self._seen(call)]}

    def create(self, call: Call) -> Exchange:
        """A page of `title` with `text`."""
        text = call.said("text")
        title = call.said("title", "entity", otherwise=_heading(text))
        page = self._written(call, self._id(title), title, text, call.stamp())
        return {"title": title, "content": text}, {"page": page}

    def update(self, call: Call) -> Exchange:
        """Writes `text` as the content of the page `entity`, renamed where `title` is another."""
        text = call.said("text")
        known = call.said("entity", "title", otherwise=_heading(text))
        title = call.said("title", otherwise=known)
        page_id = self._id(known)
        page = self._written(call, page_id, title, text, call.before("page", 1440, 60_000))
        request = {"page_id": page_id, **({"title": title} if title != known else {}), "content": text}
        return request, {"page": page}

    def search(self, call: Call) -> Exchange:
        """Pages that share a word with the query (`text`), last written first; the one that the event names at once."""
        query = call.said("text")
        words = set(_WORD.findall(query.lower())) - _LITTLE
        named = call.said("title", "entity")
        results = [
            {
                "page_id": page["page_id"],
                "title": page["title"],
                "snippet": _start_of(page["content"]),
                "updated_at": page["updated_at"],
            }
            for page in self._seen(call)
            if page["title"] == named or words & set(_WORD.findall(f"{page['title']} {page['content']}".lower()))
        ]
        return {"query": query}, {"results": results[:FOUND]}

    def create_entry(self, call: Call) -> Exchange:
        """A row of a database (`title`, else `category`), named by `entity`, with `text` and `fields`."""
        database = call.said("title", "category", otherwise="Log")
        text = call.said("text")
        properties: Json = {"Name": call.said("entity", otherwise=_heading(text or database))}
        if text:
            properties["Notes"] = text
        properties |= {"Status": call.one("status", STATUSES), **call.slots.get("fields", {})}
        entry = {
            "entry_id": call.new_id("entry"),
            "database_name": database,
            "properties": properties,
            "created_at": call.stamp(),
        }
        return {"database_name": database, "properties": properties}, {"entry": entry}


def _page(page_id: str, title: str, content: str, created: str, updated: str) -> Json:
    return {"page_id": page_id, "title": title, "content": content, "created_at": created, "updated_at": updated}


def _start_of(text: str) -> str:
    return text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 1].rstrip()}…"


def _heading(text: str) -> str:
    return " ".join(text.split()[:5])


APP = App(
    "Notion",
    Account,
    {
        "GetPages": Api(Account.get_pages, running=("pages",)),
        "CreatePage": Api(Account.create, ("text",), ("page.created_at", "page.updated_at")),
        "UpdatePage": Api(Account.update, ("text",), ("page.created_at", "page.updated_at")),
        "SearchContent": Api(Account.search, ("text",), ("results",)),
        "CreateDatabaseEntry": Api(Account.create_entry, ("title|category|entity|text",)),
    },
)
