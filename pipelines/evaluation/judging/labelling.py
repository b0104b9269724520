"""A slice labelled by people: a CSV sheet out, the same sheet filled in, labels back (ours).

The sheet is blind: it shows what the judge was shown and nothing of what it said, nor
of which system answered. Its `id` is a hash of all that is shown, so a label belongs to
that very answer: it survives a new judge, and never reaches another answer.
"""

import csv
import io
from collections.abc import Mapping

import polars as pl

from pipelines.evaluation.judging import PART, PARTS
from pipelines.evaluation.judging.rubric import contents
from pipelines.evaluation.leaderboard import csv_safe
from pipelines.hashing import key64, key64_column, mix64

SHOWN = ("question", "reference", "answer", "part", "expected", "given")
SHEET = ("id", *SHOWN, "label")
YES = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}
"""What a person may write as a label, in any letter case."""
LABELS: Mapping[str, pl.DataType | type[pl.DataType]] = {"content": pl.String, "label": pl.Boolean}
MOST_ERRORS, LONGEST = 20, 80
"""Faults that are told, and characters of a cell: shifted columns put whole histories where an id should be."""


class BadSheet(ValueError):
    """A filled-in sheet that cannot be used; one line for each fault, with the line of the file and the remedy."""


def slice_of(parts: pl.DataFrame, n: int, seed: int = 0) -> pl.DataFrame:
    """A simple random sample of `n` distinct contents of `parts` (all, when there are fewer), by a keyed hash.

    The rates of a judge hold for what it was labelled on, so the slice is drawn from all that is scored, and by nothing
    that anyone said of it. Columns: `content` and those of the sheet but `label`; in the order of the draw, which is
    independent of the order of rows.
    """
    shown = (
        parts.select(*PARTS)
        .join(contents(parts).select(*PART, "content"), on=PART, how="inner")
        .unique("content", keep="any")
    )
    key = key64("slice", "label")
    draw = mix64(key, key64(str(seed), "label"), key64_column(shown["content"], "label").to_numpy())
    return shown.with_columns(pl.Series("draw", draw)).sort("draw", "content").head(n).select("content", *SHOWN)


def sheet(drawn: pl.DataFrame) -> str:
    """The CSV to fill in: columns `SHEET`, `label` empty; text that a spreadsheet would run is disarmed."""
    blank = drawn.rename({"content": "id"}).with_columns(pl.lit("").alias("label")).select(SHEET)
    return csv_safe(blank.with_columns(pl.col(pl.String).fill_null(""))).write_csv(quote_style="non_numeric")


def read_sheet(text: str, parts: pl.DataFrame, name: str = "the sheet") -> pl.DataFrame:
    """Labels of a filled-in sheet: columns `LABELS`, sorted by content.

    `parts` is what may be labelled. Commas, semicolons or tabs part the columns; other columns than `id` and `label`
    are not read. Raises `BadSheet` naming every line with an unknown id, an empty or other label, or an id twice.
    """
    known = set(contents(parts)["content"])
    faults: list[str] = []
    labels: dict[str, tuple[bool, int]] = {}

    def fault(line: int, what: str) -> None:
        faults.append(f"{name}, line {line}: {what}")

    for line, row in _rows(text, name):
        found, said = row["id"].strip(), row["label"].strip()
        if found not in known:
            fault(line, f"id {found[:LONGEST]!r} is of no answer judged here; take the sheet drawn from these answers")
        elif not said:
            fault(line, "no label; write yes or no, or delete the line")
        elif said.lower() not in YES:
            fault(line, f"label {said[:LONGEST]!r} is neither yes nor no")
        elif found in labels:
            fault(line, f"id {found} is labelled before, in line {labels[found][1]}; keep one of the two")
        else:
            labels[found] = (YES[said.lower()], line)
    if faults:
        left = len(faults) - MOST_ERRORS
        raise BadSheet("\n".join(faults[:MOST_ERRORS] + ([f"and {left} more faults"] if left > 0 else [])))
    rows = [{"content": content, "label": label} for content, (label, _) in sorted(labels.items())]
    return pl.DataFrame(rows, schema=dict(LABELS))


def _rows(text: str, name: str) -> list[tuple[int, dict[str, str]]]:
    """The rows with the line on which each begins. Raises `BadSheet` on a file that is no such sheet."""
    # A cell holds what a judge was shown, which may be more than the module takes of one unless told.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    header = lines.readline()
    delimiter = max(",;\t", key=header.count)
    lines.seek(0)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    out: list[tuple[int, dict[str, str]]] = []
    columns: list[str] = []
    begin = 1
    try:
        for cells in reader:
            if not columns:
                columns = [cell.strip().lower() for cell in cells]
                if wrong := [column for column in ("id", "label") if columns.count(column) != 1]:
                    raise BadSheet(f"{name}, line 1: needs one column {' and one '.join(wrong)}; keep its header")
            elif any(cell.strip() for cell in cells):
                if len(cells) != len(columns):
                    raise BadSheet(f"{name}, line {begin}: {len(cells)} cells under {len(columns)} columns")
                out.append((begin, dict(zip(columns, cells, strict=True))))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise BadSheet(f"{name}, line {begin}: not CSV ({error}); save it as CSV again") from None
    if not columns:
        raise BadSheet(f"{name} is empty; it needs the sheet's header")
    return out
