"""Half of the main job: what is stored in the run folder is judged, nothing is drawn.

`python -m jobs.evaluate [key=value ...]`, with the settings of the generation.
"""

import sys
from collections.abc import Sequence

from jobs.command import command
from jobs.conclusion import Conclusion
from jobs.pipeline import Pipeline

ABOUT = "Judges the candidates that python -m jobs.generate drew into the run folder, and reports Corr@k and Comp@k."


def main(arguments: Sequence[str]) -> int:
    return command(arguments, ABOUT, "python -m jobs.evaluate", Pipeline.evaluate, Conclusion.evaluated)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
