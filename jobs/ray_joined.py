"""A Ray cluster that is there already, of several nodes: `cluster=slurm` (brought up by slurm/run.sh) and `cluster=ray`.

Before any work, nodes that were promised are waited for, and every node is asked what it has installed and whether the sandbox
works there: what differs from this one is said at once, by the node's name.
"""

import contextlib
import importlib.metadata
import os
import platform
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from containers.sandbox import Sandbox
from ensures.errors import EnsuresError, InputError, SandboxUnavailable, Stopped
from jobs.ray_cluster import started
from slurm.ray_node import MARK

CHECK_SECONDS = 180
MOST_NAMED = 4
CORES = "cores"  # a resource: one for each evaluation worker


@dataclass
class SlurmClusterConfig:
    """Filled in by slurm/run.sh: the head's address, and the nodes that have to be there within `wait_seconds`."""

    kind: str = "slurm"
    address: str = ""
    nodes: list[str] = field(default_factory=list)
    wait_seconds: float = 180.0


@dataclass
class RayClusterConfig:
    """An existing cluster's address, as HOST:PORT. This machine has to be one of its nodes."""

    kind: str = "ray"
    address: str = ""


class JoinedCluster:
    def __init__(self, config: SlurmClusterConfig | RayClusterConfig, sandbox: Sandbox) -> None:
        if not config.address:
            how = "it is set by slurm/run.sh: sbatch slurm/run.sh" if config.kind == "slurm" else "cluster.address=HOST:PORT"
            raise InputError(f"cluster={config.kind} needs a cluster's address; {how}")
        self.config, self.sandbox = config, sandbox
        self.workers = 0
        self.resources: dict[str, float] = {}  # of one evaluation worker
        self._stopped = False

    def start(self) -> None:
        """Raises InputError, which names the node."""
        import ray

        deadline = time.monotonic() + getattr(self.config, "wait_seconds", 0.0)
        self._join(deadline)
        self._wait(deadline)
        found = ray.cluster_resources()
        if CORES in found:
            self.workers, self.resources = int(found[CORES]), {CORES: 1}
        else:
            self.workers = max(1, int(found.get("CPU", 1) - 2 * found.get("GPU", 0)))
        self._compare()

    def _join(self, deadline: float) -> None:
        """The head may still be starting. Ray alone would try for minutes where nothing answers."""
        import ray

        where = self.config.address
        while not _answers(where):
            if self._stopped:
                raise Stopped()
            if time.monotonic() > deadline:
                raise InputError(f"cluster={self.config.kind}: nothing answers at {where}")
            time.sleep(0.3)
        try:
            ray.init(address=where, log_to_driver=False, **started())
        except Exception as error:  # Ray's own, and those of its sockets
            why = " ".join(str(error).split())[:300]
            raise InputError(f"cluster={self.config.kind}: Ray at {where} can't be joined from here: {why}") from error

    def _wait(self, deadline: float) -> None:
        while missing := [name for name in getattr(self.config, "nodes", ()) if name not in nodes()]:
            if self._stopped:
                raise Stopped()
            if time.monotonic() > deadline:
                logs = f"slurm-logs/{os.environ.get('SLURM_JOB_ID', '')}"
                raise InputError(
                    f"Ray did not start in time on {', '.join(missing)}; {logs} holds what it said there "
                    "(cluster.wait_seconds gives it longer)"
                )
            time.sleep(0.3)

    def _compare(self) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ask = ray.remote(num_cpus=0, max_retries=1)(_told)
        asked = {
            name: ask.options(scheduling_strategy=NodeAffinitySchedulingStrategy(number, soft=False)).remote(self.sandbox)
            for name, number in nodes().items()
        }
        own = installed()
        for name, reference in asked.items():
            try:
                packages, why = ray.get(reference, timeout=CHECK_SECONDS)
            except Exception as error:
                raise InputError(f"node {name} can't run this project: {' '.join(str(error).split())[-300:]}") from error
            if packages != own:
                raise InputError(f"node {name} has {', '.join(differences(own, packages))}: install the same on every node")
            if why:
                raise SandboxUnavailable(f"node {name}: {why}")

    def stop(self) -> None:
        self._stopped = True
        import ray

        with contextlib.suppress(Exception):
            ray.shutdown()


def _answers(address: str) -> bool:
    """Raises InputError where it is no address."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"cluster.address={address}: an address is HOST:PORT")
    try:
        socket.create_connection((host, int(port)), timeout=3).close()
    except OSError:
        return False
    return True


def nodes() -> dict[str, str]:
    """Name -> Ray's number, of those that are alive: Slurm's names where it started them, else the hosts'."""
    import ray

    found = {}
    for node in ray.nodes():
        if node["Alive"]:
            names = [resource.removeprefix(MARK) for resource in node["Resources"] if resource.startswith(MARK)]
            found[names[0] if names else f"{node['NodeManagerHostname']} ({node['NodeID'][:6]})"] = node["NodeID"]
    return found


def installed() -> dict[str, str]:
    """What has to be the same everywhere: the interpreter and every package."""
    found = {"Python": platform.python_version()}
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"]
        if name:
            found.setdefault(name.lower().replace("_", "-"), package.version)
    return found


def differences(own: Mapping[str, str], other: Mapping[str, str]) -> Sequence[str]:
    """As in `numpy 2.1 (here 2.3)`; the interpreter first."""
    differ = [name for name in own.keys() | other.keys() if own.get(name) != other.get(name)]
    names = sorted(differ, key=lambda name: (name != "Python", name))
    found = [f"{name} {other.get(name, 'missing')} (here {own.get(name, 'none')})" for name in names]
    return found if len(found) <= MOST_NAMED else [*found[:MOST_NAMED], f"and {len(found) - MOST_NAMED} more that differ"]


def _told(sandbox: Any) -> tuple[dict[str, str], str]:
    """On a node: what is installed there, and why the sandbox does not work, if so."""
    try:
        sandbox.check()
    except EnsuresError as error:
        return installed(), str(error)
    return installed(), ""
