"""Two nodes against one on the emulated Slurm, two workers each; and how long it is from `sbatch` to the first verdict.

python -m tests.performance.nodes [--rounds N] [--json FILE]

The nodes share this machine's cores, so the tests of these methods mostly sleep: what is measured is that workers on another
node are used as those on the first are, not the machine. In turn, in one run; medians.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmark import schema
from tests import projects
from tests.jobs import demo
from tests.slurm.emulated import Slurm, slurm

METHODS, PAUSE, MUTANTS = 16, 0.6, 6


def write(folder: Path) -> list[str]:
    """Methods alike, each with a test that sleeps; the overrides of a run over them."""
    module = "\n\n".join(f"def f{n}(values):\n    return [value * 2 + {n} for value in values]\n" for n in range(METHODS))
    tests = "import time\nfrom demo import *\n\n" + "\n\n".join(
        f"def test_{n}():\n    time.sleep({PAUSE})\n    assert f{n}([1, 2]) == [{2 + n}, {4 + n}]\n" for n in range(METHODS)
    )
    (folder / "project").mkdir(parents=True)
    project = projects.write(folder / "project", {"demo.py": module, "test_demo.py": tests})
    names = [f"f{n}" for n in range(METHODS)]
    tasks = [
        projects.task(project, "demo.py", name, (f"test_demo.py::test_{name[1:]}",), "demo/demo", most=MUTANTS)
        for name in names
    ]
    schema.write(tasks, folder / "tasks.parquet")
    texts = ["lambda values, result: len(result) == len(values)", "lambda values, result: result is not values"]
    with (folder / "samples.jsonl").open("w") as file:
        for task in tasks:
            for sample, text in enumerate(texts):
                record = {"task_id": task.id, "setting": "f2p", "sample": sample, "text": f"@icontract.ensure({text})"}
                file.write(json.dumps(record) + "\n")
    return [
        *("dataset=folder", f"dataset.path={folder / 'tasks.parquet'}", f"dataset.repositories={{demo/demo: {project}}}"),
        *("model=replay", f"model.path={folder / 'samples.jsonl'}", "settings=[f2p]", "k=2", f"out={folder / 'runs'}"),
        *("tracker=none", "sandbox=bubblewrap", "evaluation.audit_fraction=0"),
    ]


def one(cluster: Slurm, overrides: list[str], out: Path, nodes: int, number: int) -> dict[str, float]:
    name = f"n{nodes}-{number}"
    said = out / f"{name}.said"
    options = [f"--nodes={nodes}", "--cpus-per-task=2", "--gpus-per-node=0", "--mem=8G", f"--output={said}", "--chdir=/"]
    submitted = time.time()
    script = str(demo.ROOT / "slurm" / "run.sh")
    job = cluster.command("sbatch", "--parsable", *options, script, *overrides, f"name={name}")
    ended = cluster.wait(job, 400)
    assert ended["ExitCode"] == "0:0", said.read_text()
    folder = out / "runs" / name
    shards = sorted(path.stat().st_mtime for path in (folder / "verdicts").glob("*.parquet"))
    # methods' surveys as they were finished: from when every worker has had its first, so that workers' starts are apart
    surveys = sorted(
        path.stat().st_mtime
        for path in (folder / "baselines").glob("*.parquet")
        for _ in range(pq.read_metadata(path).num_rows)
    )
    workers = 2 * nodes
    rate = (len(surveys) - workers) / (surveys[-1] - surveys[workers - 1])
    whole = shards[-1] - (folder / "manifest.json").stat().st_mtime
    return {"first verdict": shards[0] - submitted, "methods a minute": 60 * rate, "all": whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    found: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(prefix="ensures-measure-") as place, slurm() as cluster:
        out = Path(place)
        out.chmod(0o755)
        overrides = write(out)
        for number in range(chosen.rounds):
            for nodes in found:
                found[nodes].append(one(cluster, overrides, out, nodes, number))
                print(f"{nodes} nodes: {found[nodes][-1]}", flush=True)
    medians: dict[str, Any] = {
        f"{nodes} nodes": {name: statistics.median(row[name] for row in rows) for name in rows[0]}
        for nodes, rows in found.items()
    }
    rates = [medians[f"{nodes} nodes"]["methods a minute"] for nodes in (1, 2)]
    medians["ratio"] = rates[1] / rates[0]
    print(json.dumps(medians, indent=2))
    if chosen.json:
        chosen.json.write_text(json.dumps(medians, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
