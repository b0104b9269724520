"""Prompt files: what they must hold, and that filled-in data stays data."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.prompts import BadPrompt, fill, load, parse, prompts_hash

HEAD = "version: 3\n---\n"


def shipped() -> list[str]:
    root = files("pipelines.prompts")
    found, folders = [], [("", root)]
    while folders:
        path, folder = folders.pop()
        for entry in folder.iterdir():
            if entry.is_dir():
                folders.append((f"{path}{entry.name}/", entry))
            elif entry.name.endswith(".md"):
                found.append(path + entry.name.removesuffix(".md"))
    return sorted(found)


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_prompt_can_be_loaded(name: str) -> None:
    prompt = load(name)
    assert prompt.name == name and prompt.text.strip() and prompt.version


def test_a_prompt_is_its_head_and_its_text() -> None:
    prompt = parse("a/b", HEAD + "Hello {{who}},\nyou have {{n}}.\n")
    assert (prompt.name, prompt.version, prompt.text) == ("a/b", "3", "Hello {{who}},\nyou have {{n}}.")
    assert prompt.slots == {"who", "n"}
    assert fill(prompt, who="Ada", n="2") == "Hello Ada,\nyou have 2."


def test_line_ends_change_neither_text_nor_hash_and_a_version_does() -> None:
    unix, dos = parse("a", HEAD + "x\ny\n"), parse("a", (HEAD + "x\ny\n").replace("\n", "\r\n"))
    assert unix == dos
    assert parse("a", "version: 4\n---\nx\ny\n").sha256 != unix.sha256
    # Known: printf 'version: 3\n---\nx\ny\n' | sha256sum
    assert unix.sha256 == "3a9339a2b32b11ce66c16f49d36649e141428d6eb7d64e928924d1029afa537d"


@given(value=st.text())
def test_what_fills_a_slot_is_never_read_again(value: str) -> None:
    prompt = parse("a", HEAD + "[{{one}}][{{two}}][{{one}}]")
    assert fill(prompt, one="{{two}}" + value, two=value) == f"[{{{{two}}}}{value}][{value}][{{{{two}}}}{value}]"


def test_backslashes_and_group_references_are_text() -> None:
    assert fill(parse("a", HEAD + "{{x}}"), x=r"\1 \g<0> \n") == r"\1 \g<0> \n"


def test_json_in_a_prompt_is_no_slot() -> None:
    assert fill(parse("a", HEAD + '{"a": {"b": 1}} {{x}}'), x="1") == '{"a": {"b": 1}} 1'


@pytest.mark.parametrize("given_slots, said", [({}, "nothing given for x"), ({"x": "1", "y": "2"}, "no slot y")])
def test_slots_that_do_not_fit_are_refused(given_slots: dict[str, str], said: str) -> None:
    with pytest.raises(BadPrompt, match=said):
        fill(parse("a", HEAD + "{{x}}"), **given_slots)


@pytest.mark.parametrize("content", ["no head", "version:\n---\nx", "version: 1\nx", HEAD + "{{ Name }}", HEAD + "{{x"])
def test_a_file_written_wrongly_is_refused(content: str) -> None:
    with pytest.raises(BadPrompt):
        parse("a", content)


@pytest.mark.parametrize("name", ["../secrets", "/etc/passwd", "a//b", "Reader", "", "no_such_prompt"])
def test_only_files_of_the_package_can_be_loaded(name: str) -> None:
    with pytest.raises(BadPrompt):
        load(name)


def test_the_hash_of_several_depends_on_each_and_on_no_order() -> None:
    a, b = parse("a", HEAD + "x"), parse("b", HEAD + "y")
    assert prompts_hash(a, b) == prompts_hash(b, a)
    assert len({prompts_hash(a), prompts_hash(b), prompts_hash(a, b), prompts_hash(a, parse("b", HEAD + "z"))}) == 4
