"""The supervisor: init of the sandbox. It runs no foreign code, and it alone talks to the outside.

Requests come on standard input, answers go to standard output, both as messages of `wire`. The first request is the
configuration; each further one an execution. An execution's report is believed only where it is whole and well formed.
"""

import os
import signal
import socket
import sys
import time

from . import processes, warm, wire
from .meter import Meter

LOOK_SECONDS = 1.0  # how often it looks after the warm processes while an execution says nothing


class Lost(Exception):
    """A warm process is gone or answers nonsense."""


class Supervisor:
    def __init__(self, config):
        self.config = config
        self.scratch = config["scratch"]
        self.one = self.two = None  # sockets of the two warm levels
        self.pids = set()
        self.exact = False
        self.facts = {}
        self.meter = Meter()

    # Warm processes

    def start(self):
        self.stop()
        mine, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            mine.close()
            os.setsid()
            try:
                warm.serve(theirs, self.config, self.meter)
            finally:
                os._exit(0)
        theirs.close()
        self.one = mine
        self.pids = {pid}
        self.expect(self.one, 60)
        mine, theirs = socket.socketpair()
        warm.send_with_fds(self.one, {"do": "collect"}, [theirs.fileno()])
        theirs.close()
        self.two = mine
        self.pids.add(self.expect(self.one, 60)["pid"])
        self.facts = self.expect(self.two, self.config["collect_seconds"])
        self.exact = bool(self.facts.get("exact"))
        return self.facts

    def stop(self):
        for channel in (self.one, self.two):
            if channel is not None:
                channel.close()
        self.one = self.two = None
        self.pids = set()
        self.sweep()

    def expect(self, channel, seconds):
        """The next message of a warm process."""
        if not wire.wait([channel.fileno()], time.monotonic() + seconds):
            raise Lost("no answer in %d s" % seconds)
        message = wire.receive(channel.fileno())
        if message is None:
            raise Lost("a warm process ended")
        return message

    def know(self, command):
        """Hands what a subject gave to the process that executions are forked from."""
        warm.send_with_fds(self.two, command, [])
        return self.expect(self.two, 60)

    # Executions

    def execute(self, command):
        fresh = command.pop("fresh", False) or not self.exact
        answer = self.once(command, fresh)
        if any(event.get("e") == "not_exact" for event in answer["events"]) and not fresh:
            answer = self.once(command, True)
            fresh = True
        answer["fresh"] = fresh
        return answer

    def once(self, command, fresh):
        command = dict(command, do="execute", scratch=os.path.join(self.scratch, "x"))
        seconds = command.pop("seconds")
        allowance = (command.get("budget", 0) / 1e9, len(command.get("candidates", ())))
        self.meter.reset()
        nonce = command["nonce"] = os.urandom(16).hex()  # known to the execution's own end, and to no forger
        channel = self.one if fresh else self.two
        out, into = os.pipe()
        started = time.monotonic()
        try:
            try:
                warm.send_with_fds(channel, command, [into])
            finally:
                os.close(into)
            return self.follow(channel, out, started, seconds, allowance, nonce)
        except Lost as error:
            # the warm process did not survive the execution: whoever ended it stood below it
            self.start()
            events = [{"e": "lost", "message": str(error)}]
            seconds = time.monotonic() - started
            return {"ending": "tampered", "events": events, "status": 0, "cpu": 0.0, "peak_kb": 0, "seconds": seconds}
        finally:
            os.close(out)
            self.sweep()
            processes.clean(self.scratch)

    def follow(self, channel, out, started, seconds, allowance, nonce):
        """`seconds` are the subject's. Metered candidates get their own on top: (seconds for each, how many)."""
        budget, candidates = allowance
        deadline = started + seconds
        reader = wire.Reader(out, self.config.get("most_bytes", 64 << 20), self.config.get("most_message", 1 << 20))
        events, ending, stuck = [], "finished", None
        pid = self.expect(channel, 30)["pid"]
        status = None
        while status is None:
            watched = [channel.fileno()] if reader.ended else [channel.fileno(), out]
            pause = min(LOOK_SECONDS, budget / 2) if budget and ending == "finished" else LOOK_SECONDS
            ready = wire.wait(watched, min(deadline, time.monotonic() + pause))
            if not ready and processes.stopped(self.pids):
                raise Lost("a warm process was stopped")
            who, since, before = self.meter.read()
            if budget and ending == "finished":
                deadline = started + seconds + min(before + since, budget * (candidates + 1))
            if out in ready:
                events += reader.take()
                if reader.malformed and ending == "finished":
                    ending, deadline = "tampered", time.monotonic() + 30
                    self.end(pid)
            if channel.fileno() in ready:
                status = self.expect(channel, 30)
            if status is not None:
                continue
            late = time.monotonic() >= deadline
            if ending == "finished" and budget and who is not None and since > budget:
                ending, stuck = "stuck", who
            elif ending == "finished" and late:
                ending = "timeout"
            elif late:
                raise Lost("an execution can't be ended")
            else:
                continue
            self.end(pid)
            deadline = time.monotonic() + 30
        events += reader.take()
        if ending == "finished":
            ends = [position for position, event in enumerate(events) if event.get("e") == "end"]
            signed = [event for event in events if event.get("e") in ("end", "fault")]
            forged = any(event.pop("nonce", None) != nonce for event in signed)
            if reader.torn() or forged or len(ends) > 1 or (ends and ends[0] != len(events) - 1):
                ending = "tampered"
                events = [event for event in events if event.get("e") != "fault"]
            elif not ends and not any(event.get("e") in ("not_exact", "fault") for event in events):
                ending = "crashed"
        return {
            "ending": ending,
            "stuck": stuck,
            "events": events,
            "status": status["status"],
            "cpu": status["cpu"],
            "peak_kb": status["peak_kb"],
            "seconds": time.monotonic() - started,
        }

    def end(self, pid):
        """Ends the execution and everything that it started, also in other sessions."""
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass
        self.sweep(spare_parent=True)

    def sweep(self, spare_parent=False):
        processes.sweep(self.pids, spare_parent)


def main():
    requests, answers = processes.channels()
    config = wire.receive(requests)
    if config is None:
        return
    processes.limit(config)
    os.chdir(config["root"])
    sys.path[:0] = config["paths"]
    supervisor = Supervisor(config)
    requests_of_children(requests, answers)
    processes.serve(requests, answers, lambda request: answer(supervisor, request))
    supervisor.stop()


def requests_of_children(requests, answers):
    """Forked children must not hold the channel to the outside, nor the supervisor's standard error."""

    held = [requests, answers]
    nowhere = os.open(os.devnull, os.O_RDWR)

    def forget():
        if held:  # once: a grandchild may have the same numbers for something of its own
            os.dup2(nowhere, 2)
        while held:
            try:
                os.close(held.pop())
            except OSError:
                pass

    os.register_at_fork(after_in_child=forget)


def answer(supervisor, request):
    try:
        if request["do"] == "start":
            supervisor.config.update(request.get("config", {}))
            return dict(supervisor.start(), ok=True)
        if request["do"] == "know":
            return dict(supervisor.know(request), ok=True)
        return dict(supervisor.execute(request), ok=True)
    except Lost as error:
        supervisor.stop()
        return {"ok": False, "lost": True, "message": str(error)}


if __name__ == "__main__":
    main()
