"""A worker's core: where every core of a machine has a worker, each keeps to its own, with all that it starts.

A worker is several processes of which one runs at a time: a warm one forks, the execution works, its parent reports. The
kernel finds a place for each anew, now and then beside another worker's while a core stands idle (docs/cost.md: what that
costs). Where cores are left over, it finds better places than we could.
"""

import contextlib
import os
import socket
from collections.abc import Iterator

NAME = "\0ensures-core-{}"  # an abstract socket: gone with its process, seen by every user, out of a sandbox's reach


class Core:
    """The first core that no other worker of this machine has taken; taken until closed. One for each worker."""

    def __init__(self) -> None:
        self.allowed = os.sched_getaffinity(0)
        self._mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.number = next(filter(self._take, sorted(self.allowed)), None)

    def _take(self, number: int) -> bool:
        try:
            self._mark.bind(NAME.format(number))
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """This thread meanwhile, and the processes that it starts all their lives, keep to the core if all cores are taken."""
        if self.number is None or not all(map(_taken, self.allowed)):
            yield
            return
        os.sched_setaffinity(0, {self.number})
        try:
            yield
        finally:
            os.sched_setaffinity(0, self.allowed)

    def close(self) -> None:
        self._mark.close()


def _taken(number: int) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
        return asking.connect_ex(NAME.format(number)) == 0
