"""The main job: tasks, candidates, verdicts, metrics, report. `python -m jobs.run [key=value ...]`"""

import sys
from collections.abc import Sequence

from jobs.command import command
from jobs.conclusion import Conclusion
from jobs.pipeline import Pipeline

ABOUT = "Draws k postcondition sets a method, runs each against the method's tests and mutants, reports Corr@k and Comp@k."


def main(arguments: Sequence[str]) -> int:
    return command(arguments, ABOUT, "bash slurm/run.sh", Pipeline.both, Conclusion.evaluated)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
