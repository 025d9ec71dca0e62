"""What a worker answered of one execution, and the verdicts that it amounts to."""

from dataclasses import dataclass
from typing import Any, Protocol

from ensures.errors import WorkerLost
from ensures.verdict import Ending, Observed, Outcome, Reason, Verdict, decide
from evaluation.baseline import Mark, Plain
from evaluation.worker import Worker


@dataclass(frozen=True, slots=True)
class Answer:
    """`record` as the supervisor sent it (harness, `__main__`). Raises WorkerLost for a fault of the harness itself."""

    record: dict[str, Any]

    def __post_init__(self) -> None:
        fault = self.last("fault")
        if fault:
            raise WorkerLost(f"the harness failed: {fault['message']}")

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.record["events"]  # type: ignore[no-any-return]

    @property
    def seconds(self) -> float:
        return float(self.record["seconds"])

    @property
    def peak_kb(self) -> int:
        return int(self.record["peak_kb"])

    @property
    def stuck(self) -> int | None:
        """The candidate in whose condition the execution had to be ended."""
        return self.record.get("stuck")

    def last(self, kind: str) -> dict[str, Any]:
        return next((event for event in reversed(self.events) if event.get("e") == kind), {})

    def has(self, kind: str, candidate: int) -> bool:
        return any(event.get("e") == kind and event.get("c") == candidate for event in self.events)

    @property
    def end(self) -> dict[str, Any]:
        return self.last("end")

    @property
    def ending(self) -> Ending:
        if self.record["ending"] == "stuck":
            return Ending.TIMEOUT
        if self.record["ending"] != "finished":
            return Ending(self.record["ending"])
        if self.end.get("failed"):
            return Ending.OUT_OF_MEMORY if self.end.get("memory") else Ending.FAILED
        return Ending.STOPPED if self.last("stopped") else Ending.PASSED

    @property
    def trace(self) -> tuple[Mark, ...]:
        return tuple(Mark(*mark) for event in self.events if event.get("e") == "trace" for mark in event["marks"])

    def plain(self) -> Plain:
        """Of an execution without candidates."""
        end = self.end
        return Plain(
            self.ending,
            tuple(end.get("failed", ())),
            end.get("calls", 0),
            end.get("body_raised", 0),
            self.seconds,
            self.trace,
            bool(end.get("iterators")),
        )

    def verdicts(self, index: int, views: int, shared: bool = False) -> tuple[Verdict, ...]:
        """What the execution saw of candidate `index`, decided view by view."""
        events = [event for event in self.events if event.get("c") == index]
        end = self.end
        reported = any(event["e"] == "surfaced" for event in self.events)
        broken = next((event for event in events if event["e"] == "broken"), None)
        if broken is not None:
            return (Verdict(Outcome.ERROR, Reason(broken["reason"]), message=broken["message"]),) * views
        looked = next((f"looked ({event['what']})" for event in events if event["e"] == "looked"), "")
        found = []
        for view in range(views):
            mine = [event for event in events if event.get("v") == view]
            violated = next((event for event in mine if event["e"] == "violated"), None)
            raised = next((event for event in mine if event["e"] == "raised"), None)
            said = violated or raised or {}
            late = next((event["text"] for event in mine if event["e"] == "message"), "")
            surfaced, ending = None, self.ending
            if violated is not None:
                surfaced = reported or ("surfaced" in end and end["surfaced"][index][view] is True)
                if surfaced or ("failed_after" in end and end["failed_after"][index][view]):
                    ending = Ending.FAILED  # where it is really raised, that test fails
            observed = Observed(
                ending=ending,
                violated=violated is not None,
                raised=raised is not None,
                clause=said.get("clause"),
                message=looked or late or said.get("message", ""),
                surfaced=surfaced,
                seconds=self.seconds,
                tests_failed=tuple(end.get("failed", ())),
                looked=bool(looked),
                evaluated=end["evaluated"][index][view] if "evaluated" in end else 0,
                shared=shared,
            )
            found.append(decide(observed))
        return tuple(found)


GRACE = 60.0  # seconds beyond an execution's own limit in which its worker has to answer, on the busiest machine


class Owner(Protocol):
    """Of a worker, which it can start anew."""

    worker: Worker | None

    def start(self) -> Any: ...

    def close(self) -> None: ...


def ask(owner: Owner, request: dict[str, Any], seconds: float) -> Answer:
    """One request, whose execution ends within `seconds`. A lost worker is started again once; then the fault is passed on
    (WorkerLost)."""
    for last in (False, True):
        try:
            if owner.worker is None:
                owner.start()
            assert owner.worker is not None
            return Answer(owner.worker.request(request, seconds + GRACE))
        except WorkerLost:
            owner.close()
            if last:
                raise
    raise AssertionError("unreachable")
