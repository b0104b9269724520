"""What importing the chain's client does to the rest of the process."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from resources.chain.web3_imports import recursion_limit_kept

CODE = """
import json, sys
from pydantic import SecretStr
from resources.chain.rpc import RpcNode
from resources.chain.settings import ChainSettings

RpcNode(ChainSettings(url=SecretStr("http://127.0.0.1:1")))
assert "web3" in sys.modules
try:
    json.loads("[" * 100_000)
except RecursionError:
    print("raised", sys.getrecursionlimit())
"""


def test_text_nested_without_end_raises_and_does_not_end_the_process() -> None:
    ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "raised 1000\n"), ran.stderr


def test_imports_at_the_same_time_leave_the_limit_as_it_was() -> None:
    before = sys.getrecursionlimit()

    def imported(_: int) -> None:
        with recursion_limit_kept():
            sys.setrecursionlimit(100_000)
            for _ in range(100_000):
                pass

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(imported, range(64)))
    assert sys.getrecursionlimit() == before
