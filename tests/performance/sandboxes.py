"""What each sandbox costs: starting a worker, and one warm execution of a subject above the process sandbox's.

python -m tests.performance.sandboxes [--rounds N] [--json FILE]

All that start here, in turn, in one run; medians. A subject's execution is a fork of the warm worker with one small test.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from _pytest.outcomes import Skipped

from containers.backends.process import PlainProcess
from ensures.subject import mutants, original
from evaluation.python.session import IcontractChecker, IcontractSession
from tests import projects
from tests.containers import engines

MODULE = "def double(values):\n    return [value * 2 for value in values]\n"
TEST = "from demo import double\n\ndef test_double():\n    assert double([1, 2]) == [2, 4]\n    assert double([]) == []\n"
GOOD = "@icontract.ensure(lambda values, result: len(values) == len(result))"
EXECUTIONS = 60  # of one round


def opened(sandbox: Any, folder: Path) -> tuple[IcontractSession, float]:
    task = projects.task(folder, "demo.py", "double", ("test_demo.py::test_double",), most=4)
    started = time.perf_counter()
    session = IcontractChecker(sandbox, seconds=10.0).prepare(task, projects.workspace(folder))
    return session, time.perf_counter() - started


def execution(session: IcontractSession) -> float:
    subjects = [original(session.task), *mutants(session.task)]
    submission = projects.submission(GOOD)
    taken = []
    for number in range(EXECUTIONS):
        started = time.perf_counter()
        session.check(subjects[number % len(subjects)], [submission])
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def restart(session: IcontractSession) -> float:
    """A worker from nothing to its first answer."""
    started = time.perf_counter()
    session.start()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    sandboxes: dict[str, Any] = {"process": PlainProcess()}
    for kind in engines.ISOLATING:
        try:
            sandboxes[kind] = engines.sandbox(kind)
        except Skipped as error:
            print(f"{kind}: {error}")
    figures: dict[str, dict[str, list[float]]] = {kind: {"open": [], "start": [], "execution": []} for kind in sandboxes}
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as place:
        (Path(place) / "demo").mkdir()
        folder = projects.write(Path(place) / "demo", {"demo.py": MODULE, "test_demo.py": TEST})
        Path(place).chmod(0o755)
        for _ in range(chosen.rounds):
            for kind, sandbox in sandboxes.items():
                session, seconds = opened(sandbox, folder)
                try:
                    figures[kind]["open"].append(seconds)
                    figures[kind]["start"].append(restart(session))
                    figures[kind]["execution"].append(execution(session))
                finally:
                    session.close()
    engines.end()
    found = {kind: {name: statistics.median(values) for name, values in by.items()} for kind, by in figures.items()}
    plain = found["process"]
    print(f"{'sandbox':<12}{'baseline s':>12}{'start s':>10}{'subject ms':>12}{'above process ms':>18}")
    for kind, by in found.items():
        above = 1000 * (by["execution"] - plain["execution"])
        print(f"{kind:<12}{by['open']:>12.2f}{by['start']:>10.2f}{1000 * by['execution']:>12.1f}{above:>18.1f}")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
