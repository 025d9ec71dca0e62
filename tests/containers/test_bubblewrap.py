"""What the sandbox keeps from what runs in it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from containers.backends.bubblewrap import Bubblewrap
from containers.choose import choose
from containers.sandbox import SandboxSpec
from ensures.errors import InputError, SandboxUnavailable


@pytest.fixture(scope="module")
def sandbox() -> Bubblewrap:
    try:
        return Bubblewrap()
    except SandboxUnavailable as error:
        pytest.skip(str(error))


def run(sandbox: Bubblewrap, code: str, *readable: Path, **environment: str) -> str:
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


def test_no_network(sandbox: Bubblewrap) -> None:
    code = "import socket; socket.create_connection(('127.0.0.1', 22), 2)"
    assert "Error" in run(sandbox, code)
    assert run(sandbox, "import os; print(sorted(os.listdir('/sys')) if os.path.exists('/sys') else [])").strip() == "[]"


def test_an_ordinary_user_without_capabilities(sandbox: Bubblewrap) -> None:
    said = run(sandbox, "import os; print(os.getuid(), [l for l in open('/proc/self/status') if 'CapEff' in l])")
    assert not said.startswith("0 ")
    assert "0000000000000000" in said


def test_the_program_is_init_of_its_own_namespace(sandbox: Bubblewrap) -> None:
    code = "import os; print(os.getpid(), [p for p in os.listdir('/proc') if p.isdigit()])"
    assert run(sandbox, code).strip() == "1 ['1']"


def test_read_only_but_for_scratch(sandbox: Bubblewrap, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    (tmp_path / "file").write_text("kept")
    code = f"open({str(tmp_path / 'file')!r}, 'w')"
    assert "Read-only file system" in run(sandbox, code, tmp_path)
    assert (tmp_path / "file").read_text() == "kept"
    assert run(sandbox, "open('/tmp/x', 'w').write('a'); print('fine')").strip() == "fine"
    assert "No space left" in run(sandbox, "open('/tmp/x', 'wb').write(bytes(20 << 20))")


def test_nothing_of_the_host_is_seen(sandbox: Bubblewrap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter2")
    assert "hunter2" not in run(sandbox, "import os; print(dict(os.environ))", SHOWN="1")
    assert "SHOWN" in run(sandbox, "import os; print(dict(os.environ))", SHOWN="1")
    said = run(sandbox, "import os; print(os.path.exists('/etc/shadow'), os.path.exists('/home'), os.path.exists('/work'))")
    assert said.strip() == "False False False"


def test_it_ends_with_its_parent(sandbox: Bubblewrap) -> None:
    code = (
        f"import sys, time; sys.path.insert(0, {str(Path(__file__).resolve().parents[2])!r})\n"
        "from pathlib import Path\n"
        "from containers.backends.bubblewrap import Bubblewrap\n"
        "from containers.sandbox import SandboxSpec\n"
        "p = Bubblewrap().start(SandboxSpec(argv=('/usr/bin/sleep', '1000'), cwd=Path('/')))\n"
        "print(p.pid, flush=True); time.sleep(1000)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.3)  # bubblewrap asks for the signal once it runs; what dies before that is ended by its closed pipe
    parent.kill()
    parent.wait()
    for _ in range(100):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.02)
    pytest.fail(f"the sandbox outlived its parent: {Path(f'/proc/{child}/status').read_text()[:200]}")


def test_without_bubblewrap_a_models_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SandboxUnavailable, match="only in a sandbox"):
        choose("auto", hostile=True)
    chosen, warnings = choose("auto", hostile=False)
    assert (chosen.kind, chosen.isolating) == ("process", False)
    assert "NO ISOLATION" in warnings[0]
    with pytest.raises(InputError, match="choose one of auto, bubblewrap, process"):
        choose("vault", hostile=False)


def test_a_build_may_write_and_use_the_network_and_nothing_else_may(sandbox: Bubblewrap, tmp_path: Path) -> None:
    """`writable` and `network` are asked for by name; without them there are neither."""
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        folder.chmod(0o755)
    tmp_path.chmod(0o755)
    script = f"readlink /proc/self/ns/net; echo x > {own}/written; echo x > {other}/written"
    spec = SandboxSpec(argv=("/bin/sh", "-c", script), cwd=Path("/"), readable=(other,), writable=(own,), network=True)
    said, _ = sandbox.start(spec).communicate(timeout=30)
    assert said.decode().strip() == os.readlink("/proc/self/ns/net")
    assert (own / "written").read_text() == "x\n"
    assert not (other / "written").exists()
    bare = SandboxSpec(argv=spec.argv, cwd=Path("/"), readable=(own, other))
    (own / "written").unlink()
    said, _ = sandbox.start(bare).communicate(timeout=30)
    assert said.decode().strip() != os.readlink("/proc/self/ns/net")
    assert not (own / "written").exists()
