"""bubblewrap: namespaces without a daemon, started in some 10 ms. The default.

As root the sandbox is set up with root's rights and the harness then runs as an ordinary user (setpriv), so that paths
which only root can reach may be shown to it read-only; as an ordinary user a user namespace does the same work.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from containers.sandbox import SandboxSpec
from ensures.errors import SandboxUnavailable

NOBODY = 65534
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_NETWORK = ("resolv.conf", "hosts", "nsswitch.conf", "ssl", "ca-certificates", "pki")
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "passwd", "group")


@dataclass
class BubblewrapConfig:
    kind: str = "bubblewrap"


class Bubblewrap:
    kind = "bubblewrap"
    isolating = True

    def __init__(self) -> None:
        self._bwrap = shutil.which("bwrap")
        if self._bwrap is None:
            raise SandboxUnavailable("sandbox=bubblewrap: the program bwrap is not installed; install the package bubblewrap")
        problem = _probe(self)
        if problem:
            raise SandboxUnavailable(f"sandbox=bubblewrap does not start on this machine: {problem}")

    def command(self, spec: SandboxSpec) -> list[str]:
        assert self._bwrap is not None
        root = os.geteuid() == 0
        argv = [self._bwrap, "--die-with-parent", "--as-pid-1", "--new-session", "--clearenv"]
        if root:
            argv += ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
            argv += [] if spec.network else ["--unshare-net"]
            argv += ["--cap-drop", "ALL"]
            for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):  # all given up by setpriv below
                argv += ["--cap-add", capability]
        else:
            argv += ["--unshare-all", *(["--share-net"] if spec.network else [])]
        for path in _SYSTEM:
            if os.path.islink(path):
                argv += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                argv += ["--ro-bind", path, path]
        argv += ["--perms", "0755", "--dir", "/etc"]
        for name in (*_ETC, *_NETWORK) if spec.network else _ETC:
            argv += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        argv += ["--perms", "1777", "--size", str(spec.scratch_mb << 20), "--tmpfs", "/tmp"]
        argv += ["--proc", "/proc", "--dev", "/dev"]
        argv += _mounts((*spec.readable, *spec.writable))
        for folder in spec.writable:
            argv += ["--bind", str(folder), str(folder)]
        for name, value in spec.environment.items():
            argv += ["--setenv", name, value]
        argv += ["--chdir", str(spec.cwd)]
        if root:
            argv += ["/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            argv += ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--pdeathsig", "keep", "--"]
        return argv + list(spec.argv)

    def start(self, spec: SandboxSpec) -> subprocess.Popen[bytes]:
        if os.geteuid() == 0:
            for folder in spec.writable:
                _hand_over(folder)
        try:
            return subprocess.Popen(
                self.command(spec), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={}
            )
        except OSError as error:
            raise SandboxUnavailable(f"sandbox=bubblewrap does not start: {error}") from error


def _hand_over(folder: Path) -> None:
    """To the ordinary user that the sandbox's processes are."""
    for place, _, files in os.walk(folder):
        for path in (place, *(os.path.join(place, name) for name in files)):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _mounts(readable: tuple[Path, ...]) -> list[str]:
    """Read-only binds, outermost first; parents are made searchable, which bubblewrap alone would not do as root."""
    argv: list[str] = []
    made: set[Path] = set()
    bound: list[Path] = [Path("/usr")]
    for path in sorted(set(readable), key=lambda p: len(p.parts)):
        if any(path.is_relative_to(outer) for outer in bound):
            continue
        for parent in reversed(path.parents):
            if parent not in made and parent not in (Path("/"), Path("/tmp")):
                made.add(parent)
                argv += ["--perms", "0755", "--dir", str(parent)]
        argv += ["--ro-bind", str(path), str(path)]
        bound.append(path)
    return argv


def _probe(sandbox: Bubblewrap) -> str:
    """Starts `true` once; what it said where that failed."""
    spec = SandboxSpec(argv=("/usr/bin/true",), cwd=Path("/"))
    process = sandbox.start(spec)
    _, said = process.communicate(timeout=30)
    if process.returncode == 0:
        return ""
    return said.decode(errors="replace").strip().splitlines()[-1:][0] if said.strip() else f"exit {process.returncode}"
