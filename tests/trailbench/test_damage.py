"""A home folder whose run databases are damaged or cannot be written says so, and what to do."""

import shutil
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from trailbench.running import RunFailed, dagster_instance


def test_a_damaged_database_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    with dagster_instance(tmp_path):
        pass
    folder = tmp_path / "dagster"
    (folder / "history" / "runs.db").write_bytes(bytes(range(256)) * 20)
    says = r"dagster: a database in it is damaged .* move the folder away"
    with pytest.raises(RunFailed, match=says), dagster_instance(tmp_path):
        pass
    shutil.rmtree(folder)
    with dagster_instance(tmp_path) as instance:
        assert instance.get_runs() == []


def test_a_full_disk_is_named_wherever_it_is_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    says = r"dagster: its databases cannot be used \(disk I/O error\); look for free space"
    with pytest.raises(RunFailed, match=says), dagster_instance(tmp_path):
        raise OperationalError("INSERT", None, Exception("disk I/O error"))
