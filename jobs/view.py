"""Serves a run's report on this machine while the run goes on, and makes it anew as rows come.

usage: python -m jobs.view run=FOLDER [port=8000]
"""

import functools
import html
import http.server
import json
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from analysis.report import PAGE
from ensures.errors import EnsuresError, InputError
from jobs import findings

PAUSE = 5.0  # seconds between two looks; never less than twice what making the report took
TRIALS = 10  # of each random subset of mutants, while the run goes on


WAITING = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="3">
<title>Ensures</title><p style="font:15px system-ui">No verdicts in {run} yet: this page looks again every 3 seconds."""


class Pages:
    """The report in a folder of its own, and its version: a number that grows when it was made anew."""

    def __init__(self, run: Path, place: Path) -> None:
        self.run, self.place = run, place
        self.version = 0
        self._seen: object = None

    def refresh(self) -> None:
        """Makes the report where anything changed. Raises InputError where there is nothing to show."""
        seen = self._state()
        if seen == self._seen:
            return
        findings.write(findings.from_runs([self.run], "strict"), self.place, TRIALS)
        self._seen = seen
        self.version += 1

    def _state(self) -> object:
        files = [*self.run.glob("*/*.parquet"), *self.run.glob("*.parquet"), *self.run.glob("*.json")]
        return sorted((str(path), path.stat().st_mtime_ns) for path in files if path.exists())


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of the report's folder, and /version."""

    def __init__(self, *arguments: object, pages: Pages, **named: object) -> None:
        self.pages = pages
        super().__init__(*arguments, directory=str(pages.place), **named)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if self.path.partition("?")[0] == "/version":
            text = json.dumps(self.pages.version).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            return
        if self.path in ("/", ""):
            self.path = f"/{PAGE}"
        super().do_GET()

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: one line says where it is."""


def main(arguments: Sequence[str]) -> int:
    if any(argument in ("-h", "--help") for argument in arguments):
        print(__doc__)
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell started it in the background, deaf to the first
        signal.signal(number, signal.default_int_handler)
    try:
        run, port = _asked(arguments)
        with tempfile.TemporaryDirectory(prefix="ensures-view-") as place:
            if not run.is_dir():
                raise InputError(f"{run} is no folder; name a run's")
            pages = Pages(run, Path(place))
            (pages.place / PAGE).write_text(WAITING.format(run=html.escape(str(run))), encoding="utf-8")
            return _serve(pages, port)
    except EnsuresError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _asked(arguments: Sequence[str]) -> tuple[Path, int]:
    run, port = "", "8000"
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or key == "run":
            run = value if equals else argument
        elif key == "port":
            port = value
        else:
            raise InputError(f"{argument} is not known; usage: python -m jobs.view run=FOLDER [port=8000]")
    if not run:
        raise InputError("name a run folder: python -m jobs.view run=FOLDER")
    if not port.isdigit() or not 0 <= int(port) < 65536:
        raise InputError(f"port={port}: a number from 0 (any that is free) to 65535")
    return Path(run), int(port)


def _serve(pages: Pages, port: int) -> int:
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, pages=pages))
    except OSError as error:
        raise InputError(f"port={port} can't be had ({error.strerror}); choose another, or port=0") from error
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_port}/  ({pages.run}; Ctrl-C ends it)", flush=True)
        tunnel = f"{server.server_port}:127.0.0.1:{server.server_port}"
        print(f"from another machine: ssh -L {tunnel} {socket.gethostname()}", flush=True)
        said = ""
        while True:
            started = time.monotonic()
            try:
                pages.refresh()
            except EnsuresError as error:  # no verdicts yet, or a folder that is just being changed
                if str(error) != said:
                    said = str(error)
                    print(f"waiting: {said}", file=sys.stderr)
            time.sleep(max(PAUSE, 2 * (time.monotonic() - started)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
