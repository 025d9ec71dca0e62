"""One node of Ray, in the foreground, for as long as one job: `python -m slurm.ray_node head|join --address HOST:PORT ...`

Every port is a free one of this node, so that two jobs on one node do not meet. SIGUSR2 ends it; so does SIGTERM, which Slurm
sends. The head removes the folder with Ray's sockets and logs when it ends in order.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import FrameType

# A node that is gone is noticed after 5 silent checks, one every 2 s (Ray: 5 of 5 s).
HEALTH = {
    "RAY_health_check_period_ms": "2000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "5",
}
QUIET = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
OWN = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
PORTS = ("dashboard-agent-listen-port", "dashboard-agent-grpc-port", "runtime-env-agent-port", "metrics-export-port")
MARK = "on-"  # before a node's name, in the name of a resource that only it has


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


def granted(environment: dict[str, str]) -> tuple[int, int]:
    """(cores, GPUs) of this node that Slurm gave the job; a node outside Slurm gives all its cores and no GPU."""
    cores = int(environment.get("SLURM_CPUS_ON_NODE") or os.cpu_count() or 1)
    visible = environment.get("CUDA_VISIBLE_DEVICES") or environment.get("ROCR_VISIBLE_DEVICES")
    if visible:
        return cores, len(visible.split(","))
    return cores, int(environment.get("SLURM_GPUS_ON_NODE") or 0)


def command(ray: str, role: str, address: str, name: str, folder: str, environment: dict[str, str]) -> list[str]:
    """A core is one evaluation worker. Replicas of a model have CPUs beside those: they wait for GPUs most of the time."""
    cores, gpus = granted(environment)
    argv = [ray, "start", "--block", f"--num-cpus={cores + 2 * gpus + 1}", f"--num-gpus={gpus}"]
    argv += ["--resources", json.dumps({"cores": cores, f"{MARK}{name}": 1}), "--object-store-memory=104857600"]
    argv += [f"--{port}={free_port()}" for port in PORTS]
    if role == "join":
        return [*argv, f"--address={address}"]
    host, _, port = address.rpartition(":")
    argv += ["--head", f"--node-ip-address={host}", f"--port={port}", f"--ray-client-server-port={free_port()}"]
    return [*argv, "--include-dashboard=false", f"--temp-dir={folder}"]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("head", "join"))
    parser.add_argument("--address", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--folder", required=True)
    chosen = parser.parse_args(arguments)
    ray = str(Path(sys.executable).parent / "ray")
    argv = command(ray, chosen.role, chosen.address, chosen.name, chosen.folder, dict(os.environ))
    process = subprocess.Popen(
        argv, env={**os.environ, **QUIET, **OWN, **HEALTH}, stdin=subprocess.DEVNULL, start_new_session=True
    )

    def end(number: int, frame: FrameType | None) -> None:
        process.terminate()

    for number in (signal.SIGUSR2, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    try:
        return process.wait()
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if chosen.role == "head":
            shutil.rmtree(chosen.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
