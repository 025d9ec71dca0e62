"""apptainer: the usual engine on Slurm clusters: no daemon, no rights of its own, an image that is a file.

`--containall` gives a PID namespace, an empty home and none of the host's folders; `--no-init` makes the started process its
init. /tmp is a folder of the host's, since Apptainer's own is as small as the site has it: its size is not limited there.
Limits of memory and CPU are asked for where the site lets users have cgroups (`cgroups=true`).
"""

import os
import shutil
import subprocess
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path

from containers.images.definitions import tag
from containers.sandbox import SandboxSpec, outermost
from ensures.errors import SandboxUnavailable

START_SECONDS = 120


@dataclass
class ApptainerConfig:
    """`folder`: where the images lie that `python -m jobs.images --engine apptainer` makes, on a shared file system;
    `image`, `java_image`: instead of those. `scratch`: for /tmp (empty: SLURM_TMPDIR, TMPDIR or /tmp)."""

    kind: str = "apptainer"
    folder: str = "containers/images"
    image: str = ""
    java_image: str = ""
    scratch: str = ""
    cgroups: bool = False
    memory_mb: int = 8192
    cpus: float = 0.0
    processes: int = 1024


class Apptainer:
    kind = "apptainer"
    isolating = True

    def __init__(self, config: ApptainerConfig) -> None:
        self.config = config

    def program(self) -> str:
        """Raises SandboxUnavailable."""
        for name in ("apptainer", "singularity"):
            if found := shutil.which(name):
                return found
        raise SandboxUnavailable(
            "sandbox=apptainer: the program apptainer is not installed; load its module (module load apptainer) or install it"
        )

    def image(self, name: str) -> Path:
        given = self.config.java_image if name == "java" else self.config.image
        return Path(given or Path(self.config.folder) / f"{tag(name).replace(':', '-')}.sif").absolute()

    def check(self) -> None:
        self.program()
        image = self.image("python")
        if not image.exists():
            raise SandboxUnavailable(
                f"sandbox=apptainer: the image {image} is not there; make it with python -m jobs.images --engine apptainer, "
                "or name one in sandbox.image"
            )
        process = self.start(SandboxSpec(argv=("/bin/true",), cwd=Path("/")))
        try:
            _, said = process.communicate(timeout=START_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise SandboxUnavailable(f"sandbox=apptainer: a container did not start in {START_SECONDS} s") from error
        if process.returncode != 0:
            words = " ".join(said.decode(errors="replace").split())[-300:]
            raise SandboxUnavailable(f"sandbox=apptainer does not start on this machine: {words}")

    def command(self, spec: SandboxSpec, scratch: Path) -> list[str]:
        argv = [self.program(), "--silent", "exec", "--containall", "--cleanenv", "--no-home", "--no-init", "--no-privs"]
        argv += ["--no-mount", "hostfs,bind-paths", "--userns"]
        argv += [] if spec.network else ["--net", "--network", "none"]
        if self.config.cgroups:
            argv += ["--memory", f"{self.config.memory_mb}M", "--pids-limit", str(self.config.processes)]
            argv += ["--cpus", str(self.config.cpus)] if self.config.cpus else []
        argv += ["--bind", f"{scratch}:/tmp"]
        for path in outermost(spec.readable):
            argv += ["--bind", f"{path}:{path}:ro"]
        for path in spec.writable:
            argv += ["--bind", f"{path}:{path}"]
        environment = [f"{name}={value}" for name, value in spec.environment.items()]
        return [*argv, "--pwd", str(spec.cwd), str(self.image(spec.image)), "/usr/bin/env", "-i", *environment, *spec.argv]

    def start(self, spec: SandboxSpec) -> subprocess.Popen[bytes]:
        parent = self.config.scratch or os.environ.get("SLURM_TMPDIR") or tempfile.gettempdir()
        scratch = Path(tempfile.mkdtemp(prefix="ensures-scratch-", dir=parent))
        scratch.chmod(0o1777)
        known = {name: os.environ[name] for name in ("PATH", "HOME", "USER") if name in os.environ}
        try:
            process = subprocess.Popen(
                self.command(spec, scratch),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=known,
            )
        except OSError as error:
            shutil.rmtree(scratch, ignore_errors=True)
            raise SandboxUnavailable(f"sandbox=apptainer does not start: {error}") from error
        weakref.finalize(process, shutil.rmtree, scratch, ignore_errors=True)
        return process
