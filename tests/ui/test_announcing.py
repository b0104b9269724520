"""What `trailbench ui` says once the UI answers."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest


def test_the_lineage_is_announced_beside_the_first_page(
    cli: Callable[..., SimpleNamespace], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def served(home: Path, port: int, announce: Callable[[str], None]) -> int:
        announce(f"http://127.0.0.1:{port}")
        return 0

    monkeypatch.setattr("trailbench.serving.serve", served)
    monkeypatch.setattr("trailbench.serving.free_port", lambda wanted: wanted)
    said = cli("ui", "--home", tmp_path, "--port", 4321).err
    assert "UI: http://127.0.0.1:4321   lineage: http://127.0.0.1:4321/asset-groups   drop folder:" in said
