"""What container engines do wrong, and what comes of it: a reason, another try, never a worker that hangs."""

import itertools
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from containers import docker_api
from containers.attached import KILLED, NOT_STARTED, Attached
from containers.backends.apptainer import Apptainer, ApptainerConfig
from containers.backends.docker import Docker, DockerConfig
from containers.choose import AutoConfig, choose
from containers.docker_api import LABEL, Containers
from containers.images.definitions import FILES, HERE, NAMES, system_packages, tag
from containers.sandbox import SandboxSpec
from ensures.errors import SandboxUnavailable
from tests.containers import engines

CAT = SandboxSpec(argv=("/bin/cat",), cwd=Path("/"))


@pytest.fixture(scope="module", params=("docker", "podman"))
def engine(request: pytest.FixtureRequest) -> Containers:
    found = engines.sandbox(request.param)
    assert isinstance(found, Containers)
    return found


def ours(engine: Containers) -> list[Any]:
    found: list[Any] = engine.client().containers.list(all=True, filters={"label": LABEL})
    return found


def test_an_image_that_is_not_there_is_named_with_how_to_make_it(engine: Containers) -> None:
    config = type(engine.config)(host=engine.config.host, image="nothing:1")
    without = type(engine)(config)
    with pytest.raises(
        SandboxUnavailable, match=f"nothing:1 is not there; make it with python -m jobs.images --engine {engine.kind}"
    ):
        without.check()
    process = without.start(CAT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == NOT_STARTED and b"nothing:1" in said


def test_a_container_that_is_killed_from_outside_is_a_process_that_has_ended(engine: Containers) -> None:
    process = engine.start(CAT)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"here")
    assert process.stdout.read(4) == b"here"
    for container in ours(engine):
        container.kill()
    assert process.stdout.read() == b""
    assert process.wait(10) == 137


def test_kill(engine: Containers) -> None:
    process = engine.start(SandboxSpec(argv=("/bin/sleep", "1000"), cwd=Path("/")))
    process.kill()
    assert process.wait(1) == KILLED
    slow = engine.start(SandboxSpec(argv=("/bin/sleep", "1000"), cwd=Path("/")))
    with pytest.raises(subprocess.TimeoutExpired):
        slow.communicate(timeout=0.5)
    slow.kill()
    assert slow.communicate(timeout=5) == (b"", b"")


def test_what_a_killed_process_left_is_swept_and_what_lives_is_not(engine: Containers) -> None:
    code = (
        f"import pickle, os, sys; sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})\n"
        "from pathlib import Path\n"
        "from containers.sandbox import SandboxSpec\n"
        f"p = pickle.loads({pickle.dumps(engine)!r}).start(SandboxSpec(argv=('/bin/sleep', '1000'), cwd=Path('/')))\n"
        "p.pid; os.kill(os.getpid(), 9)"
    )
    living = engine.start(CAT)
    assert living.pid
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(engine.sweep()) == 1
    assert living.pid in [container.attrs["State"]["Pid"] for container in ours(engine)]
    assert engine.sweep() == []
    living.kill()
    living.wait(10)


def test_limits_are_of_the_whole_container(engine: Containers) -> None:
    small = type(engine)(type(engine.config)(host=engine.config.host, memory_mb=64, processes=20))
    code = "a = b'x' * (200 << 20)"
    process = small.start(SandboxSpec(argv=("/usr/bin/python3", "-c", code), cwd=Path("/")))
    process.communicate(timeout=30)
    assert process.returncode == 137
    code = (
        "import os, time\nfor n in range(1000):\n    if os.fork() == 0: time.sleep(5); os._exit(0)\n    print(n, flush=True)"
    )
    out, said = small.start(SandboxSpec(argv=("/usr/bin/python3", "-c", code), cwd=Path("/"))).communicate(timeout=30)
    assert int(out.split()[-1]) < 20 and b"BlockingIOError" in said


def test_a_daemon_that_is_started_again_is_waited_for(engine: Containers) -> None:
    if engine.kind != "docker" or not engines.restartable():
        pytest.skip("the daemon is not the tests' own")
    before = engine.start(CAT)
    assert before.pid
    engines.stop_daemon()
    after = engine.start(CAT)
    assert after.stdin is not None and after.stdout is not None
    after.stdin.write(b"here")
    time.sleep(1)
    assert after.poll() is None
    engines.start_daemon()
    assert after.stdout.read(4) == b"here"
    assert before.wait(30) != 0
    after.kill()


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[str]:
    """A socket behind which nobody answers."""
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "sock"))
        one.listen()
        yield f"unix://{tmp_path / 'sock'}"


def test_an_engine_that_does_not_answer(deaf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_api, "API_SECONDS", 1)
    monkeypatch.setattr(docker_api, "RESTART_SECONDS", 2)
    silent = Docker(DockerConfig(host=deaf))
    with pytest.raises(SandboxUnavailable, match="sandbox=docker: nothing answers at unix://"):
        silent.check()
    process = silent.start(CAT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == NOT_STARTED and b"nothing answers" in said


def test_without_an_engine_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxUnavailable, match="nothing answers at unix:///nowhere"):
        choose(DockerConfig(), hostile=True)
    with pytest.raises(SandboxUnavailable, match="apptainer is not installed; load its module"):
        choose(ApptainerConfig(), hostile=True)


class Stuck:
    """A container that never comes, and can't be killed."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def start(self) -> None:
        self.let_go.wait()
        raise RuntimeError("the engine is gone")

    def kill(self) -> None:
        self.let_go.wait()

    def remove(self) -> None: ...


def test_killing_never_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("containers.attached.KILL_SECONDS", 0.3)
    stuck: Any = Stuck()
    process = Attached(stuck, str)
    process.kill()
    assert process.wait(1) == KILLED
    assert process.communicate(timeout=5) == (b"", b"")
    stuck.let_go.set()


def test_auto_takes_what_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And never what is weaker than a sandbox."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    found, warnings = choose(AutoConfig(), hostile=True)
    assert found.isolating and found.kind != "docker" and not warnings


# Apptainer, as text: it can't be installed everywhere


def test_what_apptainer_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "apptainer"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox = Apptainer(ApptainerConfig(image="/images/p.sif", cgroups=True, cpus=2))
    readable = (Path("/a/b"), Path("/a"), Path("/c"))
    spec = SandboxSpec(argv=("/a/python", "-m", "harness"), cwd=Path("/c"), readable=readable, environment={"LANG": "C.UTF-8"})
    argv = sandbox.command(spec, Path("/scratch"))
    assert argv[:3] == [str(program), "--silent", "exec"]
    assert {"--containall", "--cleanenv", "--no-home", "--no-init", "--no-privs", "--userns"} <= set(argv)
    pairs = list(itertools.pairwise(argv))
    assert ("--network", "none") in pairs and ("--pwd", "/c") in pairs
    assert ("--memory", "8192M") in pairs and ("--pids-limit", "1024") in pairs and ("--cpus", "2") in pairs
    assert [value for name, value in pairs if name == "--bind"] == ["/scratch:/tmp", "/a:/a:ro", "/c:/c:ro"]
    assert argv[-7:] == ["/images/p.sif", "/usr/bin/env", "-i", "LANG=C.UTF-8", "/a/python", "-m", "harness"]
    online = SandboxSpec(argv=("x",), cwd=Path("/"), writable=(Path("/w"),), network=True)
    argv = sandbox.command(online, Path("/scratch"))
    assert "--net" not in argv and "/w:/w" in argv


def test_apptainers_scratch_goes_with_its_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "apptainer"
    program.write_text("#!/bin/sh\nexec cat\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "scratch").mkdir()
    process = Apptainer(ApptainerConfig(image="/i.sif", scratch=str(tmp_path / "scratch"))).start(CAT)
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    assert process.communicate(b"x", timeout=10)[0] == b"x"
    del process
    assert list((tmp_path / "scratch").iterdir()) == []


# Images


def test_definitions_are_those_of_the_list() -> None:
    for name, (make, of) in FILES.items():
        assert (HERE / name).read_text(encoding="utf-8") == make(of), "python -m jobs.images --write"
        assert all(f" {package}" in make(of) for package in system_packages(of))


def test_an_image_is_named_after_what_is_in_it() -> None:
    assert len({tag(name) for name in NAMES}) == 2
    assert all(tag(name).startswith(f"ensures-{name}:") for name in NAMES)
