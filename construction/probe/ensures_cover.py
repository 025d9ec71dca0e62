"""Runs a project's tests once under coverage, with a context a test, and prints what covers what as JSON.

Runs in the project's environment (which holds coverage for it): python -m ensures_cover ROOT [pytest arguments]
"""

import json
import os
import sys


class Contexts:
    """Switches coverage's context with every test, and keeps the outcomes."""

    def __init__(self, measured):
        self.measured = measured
        self.outcomes = {}
        self.seconds = {}

    def pytest_runtest_logstart(self, nodeid, location):
        self.measured.switch_context(nodeid)

    def pytest_runtest_logfinish(self, nodeid, location):
        self.measured.switch_context("")

    def pytest_runtest_logreport(self, report):
        before = self.outcomes.get(report.nodeid, "passed")
        failed = report.failed or before == "failed"
        self.outcomes[report.nodeid] = "failed" if failed else "skipped" if report.skipped else before
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def main():
    root, args = sys.argv[1], sys.argv[2:]
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    import coverage
    import pytest

    measured = coverage.Coverage(data_file=None, source=[root], config_file=False)
    plugin = Contexts(measured)
    measured.start()
    status = pytest.main(
        ["-q", "-p", "no:cacheprovider", "--capture=sys", "--continue-on-collection-errors"]
        + ["-o", "addopts=", "--rootdir", root, *args],
        plugins=[plugin],
    )
    measured.stop()
    data = measured.get_data()
    files = {}
    for path in data.measured_files():
        try:
            _, statements, _, _, _ = measured.analysis2(path)
        except coverage.CoverageException:
            continue
        tests = {str(line): [c for c in contexts if c] for line, contexts in data.contexts_by_lineno(path).items()}
        files[os.path.relpath(path, root)] = {"statements": statements, "tests": tests}
    report = {"status": int(status), "outcomes": plugin.outcomes, "seconds": plugin.seconds, "files": files}
    with os.fdopen(answer, "w") as file:
        json.dump(report, file)


if __name__ == "__main__":
    main()
