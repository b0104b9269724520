"""The drop folder: nothing half-written is read, nothing is read twice, a change is noticed."""

import gzip
import json
import os
from pathlib import Path

import pytest

from resources.drops import DropError, DropRegister, current
from resources.inbox import Look, look

SOURCES = ["taobao", "mapping"]


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "inbox" / "taobao").mkdir(parents=True)
    return tmp_path / "inbox"


def looked(inbox: Path, before: Look | None = None, limit: int = 50) -> Look:
    register = DropRegister(inbox.parent / "drops")
    return look(inbox, register, SOURCES, before.memory if before else {}, limit)


def write(path: Path, text: str = "1,2,3,pv,1511544070\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_bare_file_is_taken_once_it_stands_still(inbox: Path) -> None:
    file = write(inbox / "taobao" / "log.csv")
    first = looked(inbox)
    assert not first.ready and list(first.waiting) == [str(file)]
    second = looked(inbox, first)
    assert [drop.source for drop in second.ready] == ["taobao"]
    assert second.ready[0].verify() == [file]
    assert looked(inbox, second).ready == ()


def test_a_growing_file_is_not_taken(inbox: Path) -> None:
    file = write(inbox / "taobao" / "log.csv")
    first = looked(inbox)
    write(file, file.read_text() * 2)
    second = looked(inbox, first)
    assert not second.ready and str(file) in second.waiting
    assert len(looked(inbox, second).ready) == 1


def test_unfinished_and_hidden_names_are_never_drops(inbox: Path) -> None:
    for name in ("log.csv.partial", ".log.csv", "log.tmp", "log.crdownload"):
        write(inbox / "taobao" / name)
    first = looked(inbox)
    assert (first.ready, dict(first.waiting), looked(inbox, first).ready) == ((), {}, ())


def test_a_file_renamed_into_place_is_taken(inbox: Path) -> None:
    part = write(inbox / "taobao" / ".log.csv.partial")
    before = looked(inbox)
    part.replace(inbox / "taobao" / "log.csv")
    assert len(looked(inbox, looked(inbox, before)).ready) == 1


def test_the_same_content_under_another_name_is_the_same_drop(inbox: Path) -> None:
    write(inbox / "taobao" / "a.csv")
    first = looked(inbox, looked(inbox))
    write(inbox / "taobao" / "b.csv")
    second = looked(inbox, looked(inbox, first))
    assert [drop.id for drop in second.ready] == [drop.id for drop in first.ready]


def test_a_changed_file_under_the_same_name_is_a_new_drop_and_is_reported(inbox: Path) -> None:
    file = write(inbox / "taobao" / "log.csv")
    first = looked(inbox, looked(inbox))
    write(file, "1,2,3,pv,1511544071\n9,9,9,pv,1511544071\n")
    second = looked(inbox, looked(inbox, first))
    assert second.changed == (str(file),)
    assert second.ready[0].id != first.ready[0].id
    with pytest.raises(DropError, match="changed since drop"):
        first.ready[0].verify()


def test_touching_a_file_is_no_new_content(inbox: Path) -> None:
    file = write(inbox / "taobao" / "log.csv")
    first = looked(inbox, looked(inbox))
    os.utime(file, ns=(1, 10**18))
    second = looked(inbox, looked(inbox, first))
    assert [drop.id for drop in second.ready] == [first.ready[0].id]


def test_a_manifest_waits_for_its_files_and_their_bytes(inbox: Path) -> None:
    folder = inbox / "taobao"
    manifest = {"source": "taobao", "files": [{"name": "part1.csv", "bytes": 20}, {"name": "part2.csv"}]}
    write(folder / "day.manifest.json", json.dumps(manifest))
    assert "part1.csv" in looked(inbox).waiting[str(folder / "day.manifest.json")]
    write(folder / "part1.csv", "1,2,3,pv,15115")
    write(folder / "part2.csv")
    assert "14 of 20 bytes" in looked(inbox).waiting[str(folder / "day.manifest.json")]
    write(folder / "part1.csv", "1,2,3,pv,1511544070\n")
    seen = looked(inbox)
    assert [len(drop.files) for drop in seen.ready] == [2]
    assert looked(inbox, seen).ready == ()


def test_a_folder_is_one_drop_and_tables_belong_to_every_drop(inbox: Path) -> None:
    write(inbox / "taobao" / "week1" / "a.csv")
    write(inbox / "taobao" / "week1" / "deep" / "b.csv", "2,2,3,pv,1511544070\n")
    write(inbox / "taobao" / "_tables" / "items.csv", "item\n")
    ready = looked(inbox, looked(inbox)).ready
    assert [{Path(file.path).name for file in drop.files} for drop in ready] == [{"a.csv", "b.csv", "items.csv"}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "Expecting"),
        ('{"files": []}', "list"),
        ("[1]", "list"),
        ('{"files": ["../../drops/x"]}', "outside"),
        ('{"source": "rees46", "files": ["a.csv"]}', "says source"),
    ],
)
def test_a_bad_manifest_is_a_problem_and_the_others_go_on(inbox: Path, text: str, says: str) -> None:
    write(inbox / "taobao" / "bad.manifest.json", text)
    write(inbox / "taobao" / "good.csv")
    seen = looked(inbox, looked(inbox))
    assert len(seen.ready) == 1
    assert [says in problem and "bad.manifest.json" in problem for problem in seen.problems] == [True]


def test_an_unknown_source_folder_is_named_with_the_known_ones(inbox: Path) -> None:
    write(inbox / "taobo" / "a.csv")
    assert "taobao" in looked(inbox).problems[0]


def test_links_and_pipes_do_not_stop_a_look(inbox: Path) -> None:
    folder = inbox / "taobao"
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "dangling").symlink_to(folder / "nowhere")
    (folder / "outside.csv").symlink_to(write(inbox.parent / "elsewhere.csv"))
    os.mkfifo(folder / "pipe")
    log = write(folder / "a ü folder" / "a log.csv")
    (log.parent / "itself").symlink_to(log.parent)
    second = looked(inbox, looked(inbox))
    assert [drop.verify() for drop in second.ready] == [[log]]
    assert len(second.problems) == 1 and "outside.csv is outside" in second.problems[0]


@pytest.mark.parametrize(
    ("error", "problems"),
    [(FileNotFoundError(2, "gone"), []), (PermissionError(13, "Permission denied"), ["Permission denied"])],
)
def test_a_file_that_vanishes_or_cannot_be_read_does_not_stop_the_others(
    inbox: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, problems: list[str]
) -> None:
    good, bad = write(inbox / "taobao" / "good.csv"), write(inbox / "taobao" / "bad.csv")
    first = looked(inbox)
    plain = Path.stat

    def stat(path: Path, **how: bool) -> os.stat_result:
        if path == bad and how == {}:
            raise error
        return plain(path, **how)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(Path, "is_file", lambda path: path.suffix == ".csv")
    second = looked(inbox, first)
    assert [drop.files[0].path for drop in second.ready] == [str(good)]
    assert len(second.problems) == len(problems) and all(text in second.problems[0] for text in problems)


def test_a_look_is_bounded_and_the_next_goes_on(inbox: Path) -> None:
    for number in range(5):
        write(inbox / "taobao" / f"{number}.csv", f"{number},2,3,pv,1511544070\n")
    seen, taken = looked(inbox), []
    for _ in range(5):
        seen = looked(inbox, seen, limit=2)
        taken += [drop.id for drop in seen.ready]
    assert len(taken) == len(set(taken)) == 5


def test_superseded_drops_leave_the_current_ones(tmp_path: Path) -> None:
    register = DropRegister(tmp_path / "drops")
    old = register.register("taobao", [write(tmp_path / "old.csv")])
    new = register.register("taobao", [write(tmp_path / "new.csv", "5,2,3,pv,1511544070\n")], supersedes=[old.id])
    assert current(list(register)) == [new]


def test_bytes_name_a_drop_and_compression_makes_another(tmp_path: Path) -> None:
    register = DropRegister(tmp_path / "drops")
    file = write(tmp_path / "a.csv")
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    plain = register.register("taobao", [file])
    assert register.register("taobao", [file]) == plain
    assert register.register("taobao", [packed]).id != plain.id
    file.unlink()
    with pytest.raises(DropError, match="is gone"):
        plain.verify()


def test_a_name_that_gives_the_domain_is_part_of_a_drop(tmp_path: Path) -> None:
    register = DropRegister(tmp_path / "drops")
    row = '{"user_id": "u", "asin": "B1", "timestamp": 1623362792221}\n'
    names = ("Books.jsonl", "sub/Books.jsonl.copy", "All_Beauty.jsonl", "one.jsonl", "two.jsonl")
    ids = [register.register("amazon_reviews", [write(tmp_path / name, row)]).id for name in names]
    assert ids[0] == ids[1] and ids[3] == ids[4]
    assert len({ids[0], ids[2], ids[3]}) == 3
