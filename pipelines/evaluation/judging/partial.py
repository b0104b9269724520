"""Core and detail by rule: names with a qualifier, statements of preference, sets of names (ours; reference 5.8).

What a judge is told of these, as far as words can tell it: the core of a name is its head, what stands before the
first comma, bracket or dash; the core of a preference is its direction and main object. A value is worth `CORE` for
its core and the rest for its other words, by F1; without the core it is worth nothing.
"""

import re

import polars as pl

from pipelines.evaluation.judging.comparators import Comparator, compare, entity
from pipelines.evaluation.judging.stems import STOP, content, stemmed

CORE = 0.8
"""Worth of the core, as in Core+Detail."""
ENOUGH = 0.5
"""A name that stands in a longer one is the same where it has this share of the longer one's content words."""
MENTIONED = 1 / 3
"""Share of what an answer prefers that the gold's preferred side must make up."""
_QUALIFIER = r"(?s)^\s*([^\s,;(\[].*?)(?:[,;](?:\s.*)?|\s*[(\[].*|\s+[-–—]+\s.*)?$"
_WORD = r"[\p{L}\p{M}\p{N}+#]+"
_AGAINST = (
    r"\s*(?:,\s*)?\b(?:over|rather than|more than|instead of|in preference to|versus|vs|"
    r"(?:and |but )?not(?: so much| really)?)\b\.?\s+"
)
_STRENGTH = """
always clearly definitely generally greatly heavily mainly mildly mostly much normally often quite rather really
slightly somewhat strongly typically usually very
incline inclines inclined lean leans leaning leant love loves tend tends
"""
STRENGTH = frozenset(_STRENGTH.split())
"""Words that say how strongly a side is preferred: part of the detail."""
_VERBS = """
choose chooses chosen choosing enjoy enjoys favor favors favour favours favoured go goes going like likes liked now opt
opts pick picks picked prefer prefers preferred preferring preference still take takes took toward towards would
"""
LEADING = STRENGTH | STOP | frozenset(_VERBS.split())
"""Words before the preferred side that are none of it."""
_PREFERS = re.compile(
    r"(?i)^\W*(?:(?:the )?user )?(?:\w+ly |always |much |often )?"
    r"(?:(?:prefer|favou?r|lean|opt|choose|enjoy|like|love|incline|tend|avoid|dislike)s|"
    r"i (?:\w+ly )?(?:prefer|favou?r|lean|like|love|enjoy|choose|avoid|dislike))\b"
)
_AVERSE = r"^\s*(?:(?:the )?user |i )?(?:\w+ly |always |mostly |often )?(?:avoid|dislike|reject)s?\b\s*"


def name() -> Comparator:
    """A name, letter case, punctuation, articles and endings aside: `CORE` for its head, the rest for other words.

    Heads agree when they are equal, or one stands in the other as whole words and has at least `ENOUGH` of its
    content words. An answer of the head alone is worth `CORE`, one with all words 1.
    """
    return Comparator("entity", _name, _names_agree, lambda value: value.struct.field("head").is_not_null())


def preference() -> Comparator:
    """A statement of preference: `CORE` for direction and main object, the rest for intensity and qualifier.

    The preferred side is what stands before `over`, `rather than`, `instead of`, `not`. The core agrees when the
    answer prefers at least half of what only the gold's preferred side says, nothing of what only its rejected side
    says, and does not reject the former.
    """
    return Comparator("preference", _statement, _statements_agree, lambda value: value.struct.field("whole") != "")


def head_and_rest(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The head of a name as `entity` reads it, and the stems of its other content words."""
    whole = entity().read(text)
    head = pl.coalesce(entity().read(text.str.extract(_QUALIFIER)), whole)
    return head, content(_words(whole)).list.set_difference(content(_words(head)))


def is_preference(text: str) -> bool:
    """Whether a text states a preference by a verb of preferring (or avoiding) at its beginning."""
    return _PREFERS.match(text) is not None


def set_of_names(frame: pl.DataFrame) -> pl.Series:
    """F1 over the best matches of `expected` and `given` (lists of texts), each pair compared as `name`.

    An element matches one other at most, the best that has no better match itself; elements that are the same name
    count once. Both empty is 1; no list at all is 0.
    """
    sides = {side: _elements(frame[side]) for side in ("expected", "given")}
    pairs = sides["expected"].join(sides["given"], on="row", suffix="_given")
    distinct = pairs.select("text", "text_given").unique(maintain_order=True)
    agreed = distinct.with_columns(compare(distinct, name(), "text", "text_given").alias("agreed"))
    left = pairs.join(agreed.filter(pl.col("agreed") > 0), on=["text", "text_given"])
    left = left.sort("row", -pl.col("agreed"), "place", "place_given")
    matched = [left.clear()]
    while left.height:
        # Best of both its sides: sorted so that the first of either is its best.
        first = [pl.struct("row", side).is_first_distinct() for side in ("place", "place_given")]
        matched.append(left.filter(*first))
        for side in ("place", "place_given"):
            left = left.join(matched[-1], on=["row", side], how="anti", maintain_order="left")
    rows = frame.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), pl.col("given").is_not_null().alias("told")
    )
    for side, elements in sides.items():
        rows = rows.join(elements.group_by("row").agg(pl.len().cast(pl.Float64).alias(side)), on="row", how="left")
    rows = rows.join(pl.concat(matched).group_by("row").agg(pl.col("agreed").sum()), on="row", how="left").sort("row")
    size = pl.col("expected").fill_null(0.0) + pl.col("given").fill_null(0.0)
    f1 = pl.when(size > 0).then(2 * pl.col("agreed").fill_null(0.0) / size).otherwise(1.0)
    return rows.select(pl.when("told").then(f1).otherwise(0.0).alias("set")).to_series()


def _elements(lists: pl.Series) -> pl.DataFrame:
    """(row, place, text) of the elements that are names, those that are the same name once."""
    rows = lists.rename("text").to_frame().with_row_index("row").explode("text").drop_nulls("text")
    read = rows.with_columns(entity().read(pl.col("text")).alias("same")).drop_nulls("same")
    once = read.unique(["row", "same"], keep="first", maintain_order=True).drop("same")
    return once.with_columns(pl.int_range(pl.len()).over("row").alias("place"))


def _words(text: pl.Expr) -> pl.Expr:
    return text.str.extract_all(_WORD)


def _name(text: pl.Expr) -> pl.Expr:
    whole = entity().read(text)
    head = pl.coalesce(entity().read(text.str.extract(_QUALIFIER)), whole)
    return pl.struct(
        stemmed(_words(whole)).list.join(" ").alias("whole"),
        stemmed(_words(head)).list.join(" ").alias("head"),
        content(_words(whole)).alias("words"),
        content(_words(head)).alias("core"),
    )


def _names_agree(gold: pl.Expr, answer: pl.Expr) -> pl.Expr:
    g, a = gold.struct.field, answer.struct.field
    in_gold, in_answer = _stands_in(a("head"), g("head")), _stands_in(g("head"), a("head"))
    sizes = [side("core").list.len() for side in (g, a)]
    enough = pl.min_horizontal(sizes) >= ENOUGH * pl.max_horizontal(sizes)
    shared = pl.when(in_gold).then(a("core")).otherwise(g("core"))
    detail = _f1(g("words").list.set_difference(shared), a("words").list.set_difference(shared))
    core = (in_gold | in_answer) & enough
    partial = pl.when(core).then(CORE + (1 - CORE) * detail).otherwise(0.0)
    return pl.when(g("whole") == a("whole")).then(1.0).otherwise(partial)


def _stands_in(short: pl.Expr, long: pl.Expr) -> pl.Expr:
    spaced = [pl.concat_str(pl.lit(" "), one, pl.lit(" ")) for one in (long, short)]
    return spaced[0].str.contains(spaced[1], literal=True).fill_null(False)


def _statement(text: pl.Expr) -> pl.Expr:
    plain = text.str.normalize("NFKC").str.to_lowercase()
    averse = plain.str.contains(_AVERSE)
    sides = plain.str.replace(_AVERSE, "").str.replace(_AGAINST, " \u241f ").str.split_exact("\u241f", 1).struct
    before, after = sides.field("field_0"), sides.field("field_1")
    compared = after.is_not_null()
    # The side ends at a comma; of one without another side, what comes after it qualifies.
    main = pl.when(compared).then(before.str.extract(r"(?s)([^,;]*)$")).otherwise(_before_qualifier(before))
    other = pl.when(compared).then(_before_qualifier(after)).otherwise(pl.lit(""))
    tail = pl.when(compared).then(after).otherwise(before).str.replace(r"(?s)^[^,;(\[–—]*", "")
    said = _words(main)
    liked = said.list.set_difference(pl.lit(sorted(LEADING)))
    strength = said.list.set_intersection(pl.lit(sorted(STRENGTH)))
    left, right = content(liked), content(_words(other))
    return pl.struct(
        _words(plain).list.join(" ").alias("whole"),
        pl.when(averse & ~compared).then(right).otherwise(left).alias("liked"),
        pl.when(averse & ~compared).then(left).otherwise(right).alias("rejected"),
        content(pl.concat_list(strength, _words(tail))).alias("rest"),
    )


def _before_qualifier(text: pl.Expr) -> pl.Expr:
    return text.str.extract(r"(?s)^([^,;(\[–—]*)")


def _statements_agree(gold: pl.Expr, answer: pl.Expr) -> pl.Expr:
    g, a = gold.struct.field, answer.struct.field
    own = g("liked").list.set_difference(g("rejected"))
    own = pl.when(own.list.len() > 0).then(own).otherwise(g("liked"))
    against = g("rejected").list.set_difference(g("liked"))
    hit = _shared(a("liked"), own)
    named = (hit > 0) & (hit >= ENOUGH * own.list.len())
    # Nothing is searched for inside a longer text: what is preferred is most of what is said to be.
    plain = MENTIONED * a("liked").list.len() <= _shared(a("liked"), g("liked"))
    turned = (_shared(a("liked"), against) > 0) | (_shared(a("rejected").list.set_difference(a("liked")), own) > 0)
    # What is avoided alone is told by what is avoided.
    avoided = (g("liked").list.len() == 0) & (a("liked").list.len() == 0)
    avoided &= _shared(a("rejected"), against) >= ENOUGH * against.list.len()
    core = pl.when(g("liked").list.len() > 0).then(named & plain & ~turned).otherwise(avoided)
    partial = pl.when(core).then(CORE + (1 - CORE) * _f1(g("rest"), a("rest"))).otherwise(0.0)
    return pl.when(g("whole") == a("whole")).then(1.0).otherwise(partial)


def _shared(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return left.list.set_intersection(right).list.len()


def _f1(gold: pl.Expr, answer: pl.Expr) -> pl.Expr:
    size = gold.list.len() + answer.list.len()
    return pl.when(size == 0).then(1.0).otherwise(2 * _shared(gold, answer) / size)
