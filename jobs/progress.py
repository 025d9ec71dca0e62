"""What the user sees while work goes on: bars on a terminal, one plain line a minute in a log."""

import sys
import time
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import TaskID as BarID

MINUTE = 60.0


class Display:
    """Counters with a name. A terminal gets bars; anything else a line when a phase begins and one a minute after."""

    def __init__(self, stream: TextIO = sys.stderr, every: float = MINUTE) -> None:
        self.console = Console(file=stream)
        self.every = every
        self._bars: Progress | None = None
        self._ids: dict[str, BarID] = {}
        self._counts: dict[str, list[int]] = {}
        self._said = self._began = time.monotonic()

    def __enter__(self) -> "Display":
        if self.console.is_terminal:
            self._bars = Progress(
                TextColumn("{task.description:<12}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self.console,
                transient=True,
            )
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, text: str) -> None:
        (self._bars.console if self._bars else self.console).print(text, highlight=False, markup=False, soft_wrap=True)

    def expect(self, name: str, total: int) -> None:
        """Adds to what is to be done of `name`."""
        count = self._counts.setdefault(name, [0, 0])
        count[1] += total
        if self._bars is not None:
            if name not in self._ids:
                self._ids[name] = self._bars.add_task(name, total=0, rate="")
            self._bars.update(self._ids[name], total=count[1])

    def done(self, name: str, amount: int = 1) -> None:
        count = self._counts.setdefault(name, [0, 0])
        count[0] += amount
        count[1] = max(count)
        now = time.monotonic()
        if self._bars is not None and name in self._ids:
            rate = count[0] / max(now - self._began, 1e-6)
            self._bars.update(self._ids[name], completed=count[0], total=count[1], rate=f"{rate:,.1f}/s")
        elif self._bars is None and now - self._said >= self.every:
            self._said = now
            self.say(self.line())

    def line(self) -> str:
        """Done, total, rate and time left of everything, in one line."""
        seconds = max(time.monotonic() - self._began, 1e-6)
        parts = []
        for name, (done, total) in self._counts.items():
            rate = done / seconds
            left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
            parts.append(f"{name} {done:,}/{total:,} ({rate:,.1f}/s{left})")
        return f"[{seconds:6.0f} s] " + "; ".join(parts)
