"""What a method of another package must not see: the home folder, and the files of drops wherever they lie."""

from pathlib import Path

import pytest

from pipelines.applogs.drop_files import LOGS
from resources.dag import InputStore
from resources.home import open_home


def test_files_of_drops_are_hidden_where_their_owner_put_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAILBENCH_HOME", str(tmp_path / "home"))
    files = [tmp_path / "applogs" / "gold" / "001" / "state_intervals.jsonl", tmp_path / "applogs" / "001" / LOGS]
    inside = open_home().folder / "inbox" / "app_logs" / "001" / LOGS
    for file in (*files, inside):
        file.parent.mkdir(parents=True)
        file.write_text("[]")
    open_home().register.register("app_logs", files)
    open_home().register.register("app_logs", [inside])
    home, _, _, *others = InputStore().hidden
    assert home == tmp_path / "home" and others == sorted(files)
