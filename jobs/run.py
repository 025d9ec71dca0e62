"""The main job: tasks, candidates, verdicts, metrics, report. `python -m jobs.run [key=value ...]`

Exit codes: 0 done; 1 our fault; 2 input; 3 finished with unresolved work; 75 run again; 130 interrupted.
"""

import asyncio
import os
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from ensures.errors import InputError
from jobs import config as configuration
from jobs.pipeline import Pipeline
from jobs.progress import Display
from jobs.run_folder import RunFolder

USAGE = """Draws k postcondition sets a method, runs each against the method's tests and mutants, reports Corr@k and Comp@k.

usage: bash slurm/run.sh [key=value ...]

groups:
{groups}
keys:
{keys}
Same command again: only what is missing is done. conf/ holds every choice's values."""


def main(arguments: Sequence[str]) -> int:
    if any(argument in ("-h", "--help") for argument in arguments):
        print(usage())
        return 0
    warnings.simplefilter("ignore", SyntaxWarning)  # of candidates' text, which is parsed here: nobody can mend it
    try:
        config = configuration.load(arguments)
        return asyncio.run(_run(config))
    except InputError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130


def usage() -> str:
    groups = [f"  {group}={'|'.join(configuration.choices(group))}\n" for group in configuration.GROUPS]
    keys = [f"  {key}\n" for key in configuration.known_keys() if key not in configuration.GROUPS]
    return USAGE.format(groups="".join(groups), keys="".join(keys))


async def _run(config: configuration.RunConfig) -> int:
    started = time.monotonic()
    config.name = config.name or f"{config.dataset.kind}-{config.model.name or config.model.engine}"
    folder = RunFolder(Path(config.out) / config.name, configuration.plain(config))
    ended_by: list[int] = []
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        if ended_by:  # the second time: at once; what was written stays
            os._exit(130)
        ended_by.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        with Display() as display:
            pipeline = Pipeline(config, folder, display)
            try:
                await pipeline.run()
            finally:
                await pipeline.close()
        pipeline.conclude(time.monotonic() - started)
        return 3 if pipeline.unresolved else 0
    except asyncio.CancelledError:
        if not ended_by:
            raise
        again = "the same command goes on from here"
        print(f"interrupted; what was finished is in {folder.path}, {again}", file=sys.stderr)
        return 75 if ended_by[0] == signal.SIGTERM else 130
    finally:
        folder.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
