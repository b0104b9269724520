"""The process that serves the embedded model: one of its own, so that a fault of native code ends nothing else (ours).

It lives as long as somebody holds a lease: a shared lock on the file `users.lock`,
which the kernel takes back from a process however that ends. So it needs no count of
users and no parent. While it lives it holds the file `server.json` locked, which is
empty until the server listens and again once it leaves.
"""

import fcntl
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

MODEL = "smollm2-135m-instruct"
PARAMETERS: dict[str, Any] = {
    # What a reply depends on beside the request. One slot, and no cache of prompts: with either, the bytes of a
    # reply depend on what was asked before or meanwhile. With flash attention they depend on the number of threads.
    "n_ctx": 8192,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_parallel": 1,
    "n_gpu_layers": 0,
    "cont_batching": False,
    "cache_prompt": False,
    "cache_ram_mib": 0,
    "cache_idle_slots": False,
    "ctx_shift": False,
    "flash_attn_type": 0,
    "sampling.temp": 0.0,
    "sampling.seed": 0,
}
"""Parameters of the server that enter the fingerprint. 8,192 tokens of prompt and reply: as the model was trained."""
ACCESS: dict[str, Any] = {
    # On loopback at a port that the system chooses; no page of a browser may read it; nothing is fetched or shown.
    "hostnames": ["127.0.0.1"],
    "port": 0,
    "cors_origins": "http://127.0.0.1",
    "cors_origins_explicit": True,
    "cors_credentials": False,
    "offline": True,
    "ui": False,
    "endpoint_slots": False,
    "fit_params": False,
    "model_alias": {MODEL},
}
_TICK = 0.25
"""Seconds between two looks at the leases."""


def started(process: int) -> str:
    """When a process started, in ticks of the system's clock; tells a reused number apart; empty if unknown."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def serve(folder: Path, weights: Path, threads: int, linger: float) -> NoReturn:
    """Serve until nobody has held a lease in `folder` for `linger` seconds."""
    with (folder / "server.json").open("a") as state, (folder / "users.lock").open("a") as users:
        fcntl.flock(state, fcntl.LOCK_EX)
        state.truncate(0)
        server = _listen(weights, threads)
        port = int(server.listening_address.rpartition(":")[2])
        state.write(json.dumps({"port": port, "process": os.getpid(), "started": started(os.getpid())}))
        state.flush()
        _wait_until_left(users.fileno(), linger)
        # The users' file is locked now: who comes waits until this process is gone, and starts the next.
        state.truncate(0)
        os._exit(0)


def _listen(weights: Path, threads: int) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    for name, value in {**PARAMETERS, **ACCESS}.items():
        part, _, attribute = name.rpartition(".")
        setattr(getattr(params, part) if part else params, attribute, value)
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:  # What is wrong is in the log above this line.
        raise SystemExit(f"xllamacpp: {error}") from None


def _wait_until_left(users: int, linger: float) -> None:
    last_used = time.monotonic()
    while True:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            last_used = time.monotonic()
        else:
            if time.monotonic() - last_used >= linger:
                return
            fcntl.flock(users, fcntl.LOCK_UN)
        time.sleep(_TICK)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
