"""Half of the main job: candidates are drawn and stored, nothing is judged. `python -m jobs.generate [key=value ...]`

`python -m jobs.evaluate` with the same settings does the rest, also where there is no GPU.
"""

import sys
from collections.abc import Sequence

from jobs.command import command
from jobs.conclusion import Conclusion
from jobs.pipeline import Pipeline

ABOUT = "Draws k postcondition sets a method into the run folder. python -m jobs.evaluate judges them."


def main(arguments: Sequence[str]) -> int:
    return command(arguments, ABOUT, "python -m jobs.generate", Pipeline.generate, Conclusion.generated)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
