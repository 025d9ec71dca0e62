"""A cluster that is there already: joined, waited for, its nodes compared with this one."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.ray_joined import differences
from slurm.ray_node import free_port
from tests.jobs import demo


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two nodes on this machine, a and b, of two cores each."""
    folder = tempfile.mkdtemp(prefix="ens-", dir="/tmp")
    address = f"127.0.0.1:{free_port()}"
    environment = {**os.environ, "SLURM_CPUS_ON_NODE": "2", "PYTHONPATH": str(demo.ROOT)}
    started = []
    for role, name in (("head", "a"), ("join", "b")):
        command = [
            sys.executable,
            "-m",
            "slurm.ray_node",
            role,
            f"--address={address}",
            f"--name={name}",
            f"--folder={folder}",
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, env=environment, cwd=demo.ROOT, **quiet))  # type: ignore[call-overload]
    yield address
    for process in reversed(started):
        process.terminate()
    for process in started:
        process.wait(timeout=30)
    assert not Path(folder).exists()


def test_nodes_are_waited_for_and_used(address: str, tmp_path: Path) -> None:
    overrides = demo.write(tmp_path / "d")
    done = demo.run(*overrides, "name=slurm", "cluster=slurm", f"cluster.address={address}", "cluster.nodes=[a,b]")
    assert done.returncode == 0, done.stderr
    assert f"joined Ray at {address}: 2 nodes, 4 evaluation workers" in done.stderr
    again = demo.run(*overrides, "name=ray", "cluster=ray", f"cluster.address={address}", "evaluation.workers=1")
    assert again.returncode == 0, again.stderr
    out = tmp_path / "d" / "runs"
    assert demo.rows(out / "slurm") == demo.rows(out / "ray")


def test_what_is_wrong_with_a_node_is_said_by_its_name(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    overrides = demo.write(tmp_path / "d")
    joined = ["cluster=slurm", f"cluster.address={address}"]
    missing = demo.run(*overrides, *joined, "cluster.nodes=[a,b,c]", "cluster.wait_seconds=5")
    assert missing.returncode == 2
    assert missing.stderr.splitlines()[-1].startswith("error: Ray did not start in time on c; slurm-logs/")
    metadata = tmp_path / "more" / "gadget-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: gadget\nVersion: 1.0\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "more"))  # of the driver alone
    other = demo.run(*overrides, *joined, "cluster.nodes=[a,b]")
    assert other.returncode == 2
    assert other.stderr.splitlines()[-1] in [
        f"error: node {name} has gadget missing (here 1.0): install the same on every node" for name in "ab"
    ]


def test_an_address_where_nothing_answers(tmp_path: Path) -> None:
    overrides = demo.write(tmp_path / "d")
    for kind in ("ray", "slurm"):
        none = demo.run(*overrides, f"cluster={kind}")
        assert none.returncode == 2 and f"error: cluster={kind} needs a cluster's address" in none.stderr
    silent = demo.run(*overrides, "cluster=ray", f"cluster.address=127.0.0.1:{free_port()}")
    assert silent.returncode == 2 and "error: cluster=ray: nothing answers at 127.0.0.1:" in silent.stderr
    assert len(silent.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("part", ["0/3", "4/3", "1", "a/b", "1/0"])
def test_parts_that_are_none(tmp_path: Path, part: str) -> None:
    done = demo.run(*demo.write(tmp_path / "d"), f"part={part}")
    assert done.returncode == 2 and f"error: part={part}: a part is i/n" in done.stderr


def test_parts_one_after_the_other(tmp_path: Path) -> None:
    """The last writes the metrics of all, also where there are more parts than tasks."""
    overrides = [*demo.write(tmp_path / "d"), "cluster=none"]
    out = tmp_path / "d" / "runs"
    assert demo.run(*overrides, "name=whole").returncode == 0
    for number in (4, 2, 1, 5, 3):
        done = demo.run(*overrides, "name=parts", f"part={number}/5")
        assert done.returncode == 0, done.stderr
        assert f"part {number}/5 is done: {int(number <= 3)} tasks" in done.stdout
        assert ("this was the last part" in done.stdout) is (number == 3)
        assert (out / "parts" / "metrics.json").exists() is (number == 3)
    assert demo.rows(out / "parts") == demo.rows(out / "whole")


def test_differences_name_the_interpreter_first_and_not_everything() -> None:
    own = {"Python": "3.11.7", "numpy": "2.3.5", "ray": "2.60.0"}
    assert differences(own, own) == []
    assert differences(own, {**own, "Python": "3.12.1", "numpy": "2.1"}) == [
        "Python 3.12.1 (here 3.11.7)",
        "numpy 2.1 (here 2.3.5)",
    ]
    many = differences(own, {f"p{n}": "1" for n in range(10)})
    assert many[0] == "Python missing (here 3.11.7)" and many[-1] == "and 9 more that differ"
