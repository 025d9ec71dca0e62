"""Removes what runs that were killed left on this machine: containers, and Ray's temporary folders. `python -m jobs.clean`

Nothing of a run that is at work is touched, and no run folder.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from containers.backends.docker import Docker, DockerConfig
from containers.backends.podman import Podman, PodmanConfig
from ensures.errors import SandboxUnavailable

TEMPORARY = Path("/tmp")
PREFIXES = ("ens-", "ensures-scratch-", "ensures-vllm-")


def main(arguments: Sequence[str]) -> int:
    about = "Removes containers and temporary folders that killed runs left on this machine."
    parser = argparse.ArgumentParser(prog="python -m jobs.clean", description=about)
    parser.add_argument(
        "--all", action="store_true", help="containers of runs that are at work, too: those runs start them again"
    )
    chosen = parser.parse_args(arguments)
    for engine in (Docker(DockerConfig()), Podman(PodmanConfig())):
        try:
            for name in engine.sweep(everything=chosen.all):
                print(f"{engine.kind}: container {name}")
        except SandboxUnavailable as error:
            print(f"{engine.kind}: nothing to be done ({error})")
    for folder in _left():
        shutil.rmtree(folder, ignore_errors=True)
        print(folder)
    return 0


def _left() -> Iterator[Path]:
    """Folders of ours that no process has anything to do with any more."""
    used = _used()
    for path in sorted(TEMPORARY.iterdir()):
        mine = path.name.startswith(PREFIXES) and path.is_dir() and path.stat().st_uid == os.geteuid()
        if mine and not any(str(path) in text for text in used):
            yield path


def _used() -> list[str]:
    """What the running processes name in their commands, work in, or have open."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cmdline").read_bytes().decode(errors="replace"))
            found.append(os.readlink(process / "cwd"))
            found += [os.readlink(number) for number in (process / "fd").iterdir()]
        except OSError:  # it has ended, or is another user's
            continue
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
