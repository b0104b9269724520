"""YAML that people write: where it is wrong, and what a few lines of aliases may come to."""

from pathlib import Path

import pytest

from pipelines.yaml_text import MOST, BadYaml, read_yaml, read_yaml_file


def aliases(levels: int, width: int = 9) -> str:
    """A list of lists: each level holds the one above `width` times."""
    lines = [f"l0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"l{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_aliases_that_stand_for_too_much_are_refused_at_their_line() -> None:
    # A level of width 9 and n further ones is (9^(n+2) - 1) / 8 values: 66,430 at the fifth, 597,871 at the sixth.
    assert 66_430 < MOST < 597_871
    with pytest.raises(BadYaml, match=r"^f, line 6: comes to more than 100,000 values; write fewer aliases"):
        read_yaml(aliases(9), "f")
    assert len(read_yaml(aliases(4), "f")["l3"]) == 9
    merged = "o: &o {k: 1}\ni: {j: &y {<<: *o, l: 2}}\nz: {<<: *y, k: 3}\n"
    assert read_yaml(merged, "f")["z"] == {"k": 3, "l": 2}, "what is merged is not given twice"
    assert read_yaml("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", "f")["c"] == {"b": 1, "d": 2}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("name: caf\u00e9".encode("latin-1"), r"f.yaml: is not UTF-8 \(byte 9\); save it as UTF-8"),
        ("a: 1\n".encode("utf-16"), r"f.yaml: is not UTF-8 \(byte 0\)"),
        (b"[" * 5_000, r"f.yaml: is nested too deep"),
        (b"a: " + b"1" * 5_000, r"f.yaml, line 1: not YAML: Exceeds the limit"),
        (b"b: 1\na: 2024-02-30\n", r"f.yaml, line 2: not YAML: day is out of range"),
        (b"b: 1\na: 1:30\n", r"f.yaml, line 2: 1:30 is read as a number to base 60; put it in quotes"),
        (b"a: [1:30.5]\n", r"f.yaml, line 1: 1:30.5 is read as a number to base 60"),
        (b"a: 1\nb: 010\n", r"f.yaml, line 2: 010 is read as a number to base 8; put it in quotes"),
        (b"a: [no]\n", r"f.yaml, line 1: no is read as true or false; put it in quotes, or write true or false"),
        (b"a: !!set {b}\n", r"f.yaml, line 1: !!set has no meaning here; write a list or a map"),
        (b"a: {b: 1, b: 2}\n", r"f.yaml, line 1: b is given twice"),
        (b"a: 1\nb: {1: x, 0x1: y}\n", r"f.yaml, line 2: 0x1 is given twice"),
        (b"b: !!bool abc\n", r"f.yaml, line 1: !!bool is no tag for 'abc'"),
        (b"b: !!timestamp abc\n", r"f.yaml, line 1: !!timestamp is no tag for 'abc'"),
        (b'b: !!int ""\n', r"f.yaml, line 1: !!int is no tag for ''"),
        (b'b: "\\U00110000"\n', r"f.yaml: not YAML: a character that there is not"),
        (b"a: 0x" + b"f" * 16 + b"\n", r"f.yaml, line 1: a number beyond 64 bits"),
        (b"a: \x00\n", r"f.yaml: not YAML: .*special characters"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_file(data: bytes, says: str, tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(data)
    with pytest.raises(BadYaml, match=says):
        read_yaml_file(file)


def test_a_mark_before_the_text_and_an_empty_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_yaml_file(file) == {"a": 1}
    assert read_yaml("# nothing\n", "f") is None
    assert read_yaml("a: '1:30'\nb: 07:30:00\n", "f") == {"a": "1:30", "b": "07:30:00"}
    plain = "{a: 0, b: -0, c: 10, d: '010', e: true, f: False, g: 'no', h: 0x1F, i: 0.10}"
    values = {"a": 0, "b": 0, "c": 10, "d": "010", "e": True, "f": False, "g": "no", "h": 31, "i": 0.1}
    assert read_yaml(plain, "f") == values
