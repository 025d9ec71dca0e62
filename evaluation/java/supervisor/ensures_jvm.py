"""The supervisor of a JVM: init of the sandbox. It runs no foreign code, and it alone talks to the outside.

The JVM is warm and serves one execution after the other. It is ended, and another one started, after a timeout, after an
execution that ended it or left something behind (threads, hooks, properties), after a candidate that was not let in among
others, and after so many executions. What it says of an execution is believed only where it is whole and well formed.
"""

import fcntl
import mmap
import os
import signal
import struct
import subprocess
import time

from ensures_harness import processes, wire

OUT_OF_MEMORY = 3  # exit status under -XX:+ExitOnOutOfMemoryError
STARTING = 60  # seconds
WORDS = 3000  # characters of what a JVM said at its end


class Lost(Exception):
    """A JVM does not start or answers nonsense."""


def shared_words():
    """(descriptor, two words of memory) that a JVM may write and nobody may make smaller: that would end who reads it."""
    fd = os.memfd_create("meter", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 16)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd, mmap.mmap(fd, 16)


class Supervisor:
    def __init__(self, config):
        self.config = config
        self.scratch = config["scratch"]
        self.home = os.path.join(self.scratch, "x")
        self.meter_fd, self.meter = shared_words()
        self.jvm = None
        self.executions = 0
        self.started = 0

    # The JVM

    def start(self):
        self.stop()
        processes.clean(self.scratch)
        os.makedirs(self.home)
        config = self.config
        self.jvm = subprocess.Popen(
            config["java"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=config["root"],
            start_new_session=True,
            pass_fds=(self.meter_fd,),
        )
        self.executions = 0
        self.started += 1
        facts = {name: config[name] for name in ("classes", "jars", "arguments")}
        self.send(dict(facts, meter=f"/proc/self/fd/{self.meter_fd}"))
        if not wire.wait([self.jvm.stdout.fileno()], time.monotonic() + STARTING):
            raise Lost("the JVM does not start")
        if wire.receive(self.jvm.stdout.fileno()) is None:
            self.jvm.wait()
            raise Lost(f"the JVM does not start: {self.words()}")

    def stop(self):
        jvm, self.jvm = self.jvm, None
        if jvm is not None:
            self.end(jvm)
            for stream in (jvm.stdin, jvm.stdout, jvm.stderr):
                try:
                    stream.close()
                except OSError:
                    pass
        processes.sweep(())

    def end(self, jvm):
        try:
            os.killpg(jvm.pid, signal.SIGKILL)
        except OSError:
            pass
        processes.sweep((jvm.pid,), spare_parent=True)
        jvm.wait()

    def send(self, message):
        try:
            wire.send(self.jvm.stdin.fileno(), message)
        except OSError as error:
            raise Lost(f"the JVM ended: {self.words() or error}") from error

    def words(self):
        """What the JVM said on standard error, at its end."""
        try:
            os.set_blocking(self.jvm.stderr.fileno(), False)
            said = os.read(self.jvm.stderr.fileno(), 1 << 16) or b""
        except (OSError, ValueError):
            said = b""
        return said.decode(errors="replace").strip()[-WORDS:]

    # Requests

    def answer(self, request):
        try:
            if request["do"] == "start":
                self.start()
                return {"ok": True}
            return dict(self.ask(request), ok=True)
        except Lost as error:
            self.stop()
            return {"ok": False, "lost": True, "message": str(error)}

    def ask(self, request):
        if self.jvm is None or self.jvm.poll() is not None:
            self.start()
        jvm = self.jvm
        seconds, budget = request.pop("seconds"), request.pop("budget", 0) / 1e9
        replaced = request.pop("replaced", False)
        nonce = request["nonce"] = os.urandom(16).hex()
        self.meter[:] = bytes(16)
        cpu, started = self.cpu(), time.monotonic()
        self.send(request)
        found = self.follow(jvm, started, seconds, budget, len(request.get("candidates", ())), nonce)
        found["cpu"] = max(0.0, self.cpu() - cpu)
        found["peak_kb"] = self.peak()
        found["seconds"] = time.monotonic() - started
        self.executions += request["do"] == "execute"
        last = found["events"][-1] if found["events"] else {}
        if found["ending"] != "finished" or replaced or last.get("dirty") or self.executions >= self.config["most"]:
            found["replaced"] = True
            self.stop()
        else:
            processes.sweep((jvm.pid,))
            processes.clean(self.scratch, ("x",))
            processes.clean(self.home)
        return found

    def follow(self, jvm, started, seconds, budget, candidates, nonce):
        """`seconds` are the subject's. Metered candidates get their own on top."""
        reader = wire.Reader(jvm.stdout.fileno(), self.config["most_bytes"], self.config["most_message"])
        events, ending, stuck = [], "finished", None
        deadline = started + seconds + budget * (candidates + 1)
        while True:
            step = min(deadline, time.monotonic() + budget / 2) if budget else deadline
            ready = wire.wait([jvm.stdout.fileno()], step)
            if ready:
                events += reader.take()
                if reader.malformed:
                    ending = "tampered"
                    break
                if events and events[-1].get("e") == "end":
                    break
                if reader.ended:
                    jvm.wait()
                    ending = "out_of_memory" if jvm.returncode == OUT_OF_MEMORY else "crashed"
                    break
                continue
            who, since = self.metered()
            if budget and who is not None and since > budget:
                ending, stuck = "stuck", who
                break
            if time.monotonic() >= deadline:
                ending = "timeout"
                break
        if ending == "finished":
            ends = [event for event in events if event.get("e") == "end"]
            if len(ends) > 1 or ends[0].pop("nonce", None) != nonce or reader.torn():
                ending = "tampered"
        os.set_blocking(jvm.stdout.fileno(), True)
        return {"ending": ending, "stuck": stuck, "events": events, "words": "" if ending == "finished" else self.words()}

    def metered(self):
        """Whose condition is being evaluated, and for how many seconds."""
        who, since = struct.unpack("<qq", self.meter[:])
        if who <= 0:
            return None, 0.0
        return who - 1, max(0, time.monotonic_ns() - since) / 1e9

    def cpu(self):
        """Seconds that the JVM has used."""
        try:
            with open(f"/proc/{self.jvm.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak(self):
        try:
            with open(f"/proc/{self.jvm.pid}/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        except (OSError, StopIteration):
            return 0


def main():
    requests, answers = processes.channels()
    config = wire.receive(requests)
    if config is None:
        return
    processes.limit(config, memory=False)
    supervisor = Supervisor(config)
    try:
        processes.serve(requests, answers, supervisor.answer)
    finally:
        supervisor.stop()


if __name__ == "__main__":
    main()
