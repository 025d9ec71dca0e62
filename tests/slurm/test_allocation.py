"""An allocation out of Slurm's variables, and what is started on its nodes: as text, without Slurm."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slurm.allocation import Node, Wrong, allocation, plan
from slurm.ray_node import command, granted

GIVEN = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "a[1-3]", "SLURM_JOB_CPUS_PER_NODE": "16(x2),8"}
ARRAY = {
    f"SLURM_ARRAY_TASK_{name}": value for name, value in {"MIN": "3", "MAX": "9", "STEP": "2", "COUNT": "4", "ID": "7"}.items()
}


def names(packed: str) -> list[str]:
    assert packed == "a[1-3]"
    return ["a1", "a2", "a3"]


def test_nodes_and_their_cores() -> None:
    found = allocation({**GIVEN, "SLURM_GPUS_PER_NODE": "h100:4", "SLURM_RESTART_COUNT": "2"}, names)
    assert found.nodes == (Node("a1", 16), Node("a2", 16), Node("a3", 8))
    assert (found.job, found.gpus, found.part, found.restarts) == ("7", "h100:4", "", 2)


@pytest.mark.parametrize(("own", "part"), [("3", "1/4"), ("5", "2/4"), ("9", "4/4")])
def test_parts_of_an_array(own: str, part: str) -> None:
    assert allocation({**GIVEN, **ARRAY, "SLURM_ARRAY_TASK_ID": own}, names).part == part


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({**ARRAY, "SLURM_ARRAY_TASK_COUNT": "3"}, "--array must be a range"),
        ({"SLURM_JOB_CPUS_PER_NODE": "16"}, "names 3 nodes and the cores of 1"),
        ({"SLURM_JOB_CPUS_PER_NODE": "many"}, "can't be read"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, str], said: str) -> None:
    with pytest.raises(Wrong, match=said):
        allocation({**GIVEN, **changes}, names)


def test_the_first_node_is_the_head() -> None:
    made = plan(allocation({**GIVEN, **ARRAY}, names), "10.0.0.1:7777", ["model=qwen3-32b"], "/venv/bin/python")
    assert [name for name, _ in made.nodes] == ["a1", "a2", "a3"]
    assert ["head" in argv for _, argv in made.nodes] == [True, False, False]
    assert all(f"--nodelist={name}" in argv and "--address=10.0.0.1:7777" in argv for name, argv in made.nodes)
    assert "--cpus-per-task=8" in made.nodes[2][1]
    joined = ("cluster=slurm", "cluster.address=10.0.0.1:7777", "cluster.nodes=[a1,a2,a3]", "part=3/4", "model=qwen3-32b")
    assert made.job == ("/venv/bin/python", "-m", "jobs.run", *joined)


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"SLURM_CPUS_ON_NODE": "16", "CUDA_VISIBLE_DEVICES": "0,3", "SLURM_GPUS_ON_NODE": "4"}, (16, 2)),
        ({"SLURM_CPUS_ON_NODE": "16", "SLURM_GPUS_ON_NODE": "4"}, (16, 4)),
        ({"SLURM_CPUS_ON_NODE": "16", "ROCR_VISIBLE_DEVICES": "0"}, (16, 1)),
        ({"SLURM_CPUS_ON_NODE": "2"}, (2, 0)),
    ],
)
def test_what_slurm_granted_a_node(environment: dict[str, str], found: tuple[int, int]) -> None:
    assert granted(environment) == found


def test_two_jobs_on_one_node_do_not_meet() -> None:
    """No port and no folder in common."""

    def options(job: str) -> dict[str, Any]:
        argv = command("ray", "head", f"10.0.0.1:{job}000", "a1", f"/tmp/ens-{job}", {"SLURM_CPUS_ON_NODE": "2"})
        return dict(word.partition("=")[::2] for word in argv if "=" in word)

    one, other = options("7"), options("8")
    own = {name for name in one if "port" in name or name == "--temp-dir"}
    assert len(own) == 7
    assert not {one[name] for name in own} & {other[name] for name in own}


# Stands for the job: it listens late, and is asked to end before
JOB = """
import signal, sys, time
time.sleep(1)
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(75))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
time.sleep(20)
"""
ASKED = """
import os, signal, sys, threading
from slurm.allocation import Allocation, Node, Plan, _run
threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGUSR1)).start()
nodes = (("a", ("sleep", "20")),)
sys.exit(_run(Allocation("7", (Node("a", 1),)), Plan("", "", nodes, (sys.executable, "-c", sys.argv[1]))))
"""


def test_asked_to_end_before_the_job_listens(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", ASKED, JOB], cwd=tmp_path, env=environment, timeout=30)
    assert done.returncode == 75
