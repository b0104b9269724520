"""The sheet that people fill in: blind, read back exactly, and every fault named with its line."""

import csv
import io

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging_world import judgment, part, parts, said
from scripted_model import ScriptedModel

from pipelines.evaluation.judging.calibration import calibrate, correct
from pipelines.evaluation.judging.core_detail import CORE_DETAIL
from pipelines.evaluation.judging.labelling import SHEET, BadSheet, read_sheet, sheet, slice_of
from pipelines.evaluation.judging.rubric import RubricJudge, contents
from resources.tokenizer import load_tokens

MANY = parts(*(part(f"i{n:02}", user=f"u{n % 7}", answer=f"answer {n}", given=f"{n}") for n in range(40)))


def rows(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def filled(text: str, label, delimiter: str = ",", line_end: str = "\r\n") -> str:
    """The sheet as a spreadsheet writes it back, `label` of each row's place."""
    out = io.StringIO()
    writer = csv.DictWriter(out, SHEET, delimiter=delimiter, lineterminator=line_end)
    writer.writeheader()
    writer.writerows(row | {"label": label(place)} for place, row in enumerate(rows(text)))
    return out.getvalue()


def test_a_sheet_goes_out_and_comes_back() -> None:
    drawn = slice_of(MANY, 10)
    text = sheet(drawn)
    assert tuple(rows(text)[0]) == SHEET and len(rows(text)) == 10
    assert {row["label"] for row in rows(text)} == {""}
    found = read_sheet(filled(text, lambda place: "Yes" if place < 4 else "no"), MANY)
    assert found["label"].sum() == 4 and set(found["content"]) == set(drawn["content"])
    assert dict(found.rows()) == {row["id"]: place < 4 for place, row in enumerate(rows(text))}
    assert found["content"].is_sorted()


def test_a_sheet_is_blind() -> None:
    marked = MANY.with_columns(pl.concat_str(pl.lit("SYSTEM NAME "), "item").alias("item"), gate=pl.lit(True))
    text = sheet(slice_of(marked, 40))
    assert "SYSTEM" not in text and not {"user_id", "item", "gate", "judge", "verdict"} & set(rows(text)[0])
    # Whoever gave the answer, the sheet is the same.
    assert text == sheet(slice_of(MANY, 40))


def test_the_slice_is_drawn_by_hash_from_distinct_contents() -> None:
    drawn = slice_of(MANY, 12)
    for seed in range(3):
        assert slice_of(MANY.sample(fraction=1, shuffle=True, seed=seed), 12).equals(drawn)
    assert slice_of(MANY, 30).head(12).equals(drawn) and slice_of(MANY, 99).height == 40
    assert set(slice_of(MANY, 12, seed=1)["content"]) != set(drawn["content"])
    twice = pl.concat([MANY, MANY.with_columns(pl.concat_str(pl.lit("again "), "item").alias("item"))])
    assert slice_of(twice, 99).height == 40
    # Every answer is as likely: of 300 draws of a quarter each is in 75 ± 5 standard deviations.
    counts = pl.concat([slice_of(MANY, 10, seed=seed) for seed in range(300)])["content"].value_counts()["count"]
    assert len(counts) == 40 and counts.min() > 75 - 38 and counts.max() < 75 + 38


@pytest.mark.parametrize(("delimiter", "line_end"), [(",", "\n"), (";", "\r\n"), ("\t", "\r\n")])
def test_what_spreadsheets_write_is_read(delimiter: str, line_end: str) -> None:
    text = filled(
        sheet(slice_of(MANY, 6)), lambda place: ["yes", "NO", " y ", "0", "True", "n"][place], delimiter, line_end
    )
    found = read_sheet("\ufeff" + text + line_end, MANY)
    assert found.height == 6 and found["label"].sum() == 3


def test_a_sheet_whose_cells_are_as_long_as_a_judges_context_is_read() -> None:
    long = parts(part("i", reference="a visit to the shop | " * 20_000))
    blank = sheet(slice_of(long, 1))
    assert blank.endswith('""\n')
    assert read_sheet(f'{blank[:-3]}"yes"\n', long)["label"].to_list() == [True]


def test_a_sheet_with_shifted_columns_is_refused_in_few_words() -> None:
    shifted = "id,label\n" + "".join(f"{'a visit ' * 4_000},{'yes ' * 4_000}\n" for _ in range(30))
    with pytest.raises(BadSheet, match="line 2: id 'a visit a visit") as told:
        read_sheet(shifted, MANY)
    assert len(str(told.value)) < 5_000 and "and 10 more faults" in str(told.value)


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=30), lead=st.sampled_from(["", "=", "+", "-", "@", "\t", "\r", '"', "'", "a\nb;,"]))
def test_any_text_survives_beside_its_label_and_no_cell_is_a_formula(text: str, lead: str) -> None:
    hostile = parts(part("i", answer=lead + text.replace("\x00", ""), question=lead, given=lead or None))
    out = sheet(slice_of(hostile, 5))
    cells = [cell for row in csv.reader(io.StringIO(out, newline="")) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    assert read_sheet(filled_raw(out), hostile).rows() == [(contents(hostile)["content"][0], True)]


def filled_raw(text: str) -> str:
    """The one row of a sheet, its last cell filled in, all else byte for byte."""
    assert text.endswith('""\n')
    return text.removesuffix('""\n') + '"yes"\n'


GOOD = contents(MANY)["content"].to_list()


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (f"id,label\n{GOOD[0]},yes\n{GOOD[1]},\n", ["line 3: no label; write yes or no"]),
        (f"id,label\n{GOOD[0]},maybe\n", ["line 2: label 'maybe' is neither yes nor no"]),
        ("id,label\nffff,yes\n", ["line 2: id 'ffff' is of no answer judged here"]),
        (f"id,label\n{GOOD[0]},yes\n{GOOD[1]},no\n{GOOD[0]},yes\n", ["line 4: id", "labelled before, in line 2"]),
        (f'id,note,label\n{GOOD[0]},"two\nlines",yes\n{GOOD[1]},"",2\n', ["line 4: label '2'"]),
        (f"id,label\n{GOOD[0]},yes,no\n", ["line 2: 3 cells under 2 columns"]),
        (f"id\n{GOOD[0]}\n", ["line 1: needs one column label"]),
        ("a,b\n1,2\n", ["line 1: needs one column id and one label"]),
        ("id,label,label\n", ["line 1: needs one column label"]),
        ("", ["is empty"]),
        (f'id,label\n{GOOD[0]},"yes\n', ["line 2: not CSV"]),
        ("id,label\n" + "x,yes\n" * 30, ["line 2: id 'x'", "line 21: id 'x'", "and 10 more faults"]),
    ],
)
def test_every_fault_is_named_with_its_line_and_what_to_do(text: str, faults: list[str]) -> None:
    with pytest.raises(BadSheet) as raised:
        read_sheet(text, MANY, "labels.csv")
    message = str(raised.value)
    assert message.startswith("labels.csv")
    assert all(fault in message for fault in faults), message


def test_labels_never_reach_another_answer() -> None:
    text = filled(sheet(slice_of(MANY, 40)), lambda place: "yes")
    changed = MANY.with_columns(
        pl.when(pl.col("item") == "i07").then(pl.lit("another answer")).otherwise("answer").alias("answer")
    )
    with pytest.raises(BadSheet) as raised:
        read_sheet(text, changed)
    assert str(raised.value).count("is of no answer judged here") == 1


def test_an_empty_sheet_labels_nothing() -> None:
    assert read_sheet("id,label\n\n", MANY).is_empty()


def test_from_answers_to_a_corrected_score() -> None:
    """A judge that calls every seventh right answer wrong and every fifth wrong one right."""
    truth = [n % 2 == 0 for n in range(40)]

    def script(request) -> str:
        n = int(request.messages[1].text.split("answer ")[1].split("\n")[0])
        return said(judgment("p01", (n % 7 > 0) if truth[n] else (n % 5 == 0)))

    verdicts = RubricJudge(ScriptedModel(script), CORE_DETAIL, load_tokens()).verdicts(MANY)
    right = {row["id"]: truth[int(row["given"])] for row in rows(sheet(slice_of(MANY, 40)))}
    ids = [row["id"] for row in rows(sheet(slice_of(MANY, 40)))]
    labelled = read_sheet(filled(sheet(slice_of(MANY, 40)), lambda place: "yes" if right[ids[place]] else "no"), MANY)
    found = calibrate(verdicts, labelled, "core_correct")
    # Of 20 right answers 0, 14, 28 are called wrong; of 20 wrong ones 5, 15, 25, 35 right.
    assert (found.tpr.value, found.tnr.value) == (17 / 20, 16 / 20)
    corrected = correct(verdicts, found)
    assert corrected.raw.value == 21 / 40 and corrected.corrected.value == pytest.approx(0.5)
