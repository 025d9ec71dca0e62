"""The flat pass: all candidates' snapshots, the body once, all candidates' conditions, under one guard.

It is icontract that is measured: decorators are icontract's own objects, applied in their own order to the subject's
body, and its own functions resolve arguments, capture snapshots, select what a condition gets, and negate. What this
module adds is that a violation is recorded for its candidate alone. With `raising` (one candidate, an execution of its
own) nothing is softened: what icontract would raise is raised.
"""

import contextvars
import functools
import inspect
import os
import sys
import threading
import zlib

from . import frames, perturb
from .contracts import Icontract, prepare, say
from .meter import clock

DECIDED, OPEN = True, False


class Candidate:
    """One candidate's clauses and what was seen of them, for each of its views."""

    def __init__(self, index, spec):
        self.index = index
        self.preamble = spec["preamble"]
        self.text = spec["text"]
        self.salt = spec.get("salt", "")
        self.views = spec.get("views", ["all"])
        self.decided = [OPEN] * len(self.views)
        self.raised = [OPEN] * len(self.views)
        self.evaluated = [0] * len(self.views)  # calls on which its conditions were asked
        self.broken = False
        self.detached = False  # its conditions took more than a shared execution gives them
        self.spent = 0  # nanoseconds in its conditions and snapshots
        self.suspended = False
        self.reentrant = False
        self.looked = False  # at what is none of a specification's business (`watch`)
        # of a violation: did it reach a test's report; and did a test that swallowed it fail otherwise?
        self.surfaced = [None] * len(self.views)
        self.failed_after = [False] * len(self.views)

    def view_of(self, test, number):
        """Index of the view that this call counts for; None where it counts for none."""
        part = "all"
        if self.salt:
            part = "seen" if zlib.crc32(("%s:%s:%d" % (self.salt, test, number)).encode()) & 1 else "unseen"
        return self.views.index(part) if part in self.views else None


class Site:
    """One function object made from the subject's definition, with each candidate's contracts on its body."""

    def __init__(self, body, contracts, icontract):
        self.body = body
        self.contracts = contracts  # candidate index -> what `prepare` gave
        signature = inspect.signature(body)
        self.names = list(signature.parameters)
        self.defaults = icontract.resolve_kwdefaults(signature)


class Flat:
    def __init__(
        self,
        candidates,
        report,
        raising=False,
        every_call=False,
        messages=True,
        share=False,
        probing=True,
        budget=None,
        meter=None,
    ):
        self.icontract = Icontract()
        self.candidates = [Candidate(index, spec) for index, spec in enumerate(candidates)]
        self.report = report
        self.raising = raising
        self.every_call = every_call
        self.messages = messages
        self.probing = probing
        self.share = share  # candidates are plainly pure: what several of them ask of a call is evaluated once
        self.budget, self.meter = budget, meter  # nanoseconds for each candidate; without them nothing is metered
        self.body = None
        self.altered = lambda code: False  # does a function's file say something else than what runs?
        self.perturb = False  # truths are of other results than the real one: 1 where the candidate would notice none
        self.coverage = self.recorder = None
        self.run = None  # something else than simply to call the body (coverage, fingerprints)
        self.test, self.test_code, self.number = "", None, 0
        self.calls = 0
        self.body_raised = 0
        self.violations = []  # exceptions that were really raised
        self.iterators = False
        self.observer = None
        self._found = "", 0, b""  # test and number of a call, and what a probe found that raised from there
        self._calls_before = 0
        self._probing = 0  # nanoseconds in finding out who would swallow a violation, since the candidate was asked
        self.probe = None  # in a probe: where its answer goes
        self._guard = contextvars.ContextVar("ensures_guard", default=None)
        self._evaluating = threading.local()

    # Around a test

    def begin(self, test, code):
        self.test, self.test_code, self.number = test, code, 0
        for candidate in self.candidates:
            candidate.suspended = False

    def all_decided(self):
        return (
            bool(self.candidates)
            and not self.every_call
            and all(candidate.broken or candidate.detached or all(candidate.decided) for candidate in self.candidates)
        )

    # Around a call

    def site(self, body, prepared=None):
        contracts = {}
        for candidate in self.candidates:
            if not candidate.broken:
                found = prepared[candidate.index] if prepared else prepare(candidate, body)
                if isinstance(found, dict):
                    candidate.broken = True
                    self.report(dict(found, e="broken", c=candidate.index))
                else:
                    contracts[candidate.index] = found
        return Site(body, contracts, self.icontract)

    def call(self, site, args, kwargs):
        """What stands in the subject's place, with icontract's guard as it is.

        Inside a call of the subject the subject runs bare; the end of such a bare call lifts the guard (icontract's
        `finally` discards it whoever set it), so that later calls from the same body, and from conditions, are checked.
        A condition of one candidate that calls the subject must not be seen by its neighbours: there the subject runs
        bare without touching the guard, and that candidate is named, to be run alone.
        """
        evaluating = getattr(self._evaluating, "candidate", None)
        if evaluating is not None and not self.raising:
            if not evaluating.reentrant:
                evaluating.reentrant = True
                self.report({"e": "reentrant", "c": evaluating.index})
            return site.body(*args, **kwargs)
        active = self._guard.get()
        if active is None:
            active = set()
            self._guard.set(active)
        try:
            if id(site) in active:
                return site.body(*args, **kwargs)
            active.add(id(site))
            self._evaluating.candidate = None  # the body is nobody's condition
            return self._checked(site, args, kwargs)
        finally:
            self._evaluating.candidate = evaluating
            active.discard(id(site))

    def _checked(self, site, args, kwargs):
        self.number += 1
        self.calls += 1
        test, number = self.test, self.number
        if not self.iterators and any(map(_is_iterator, (*args, *kwargs.values()))):
            self.iterators = True
        live = []
        for candidate in self.candidates:
            if candidate.broken or candidate.suspended or candidate.detached:
                continue
            view = candidate.view_of(test, number)
            if view is not None and (self.every_call or self.raising or not candidate.decided[view]):
                live.append((candidate, view))
        truths, memo = {}, {} if self.share else None
        resolved = None
        if live:
            wrong = self.icontract.no_invalid_kwargs(kwargs)
            resolved = self.icontract.kwargs_from_call(site.names, site.defaults, args, kwargs)
            wrong = wrong or self.icontract.kwargs_valid([None], resolved)
            if wrong is not None:
                for candidate, view in live:
                    self._raised(candidate, view, None, wrong, truths)
                live = []
        before = []
        for candidate, view in live:
            own = dict(resolved)
            contracts = site.contracts[candidate.index]
            if not contracts.snapshots:
                before.append((candidate, view, own))
                continue
            began = self._enter(candidate)
            try:
                own["OLD"] = self._old(site, candidate, contracts, own, memo)
            except BaseException as error:
                self._raised(candidate, view, None, error, truths)
            else:
                before.append((candidate, view, own))
            finally:
                self._leave(candidate, began)
        if self.observer is not None:
            self.observer.before(site, args, kwargs)
        try:
            if self.run is None:
                result = site.body(*args, **kwargs)
            else:
                result = self.run(site.body, args, kwargs)
        except BaseException:
            self.body_raised += 1
            if self.every_call:
                self.report({"e": "call", "test": test, "n": number, "truths": None})
            raise
        if self.observer is not None:
            self.observer.after(test, number, result)
        if not self.iterators and _is_iterator(result):
            self.iterators = True
        for candidate, view, own in before:
            if self.perturb:
                truths[candidate.index] = "1" if self._notices_nothing(site, candidate, own, result) else "0"
                continue
            own["result"] = result
            began = self._enter(candidate)
            try:
                self._conditions(site, candidate, view, own, truths, memo)
            finally:
                self._leave(candidate, began)
        if self.every_call:
            text = "".join(truths.get(candidate.index, "-") for candidate in self.candidates)
            self.report({"e": "call", "test": test, "n": number, "truths": text})
        return result

    def _enter(self, candidate):
        self._evaluating.candidate = candidate
        if self.meter is None:
            return 0
        now = clock()
        self.meter.enter(candidate.index, now)
        return now

    def _leave(self, candidate, began):
        self._evaluating.candidate = None
        if self.meter is not None:
            spent, self._probing = clock() - began - self._probing, 0
            self.meter.leave(spent)
            candidate.spent += spent
            if candidate.spent > self.budget and not candidate.detached:
                candidate.detached = True
                self.report({"e": "detached", "c": candidate.index})

    def _old(self, site, candidate, contracts, own, memo):
        if memo is None:
            return self.icontract.capture_old(contracts.snapshots, own, site.body)
        values = {}
        for snapshot, key in zip(contracts.snapshots, contracts.snapshot_keys):
            known = memo.get(key)
            if known is None or key is None:
                began = clock() if self.meter else 0
                old = self.icontract.capture_old([snapshot], own, site.body)
                known = memo[key] = getattr(old, snapshot.name), clock() - began if self.meter else 0
            else:
                candidate.spent += known[1]
            values[snapshot.name] = known[0]
        return self.icontract.old(mapping=values)

    def _conditions(self, site, candidate, view, resolved, truths, memo):
        contracts = site.contracts[candidate.index]
        candidate.evaluated[view] += 1
        last = len(contracts.postconditions) - 1
        for position, contract in enumerate(contracts.postconditions):  # icontract evaluates from the bottom up
            key = None if memo is None else contracts.keys[position]
            known = memo.get(key) if key is not None else None
            if known is None:
                began = clock() if key is not None and self.meter else 0
                known = self._evaluate(contract, contracts.waiting, resolved)
                if key is not None and not candidate.reentrant:
                    memo[key] = (*known, clock() - began if self.meter else 0)
            else:
                candidate.spent += known[2]
            if known[1] is not None:
                self._raised(candidate, view, last - position, known[1], truths)
                return
            if known[0]:
                self._violated(candidate, view, last - position, contract, resolved, truths)
                return
        truths[candidate.index] = "1"

    def _evaluate(self, contract, waiting, resolved):
        """(is the condition false?, what it raised)"""
        try:
            try:  # what `select_condition_kwargs` gives where nothing is missing
                chosen = {name: resolved[name] for name in contract.condition_args}
            except KeyError:
                chosen = self.icontract.select_condition_kwargs(contract, resolved)
            check = contract.condition(**chosen)
            if check is True:
                return False, None
            if contract in waiting or inspect.iscoroutine(check):
                raise ValueError("Unexpected coroutine (async) condition for a sync function")
            return self.icontract.not_check(check, contract), None
        except BaseException as error:
            return None, error

    def _notices_nothing(self, site, candidate, resolved, result):
        """Would the candidate hold with any other result as well?"""
        postconditions = site.contracts[candidate.index].postconditions
        for value in perturb.others(result):
            own = dict(resolved, result=value)
            for contract in postconditions:
                try:
                    check = contract.condition(**self.icontract.select_condition_kwargs(contract, own))
                    if self.icontract.not_check(check, contract):
                        return False
                except BaseException:
                    return False
        return True

    def _violated(self, candidate, view, clause, contract, resolved, truths):
        truths[candidate.index] = "0"
        if self.every_call:
            return
        name = "ViolationError"
        if contract.error is not None:
            kind = contract.error if isinstance(contract.error, type) else type(contract.error)
            name = kind.__name__
        event = {"e": "violated", "c": candidate.index, "v": view, "clause": clause, "test": self.test}
        first = candidate.surfaced[view] is None
        if not self.raising:
            frame = sys._getframe(5)  # _conditions, _checked, call, the target, the redirected function
            event["message"] = name + ":"
            if self.messages and first:
                event["message"] = self._message(contract, resolved, name)
            if first:
                self.report(event)
            candidate.surfaced[view] = True
            error = functools.cache(lambda: self._error(contract, resolved))
            began = clock() if self.meter else 0
            surely = frames.surely_surfaces(frame.f_back, self.test_code, error, self.altered)
            self._probing += clock() - began if self.meter else 0
            if not surely:
                probed = self._probe(candidate, view, error)
                if probed is not None:
                    raise probed  # this is the probe
            candidate.decided[view] = DECIDED if candidate.surfaced[view] else OPEN
            candidate.suspended = candidate.suspended or not candidate.surfaced[view]
            return
        candidate.surfaced[view] = candidate.surfaced[view] or False
        candidate.decided[view] = DECIDED
        if first:
            self.report(event)  # before the message is built: that may never end
        error = self._error(contract, resolved)
        self.violations.append(error)
        if first:
            self.report({"e": "message", "c": candidate.index, "v": view, "text": say(error)})
        raise error

    def _error(self, contract, resolved):
        evaluating, self._evaluating.candidate = self._evaluating.candidate, None  # icontract looks at the source
        try:
            return self.icontract.violation_error(contract=contract, resolved_kwargs=resolved)
        except BaseException as failure:
            return failure
        finally:
            self._evaluating.candidate = evaluating

    # Somebody on the stack may swallow the violation: a fork of the execution really raises, and says what came of it

    def _probe(self, candidate, view, error):
        """In the probe: the exception to raise. In the execution: None, with what the probe found in `candidate`."""
        candidate.surfaced[view] = "unknown"
        if not self.probing or threading.current_thread() is not threading.main_thread():
            return None  # a fork would lose the test's own thread
        if self._found[:2] == (self.test, self.number):
            self._swallowed(candidate, view, self._found[2])  # whoever raises it from here
            return None
        self.report({"e": "probed", "c": candidate.index})
        answer, into = os.pipe()
        began = clock()
        pid = os.fork()
        if pid == 0:
            os.close(answer)
            self.probe = into
            self.raising, self.report, self.meter = True, lambda event: None, None
            self._evaluating.candidate = candidate
            self.candidates = [candidate]
            self._calls_before = self.calls
            self.violations.append(error())
            return error()
        if self.meter is not None:
            self.meter.leave(0)  # it is not the candidate's time
        os.close(into)
        said = os.read(answer, 1)
        os.close(answer)
        os.waitpid(pid, 0)
        if self.meter is not None:
            self._probing += clock() - began
            self.meter.leave(clock() - began)
            self.meter.enter(candidate.index, clock())
        if said:
            self._swallowed(candidate, view, said)
            if said.isupper():
                self._found = self.test, self.number, said
        return None

    def _swallowed(self, candidate, view, said):
        candidate.surfaced[view] = said in b"Ss"
        candidate.failed_after[view] = candidate.failed_after[view] or said in b"Ff"

    def end_probe(self, surfaced, first, outcome):
        """After a test a probe answers and ends: S, it surfaced; P or F, it was swallowed and the test passed or failed.
        In small letters where a later call of the subject had its part in that, so that it is this candidate's alone."""
        if self.probe is not None:
            letter = b"s" if surfaced else b"f" if outcome == "failed" else b"p"
            alike = first if surfaced else self.calls == self._calls_before
            os.write(self.probe, letter.upper() if alike else letter)
            os._exit(0)

    def _message(self, contract, resolved, name):
        try:
            return say(self.icontract.violation_error(contract=contract, resolved_kwargs=resolved))
        except RuntimeError as error:
            return say(error)
        except BaseException as error:
            return "%s: (its message could not be built: %s)" % (name, say(error))

    def _raised(self, candidate, view, clause, error, truths):
        truths[candidate.index] = "x"
        if not self.every_call:
            if not candidate.raised[view]:
                candidate.raised[view] = True
                event = {"e": "raised", "c": candidate.index, "v": view, "clause": clause, "message": say(error)}
                self.report(event)
            candidate.suspended = True
        if self.raising:
            raise error

    # The function object

    def instrument(self, function, code=None, prepared=None):
        """Puts this pass around the function object; its body runs `code` where that is given.

        `prepared`: each candidate's contracts, made before on a function of the same signature.
        """
        from . import subject

        body = self.body = subject.clone(function, code or function.__code__)
        if code is not None:
            self.altered = subject.codes_in(code).__contains__
        site = self.site(body, prepared)
        subject.redirect(function, lambda args, kwargs: self.call(site, args, kwargs))
        function.__wrapped__ = body
        return function


def _is_iterator(value):
    return hasattr(type(value), "__next__")
