"""Processes that share the work of one command, and end with it."""

import ctypes
import os
import signal
import sys


def end_with(parent: int) -> None:
    """Have this process be killed when its parent ends, however that ends; an interrupt is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
