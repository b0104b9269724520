"""Google: searches and the results that were opened.

A result follows from its query and from what it is about alone, so that what is clicked is what the search showed.
"""

from collections.abc import Sequence

from pipelines.applogs.synthesis.apps.app import Api, App, Call, Exchange, Json
from pipelines.applogs.synthesis.apps.entities import bits_of, identifier
from pipelines.applogs.synthesis.tree import Place
from pipelines.applogs.synthesis.world import Persona

RESULTS = 8
_LONGEST = 70
TITLES = (
    "{}: what to know first",
    "A plain guide to {}",
    "{} – frequently asked questions",
    "{} explained in five minutes",
    "Beginner's notes on {}",
    "{}: checklist and glossary",
    "{} – overview and background",
    "Forum: {} (112 replies)",
    "{} – step by step",
    "What experts say about {}",
    "{}: common mistakes",
    "Compare options: {}",
    "{} – the short answer",
    "Community answers on {}",
    "{}: pros and cons",
    "{} – tips from readers",
    "Everything people ask about {}",
    "{}: a reader's roundup",
    "Video: {} in practice",
    "{} – latest articles",
    "Q&A: {}",
    "{}: myths and facts",
    "The {} handbook",
)
"""Headings of results about a query; their count is prime, so that every step through them meets all."""
SNIPPETS = (
    "The basics in plain words, with a short glossary and a list of sources at the end of the article.",
    "Answers collected from readers over several years, sorted by how often each question was asked.",
    "We looked at the usual advice and checked which parts hold up. Updated when something changes.",
    "A short video and a transcript. Skip to the second chapter for the practical part.",
    "What to look at first, what can wait, and what people tend to overlook in the beginning.",
    "An overview with pictures. Printable version available, no registration needed.",
    "The discussion has 112 replies; the most helpful ones are pinned at the top of the thread.",
    "Our editors sum up the main points and link to longer reads for those who want the details.",
    "A neutral comparison in a table, with the criteria explained and the limits of each option.",
    "Short answer first, longer explanation below, and a few worked examples to follow along.",
    "Including a checklist that fits on a single page and a note on where the numbers come from.",
    "Several points of view side by side. Readers' comments are moderated and kept on topic.",
    "What the terms mean, how they differ, and why the same word is used for different things.",
    "First published some years ago and revised since; the list of changes stands at the bottom.",
    "A walk through the topic in ten steps. Each step names what is needed and how long it takes.",
    "Common questions, with answers by people who deal with it in their trade.",
    "The page gathers background, definitions and a small archive of earlier articles.",
    "Which claims are well supported and which are not, with references to public studies.",
    "Find opening times, contact details and directions, and see what visitors asked before.",
    "A collection of links, checked for dead ones and sorted by level of detail.",
    "Two minutes of reading: the essentials, the exceptions, and where to look further.",
    "An explainer for newcomers, followed by notes for those who have done it before.",
    "From the archive: how the topic has changed, told in short entries from old to new.",
)
"""Snippets; as many as `TITLES` for the same reason."""
NAMED = (
    "{} – official site",
    "{}: overview",
    "{} – reviews and ratings",
    "About {}",
    "{} | All you need to know",
    "{} – details, prices, questions",
    "{} at a glance",
    "Visitors on {}",
    "{}: home page",
    "{} – profile",
    "Read more about {}",
)
SAID = (
    "{}: what it is, what it offers and how to get in touch. See the latest notices on the front page.",
    "Official information on {}, with frequently asked questions and contact details.",
    "{} in brief: description, ratings from the public and answers to common questions.",
    "Find out what people say about {}. Ratings are collected from several public sources.",
    "Everything about {} in one place: background, conditions, and how it compares.",
    "Details of {}, including terms, availability and a summary of recent reviews.",
    "{}: a profile by our editors, with facts, figures and useful links.",
    "What makes {} different? A short portrait with pictures and readers' questions.",
    "{}. Check current information before you decide; details may change without notice.",
    "An independent page on {}: description, pros and cons, and alternatives.",
    "Learn more about {}: first steps, common questions and who it suits.",
)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rsplit(' ', 1)[0]}…"


def _about(query: str, name: str, category: str, beside: Sequence[str]) -> Json:
    draw = bits_of("result", f"{query}\n{name}")
    shown = f"{name} ({category})" if category else name
    # A choice shows what else there was, whichever of them was chosen.
    compared = [f"Compare: {other}." for other in sorted(beside) if other != name][:2]
    return {
        "result_id": identifier("result", f"{query}\n{name}"),
        "title": NAMED[draw % len(NAMED)].format(name),
        "snippet": " ".join((SAID[draw // 64 % len(SAID)].format(shown), *compared)),
    }


def _general(query: str, at: int) -> Json:
    draw, count = bits_of("results", query), len(TITLES)
    first, step, words, stride = (draw >> 48) % count, draw % 22 + 1, (draw >> 16) % count, (draw >> 32) % 22 + 1
    title = TITLES[(first + at * step) % count].format(_shortened(query))
    return {
        "result_id": identifier("result", f"{query}\n{at}"),
        "title": title[0].upper() + title[1:],
        "snippet": f"{SNIPPETS[(words + at * stride) % count]} {SNIPPETS[(words - (at + 1) * stride) % count]}",
    }


class Account:
    """Searches leave nothing behind that a later call would show."""

    def __init__(self, persona: Persona, place: Place) -> None:
        pass

    def search(self, call: Call) -> Exchange:
        """Results on `entity`, `others` and the query, in drawn order."""
        query = call.said("text")
        entity, rivals = call.said("entity"), call.rivals(3)
        other_category = call.fact("other_category", call.said("category"))
        beside = [entity, *rivals] if entity else rivals
        results = [_about(query, entity, call.said("category"), beside)] if entity else []
        results += [_about(query, other, other_category, beside) for other in rivals]
        results += [_general(query, at) for at in range(RESULTS - len(results))]
        return {"query": query}, {"results": call.several("order", results, RESULTS), "search_timestamp": call.stamp()}

    def click(self, call: Call) -> Exchange:
        """The result on `entity`, else one of the first on the query (`text`)."""
        query = call.said("text")
        if entity := call.said("entity"):
            result = _about(query, entity, call.said("category"), [entity, *call.rivals(3)])
        else:
            result = _general(query, call.place.whole("at", 0, RESULTS - 4))
        request = {"result_id": result["result_id"], "search_query": query}
        return request, {"result": result, "clicked_at": call.stamp()}


APP = App(
    "Google",
    Account,
    {"Search": Api(Account.search, needs=("text",)), "ClickResult": Api(Account.click, needs=("text",))},
)
