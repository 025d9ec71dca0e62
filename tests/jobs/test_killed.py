"""Killed at any moment, driver or worker: the next start does only what is missing, and the rows are the same."""

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from tests.jobs import demo

KILLS = 20


def below(pid: int) -> list[tuple[int, str]]:
    """All processes below one, with their command lines."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, frontier = [], {pid}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier}
        for child in frontier:
            with contextlib.suppress(OSError):
                found.append((child, Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()))
    return found


def test_twenty_kills(tmp_path: Path) -> None:
    overrides = [*demo.write(tmp_path / "d"), "cluster=local", "evaluation.workers=2"]
    out = tmp_path / "d" / "runs"
    assert demo.run(*overrides, "name=whole").returncode == 0
    expected = demo.rows(out / "whole")
    drawn = random.Random(7)
    for number in range(KILLS):
        process = subprocess.Popen(
            demo.command(*overrides, "name=killed"), cwd=demo.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if number % 2:
            time.sleep(drawn.uniform(0.3, 9))
            process.send_signal(signal.SIGKILL)
        else:
            hunt(process, drawn)
        process.wait(timeout=200)
        if number % 7 == 6:  # from the start again, so that the later kills have something to disturb
            for shard in (out / "killed" / "verdicts").glob("*.parquet"):
                if drawn.random() < 0.7:
                    shard.unlink()
    done = demo.run(*overrides, "name=killed")
    assert done.returncode == 0, done.stderr
    assert demo.rows(out / "killed") == expected


def hunt(process: subprocess.Popen[bytes], drawn: random.Random) -> None:
    """Kills an actor or a sandboxed worker once there is one, at a random moment; the driver goes on."""
    deadline = time.monotonic() + 60
    wanted = drawn.choice(["ray::StationActor", "ensures_harness"])
    while time.monotonic() < deadline and process.poll() is None:
        victims = [pid for pid, command in below(process.pid) if wanted in command]
        if victims:
            time.sleep(drawn.uniform(0, 0.4))
            with contextlib.suppress(OSError):
                os.kill(drawn.choice(victims), signal.SIGKILL)
            return
        time.sleep(0.01)
