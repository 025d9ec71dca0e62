"""The warm processes, and what an execution does with the tests.

Two of them: one that has imported what is not the project's own (an execution that needs a fresh import is forked from
it), and below it one that has collected the covering tests as well (all others are forked from that).
"""

import array
import builtins
import functools
import gc
import linecache
import os
import socket
import sys
import time
import warnings

from . import contracts, fingerprint, flat, handlers, observe, processes, programs, subject, trace, watch, wire
from .frames import test_code_of


def serve(channel, config, meter):
    """Level one. Commands: `collect` forks level two; `execute` forks an execution with a fresh import."""
    for name in config.get("preload", ()):
        try:
            __import__(name)
        except BaseException:
            pass
    if "program" not in config:
        import icontract._checkers  # noqa: F401
        import icontract._represent  # noqa: F401
        import pytest  # noqa: F401

    wire.send(channel.fileno(), {"ready": True})
    while True:
        command, fds = receive(channel)
        if command is None:
            return
        if command["do"] == "collect":
            pid = os.fork()
            if pid == 0:
                channel.close()
                below = socket.socket(fileno=fds[0])
                if "program" in config:
                    programs.serve(below, config)
                else:
                    collect_and_serve(below, config, meter)
                os._exit(0)
            close(fds)
            wire.send(channel.fileno(), {"pid": pid})
        elif command["do"] == "execute":
            fork_execution(channel, command, fds, lambda: execute_fresh(command, fds[0], config, meter))


def collect_and_serve(channel, config, meter):
    """Level two: collects in this process, then forks for every execution from inside the test session."""
    path, name, line = config["path"], config["name"], config["line"]
    called = []

    def watch(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_firstlineno == line and code.co_name == name and code.co_filename == path:
            called.append(True)

    def loop(session):
        sys.setprofile(None)
        found = subject.functions_at(path, name, line)
        exact = len(found) == 1 and not called
        if exact:
            config["prefix"] = subject.prefix_alone(config["implementation"], path, name, line, found[0])
        settle(session, path, found[0] if exact else None)
        loaded = sorted(
            name for name, module in list(sys.modules.items()) if "." not in name and _foreign(module, config["root"])
        )
        wire.send(
            channel.fileno(),
            {
                "ready": True,
                "tests": [item.nodeid for item in session.items],
                "missing": plugin.missing,
                "exact": exact,
                "preload": loaded,
            },
        )
        prepared = {}
        gc.collect()
        gc.freeze()  # what is here stays here: executions neither walk nor copy it
        processes.compact()
        while True:
            command, fds = receive(channel)
            if command is None:
                os._exit(0)
            made = contracts_of(command, found[0], prepared) if exact else None

            def work(command=command, fd=fds[0], made=made):
                execute_here(command, fd, session, plugin, found[0], config, meter, made)

            fork_execution(channel, command, fds, work)

    plugin = Plugin(config, loop)
    sys.setprofile(watch)
    status = run_pytest(config, plugin)
    wire.send(
        channel.fileno(),
        {"ready": False, "status": int(status), "errors": plugin.errors[:5], "missing": plugin.missing},
    )
    os._exit(0)


def settle(session, path, function):
    """Makes here, once, what never changes and would be made anew in every execution. `function`: the subject, where its
    code is exchanged."""
    silence(session.config.pluginmanager)
    session.gethookproxy = functools.cache(session.gethookproxy)
    handlers.tree_of(settle.__code__)
    if function is not None:
        subject.calling(function.__code__.co_freevars)
    for item in session.items:
        item.location  # noqa: B018
        code = test_code_of(item)
        if code is not None and code.co_filename != path:  # who reads the subject's file is to be seen doing it
            linecache.getlines(code.co_filename)


def contracts_of(command, function, prepared):
    """The contracts of candidates that are plainly pure, made once for all subjects. Their decorators hold lambdas and
    constants alone, so that nothing of theirs runs here."""
    if not command.get("pure"):
        return None
    key = repr(command["candidates"])
    if key not in prepared:
        prepared.clear()  # a task's candidates come together: the last set is the one that comes again
        body = subject.clone(function, function.__code__)
        specs = enumerate(command["candidates"])
        prepared[key] = [contracts.prepare(flat.Candidate(index, spec), body) for index, spec in specs]
    return prepared[key]


def _foreign(module, root):
    path = getattr(module, "__file__", None)
    return bool(path) and not path.startswith(root + os.sep)


def receive(channel):
    """A command, with the descriptors that came along with it."""
    head, fds, _, _ = socket.recv_fds(channel, 1, 4)
    if not head:
        return None, []
    return wire.receive(channel.fileno()), list(fds)


def close(fds):
    for fd in fds:
        os.close(fd)


def fork_execution(channel, command, fds, work):
    """Forks; the child works and never returns, the parent waits for it and says how it ended."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            channel.close()
            os.setsid()
            work()
            code = 0
        except BaseException:
            import traceback

            try:
                fault = {"e": "fault", "nonce": command.get("nonce"), "message": traceback.format_exc()[-4000:]}
                wire.send(fds[0], fault)
            except BaseException:
                pass
        finally:
            os._exit(code)
    close(fds)
    wire.send(channel.fileno(), {"pid": pid})
    _, status, usage = os.wait4(pid, 0)
    wire.send(channel.fileno(), {"status": status, "cpu": usage.ru_utime + usage.ru_stime, "peak_kb": usage.ru_maxrss})


# In the execution


def start_flat(command, report, config, meter):
    running = flat.Flat(
        command.get("candidates", []),
        report,
        raising=command.get("raising", False),
        every_call=command.get("every_call", False),
        messages=command.get("messages", True),
        share=command.get("pure", False),
        probing=command.get("probing", True),
        budget=command.get("budget"),
        meter=meter if command.get("budget") else None,
    )
    running.perturb = command.get("perturb", False)
    if command.get("coverage"):
        running.coverage = trace.Coverage()
        running.run = running.coverage.call
    if command.get("fingerprints"):
        running.recorder = fingerprint.Recorder(lambda: running.test, command.get("expected", {}))
        running.run = running.recorder.call
    if command.get("observe"):
        running.observer = observe.Observer(report)
    if running.raising:
        watch.Watch(running._evaluating, report, config["path"]).install()
    return running


def reporter(fd):
    def report(event):
        wire.send(fd, event)

    return report


def enter_scratch(command):
    os.makedirs(command["scratch"], exist_ok=True)
    os.environ["TMPDIR"] = os.environ["HOME"] = command["scratch"]
    import tempfile

    tempfile.tempdir = None
    import random

    random.seed(command.get("seed", 0))


def execute_here(command, fd, session, plugin, function, config, meter, made=None):
    enter_scratch(command)
    report = reporter(fd)
    try:
        code = None
        if command["implementation"] is not None:
            text = None
            if config["prefix"] is not None:
                text = subject.alone(command["implementation"], config["line"], function.__qualname__, config["prefix"])
            text = text or subject.text_with(config["text"], config["span"], command["implementation"])
            code = subject.body_code(text, config["path"], config["name"], config["line"])
        plugin.flat = start_flat(command, report, config, meter)
        plugin.flat.instrument(function, code, made)
    except subject.NotExact as reason:
        report({"e": "not_exact", "message": str(reason)})
        return
    run_items(session, plugin, report, command)


def execute_fresh(command, fd, config, meter):
    enter_scratch(command)
    report = reporter(fd)
    running = start_flat(command, report, config, meter)
    text = config["text"]
    if command["implementation"] is not None:
        text = subject.text_with(text, config["span"], command["implementation"])
        running.altered = lambda code: code.co_filename == config["path"]

    def hook(function):
        if not hasattr(function, "__code__"):
            report({"e": "fault", "nonce": command["nonce"], "message": "the innermost decorator got no function"})
            return function
        return running.instrument(function)

    setattr(builtins, subject.HOOK_NAME, hook)
    loader = subject.Loader(config["path"], text, config["name"], config["line"])
    loader.install()
    plugin = Plugin(config, lambda session: run_items(session, plugin, report, command))
    plugin.flat = running
    status = run_pytest(config, plugin)
    if not plugin.ran:
        report({"e": "collection_failed", "errors": plugin.errors[:5], "status": int(status)})
        end(plugin, report, ["collection"], command)


def run_items(session, plugin, report, command):
    plugin.ran = True
    plugin.report = report
    failed = []
    plugin.trace = trace.Trace(command.get("trace", False))
    items = [] if command.get("bare") else session.items  # bare: what an execution costs by itself
    plugin.began = time.process_time()

    def enough():
        end(plugin, report, failed, command)
        os._exit(0)

    if plugin.flat.recorder is not None:
        plugin.flat.recorder.told_apart = enough
    for position, item in enumerate(items):
        following = items[position + 1] if position + 1 < len(items) else None
        plugin.flat.begin(item.nodeid, test_code_of(item))
        plugin.outcome = "passed"
        plugin.sections = ()
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        except BaseException:  # pytest.exit, KeyboardInterrupt: the end of a session elsewhere, of this test here
            plugin.outcome = "failed"
        plugin.flat.end_probe(bool(plugin.surfaced), plugin.first, plugin.outcome)
        if plugin.outcome == "failed":
            failed.append(item.nodeid)
        plugin.trace.mark(plugin.outcome, plugin.flat.calls, plugin.sections)
        if plugin.flat.all_decided() and not command.get("whole"):
            report({"e": "stopped"})
            break
    end(plugin, report, failed, command)


def end(plugin, report, failed, command):
    running = plugin.flat
    marks = plugin.trace.marks if plugin.trace else []
    for at in range(0, len(marks), 5000):
        report({"e": "trace", "marks": marks[at : at + 5000]})
    if running.coverage is not None and running.body is not None:
        lines = trace.executable_lines(running.body.__code__)
        report({"e": "lines", "seen": len(running.coverage.seen & lines), "of": len(lines)})
    calls = running.recorder.calls if running.recorder else []
    for at in range(0, len(calls), 2000):
        report({"e": "fingerprints", "calls": calls[at : at + 2000]})
    for surfaced in plugin.surfaced:
        report({"e": "surfaced", "test": surfaced})
    report(
        {
            "e": "end",
            "nonce": command.pop("nonce"),
            "failed": failed[:50],
            "calls": running.calls,
            "surfaced": [candidate.surfaced for candidate in running.candidates],
            "failed_after": [candidate.failed_after for candidate in running.candidates],
            "spent": [candidate.spent for candidate in running.candidates],
            "evaluated": [candidate.evaluated for candidate in running.candidates],
            "body_raised": running.body_raised,
            "iterators": running.iterators,
            "cpu": time.process_time() - plugin.began,
            "memory": plugin.memory,
        }
    )


class Plugin:
    """Our side of the test session: takes only the covering tests, takes over the loop, keeps what was reported."""

    def __init__(self, config, loop):
        self.wanted = config["tests"]
        self.loop = loop
        self.flat = None
        self.ran = False
        self.errors, self.missing, self.surfaced = [], [], []
        self.outcome, self.sections = "passed", ()
        self.trace = None
        self.began = 0.0
        self.memory = False
        self.first = False  # did the first violation reach a report?

    def pytest_collection_modifyitems(self, session, config, items):
        wanted, found = set(self.wanted), set()
        kept = []
        for item in items:
            base = item.nodeid.split("[", 1)[0]
            name = item.nodeid if item.nodeid in wanted else base if base in wanted else None
            if name is not None:
                found.add(name)
                kept.append(item)
                # nobody reads how a failure looks, and to render it costs more than most tests
                item.repr_failure = item._repr_failure_py = brief
        items[:] = kept
        self.missing = [name for name in self.wanted if name not in found]

    def pytest_collectreport(self, report):
        if report.failed:
            self.errors.append("%s: %s" % (report.nodeid, str(report.longrepr)[-1500:]))

    def pytest_runtestloop(self, session):
        if session.testsfailed and not session.items:
            return True
        self.loop(session)
        return True

    def pytest_runtest_makereport(self, item, call):
        if call.excinfo is not None:
            error, seen = call.excinfo.value, set()
            if isinstance(error, MemoryError):
                self.memory = True
            while error is not None and id(error) not in seen:
                seen.add(id(error))
                if any(error is violation for violation in self.flat.violations):
                    self.surfaced.append(item.nodeid)
                    self.first = self.first or error is self.flat.violations[0]
                # as pytest prints it
                error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)

    def pytest_runtest_logreport(self, report):
        self.sections = report.sections
        if report.failed:
            self.outcome = "failed"
        elif report.skipped and self.outcome == "passed":
            self.outcome = "skipped"


class Silent:
    """The terminal's reporter for who asks for it; it hears of no test, since nobody reads what it would print."""

    def __init__(self, reporter):
        self._reporter = reporter

    def __getattr__(self, name):
        return getattr(self._reporter, name)


def silence(plugins):
    reporter = plugins.unregister(name="terminalreporter")
    plugins.register(Silent(reporter), "terminalreporter")


def brief(excinfo, style=None):
    return excinfo.typename


def run_pytest(config, plugin):
    import pytest

    files = sorted({test.split("::", 1)[0] for test in config["tests"]})
    args = ["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--capture=sys", "--continue-on-collection-errors"]
    args += ["-o", "addopts=", "--rootdir", config["root"], *config["pytest_args"], *files]
    with warnings.catch_warnings():
        return pytest.main(args, plugins=[plugin])


def send_with_fds(channel, message, fds):
    """The command's first byte carries the descriptors."""
    channel.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
    wire.send(channel.fileno(), message)
