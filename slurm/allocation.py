"""Inside a Slurm allocation: a Ray cluster over its nodes for as long as one job, and the job.

`python -m slurm.allocation [--dry-run] [key=value ...]`, started by `slurm/run.sh` on the allocation's first node.

`srun` starts Ray on every node (`slurm.ray_node`), the job joins it, and everything ends with the job. SIGUSR1 (before the
time limit: `--signal=B:USR1@120`) and SIGTERM have the job finish what is in flight and end with 75; the same again goes on
from there, by itself as often as ENSURES_REQUEUE says. The tasks of an array share a run: each takes its part of the tasks.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from slurm.ray_node import free_port

AGAIN = 75
END_SECONDS = 10.0


class Wrong(Exception):
    """The user's to mend: one line, exit code 2."""


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    cores: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """`gpus` as Slurm has it, of a node; `part` of the benchmark, as i/n: of an array's task."""

    job: str
    nodes: tuple[Node, ...]
    gpus: str = ""
    part: str = ""
    restarts: int = 0


def allocation(environment: Mapping[str, str], names: Callable[[str], Sequence[str]]) -> Allocation:
    """Out of SLURM_* variables. `names` expands a list of hosts. Raises Wrong."""
    hosts = names(environment["SLURM_JOB_NODELIST"])
    cores = _each(environment.get("SLURM_JOB_CPUS_PER_NODE", "1"))
    if len(cores) != len(hosts):
        raise Wrong(f"Slurm names {len(hosts)} nodes and the cores of {len(cores)} (SLURM_JOB_CPUS_PER_NODE)")
    nodes = tuple(Node(name, count) for name, count in zip(hosts, cores, strict=True))
    gpus = environment.get("SLURM_GPUS_PER_NODE") or environment.get("SLURM_GPUS_ON_NODE") or "0"
    restarts = int(environment.get("SLURM_RESTART_COUNT") or 0)
    return Allocation(environment["SLURM_JOB_ID"], nodes, gpus, _part(environment), restarts)


def _each(packed: str) -> list[int]:
    """16(x2),8 -> 16, 16, 8."""
    found: list[int] = []
    for item in packed.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", item)
        if match is None:
            raise Wrong(f"SLURM_JOB_CPUS_PER_NODE={packed} can't be read")
        found += [int(match[1])] * int(match[2] or 1)
    return found


def _part(environment: Mapping[str, str]) -> str:
    if "SLURM_ARRAY_TASK_ID" not in environment:
        return ""
    first, last, step, count, own = (
        int(environment[f"SLURM_ARRAY_TASK_{name}"]) for name in ("MIN", "MAX", "STEP", "COUNT", "ID")
    )
    if (last - first) // max(1, step) + 1 != count:
        raise Wrong("--array must be a range, as in --array=1-8: its tasks share the benchmark out among them")
    return f"{(own - first) // max(1, step) + 1}/{count}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is started where: a command for each node, and the job's."""

    address: str
    folder: str
    nodes: tuple[tuple[str, tuple[str, ...]], ...]
    job: tuple[str, ...]


def plan(given: Allocation, address: str, arguments: Sequence[str], python: str = sys.executable) -> Plan:
    folder = f"/tmp/ens-{given.job}"  # Ray's sockets need a short path
    started = []
    for index, node in enumerate(given.nodes):
        role = "join" if index else "head"
        srun = ["srun", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={node.name}", f"--cpus-per-task={node.cores}"]
        own = [python, "-m", "slurm.ray_node", role, f"--address={address}", f"--name={node.name}", f"--folder={folder}"]
        started.append((node.name, (*srun, "--mem=0", "--job-name=ray", *own)))
    names = ",".join(node.name for node in given.nodes)
    joined = ["cluster=slurm", f"cluster.address={address}", f"cluster.nodes=[{names}]"]
    joined += [f"part={given.part}"] if given.part else []
    return Plan(address, folder, tuple(started), (python, "-m", "jobs.run", *joined, *arguments))


def described(given: Allocation, made: Plan) -> str:
    """For --dry-run."""
    lines = [f"job {given.job}: {len(given.nodes)} nodes, GPUs a node: {given.gpus}"]
    lines += [f"part {given.part} of the benchmark"] if given.part else []
    lines += [f"{name}: {shlex.join(argv)}" for name, argv in made.nodes]
    return "\n".join([*lines, f"{given.nodes[0].name}: {shlex.join(made.job)}"])


def main(arguments: Sequence[str]) -> int:
    dry = "--dry-run" in arguments
    arguments = [argument for argument in arguments if argument != "--dry-run"]
    if "SLURM_JOB_ID" not in os.environ:
        print(f"no allocation: here, {shlex.join([sys.executable, '-m', 'jobs.run', *arguments])}")
        return 0
    try:
        given = allocation(os.environ, _hosts)
    except Wrong as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    made = plan(given, f"{_own_address()}:{free_port()}", arguments)
    if dry:
        print(described(given, made))
        return 0
    code = _run(given, made)
    if code == AGAIN and given.restarts < int(os.environ.get("ENSURES_REQUEUE") or 0):
        print(f"back into the queue, for the {given.restarts + 1}. time", file=sys.stderr, flush=True)
        subprocess.run(["scontrol", "requeue", given.job], check=False)
        time.sleep(60)  # Slurm ends this process
    return code


def _run(given: Allocation, made: Plan) -> int:
    logs = Path("slurm-logs") / given.job
    logs.mkdir(parents=True, exist_ok=True)
    sruns: dict[str, subprocess.Popen[bytes]] = {}
    job: subprocess.Popen[bytes] | None = None
    asked: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        """To the job, as a signal that does no harm if it comes twice: Slurm may have sent it there as well."""
        asked.append(number)
        if job is not None and job.poll() is None:
            job.send_signal(signal.SIGINT if number == signal.SIGINT else signal.SIGUSR1)

    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    try:
        for name, argv in made.nodes:
            with (logs / f"{name}.log").open("ab") as log:
                own = {**os.environ, "PYTHONPATH": os.getcwd()}
                sruns[name] = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=own)
        # the job inherits this: what comes before it listens waits for it (jobs.command)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        if not asked:
            job = subprocess.Popen(made.job)
            if asked:
                job.send_signal(signal.SIGUSR1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        return _watch(job, sruns, logs) if job is not None else AGAIN
    finally:
        for process in sruns.values():
            if process.poll() is None:
                process.send_signal(signal.SIGUSR2)
        deadline = time.monotonic() + END_SECONDS
        for process in sruns.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()


def _watch(job: subprocess.Popen[bytes], sruns: Mapping[str, subprocess.Popen[bytes]], logs: Path) -> int:
    """The job's exit code. Nodes that end before it are named; without the first, which is the head, nothing goes on."""
    head, gone = next(iter(sruns)), set[str]()
    while (code := job.poll()) is None:
        for name, process in sruns.items():
            if process.poll() is not None and name not in gone:
                gone.add(name)
                what = "the head, so the job ends" if name == head else "the others go on"
                print(
                    f"warning: Ray has ended on {name} ({what}); {logs / f'{name}.log'} says why", file=sys.stderr, flush=True
                )
                if name == head:
                    job.send_signal(signal.SIGUSR1)
                    try:
                        job.wait(END_SECONDS)
                    except subprocess.TimeoutExpired:
                        job.kill()
        time.sleep(0.2)
    late = code == -signal.SIGUSR1  # asked to end when it no longer listened: everything is written
    return AGAIN if late or (head in gone and code not in (0, 2, 3)) else code if code >= 0 else 128 - code


def _hosts(packed: str) -> list[str]:
    done = subprocess.run(["scontrol", "show", "hostnames", packed], capture_output=True, text=True)
    if done.returncode != 0:
        raise Wrong(f"scontrol can't name the nodes of {packed}: {' '.join(done.stderr.split())}")
    return done.stdout.split()


def _own_address() -> str:
    """Of this node, as others reach it: that of the interface by which it would leave."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))  # nothing is sent
            return str(one.getsockname()[0])
        except OSError:
            return "127.0.0.1"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
