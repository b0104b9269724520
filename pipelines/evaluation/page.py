"""The shell of a report: one HTML page that opens from disk, asks nothing of a network and shows every value as text.

A template of `templates/` that extends `page.html.j2` fills in what its track shows.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipelines.evaluation import plots

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_HIDDEN = re.compile(r"[\x80-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")


def page(
    template: str,
    *,
    card: Mapping[str, Any],
    funnel: Sequence[Mapping[str, Any]],
    provenance: Mapping[str, Any],
    cautions: Sequence[str],
    specs: Sequence[plots.Spec],
    **shown: Any,
) -> str:
    """The page of a template as text.

    `card` is the release card. `provenance` maps headings to a value, a mapping, a mapping of mappings or a list of
    mappings (one row each): hashes, versions, settings, models of the run; an empty list is left out. `specs` are the
    charts, which the template names by their place; `shown` is what else the template shows. Texts of `shown` and
    `funnel` are made visible by the caller.
    """
    return (
        _environment()
        .get_template(template)
        .render(
            card=visible(card),
            funnel=funnel,
            provenance=_sections(visible(provenance)),
            cautions=cautions,
            specs=specs,
            script=_script(),
            **shown,
        )
    )


def offered(**values: Sequence[str]) -> dict[str, list[str]]:
    """What a page can be filtered by: names (`data-<name>` in its template) that have several values."""
    return {name: list(dict.fromkeys(several)) for name, several in values.items() if len(set(several)) > 1}


def plain_page(template: str, **shown: Any) -> str:
    """A page without charts of a script, as text; texts of `shown` are made visible here."""
    return _environment().get_template(template).render(**shown)


def card_cautions(card: Mapping[str, Any]) -> list[str]:
    """What a release card warns of, as sentences."""
    shown = visible(card)
    out = [f"{what}: {why}" for what, why in sorted((shown.get("refusals") or {}).items())]
    return out + [str(warning) for warning in shown.get("warnings") or []]


def few(number: int, who: str) -> str:
    """The caution that a board of few users (`who`, one of them) needs."""
    return f"Only {number} {who}{'' if number == 1 else 's'}: intervals are rough, and absent with one."


def _sections(provenance: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables of the provenance: columns and rows."""
    sections, loose = [], []
    for title, value in provenance.items():
        if isinstance(value, list):
            columns = list(dict.fromkeys(name for inner in value for name in inner))
            rows = [[inner.get(name, "") for name in columns] for inner in value]
            sections += [{"title": title, "columns": columns, "rows": rows}] if rows else []
        elif not isinstance(value, Mapping):
            loose.append([title, value])
        elif value and all(isinstance(inner, Mapping) for inner in value.values()):
            columns = list(dict.fromkeys(name for inner in value.values() for name in inner))
            rows = [[key, *(inner.get(name, "") for name in columns)] for key, inner in value.items()]
            sections.append({"title": title, "columns": ["", *columns], "rows": rows})
        else:
            sections.append({"title": title, "columns": ["", "value"], "rows": [[k, v] for k, v in value.items()]})
    head = [{"title": "run", "columns": ["", "value"], "rows": loose}] if loose else []
    return head + sections


def visible(value: Any) -> Any:
    """The value with control, bidirectional, zero-width and hidden line characters of its texts made visible."""
    if isinstance(value, str):
        shown = _CONTROL.sub(lambda m: chr(0x2421 if m[0] == "\x7f" else 0x2400 + ord(m[0])), value)
        return _HIDDEN.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", shown)
    if isinstance(value, Mapping):
        return {visible(key): visible(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [visible(inner) for inner in value]
    return value


def visible_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with its texts and enums made visible."""
    enums = pl.selectors.enum() | pl.selectors.categorical()
    texts = frame.with_columns(enums.cast(pl.String)).select(pl.col(pl.String))
    return frame.with_columns(
        pl.Series(name, visible(texts[name].to_list()), dtype=pl.String) for name in texts.columns
    )


@cache
def _script() -> Markup:
    """Vega, Vega-Lite and Vega-Embed as one script; text that would end the element is broken up."""
    return Markup(
        re.sub(
            r"</(script)", r"<\\/\1", vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"), flags=re.IGNORECASE
        )
    )


def _finished(value: Any) -> Any:
    """What a template writes: texts that nobody made visible before are."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _number(value: Any, digits: int = 3) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.{digits}f}"
    return f"{value:,.0f}" if isinstance(value, (int, float)) else str(value)


def _fixed(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:z.{digits}f}"


def _price(value: float | None) -> str:
    """USD: parts of a cent to the millionth."""
    return "no price" if value is None else f"{value:,.6f}" if 0 < value < 0.01 else f"{value:,.4f}"


def _interval(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "no interval" if low is None else f"{low:.3f} to {high:.3f}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipelines.evaluation", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finished,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "fixed": _fixed, "price": _price}
    environment.globals |= {"interval": _interval}
    return environment
