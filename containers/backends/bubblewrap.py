"""bubblewrap: namespaces without a daemon, started in some 10 ms. The default.

As root the sandbox is set up with root's rights and the harness then runs as an ordinary user (setpriv), so that paths
which only root can reach may be shown to it read-only; as an ordinary user a user namespace does the same work.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from containers.sandbox import NOBODY, SandboxSpec, hand_over, outermost
from ensures.errors import SandboxUnavailable

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_NETWORK = ("resolv.conf", "hosts", "nsswitch.conf", "ssl", "ca-certificates", "pki")
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "passwd", "group")


@dataclass
class BubblewrapConfig:
    kind: str = "bubblewrap"


class Bubblewrap:
    kind = "bubblewrap"
    isolating = True

    def __init__(self, config: BubblewrapConfig | None = None) -> None:
        self.config = config or BubblewrapConfig()

    def program(self) -> str:
        """Raises SandboxUnavailable."""
        found = shutil.which("bwrap")
        if found is None:
            raise SandboxUnavailable("sandbox=bubblewrap: the program bwrap is not installed; install the package bubblewrap")
        return found

    def check(self) -> None:
        """Starts `true` once; what it said where that failed."""
        process = self.start(SandboxSpec(argv=("/usr/bin/true",), cwd=Path("/")))
        _, said = process.communicate(timeout=30)
        if process.returncode != 0:
            lines = said.decode(errors="replace").strip().splitlines() or [f"exit {process.returncode}"]
            raise SandboxUnavailable(f"sandbox=bubblewrap does not start on this machine: {lines[-1]}")

    def command(self, spec: SandboxSpec) -> list[str]:
        root = os.geteuid() == 0
        argv = [self.program(), "--die-with-parent", "--as-pid-1", "--new-session", "--clearenv"]
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
                hand_over(folder, NOBODY)
        try:
            return subprocess.Popen(
                self.command(spec), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={}
            )
        except OSError as error:
            raise SandboxUnavailable(f"sandbox=bubblewrap does not start: {error}") from error


def _mounts(readable: tuple[Path, ...]) -> list[str]:
    """Read-only binds, outermost first; parents are made searchable, which bubblewrap alone would not do as root."""
    argv: list[str] = []
    made: set[Path] = set()
    for path in outermost(readable, [Path("/usr")]):
        for parent in reversed(path.parents):
            if parent not in made and parent not in (Path("/"), Path("/tmp")):
                made.add(parent)
                argv += ["--perms", "0755", "--dir", str(parent)]
        argv += ["--ro-bind", str(path), str(path)]
    return argv
