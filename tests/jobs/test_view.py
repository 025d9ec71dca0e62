"""A report that is served while its run goes on: it waits, shows what is there, and is made anew as rows come."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.performance import analysis as measured


def serving(*arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-m", "jobs.view", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def get(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return str(answer.read().decode())


def until(address: str, what: str, seconds: float = 240) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what in (found := get(address)):
            return found
        time.sleep(0.2)
    raise AssertionError(f"no {what!r} in {seconds} s")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "run"
    folder.mkdir()
    measured.made(folder, 120)  # two shards
    yield folder


def test_it_waits_and_grows(run: Path, tmp_path: Path) -> None:
    shards = sorted((run / "verdicts").iterdir())
    aside = [shutil.move(shard, tmp_path / shard.name) for shard in shards]
    server = serving(f"run={run}", "port=0")
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        assert "No verdicts" in get(address)
        assert json.loads(get(f"{address}version")) == 0
        shutil.move(aside[0], shards[0])
        (run / "verdicts" / "half.tmp").write_text("being written")
        until(f"{address}version", "1")
        page = get(address)
        assert "unresolved, and in no mean: 900 of" in page  # 60 tasks, 5 models, 3 settings
        shutil.move(aside[1], shards[1])
        until(f"{address}version", "2")
        assert "unresolved, and" not in get(address)
        assert (run / "verdicts" / "half.tmp").exists()  # a reader changes nothing
        assert not (run / "report.html").exists()
        os.kill(server.pid, signal.SIGINT)
        assert server.wait(timeout=60) == 130
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a run folder"),
        (["run=/nowhere"], "/nowhere is no folder"),
        (["run=.", "port=x"], "port=x: a number"),
        (["run=.", "prot=1"], "prot=1 is not known"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str) -> None:
    server = serving(*arguments)
    out, err = server.communicate(timeout=60)
    assert server.returncode == 2 and not out
    assert err.startswith("error: ") and said in err and err.count("\n") == 1


def test_a_port_that_is_taken(run: Path) -> None:
    first = serving(f"run={run}", "port=0")
    try:
        assert first.stdout is not None
        port = first.stdout.readline().split()[0].rpartition(":")[2].strip("/")
        second = serving(f"run={run}", f"port={port}")
        _, err = second.communicate(timeout=60)
        assert second.returncode == 2
        assert f"port={port} can't be had" in err
    finally:
        first.kill()
        first.wait()
