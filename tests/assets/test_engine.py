"""The engine of the suites as a person gets it: Great Expectations on every published table."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from resources.settings import HomeSettings

SCRIPT = """
import sys
from trailbench.cli import app
try:
    app(sys.argv[1:])
finally:
    print("great_expectations" in sys.modules, file=sys.stderr)
"""


def test_great_expectations_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRAILBENCH_EXPECTATIONS", raising=False)
    assert HomeSettings().expectations == "gx"


def test_a_build_by_great_expectations_gives_the_same_release(
    shop: SimpleNamespace, built: SimpleNamespace, tmp_path: Path
) -> None:
    words = ["build", *map(str, shop.options), str(shop.log), "--home", str(tmp_path / "home"), "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TRAILBENCH_", "DAGSTER"))}
    ran = subprocess.run([sys.executable, "-c", SCRIPT, *words], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["content_hash"] == built.content_hash
    assert ran.stderr.strip().endswith("True")
