"""What users say: sentences by purpose, dressed for where they are said (ours).

A sentence is an opening, a core (`sentences`) and a closing, each drawn by place: a
purpose has hundreds of surfaces in a voice. Cores take `{act}` (a verb phrase in base form),
`{entity}`, `{other}`, `{reason}`, `{person}`, `{label}`, whichever the caller gives.
"""

import re
from collections.abc import Sequence
from typing import Literal

from pipelines.applogs.synthesis.sentences import CORES, LETTERS, QUERIES, lines
from pipelines.applogs.synthesis.tree import Place

Voice = Literal["chat", "mail", "letter", "note", "assistant", "post", "review", "query", "detail"]

VOICES: dict[tuple[str, str], Voice] = {
    ("WhatsApp", "SendMessage"): "chat",
    ("WhatsApp", "GetMessages"): "chat",
    ("WhatsApp", "SendMedia"): "post",
    ("Instagram", "SendDirectMessage"): "chat",
    ("Gmail", "SendEmail"): "mail",
    ("Gmail", "ReplyEmail"): "mail",
    ("Gmail", "ReadEmail"): "letter",
    ("Gmail", "GetInbox"): "letter",
    ("Fitbit", "RecordActivity"): "detail",
    ("Notion", "CreatePage"): "note",
    ("Notion", "UpdatePage"): "note",
    ("Notion", "CreateDatabaseEntry"): "note",
    ("LLM Assistant", "CreateConversation"): "assistant",
    ("LLM Assistant", "ContinueConversation"): "assistant",
    ("LinkedIn", "UpdateProfile"): "post",
    ("LinkedIn", "LikePost"): "detail",
    ("LinkedIn", "SendConnectionRequest"): "chat",
    ("LinkedIn", "PostUpdate"): "post",
    ("LinkedIn", "CommentOnPost"): "post",
    ("Instagram", "CreatePost"): "post",
    ("Instagram", "PostStory"): "post",
    ("Instagram", "CommentOnPost"): "post",
    ("Amazon", "WriteReview"): "review",
    ("Goodreads", "WriteReview"): "review",
}
"""(app, API) → how `text` sounds there; every other API takes a query, where it takes any.

A letter is what others write to the user, a detail no sentence but one of a few words.
"""

SPOKEN: tuple[tuple[str, str], ...] = (
    ("WhatsApp", "SendMessage"),
    ("WhatsApp", "SendMessage"),
    ("Gmail", "SendEmail"),
    ("Notion", "CreatePage"),
    ("LLM Assistant", "CreateConversation"),
    ("Instagram", "SendDirectMessage"),
)
"""Where a user says something in words of their own, the likelier the more often it stands here."""


_OPENINGS: dict[Voice, tuple[str, ...]] = {
    "chat": (
        "", "", "Hey! ", "Hi :) ", "So ", "Btw, ", "Quick one: ", "Oh, ", "Guess what, ", "Ok so ",
        "Just so you know: ",
    ),
    "mail": (
        "Hello,\n\n", "Hi there,\n\n", "Hi,\n\n", "Hello again,\n\n", "Hope you are well.\n\n", "A short update.\n\n",
        "Thanks for your message.\n\n", "Following up from last time.\n\n",
    ),
    "note": ("", "- ", "Note: ", "For later: ", "Today: ", "Log: ", "* ", "Keep in mind: ", "Me, this week: "),
    "assistant": (
        "", "Some context: ", "Can you help me plan around this? ", "Background for my question: ", "For your notes: ",
        "Before you suggest anything: ", "Hi, ", "Here is where I stand: ",
    ),
    "post": ("", "", "Small update: ", "Well: ", "News: ", "Monday thought: ", "Note to self: ", "So, "),
    "review": ("", "", "Short version: ", "Some context: ", "Honest opinion: ", "Update: "),
    "letter": (
        "Dear customer,\n\n", "Hello,\n\n", "Good morning,\n\n", "Thank you for being with us.\n\n",
        "Just a short note.\n\n", "Good to have you with us.\n\n", "Dear member,\n\n", "",
    ),
}  # fmt: skip
_CLOSINGS: dict[Voice, tuple[str, ...]] = {
    "chat": (
        "", "", " :)", " Anyway, how are you?", " Talk later!", " Will tell you more soon.", " Haha.",
        " More when we meet.",
    ),
    "mail": (
        "\n\nBest wishes", "\n\nKind regards", "\n\nThanks", "\n\nAll the best", "\n\nSee you soon", "\n\nTalk soon",
        "\n\nMany thanks and regards", "",
    ),
    "note": ("", "", " (check again next month)", " #life", " -- done", " #log", " [keep]", " /end"),
    "assistant": (
        " What should I watch out for?", " Any tips?", " Please keep it in mind.", " Does that make sense?",
        " What would you add?", " Summarise it for me.", " Make me a short checklist.", "",
    ),
    "post": ("", "", " #everyday", " Onwards.", " More soon.", " That's all.", " Feels right."),
    "review": ("", "", " Recommended.", " Would do it again.", " Four words: it just works.", " No regrets."),
    "letter": (
        "\n\nYour team", "\n\nKind regards", "\n\nThis mailbox is not read.", "\n\nSee you soon",
        "\n\nQuestions? Just reply.", "\n\nManage your settings online.", "\n\nWith best wishes", "",
    ),
}  # fmt: skip


_BEGIN = re.compile(r"(?<=[.?!] )[a-z]")
"""First letter of a further sentence: reasons and details are given in small letters."""


def said(place: Place, purpose: str, voice: Voice, /, **words: object) -> str:
    """What is said for a purpose in a voice. Raises `KeyError` for a word that the sentence needs and is not given."""
    if voice == "query":
        return place.one("query", QUERIES[purpose]).format(**words)
    if voice == "detail":
        return str(words["words"])
    draw = place.bits("words")
    cores, openings, closings = (LETTERS if voice == "letter" else CORES)[purpose], _OPENINGS[voice], _CLOSINGS[voice]
    draw, core = divmod(draw, len(cores))
    draw, opening = divmod(draw, len(openings))
    closing = closings[draw % len(closings)]
    head, sentence = openings[opening], _BEGIN.sub(lambda begin: begin[0].upper(), cores[core].format(**words))
    if not head.endswith((", ", "So ", "so ")):
        sentence = sentence[0].upper() + sentence[1:]
    return f"{head}{sentence}{closing}"


SUBJECTS = lines("""
    {label}
    About {label}
    Re: {label}
    Quick note on {label}
    {label} - for your information
    A word on {label}
    {label}, as promised
    {label} update
    Notes on {label}
""")
"""Headings that name the state."""
NAMED = lines("""
    {entity}
    About {entity}
    Re: {entity}
    {entity} - your details
    News from {entity}
    {entity}: a short note
    Concerning {entity}
    {entity}, for the file
    Regarding {entity}
    {entity} (no reply needed)
""")
"""Headings that name the thing that it is about."""
PLAIN = lines("""
    Short news
    Just so you know
    Following up
    As promised
    For the record
    A small update
    Before I forget
    Since you asked
    One more thing
    Where things stand
    Quick hello
    Catching up
    This and that
    From my side
    What is new here
    No need to answer
    In a few words
    For information
    While I think of it
    Today's jottings
    Open points
    Sorting myself out
    Thinking aloud
    Keeping you posted
""")
"""Headings that say nothing."""
DATABASES = lines("""
    Log
    Tracker
    Overview
    Register
    Board
    Running list
    Journal
    Index
    Records
    Everything in one place
""")
"""Names of tables of notes that say nothing."""
TELLING, BY_NAME = 0.15, 0.4
"""Share of headings that name the state, and of those that name its thing where there is one (ours)."""


def titled(place: Place, label: str, entity: str = "", plain: Sequence[str] = PLAIN) -> str:
    """A heading; few name the state, so that a search for its name does not find whatever is said of it."""
    kind = place.share("kind of heading")
    table = SUBJECTS if kind < TELLING else NAMED if entity and kind < TELLING + BY_NAME else plain
    text = place.one("heading", table).format(label=label, entity=entity)
    return text[0].upper() + text[1:]
