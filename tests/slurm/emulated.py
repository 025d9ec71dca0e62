"""A real Slurm of two emulated nodes on this machine, each with two fake GPUs: started for the tests, ended with them."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "scancel", "scontrol")
CORES = 8  # said to Slurm; the machine may have fewer

_CONF = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock
CredType=cred/munge
SlurmctldPort={control}
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool/%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=10
SlurmdTimeout=20
MinJobAge=600
JobRequeue=1
GresTypes=gpu
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{second}] CPUs={cores} RealMemory=100000 Gres=gpu:2
PartitionName=gpu Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
"""
_GRES = """
NodeName=n1 Name=gpu File={folder}/fakegpu[0-1]
NodeName=n2 Name=gpu File={folder}/fakegpu[2-3]
"""


class Slurm:
    """Commands are run with its configuration; `end` ends every process that was started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "SBATCH_"))},
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{os.environ['PATH']}:{SYSTEM_PATH}",
        }

    def start(self) -> None:
        folder = self.folder
        for name in ("munge", "run", "spool/n1", "spool/n2", "state", "log"):
            (folder / name).mkdir(parents=True)
        first = _free_pair()
        ports = {"control": _free(), "first": first, "second": first + 1}
        conf = _CONF.format(host=socket.gethostname(), folder=folder, cores=CORES, **ports)
        (folder / "slurm.conf").write_text(conf)
        (folder / "gres.conf").write_text(_GRES.format(folder=folder))
        for number in range(4):
            os.mknod(folder / f"fakegpu{number}", 0o660 | 0o020000, os.makedev(1, 3))
        (folder / "munge" / "key").write_bytes(os.urandom(128))
        (folder / "munge" / "key").chmod(0o600)
        folder.chmod(0o755)
        subprocess.run(["chown", "-R", "munge:munge", str(folder / "munge")], check=True)
        (folder / "munge").chmod(0o755)
        munge = folder / "munge"
        own = [f"--{name}={munge / name.split('-')[0]}" for name in ("key-file", "pid-file", "seed-file", "log-file")]
        command = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", "--foreground"]
        self._run("munged", *command, f"--socket={munge / 'sock'}", *own)
        _until(lambda: (munge / "sock").exists(), "munged does not start")
        self._run("slurmctld", "slurmctld", "-D", "-c", "-i")
        for node in ("n1", "n2"):
            self.up(node)
        _until(lambda: self.nodes() == {"n1": "idle", "n2": "idle"}, "the emulated nodes do not come up", 40)

    def up(self, node: str) -> None:
        self._run(f"slurmd-{node}", "slurmd", "-D", "-N", node)

    def down(self, node: str) -> None:
        """As if the machine had lost its power: its daemon and all that it started are gone."""
        daemon = self._processes.pop(f"slurmd-{node}")
        for pid in reversed(_below(daemon.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        _kill(_steps(node, self.folder))
        daemon.kill()
        daemon.wait()

    def _run(self, name: str, *command: str) -> None:
        with (self.folder / "log" / f"{name}.out").open("ab") as log:
            self._processes[name] = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment, cwd=self.folder)

    def command(self, *words: str, seconds: float = 60, **environment: str) -> str:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=seconds, env={**self.environment, **environment}, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def nodes(self) -> dict[str, str]:
        done = subprocess.run(["sinfo", "-N", "-h", "-o", "%N %T"], capture_output=True, text=True, env=self.environment)
        return dict(line.split() for line in done.stdout.splitlines())

    def job(self, number: str) -> dict[str, str]:
        """What scontrol says of it."""
        words = self.command("scontrol", "-o", "show", "job", number).split()
        return dict(word.partition("=")[::2] for word in words if "=" in word)

    def wait(self, number: str, seconds: float, *states: str) -> dict[str, str]:
        """Until the job is in one of the states (default: ended)."""
        wanted = states or ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
        deadline = time.monotonic() + seconds
        while (found := self.job(number))["JobState"] not in wanted:
            assert time.monotonic() < deadline, f"job {number} is {found['JobState']} after {seconds} s"
            time.sleep(0.2)
        return found

    def end(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired, AssertionError):
            subprocess.run(["scancel", "--quiet", "--user=root"], env=self.environment, timeout=20, check=False)
            _until(lambda: not self.command("squeue", "-h"), "jobs do not end", 20)
        for node in ("n1", "n2"):  # steps have daemons of their own, which go on without slurmd
            _kill(_steps(node, self.folder))
        for name in sorted(self._processes, reverse=True):  # slurmd before slurmctld before munged
            self._processes[name].terminate()
        for process in self._processes.values():
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()


@contextlib.contextmanager
def slurm() -> Iterator[Slurm]:
    """Skips the test where it can't be started."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=f"{os.environ['PATH']}:{SYSTEM_PATH}") is None]
    if missing:
        pytest.skip(f"Slurm is not installed here ({', '.join(missing)})")
    if os.geteuid() != 0:
        pytest.skip("an emulated Slurm needs root")
    folder = Path(tempfile.mkdtemp(prefix="ensures-slurm-"))
    one = Slurm(folder)
    try:
        try:
            one.start()
        except (OSError, subprocess.CalledProcessError, AssertionError) as error:
            pytest.skip(f"Slurm does not start here: {error}")
        yield one
    finally:
        one.end()
        shutil.rmtree(folder, ignore_errors=True)


def _until(done: Callable[[], bool], otherwise: str, seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.1)


def _free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _free_pair() -> int:
    while True:
        port = _free()
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port + 1))
            return port


def _below(pid: int) -> list[int]:
    """A process's descendants, parents first."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in path.read_text().split():
                found += [int(child), *_below(int(child))]
    return found


def _kill(pids: list[int]) -> None:
    """Each with all that is below it."""
    for one in {child: None for pid in pids for child in [*reversed(_below(pid)), pid]}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, 9)


def _steps(node: str, folder: Path) -> list[int]:
    """What jobs of this Slurm run on a node, and the daemons of their steps, which do not end with slurmd."""
    found: dict[int, None] = {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError, IndexError):
            environment = path.read_bytes()
            if f"SLURMD_NODENAME={node}\0".encode() in environment and str(folder).encode() in environment:
                parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
                if Path(f"/proc/{parent}/comm").read_text().strip() == "slurmstepd":
                    found[parent] = None
                found[int(path.parent.name)] = None
    return list(found)
