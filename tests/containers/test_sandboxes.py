"""What every sandbox keeps from what runs in it."""

import ast
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest

from containers.choose import AutoConfig, choose
from containers.sandbox import Sandbox, SandboxSpec
from ensures.errors import SandboxUnavailable
from tests.containers import engines


@pytest.fixture(scope="module", params=engines.ISOLATING)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    return engines.sandbox(request.param)


ALONE = {
    "lo",
    "tunl0",
    "sit0",
    "ip6tnl0",
    "gre0",
    "erspan0",
    "ip_vti0",
    "ip6_vti0",
    "gretap0",
    "ip6gre0",
    "teql0",
}  # in every namespace


def devices(said: bytes) -> set[str]:
    """Of /proc/net/dev, without its two lines of heading."""
    return {line.strip() for line in said.decode().splitlines()[2:]}


def run(sandbox: Sandbox, code: str, *readable: Path, **environment: str) -> str:
    base = Path(sys.base_prefix)
    spec = SandboxSpec(
        argv=(str(base / "bin" / "python3"), "-c", code),
        cwd=Path("/tmp"),
        readable=(base, *readable),
        environment=environment,
        scratch_mb=8,
    )
    out, err = sandbox.start(spec).communicate(timeout=60)
    return (out + err).decode()


def test_no_network(sandbox: Sandbox) -> None:
    code = "import socket; socket.create_connection(('127.0.0.1', 22), 2)"
    assert "Error" in run(sandbox, code)
    links = "import socket; print(sorted(name for _, name in socket.if_nameindex()))"
    assert set(ast.literal_eval(run(sandbox, links))) <= ALONE


def test_an_ordinary_user_without_capabilities(sandbox: Sandbox) -> None:
    said = run(sandbox, "import os; print(os.getuid(), [l for l in open('/proc/self/status') if 'CapEff' in l])")
    assert not said.startswith("0 ")
    assert "0000000000000000" in said


def test_the_program_is_init_of_its_own_namespace(sandbox: Sandbox) -> None:
    code = "import os; print(os.getpid(), [p for p in os.listdir('/proc') if p.isdigit()])"
    assert run(sandbox, code).strip() == "1 ['1']"


def test_read_only_but_for_scratch(sandbox: Sandbox, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    (tmp_path / "file").write_text("kept")
    code = f"open({str(tmp_path / 'file')!r}, 'w')"
    assert "Read-only file system" in run(sandbox, code, tmp_path)
    assert (tmp_path / "file").read_text() == "kept"
    assert run(sandbox, "open('/tmp/x', 'w').write('a'); print('fine')").strip() == "fine"
    assert "No space left" in run(sandbox, "open('/tmp/x', 'wb').write(bytes(20 << 20))")


def test_nothing_of_the_host_is_seen(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    assert "hunter2" not in run(sandbox, "import os; print(dict(os.environ))", SHOWN="1")
    assert "SHOWN" in run(sandbox, "import os; print(dict(os.environ))", SHOWN="1")
    tmp_path.chmod(0o755)
    (tmp_path / "secret").write_text("of the host")
    assert run(sandbox, f"import os; print(os.path.exists({str(tmp_path)!r}))").strip() == "False"
    name = "/etc/shadow"  # an image has one of its own, which nobody but root may read
    assert "Error" in run(sandbox, f"open({name!r}).read()")
    assert str(os.getpid()) not in run(sandbox, "import os; print(os.listdir('/proc'))").split("'")


def test_it_ends_with_its_parent(sandbox: Sandbox) -> None:
    """What reads its input to the end, as workers do."""
    root = str(Path(__file__).resolve().parents[2])
    code = (
        f"import pickle, sys, time; sys.path.insert(0, {root!r})\n"
        "from pathlib import Path\n"
        "from containers.sandbox import SandboxSpec\n"
        f"p = pickle.loads({pickle.dumps(sandbox)!r}).start(SandboxSpec(argv=('/bin/cat',), cwd=Path('/')))\n"
        "print(p.pid, flush=True); time.sleep(1000)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.3)  # bubblewrap asks for the signal once it runs; what dies before that is ended by its closed pipe
    parent.kill()
    parent.wait()
    for _ in range(250):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    pytest.fail(f"the sandbox outlived its parent: {Path(f'/proc/{child}/status').read_text()[:200]}")


def test_without_any_a_models_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    with pytest.raises(SandboxUnavailable, match="only in a sandbox"):
        choose(AutoConfig(), hostile=True)
    chosen, warnings = choose(AutoConfig(), hostile=False)
    assert (chosen.kind, chosen.isolating) == ("process", False)
    assert "NO ISOLATION" in warnings[0]


def test_a_build_may_write_and_use_the_network_and_nothing_else_may(sandbox: Sandbox, tmp_path: Path) -> None:
    """`writable` and `network` are asked for by name; without them there are neither."""
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        folder.chmod(0o755)
    tmp_path.chmod(0o755)
    script = f"cut -d: -f1 /proc/net/dev; echo x > {own}/written; echo x > {other}/written"
    spec = SandboxSpec(argv=("/bin/sh", "-c", script), cwd=Path("/"), readable=(other,), writable=(own,), network=True)
    said, _ = sandbox.start(spec).communicate(timeout=30)
    assert devices(said) - ALONE
    assert (own / "written").read_text() == "x\n"
    assert not (other / "written").exists()
    bare = SandboxSpec(argv=spec.argv, cwd=Path("/"), readable=(own, other))
    (own / "written").unlink()
    said, _ = sandbox.start(bare).communicate(timeout=30)
    assert devices(said) <= ALONE
    assert not (own / "written").exists()
