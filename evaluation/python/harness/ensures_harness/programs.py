"""Programs at function level: one warm process that holds a reference program and the inputs, forked for every execution.
A whole program over standard input and output (no `entry`) is a function of the lines that it reads.

An execution either runs a program on the inputs and says what it gave for each, or evaluates one candidate, plain asserts
over the parameters and `return_value`, on the inputs and one subject's outputs. The program under test and the candidate
never meet in one process.
"""

import ast
import os
import signal
import sys
import time

from . import scripts, values, watch, wire


class Slow(BaseException):
    """The limit of one input was reached. Not an Exception: a program's own handlers should let it pass."""


def serve(channel, config):
    """Level two for a program. Commands: `know` keeps a subject's outputs here; `execute` forks."""
    from .warm import fork_execution, receive, reporter

    try:
        sys.set_int_max_str_digits(0)
    except AttributeError:
        pass
    names = {"__builtins__": {}, "inf": float("inf"), "nan": float("nan"), "set": set}
    inputs = [eval(text, dict(names)) for text in config["inputs"]]
    before = [values.encode(arguments) for arguments in inputs]
    namespace = {"__name__": "program"}
    for name in config["imports"]:
        namespace[name] = __import__(name)
    facts = {"ready": True, "exact": True, "missing": []}
    try:
        if config["entry"]:
            exec(compile(config["program"], "<program>", "exec", dont_inherit=True), namespace)
            facts["parameters"] = parameters(namespace[config["entry"]])
        else:
            scripts.function(config["program"])  # it can be compiled
            facts["parameters"] = scripts.PARAMETERS
    except BaseException as error:
        facts = {"ready": False, "errors": ["%s: %s" % (type(error).__name__, error)]}
    wire.send(channel.fileno(), facts)
    known = {}
    while True:
        command, fds = receive(channel)
        if command is None:
            return
        if command["do"] == "know":
            known[command["subject"]] = [
                (index, values.decode(text), values.decode(after) if after else inputs[index])
                for index, text, after in command["outputs"]
            ]
            wire.send(channel.fileno(), {"known": True})
            continue

        def work(command=command, fd=fds[0]):
            report = reporter(fd)
            if command.get("program") is not None:
                run(command, report, inputs, before, config["entry"])
            elif command["subject"] not in known:
                report({"e": "unknown"})
            else:
                judge(command, report, known[command["subject"]], namespace, facts["parameters"])
            report({"e": "end", "nonce": command["nonce"]})

        fork_execution(channel, command, fds, work)


def parameters(function):
    """Names by position, what the others are by default, and what the result is called."""
    code = function.__code__
    names = list(code.co_varnames[: code.co_argcount])
    defaults = len(function.__defaults__ or ())
    return {"names": names, "defaults": defaults, "more": bool(code.co_flags & 0x04), "result": "return_value"}


# A program on its inputs


def run(command, report, inputs, before, entry):
    """One event for every few inputs. For each: what it is (`value`, `same` as expected, `raised`, `slow`), its text, what is
    left of the arguments where that is not what they were, and its seconds."""
    quiet()
    namespace = {"__name__": "program"}
    try:
        if entry:
            exec(compile(command["program"], "<program>", "exec", dont_inherit=True), namespace)
            function = namespace[entry]
        else:
            function = scripts.function(command["program"])
    except BaseException as error:
        report({"e": "broken", "message": "%s: %s" % (type(error).__name__, str(error)[:500])})
        return
    signal.signal(signal.SIGALRM, too_slow)
    expected = command.get("expected")
    batch, size, patience = [], 0, command.get("most_slow") or len(inputs)
    for index in range(len(inputs)):
        if patience == 0:
            break
        limit = command["limits"][index] if command.get("limits") else 0
        kind, text, after, seconds = outcome(function, inputs[index], before[index], limit)
        if expected and kind == "value" and values.digest(text) == expected[index]:
            kind, text, after = "same", "", ""
        batch.append([index, kind, text, after, seconds])
        patience -= kind == "slow"
        size += len(batch[-1][2]) + len(batch[-1][3])
        if size > 200_000 or len(batch) == 200:
            report({"e": "outputs", "of": batch})
            batch, size = [], 0
    report({"e": "outputs", "of": batch})


def too_slow(*_):
    raise Slow()


def outcome(function, arguments, before, limit):
    after = ""
    started = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            result = function(*arguments)
            taken = time.perf_counter() - started
            kind, text, after = "value", values.encode(result), values.encode(arguments)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except Slow:
        kind, text = "slow", ""
    except BaseException as error:
        kind, text = "raised", type(error).__name__
    if kind != "value":
        taken = time.perf_counter() - started
    return kind, text, "" if after == before else after, taken


def quiet():
    """Nobody reads what a program prints, and many print a lot."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.stdout = sys.stderr = open(os.devnull, "w")


# A candidate on a subject's outputs


class Watched:
    """The one candidate of this execution, for `watch`; `candidate` is itself while it is evaluated."""

    def __init__(self):
        self.index, self.looked, self.candidate = 0, False, None


def judge(command, report, outputs, namespace, names):
    """On what the program gave and what it left of its arguments, as a statement at its very end would see them.

    `verdict`: how many pairs it was asked, on how many an assert failed, on how many something else was raised."""
    quiet()
    try:
        check = compiled(command["candidate"], names, namespace)
    except BaseException as error:
        kind = "syntax_error" if isinstance(error, SyntaxError) else "compile_error"
        report({"e": "broken", "reason": kind, "message": "%s: %s" % (type(error).__name__, str(error)[:500])})
        return
    failed = raised = 0
    watched = Watched()
    watch.Watch(watched, report, "").install()
    for index, value, arguments in outputs:
        try:
            watched.candidate = watched
            check(*arguments, **{names["result"]: value})
        except AssertionError as error:
            watched.candidate = None
            failed += 1
            if failed == 1:
                report({"e": "violated", **said(index, error)})  # at once: a later pair may never end
        except BaseException as error:
            watched.candidate = None
            raised += 1
            if raised == 1:
                report({"e": "raised", **said(index, error)})
        watched.candidate = None
        if failed and not command.get("whole"):
            break
    report({"e": "verdict", "asked": len(outputs), "failed": failed, "raised": raised})


def compiled(text, names, namespace):
    """The candidate as the body of a function of the parameters and the result, in the reference's own scope."""
    module = ast.parse(text, "<candidate>")
    optional = names["defaults"]
    given = [ast.arg(arg=name) for name in names["names"]]
    arguments = ast.arguments(
        posonlyargs=[],
        args=given,
        vararg=ast.arg(arg="_more") if names["more"] else None,
        kwonlyargs=[ast.arg(arg=names["result"])],
        kw_defaults=[None],
        defaults=[ast.Constant(value=None) for _ in range(optional)],
    )
    function = ast.FunctionDef(name="check", args=arguments, body=module.body, decorator_list=[], type_params=[])
    tree = ast.fix_missing_locations(ast.Module(body=[function], type_ignores=[]))
    scope = dict(namespace)
    exec(compile(tree, "<candidate>", "exec", dont_inherit=True), scope)
    return scope["check"]


def said(index, error):
    line = None
    trail = error.__traceback__
    while trail is not None:
        if trail.tb_frame.f_code.co_filename == "<candidate>":
            line = trail.tb_lineno
        trail = trail.tb_next
    try:
        text = "%s: %s" % (type(error).__name__, error)
    except BaseException:
        text = type(error).__name__
    return {"input": index, "line": line, "message": text[:500]}
