"""What the commands have in common: configuration, signals, exit codes.

0 done; 1 our fault; 2 input; 3 finished with unresolved work; 75 run again; 130 interrupted.
"""

import asyncio
import os
import signal
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from ensures.errors import InputError, Stopped
from jobs import config as configuration
from jobs.conclusion import Conclusion
from jobs.pipeline import Pipeline
from jobs.progress import Display
from jobs.run_folder import RunFolder

USAGE = """{about}

usage: {command} [key=value ...]

groups:
{groups}
keys:
{keys}
Same command again: only what is missing is done. conf/ holds every choice's values.
--multirun key=a,b: one run after the other, every pair of several keys; sweep=NAME takes conf/sweep/NAME.yaml."""

LAST = -1  # no exit code: this part was the last of its run
Work = Callable[[Pipeline], Awaitable[None]]
End = Callable[[Conclusion, float], None]


def command(arguments: Sequence[str], about: str, name: str, work: Work, end: End) -> int:
    """Runs one job's `work` on the configured pipeline, then `end`. Gives the exit code."""
    if any(argument in ("-h", "--help") for argument in arguments):
        print(usage(about, name))
        return 0
    if "--multirun" in arguments or "-m" in arguments:
        return _several([argument for argument in arguments if argument not in ("--multirun", "-m")], about, name, work, end)
    warnings.simplefilter("ignore", SyntaxWarning)  # of candidates' text, which is parsed here: nobody can mend it
    try:
        config = configuration.load(arguments)
        code = asyncio.run(_run(config, work, end))
        if code == LAST:
            print("this was the last part: the metrics are of all")
            return command([argument for argument in arguments if not argument.startswith("part=")], about, name, work, end)
        return code
    except InputError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130


def _several(arguments: Sequence[str], about: str, name: str, work: Work, end: End) -> int:
    """One run after the other. The exit code is the first that is not 0; an interrupt and wrong input end the sweep."""
    try:
        runs = configuration.sweep(arguments)
        for overrides in runs:
            configuration.load(overrides)  # what is wrong with any is said before the first begins
    except InputError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    worst = 0
    for number, overrides in enumerate(runs, 1):
        print(f"[{number}/{len(runs)}] {' '.join(overrides)}", flush=True)
        code = command(overrides, about, name, work, end)
        worst = worst or code
        if code not in (0, 3):
            break
    return worst


def usage(about: str, name: str) -> str:
    groups = [f"  {group}={'|'.join(configuration.choices(group))}\n" for group in configuration.GROUPS]
    keys = [f"  {key}\n" for key in configuration.known_keys() if key not in configuration.GROUPS]
    return USAGE.format(about=about, command=name, groups="".join(groups), keys="".join(keys))


def _part_done(config: configuration.RunConfig, folder: RunFolder, pipeline: Pipeline) -> int:
    """What is unresolved is tried again by the last part, which counts it."""
    print(f"part {config.part} is done: {len(pipeline.tasks)} tasks, {len(pipeline.unresolved)} unresolved")
    return LAST if folder.finished() else 3 if pipeline.unresolved else 0


async def _run(config: configuration.RunConfig, work: Work, end: End) -> int:
    started = time.monotonic()
    config.name = config.name or f"{config.dataset.kind}-{config.model.label or config.model.engine}"
    folder = RunFolder(Path(config.out) / config.name, configuration.plain(config))
    asked: list[int] = []
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    try:
        with Display() as display:
            pipeline: Pipeline | None = None

            def stop(number: int) -> None:
                """The first time, what is in flight is finished; the second time it is not; what was written stays."""
                asked.append(number)
                if number != signal.SIGUSR1 and asked.count(number) > 1:
                    os._exit(130)
                if len(asked) > 1:  # another way to ask for the same
                    return
                if pipeline is None or not pipeline.begun:
                    task.cancel()
                else:
                    display.say("finishing what is in flight (once more to end at once)")
                    pipeline.stop()

            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
                loop.add_signal_handler(number, stop, number)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})  # slurm.allocation blocks it until here
            pipeline = Pipeline(config, folder, display)
            try:
                await work(pipeline)
            finally:
                await pipeline.close()
        if config.part:
            return _part_done(config, folder, pipeline)
        end(Conclusion(pipeline, config), time.monotonic() - started)
        return 3 if pipeline.unresolved else 0
    except (Stopped, asyncio.CancelledError):
        if not asked:
            raise
        again = "the same command goes on from here"
        print(f"interrupted; what was finished is in {folder.path}, {again}", file=sys.stderr)
        return 130 if asked[0] == signal.SIGINT else 75
    finally:
        folder.close()
