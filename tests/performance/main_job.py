"""The main job on the sample: from a fresh clone, with everything prepared, and with nothing to do; the driver's memory.

python -m tests.performance.main_job [--json FILE] [--repeat N] [--fresh]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, float, str]:
    """Seconds, peak memory of the driver in MB (of the process itself, from /proc), and what was printed."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    peak = 0.0
    lines: list[str] = []
    import threading

    assert process.stdout is not None
    reader = threading.Thread(target=lambda: lines.extend(process.stdout), daemon=True)  # type: ignore[arg-type]
    reader.start()
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, int(status.split("VmHWM:")[1].split()[0]) / 1024)
        except (OSError, IndexError, ValueError):
            pass
        time.sleep(0.1)
    reader.join(timeout=5)
    said = "".join(lines)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{said[-2000:]}")
    return time.perf_counter() - started, peak, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="also from a fresh clone with an empty cache, set-up included")
    chosen = parser.parse_args()
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as name:
        folder = Path(name)
        environment = {**os.environ, "WANDB_MODE": "offline"}
        if chosen.fresh:
            clone = folder / "clone"
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
            clean = {k: v for k, v in environment.items() if not k.startswith("ENSURES_")}
            seconds, _, _ = timed(["bash", "slurm/run.sh"], clone, {**clean, "ENSURES_CACHE": str(folder / "cache")})
            found["fresh clone to table, s"] = seconds
        command = [sys.executable, "-m", "jobs.run", f"out={folder}"]
        timed([*command, "name=warm-up"], ROOT, environment)  # prepares what is missing
        runs = [timed([*command, f"name=run{n}"], ROOT, environment) for n in range(chosen.repeat)]
        idle = [timed([*command, "name=run0"], ROOT, environment) for _ in range(chosen.repeat)]
        assert all("nothing was missing" in said for _, _, said in idle)
        found["prepared run, s"] = statistics.median(seconds for seconds, _, _ in runs)
        found["nothing to do, s"] = statistics.median(seconds for seconds, _, _ in idle)
        found["driver, peak MB"] = max(peak for _, peak, _ in runs)
        print(next(line for line in runs[0][2].splitlines() if "verdicts in" in line))
    for what, value in found.items():
        print(f"{what:<28}{value:8.1f}")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
