"""Pages of users are the same in every time zone, locale and hash seed."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from test_drilldown_pages import world, written
import hashlib
print(hashlib.sha256(repr(sorted(written(world("Domain 1: 4.00")).items())).encode()).hexdigest())
"""


def test_pages_are_the_same_wherever_they_are_made() -> None:
    here = Path(__file__).resolve().parent
    path = os.pathsep.join([str(here), str(here.parents[1])])
    found = set()
    for zone, seed in (("UTC", "0"), ("Pacific/Chatham", "7")):
        environment = {**os.environ, "TZ": zone, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        found.add(ran.stdout)
    assert len(found) == 1
