"""The card of an exported release: YAML that dataset viewers read, and a page for people (ours).

Layout of the YAML: the dataset cards of the Hugging Face Hub (`configs`, `license`, `tags`, `size_categories`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import yaml

from pipelines.exports.markdown import escaped, section, table
from pipelines.tables import Column, Table

LICENSES = frozenset(
    {
        *("apache-2.0", "mit", "bsd-3-clause", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "pddl"),
        *("cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-4.0", "odbl", "odc-by", "cdla-permissive-2.0", "unknown"),
    }
)
"""Identifiers that hubs know; another one is written as `other`, with its name beside."""
UNKNOWN = "unknown"
WHOLE = "whole"
"""Split of a table that has none."""
_LICENSE = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
_SIZES = ((10**3, "1K"), (10**4, "10K"), (10**5, "100K"), (10**6, "1M"), (10**7, "10M"), (10**8, "100M"), (10**9, "1B"))
_TITLES = {
    "settings": "Thresholds",
    "statistics": "Counts, beside those of the paper",
    "funnel": "What went in, stayed and left",
    "facts": "What to know of the construction",
    "refusals": "What this log cannot support",
    "warnings": "Warnings",
}
GOLD_CAUTION = (
    "**`gold/` holds the answers.** Only scoring may read it. A method, a prompt or a training set that has seen it is "
    "not evaluated by this benchmark any more. Keep the folder apart, and do not publish it where models are trained."
)
NO_GOLD = "The answers are not in this folder: they are exported by `--gold` only, into a folder of their own."
LIVES = (
    "Tables of events hold whole lives, what comes after a question included: that is where outcomes come from. "
    "What a method may be shown at a question ends where the table of questions says, strictly before its cut."
)


class BadLicense(ValueError):
    """A license that is no identifier."""


@dataclass(frozen=True)
class Subset:
    """One exported table: its name outside, its Parquet files, and what it holds.

    `splits` maps a split to its number of rows, `columns` a column to its type as it leaves.
    """

    name: str
    table: Table
    splits: Mapping[str, int]
    columns: Mapping[str, str]

    @property
    def gold(self) -> bool:
        """Whether only scoring may read it."""
        return self.table.wall == "gold"

    @property
    def config(self) -> str:
        """Name of its configuration."""
        return f"gold-{self.name}" if self.gold else self.name

    @property
    def folder(self) -> str:
        """Its folder inside the export."""
        return f"{'gold' if self.gold else 'data'}/{self.name}"


def license_fields(stated: str) -> dict[str, str]:
    """The license in front matter. Raises `BadLicense` for what is no identifier such as `cc-by-4.0`."""
    if not _LICENSE.fullmatch(stated):
        raise BadLicense(f"license {stated!r}: write an identifier of lower-case letters, digits, . _ -, as cc-by-4.0")
    return {"license": stated} if stated in LICENSES else {"license": "other", "license_name": stated}


def size_category(rows: int) -> str:
    """The hub's name for a number of rows."""
    below = "n"
    for limit, name in _SIZES:
        if rows < limit:
            return f"{below}<{name}" if below == "n" else f"{below}<n<{name}"
        below = name
    return "n>1B"


def front_matter(manifest: Mapping[str, Any], stated: str, tags: Sequence[str], subsets: Sequence[Subset]) -> str:
    """The YAML head of a card, its lines `---` included; one configuration a subset."""
    head: dict[str, Any] = {
        "pretty_name": f"trailbench {manifest['track']} {manifest['release']}",
        **license_fields(stated),
        "tags": ["trailbench", "user-memory", "benchmark", manifest["track"], *tags],
    }
    if subsets:
        head["size_categories"] = [size_category(sum(sum(one.splits.values()) for one in subsets))]
        head["configs"] = [
            {
                "config_name": one.config,
                "data_files": [
                    {"split": split, "path": f"{one.folder}/{split}-*.parquet"}
                    for split, rows in one.splits.items()
                    if rows
                ],
            }
            for one in subsets
            # A loader takes a split without rows for a mistake, so that none is named; its file is there.
            if any(one.splits.values())
        ]
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=False, width=10**6)}---\n"


def release_facts(manifest: Mapping[str, Any], card: Mapping[str, Any], origin: Mapping[str, Any], stated: str) -> str:
    """Where a release comes from, by which thresholds, what it counts and what to beware of, as Markdown."""
    license_said = (
        "unknown: nobody stated one. Whoever passes this on must ask for that of the source log."
        if stated == UNKNOWN
        else f"{stated}, as stated by whoever exported it"
    )
    identity = {
        "release": manifest["release"],
        "content hash": manifest["content_hash"],
        "track": manifest["track"],
        **origin,
        "license": license_said,
    }
    parts = ["## Origin", section(identity)]
    for name in sorted(card, key=lambda name: list(_TITLES).index(name) if name in _TITLES else len(_TITLES)):
        if name not in ("release", "track") and card[name]:
            parts += [f"## {_TITLES.get(name, name.replace('_', ' ').capitalize())}", section(card[name])]
    return "\n\n".join(parts)


def dataset_card(
    manifest: Mapping[str, Any],
    card: Mapping[str, Any],
    origin: Mapping[str, Any],
    subsets: Sequence[Subset],
    stated: str = UNKNOWN,
) -> str:
    """README.md of a data folder: front matter, facts of the release, and every table with its columns."""
    gold = any(one.gold for one in subsets)
    listed = table(
        ["configuration", "rows", "what it holds"],
        ((one.config, ", ".join(_rows(one)), one.table.meaning) for one in subsets),
    )
    parts = [
        f"# trailbench {escaped(manifest['track'])} {escaped(manifest['release'])}",
        "A frozen benchmark of user memory, built from behaviour logs by trailbench. One configuration a table:",
        f'```python\nfrom datasets import load_dataset\n\nrows = load_dataset("PATH", "{_first(subsets)}")\n```',
        listed,
        "## Cautions",
        *(f"- {text}" for text in (GOLD_CAUTION if gold else NO_GOLD, LIVES)),
        release_facts(manifest, card, origin, stated),
        "## Columns",
        "Bytes are hex text with 0x, token ids decimal text, times UTC; a split `whole` is a table without splits.",
    ]
    for one in subsets:
        parts += [f"### {escaped(one.config)}", table(["column", "type", "unit", "meaning"], _dictionary(one))]
    return front_matter(manifest, stated, ["gold"] if gold else [], subsets) + "\n" + "\n\n".join(parts) + "\n"


def _dictionary(one: Subset) -> Iterator[tuple[str, ...]]:
    for name, dtype in one.columns.items():
        # Rows of a table of drops also say which drop they are from.
        known = one.table.columns.get(name, Column(pl.String, "drop"))
        yield name, dtype, known.unit, known.meaning


def _rows(one: Subset) -> list[str]:
    return [f"{rows}" if split == WHOLE else f"{split} {rows}" for split, rows in one.splits.items()]


def _first(subsets: Sequence[Subset]) -> str:
    return next((one.config for one in subsets if any(one.splits.values())), "CONFIGURATION")
