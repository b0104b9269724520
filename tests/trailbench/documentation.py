"""README and docs as a reader has them: pages, code blocks, and commands as the words of a shell."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8")
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROGRAMS = ("trailbench", "make", "inspect")
"""What a command in running text begins with."""
MENTIONED = ("trailbench build", "trailbench audit", "inspect eval")
"""Names in running text that stand for a command, and are none that one would type."""

SMALLER = {
    # A user of full size is 1,800 logs and 135 states; the third quarter is the one that README explains.
    "--users 10 ": "--users 1 --windows 3 --states 2 --logs 0 ",
    "--users 1000 ": "--users 2 --windows 3 --states 2 --logs 0 ",
    # The fewest whose trades are far enough apart for the filters of the default settings to leave some.
    "--wallets 1000 ": "--wallets 160 ",
}
"""Sizes in commands that would take minutes → the sizes by which tests run them."""

SMALLER_FILES = {
    # Every arm is a run of the DAG. Configurations and methods that are left out run in other experiments and tests;
    # tests/trailbench/test_readme.py reads the files whole.
    "mine.yaml": {"budgets: [300, 600]": "budgets: [600]"},
    "models.yaml": {
        "budgets: [300, 600, 1200]": "budgets: [300]",
        "  empty: [{}]\n  frequency_profile: [{}]\n  rag_dense: [{}]\n": "",
        "{ladder: false}, {maintenance: false}, {implicit: false}, ": "",
        "users: 20": "users: 2",
        "batches: 6 ": "batches: 2 ",
        "readings: 500": "readings: 3",
        ", embedding]": "]",
    },
    "judged.yaml": {"judged: 20": "judged: 3", "users: 50": "users: 3"},
    "behaviormem.yaml": {
        "  empty: [{}]\n  shuffled_user: [{}]\n  long_context: [{}]\n  frequency_profile: [{}]\n": "",
        "  rag_bm25: [{}]\n  rag_dense: [{}]\n  profile_gen: [{}]\n": "",
        "    - {explicit: false}\n    - {implicit: false}\n    - {closed_kinds: false}      # T1 and T2 masked\n": "",
        "    - {maintenance: false}\n": "",
        "users: all": "users: 2",
    },
    "dynamic.yaml": {
        "empty: [{}], long_context: [{}], ": "",
        "rag_top20: [{}], ": "",
        "judged: 200": "judged: 3",
        "readings: 300": "readings: 20",
    },
    "interfaces.yaml": {", profile: [{}], retrieval: [{}]": "", "split: test": "split: test\nreadings: 20"},
}
"""File of the docs → text in it that would take minutes → the text by which tests run it."""


def block(begins: str) -> str:
    """The code block whose first line begins so; there is one."""
    found = [text for page in PAGES.values() for _, text in BLOCK.findall(page) if text.startswith(begins)]
    assert len(found) == 1, begins
    return str(found[0])


def commands() -> dict[str, str]:
    """Command, in single spaces and without its comment → the first page that shows it.

    In code blocks of no language every line is one; in running text what stands between backticks.
    """
    found: dict[str, str] = {}
    for page, text in PAGES.items():
        lines = [line for language, inside in BLOCK.findall(text) if not language for line in inside.splitlines()]
        inline = re.findall(r"`([^`]+)`", BLOCK.sub("", text))
        lines += [one for one in inline if one.split()[0] in PROGRAMS and " " in one and one not in MENTIONED]
        for line in lines:
            found.setdefault(" ".join(re.sub(r"\s#.*", "", line).split()), page)
    return found


def documented(command: str, fill: Mapping[str, object] = {}) -> list[str]:
    """The words of a command that README or docs show, with the values of `fill` in the place of its keys, and the
    names of files in the place of patterns.

    Every test that runs a documented command takes it from here, or by `walk` (walking.py), as it stands on the page:
    tests/trailbench/test_documented_commands.py looks for these calls.
    """
    assert command in commands(), f"neither README nor docs show: {command}"
    for there, here in fill.items():
        assert there in command, f"no {there} in: {command}"
        command = command.replace(there, shlex.quote(str(here)))
    for there, here in SMALLER.items():
        command = command.replace(there, here)
    words = shlex.split(command)
    return [one for word in words for one in (map(str, sorted(Path().glob(word))) if "*" in word else [word])]


def save(name: str, folder: Path = Path()) -> Path:
    """Write the file of a code block that begins with `# NAME` into a folder, smaller as `SMALLER_FILES` says."""
    text = block(f"# {name}")
    for there, here in SMALLER_FILES.get(name, {}).items():
        assert there in text, f"no {there!r} in {name}"
        text = text.replace(there, here)
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file
