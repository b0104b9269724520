"""Home settings: defaults, the environment, and that no secret is shown."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from resources.settings import HomeSettings
from resources.store import Store


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith(("TRAILBENCH_", "AWS_")):
            monkeypatch.delenv(name)


def test_defaults_lie_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = HomeSettings()
    assert settings.store_root == str(tmp_path / ".trailbench" / "store")
    assert settings.gold_root == str(tmp_path / ".trailbench" / "gold")
    assert settings.inbox == tmp_path / ".trailbench" / "inbox"
    assert settings.shards == 4
    assert settings.storage_options() is None


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRAILBENCH_HOME", str(tmp_path))
    monkeypatch.setenv("TRAILBENCH_GOLD", "s3://bucket/gold")
    monkeypatch.setenv("TRAILBENCH_SHARDS", "8")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "theirs")
    monkeypatch.setenv("TRAILBENCH_S3_KEY", "ours")
    settings = HomeSettings()
    assert settings.store_root == str(tmp_path / "store")
    assert settings.gold_root == "s3://bucket/gold"
    assert settings.shards == 8
    assert settings.storage_options() == {"aws_endpoint_url": "http://127.0.0.1:1", "aws_access_key_id": "ours"}


@pytest.mark.parametrize("shards", ["0", "257", "many"])
def test_impossible_shard_counts_are_refused(monkeypatch: pytest.MonkeyPatch, shards: str) -> None:
    monkeypatch.setenv("TRAILBENCH_SHARDS", shards)
    with pytest.raises(ValidationError, match="shards"):
        HomeSettings()


def test_secrets_are_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "hush")
    settings = HomeSettings()
    store = Store("s3://bucket", settings.storage_options())
    for text in (str(settings), repr(settings), settings.model_dump_json(), repr(store), repr(store._files)):
        assert "hush" not in text
