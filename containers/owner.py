"""Whose something on a machine is: a process named so that another with its number is not taken for it."""

import os
import platform
from pathlib import Path


def this_process() -> str:
    """Host, number, and when it was started."""
    return f"{platform.node()}:{os.getpid()}:{_started(os.getpid())}"


def alive(owner: str) -> bool:
    """Does that process still run? Those of other machines count as alive: it can't be known."""
    host, _, rest = owner.partition(":")
    number, _, started = rest.partition(":")
    if host != platform.node() or not number.isdigit():
        return bool(host) and host != platform.node()
    return _started(int(number)) == started


def _started(pid: int) -> str:
    """In clock ticks since the machine began; empty where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
