"""`sbatch slurm/run.sh` on a real Slurm of two nodes: to the end, cancelled, out of time, in parts, with a node lost."""

import importlib.util
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs import demo
from tests.slurm.emulated import CORES, Slurm, slurm

RUN = str(demo.ROOT / "slurm" / "run.sh")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Slurm]:
    with slurm() as found:
        yield found
    shutil.rmtree(demo.ROOT / "slurm-logs", ignore_errors=True)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Half a minute of work, and what it comes to undisturbed (`whole`)."""
    overrides = [*demo.write(tmp_path_factory.mktemp("slow"), pause=0.4), "sandbox=bubblewrap"]
    done = demo.run(*overrides, "name=whole")
    assert done.returncode == 0, done.stderr
    return overrides


def out(overrides: list[str]) -> Path:
    return Path(next(o.removeprefix("out=") for o in overrides if o.startswith("out=")))


def submit(cluster: Slurm, said: Path, *words: str, **environment: str) -> str:
    options = ["sbatch", "--parsable", f"--output={said}", "--chdir=/", *words]
    return cluster.command(*options, **environment).partition(";")[0]


def verdicts(folder: Path) -> int:
    return len(list((folder / "verdicts").glob("*.parquet")))


def until_verdicts(cluster: Slurm, job: str, folder: Path, said: Path, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not verdicts(folder):
        assert cluster.job(job)["JobState"] in ("PENDING", "RUNNING", "CONFIGURING"), said.read_text()
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.1)


def test_two_nodes_to_the_end(cluster: Slurm, tmp_path: Path, slow: list[str]) -> None:
    """The same rows as on one machine; nothing is left of Ray."""
    said = tmp_path / "said"
    job = submit(cluster, said, "--nodes=2", RUN, *slow, "name=two")
    found = cluster.wait(job, 150)
    assert found["ExitCode"] == "0:0", said.read_text()
    assert f"2 nodes, {2 * CORES} evaluation workers, sandbox bubblewrap" in said.read_text()
    assert demo.rows(out(slow) / "two") == demo.rows(out(slow) / "whole")
    assert not Path(f"/tmp/ens-{job}").exists()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert f"/tmp/ens-{job}".encode() not in path.read_bytes()
        except OSError:
            continue


def test_a_model_on_vllm(cluster: Slurm, tmp_path: Path) -> None:
    """Granted GPUs that no driver knows are none: the tiny model is served on the cores."""
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM is not installed here")
    said = tmp_path / "said"
    chosen = [o for o in demo.write(tmp_path / "d") if not o.startswith(("model", "settings=", "k="))]
    job = submit(cluster, said, "--nodes=2", RUN, *chosen, "model=tiny-qwen3", "settings=[c2p]", "k=1", "name=tiny")
    found = cluster.wait(job, 240)
    assert found["ExitCode"] == "0:0", said.read_text()
    assert "starting 1 replica of tiny-qwen3, on the CPU" in said.read_text()
    assert len(demo.rows(tmp_path / "d" / "runs" / "tiny")) > 3


def test_cancelled_in_the_middle_and_started_again(cluster: Slurm, tmp_path: Path, slow: list[str]) -> None:
    said, folder = tmp_path / "said", out(slow) / "cancelled"
    job = submit(cluster, said, RUN, *slow, "name=cancelled")
    until_verdicts(cluster, job, folder, said)
    cluster.command("scancel", job)
    assert cluster.wait(job, 60)["JobState"] == "CANCELLED"
    kept = verdicts(folder)
    assert kept and not (folder / "metrics.json").exists()
    again = submit(cluster, said, RUN, *slow, "name=cancelled")
    assert cluster.wait(again, 150)["ExitCode"] == "0:0", said.read_text()
    assert demo.rows(folder) == demo.rows(out(slow) / "whole")


def test_before_the_time_limit_it_stops_in_order(cluster: Slurm, tmp_path: Path, slow: list[str]) -> None:
    """The limit is one minute; Slurm sends the signal when it sees fit, up to a minute early. The same again goes on."""
    said, folder = tmp_path / "said", out(slow) / "limited"
    options = ["--time=1", "--signal=B:USR1@30"]
    job = submit(cluster, said, *options, RUN, *slow, "name=limited")
    found = cluster.wait(job, 120)
    assert found["ExitCode"] == "75:0", said.read_text()
    again = submit(cluster, said, RUN, *slow, "name=limited")
    assert cluster.wait(again, 150)["ExitCode"] == "0:0", said.read_text()
    assert demo.rows(folder) == demo.rows(out(slow) / "whole")


def test_it_goes_back_into_the_queue_by_itself(cluster: Slurm, tmp_path: Path, slow: list[str]) -> None:
    said, folder = tmp_path / "said", out(slow) / "requeued"
    job = submit(cluster, said, RUN, *slow, "name=requeued", ENSURES_REQUEUE="1")
    until_verdicts(cluster, job, folder, said)
    cluster.command("scancel", "--batch", "--signal=USR1", job)
    deadline = time.monotonic() + 60  # Slurm lets a job that comes back wait for two minutes
    while cluster.job(job)["JobState"] != "RUNNING" or cluster.job(job)["Restarts"] != "1":
        assert time.monotonic() < deadline, said.read_text()
        if cluster.job(job)["JobState"] == "PENDING":
            cluster.command("scontrol", "update", f"jobid={job}", "starttime=now")
        time.sleep(0.5)
    found = cluster.wait(job, 200)
    assert (found["ExitCode"], found["Restarts"]) == ("0:0", "1"), said.read_text()
    assert "finishing what is in flight" in said.read_text() and "the same command goes on from here" in said.read_text()
    assert demo.rows(folder) == demo.rows(out(slow) / "whole")


def test_an_array_shares_one_run(cluster: Slurm, tmp_path: Path, slow: list[str]) -> None:
    """Each job takes its part of the tasks; the one that is last writes the metrics."""
    folder = out(slow) / "array"
    options = ["--array=1-3", "--cpus-per-task=4", "--gpus-per-node=0", "--mem=1G"]
    job = submit(cluster, tmp_path / "said-%a", *options, RUN, *slow, "name=array")
    deadline = time.monotonic() + 200
    while any(
        state in cluster.command("squeue", "-h", "-j", job, "-o", "%T") for state in ("PENDING", "RUNNING", "COMPLETING")
    ):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    said = [path.read_text() for path in sorted(tmp_path.glob("said-*"))]
    assert len(said) == 3 and all(f"part {n}/3 is done: 1 tasks" in text for n, text in enumerate(said, 1)), said
    assert sum("this was the last part" in text for text in said) == 1, said
    assert demo.rows(folder) == demo.rows(out(slow) / "whole")
    assert json.loads((folder / "metrics.json").read_text()) == json.loads((out(slow) / "whole" / "metrics.json").read_text())


def test_a_node_that_is_lost(cluster: Slurm, tmp_path: Path, slow: list[str]) -> None:
    """It is named, the others take over its work, and no row is missing."""
    said, folder = tmp_path / "said", out(slow) / "lost"
    options = ["--nodes=2", "--cpus-per-task=1", "--mem=1G"]
    job = submit(cluster, said, *options, RUN, *slow, "name=lost")
    until_verdicts(cluster, job, folder, said)
    second = cluster.job(job)["NodeList"]
    assert second == "n[1-2]"
    cluster.down("n2")
    try:
        found = cluster.wait(job, 200)
    finally:
        cluster.up("n2")
    assert found["ExitCode"] == "0:0", said.read_text()
    assert demo.rows(folder) == demo.rows(out(slow) / "whole")


def test_what_would_be_started_where(cluster: Slurm, tmp_path: Path) -> None:
    said = tmp_path / "said"
    job = submit(cluster, said, "--nodes=2", RUN, "--dry-run", "model=reference")
    assert cluster.wait(job, 60)["ExitCode"] == "0:0", said.read_text()
    first, second, third, fourth = said.read_text().strip().splitlines()[-4:]
    assert first == f"job {job}: 2 nodes, GPUs a node: 1"
    assert second.startswith("n1: srun ") and " head " in second and f"--cpus-per-task={CORES}" in second
    assert third.startswith("n2: srun ") and " join " in third
    assert "-m jobs.run cluster=slurm cluster.address=" in fourth and fourth.endswith(
        "'cluster.nodes=[n1,n2]' model=reference"
    )
