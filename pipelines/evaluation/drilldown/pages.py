"""Pages of users: each opens from disk by itself, asks nothing of a network and runs nothing but its filters."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from markupsafe import Markup

from pipelines.evaluation.drilldown.parts import Fold, Grid, Part, Section
from pipelines.evaluation.page import plain_page
from pipelines.hashing import digest

T = TypeVar("T")
FOLDER = "users"
"""Folder of the pages, beside the report."""
REPORT = "../report.html"
SECTIONS_A_PAGE = 24
"""Transitions, or targets, on one page of a user; a longer life goes on on the next (ours)."""


@dataclass(frozen=True)
class Leaf:
    """What one page shows beside what all pages of the user share: its sections, and the anchors inside it."""

    sections: tuple[Section, ...]
    closing: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Story:
    """One user, ready to be shown. `picture` draws the life, given where anchors lie."""

    user: str
    kind: str
    """`user` or `wallet`."""
    opening: Section
    leaves: tuple[Leaf, ...]
    picture: "partial[Markup] | None" = None
    caption: str = ""
    repeated: bool = True
    """Whether every page shows the picture, or the first alone, because it is large."""


def file_name(user: str, page: int = 1) -> str:
    """File of a user's page: letters, digits and signs that every file system takes, unlike for every user."""
    safe = re.sub(r"[^A-Za-z0-9_]+", "-", user).strip("-")[:32]
    return "-".join(part for part in (safe, digest(user, size=4), str(page) if page > 1 else "") if part) + ".html"


def paged(sections: Sequence[T]) -> list[tuple[T, ...]]:
    """Sections, or what they are made of, page by page; one page at least."""
    starts = range(0, len(sections), SECTIONS_A_PAGE)
    return [tuple(sections[start : start + SECTIONS_A_PAGE]) for start in starts] or [()]


def pages_of(story: Story, release: str) -> Iterator[tuple[str, str]]:
    """File name and text of every page of a user."""
    where = {anchor: number for number, leaf in enumerate(story.leaves, start=1) for anchor in _anchors(leaf)}
    for number, leaf in enumerate(story.leaves, start=1):
        places = {
            anchor: f"#{anchor}" if page == number else f"{file_name(story.user, page)}#{anchor}"
            for anchor, page in where.items()
        }
        text = plain_page(
            "user_page.html.j2",
            release=release,
            story=story,
            sections=leaf.sections,
            closing=leaf.closing,
            picture=story.picture(places=places) if story.picture and (story.repeated or number == 1) else None,
            places=places,
            report=REPORT,
            pages=[(page, file_name(story.user, page)) for page in range(1, len(story.leaves) + 1)],
            page=number,
            filters=_filters((story.opening, *leaf.sections)),
        )
        yield file_name(story.user, number), text


def _anchors(leaf: Leaf) -> Iterator[str]:
    def inside(sections: Iterable[Section]) -> Iterator[str]:
        for section in sections:
            yield section.anchor
            yield from inside(section.sections)

    yield from inside(leaf.sections)
    for part in leaf.closing:
        if isinstance(part, Grid):
            yield from part.anchors


def _filters(sections: Sequence[Section]) -> Mapping[str, list[str]]:
    """What can be hidden: pools and methods, where there are several."""
    methods: set[str] = set()
    pools: set[str] = set()

    def look(parts: Iterable[Part]) -> None:
        for part in parts:
            if isinstance(part, Grid):
                methods.update(head.method for head in part.heads)
                methods.update(part.methods)
            if isinstance(part, Fold):
                methods.add(part.method)
                look(part.parts)

    def walk(some: Iterable[Section]) -> None:
        for section in some:
            pools.add(section.pool)
            look(section.parts)
            walk(section.sections)

    walk(sections)
    found = {"pool": sorted(pools - {""}), "method": sorted(methods - {""})}
    return {name: values for name, values in found.items() if len(values) > 1}
