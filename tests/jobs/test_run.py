"""The main job through its command line: what it writes, what it refuses, what it does the second time."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests import projects
from tests.jobs import demo

COMPLETION_COLUMNS = "task_id model setting sample seed prompt_hash text finish_reason prompt_tokens completion_tokens seconds"
VERDICT_COLUMNS = "task_id candidate_id model setting sample subject outcome reason surfaced clause message seconds"
METRICS = "model setting language rule tasks unresolved clusters n k corr comp comp_fraction delta rho corr_ci comp_ci"


@pytest.fixture(scope="module")
def overrides(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return demo.write(tmp_path_factory.mktemp("demo") / "d")


@pytest.fixture(scope="module")
def first(overrides: list[str]) -> Path:
    done = demo.run(*overrides, "name=first", "cluster=none")
    assert done.returncode == 0, done.stderr
    assert "Corr@k" in done.stdout
    return folder_of(overrides) / "first"


def folder_of(overrides: list[str]) -> Path:
    return Path(next(o.removeprefix("out=") for o in overrides if o.startswith("out=")))


def test_the_run_folder(first: Path) -> None:
    completions = pq.read_table(first / "completions")
    assert set(COMPLETION_COLUMNS.split()) <= set(completions.column_names)
    assert completions.num_rows == 3 * 2 * demo.SAMPLES
    verdicts = pq.read_table(first / "verdicts")
    assert set(VERDICT_COLUMNS.split()) <= set(verdicts.column_names)
    prompts = pq.read_table(first / "prompts").to_pylist()
    assert len(prompts) == 6
    assert {row["setting"] for row in prompts} == {"c2p", "f2p"}
    manifest = json.loads((first / "manifest.json").read_text())
    assert manifest["invocations"][0]["versions"]["icontract"]
    assert (first / "config.yaml").read_text().startswith("dataset:")
    assert (first / "tables" / "results.md").exists()
    page = (first / "report.html").read_text()
    assert "Share of correct candidates that leave a mutant alive" in page
    assert "://" not in page
    tasks = pq.read_table(first / "tasks.parquet").to_pylist()
    needs = json.loads((first / "dependence.json").read_text())
    assert {task["id"].split("--")[2]: needs[task["id"]] for task in tasks} == {
        "double": [],
        "clamp": [],
        "Counter.add": ["self.count"],
    }


def test_the_figures(first: Path) -> None:
    """Of three candidates a task: double 2 correct, clamp 1, add 3; complete are those that say all."""
    rows = json.loads((first / "metrics.json").read_text())["rows"]
    assert all(set(METRICS.split()) <= set(row) for row in rows)
    table = {(row["setting"], row["rule"], row["k"]): row for row in rows}
    f2p = table["f2p", "strict", 1]
    assert f2p["corr"] == pytest.approx((2 / 3 + 1 / 3 + 3 / 3) / 3)
    assert (f2p["tasks"], f2p["unresolved"], f2p["n"], f2p["clusters"]) == (3, 0, 3, 1)
    assert table["all", "strict", 3]["corr"] == 1.0
    verdicts = pq.read_table(first / "verdicts").to_pylist()
    original = {(row["task_id"].split("--")[2], row["sample"]): row["reason"] for row in verdicts if row["kind"] == "original"}
    assert original["double", 2] == "postcondition_violated"
    assert original["clamp", 1] == "condition_raised"
    assert original["clamp", 2] == "syntax_error"
    assert original["Counter.add", 2] == "passed"
    complete = [row for row in verdicts if row["kind"] == "mutant" and row["sample"] == 0]
    killed = sum(row["outcome"] == 0 for row in complete)
    assert killed == 10


def test_the_second_time_nothing_is_missing(overrides: list[str], first: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in first.rglob("*.parquet")}
    done = demo.run(*overrides, "name=first", "cluster=none")
    assert done.returncode == 0, done.stderr
    assert "nothing was missing" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in first.rglob("*.parquet")} == before


def test_on_ray_the_rows_are_the_same(overrides: list[str], first: Path) -> None:
    done = demo.run(*overrides, "name=ray", "cluster=local", "evaluation.workers=2")
    assert done.returncode == 0, done.stderr
    assert demo.rows(folder_of(overrides) / "ray") == demo.rows(first)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("model=reference", "model=reference: the run in .* was made with replay, and it can't change"),
        ("k=2", "k=2: .* was made with 3, and it may only grow"),
        ("seed=1", "seed=1: .* was made with 0, and it can't change"),
        ("evaluation.timeout=5", "evaluation.timeout=5"),
        ("settings=[f2p]", "settings="),
    ],
)
def test_a_run_folder_belongs_to_one_configuration(overrides: list[str], first: Path, change: str, message: str) -> None:
    given = [o for o in overrides if not (change.startswith("model=") and o.startswith("model"))]
    done = demo.run(*given, "name=first", change)
    assert done.returncode == 2
    assert one_line(done.stderr)
    import re

    assert re.search(message, done.stderr), done.stderr


def one_line(text: str) -> bool:
    return text.startswith("error: ") and text.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("foo=1", "foo is not a known key"),
        ("+foo=1", "foo is not a known key"),
        ("++dataset.foo=1", "dataset.foo is not a known key"),
        ("evaluation.workrs=1", "did you mean evaluation.workers"),
        ("model=gpt", "model=gpt is not known; choose one of claude-sonnet-4-5, gemma-3-27b,"),
        ("dataset=dream", "dataset=dream is not known; choose one of fixeval, folder, humaneval, mbpp, postcondbench, sample"),
        ("parsing=loose", "choose one of published, lenient"),
        ("k=0", "k=0"),
        ("k=many", "k=many"),
        ("k=4", "hold 3 samples"),
        ("report_k=[9]", "report_k=9"),
        ("dataset.limit=-1", "dataset.limit=-1"),
        ("settings=[x2p]", "choose from c2p, n2p, f2p"),
        ("settings=c2p", "a list is wanted"),
        ("model=null", "model needs a value"),
        ("dataset.path=/nowhere", "dataset.path=/nowhere does not exist"),
        ("dataset.tasks=zzz", "matches none of the 3 tasks"),
        ("dataset.repositories={demo/demo: /nowhere}", "is not a folder"),
        ("out=/proc/nothing", "can't be written"),
        ("prompt=none", "choose one of paper"),
        ("k", "can't be read"),
        ("model=reference", "model.path is not a known key; it belongs to another choice of model"),
    ],
)
def test_bad_input_is_one_line(overrides: list[str], change: str, message: str) -> None:
    name = "bad-" + hashlib.sha256(change.encode()).hexdigest()[:8]
    done = demo.run(*overrides, f"name={name}", "cluster=none", change)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert one_line(done.stderr.split("\n", done.stderr.count("\n") - 1)[-1]), done.stderr
    assert "Traceback" not in done.stderr


def test_hydra_leaves_nothing_behind(overrides: list[str]) -> None:
    assert not (demo.ROOT / "outputs").exists()


def test_a_damaged_shard_is_repaired(overrides: list[str], first: Path) -> None:
    done = demo.run(*overrides, "name=damaged", "cluster=none")
    assert done.returncode == 0
    folder = folder_of(overrides) / "damaged"
    shard = sorted((folder / "verdicts").glob("*.parquet"))[-1]
    shard.write_bytes(shard.read_bytes()[:-30])
    done = demo.run(*overrides, "name=damaged", "cluster=none")
    assert done.returncode == 0, done.stderr
    assert "damaged shard was set aside" in done.stderr
    assert demo.rows(folder) == demo.rows(first)


def test_k_may_grow(overrides: list[str], first: Path) -> None:
    done = demo.run(*overrides, "name=growing", "cluster=none", "k=1")
    assert done.returncode == 0, done.stderr
    assert "18 completions" not in done.stdout
    done = demo.run(*overrides, "name=growing", "cluster=none")
    assert done.returncode == 0, done.stderr
    assert "12 completions" in done.stdout
    assert demo.rows(folder_of(overrides) / "growing") == demo.rows(first)


def test_the_tracker_is_offline_without_an_account_and_may_fail(overrides: list[str], tmp_path: Path) -> None:
    done = demo.run(*overrides, "name=tracked", "cluster=none", "tracker=wandb", "dataset.limit=1")
    assert done.returncode == 0, done.stderr
    assert "W&B: offline" in done.stdout
    assert list((folder_of(overrides) / "tracked" / "wandb").glob("offline-run-*/*.wandb"))
    done = demo.run(*overrides, "name=broken", "cluster=none", "tracker=wandb", "dataset.limit=1", "tracker.mode=sideways")
    assert done.returncode == 0, done.stderr
    assert "W&B failed" in done.stderr


def test_the_reference_scores_what_the_ground_truth_scores(overrides: list[str], tmp_path: Path) -> None:
    from dataclasses import replace

    from benchmark import folder, schema
    from benchmark.folder import FolderConfig

    path = next(o.removeprefix("dataset.path=") for o in overrides if o.startswith("dataset.path="))
    tasks = folder.load(FolderConfig(path=path)).tasks
    schema.write(
        [
            projects.with_mutants(
                replace(task, reference=demo.CANDIDATES[task.qualname][0]),
                *(
                    task.implementation.replace(old, new)
                    for old, new in (("* 2", "* 3"), ("return low", "return high"), ("+=", "-="))
                    if old in task.implementation
                ),
            )
            for task in tasks
        ],
        tmp_path / "t.parquet",
    )
    done = demo.run(
        *overrides,
        "name=reference",
        "cluster=none",
        "model=reference",
        "~model.path",
        f"dataset.path={tmp_path / 't.parquet'}",
    )
    assert done.returncode == 2  # the path of the replay engine is no key of this one
    given = [o for o in overrides if not o.startswith("model")]
    done = demo.run(
        *given, "name=reference", "cluster=none", "model=reference", f"dataset.path={tmp_path / 't.parquet'}", "k=1"
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder_of(overrides) / "reference" / "metrics.json").read_text())["rows"]
    assert {(row["setting"], row["corr"], row["comp"]) for row in rows} == {("reference", 1.0, 1.0)}


def test_the_miner_runs_on_any_task(overrides: list[str]) -> None:
    given = [o for o in overrides if not o.startswith("model")]
    done = demo.run(*given, "name=miner", "cluster=none", "model=invariants", "k=2")
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder_of(overrides) / "miner" / "metrics.json").read_text())["rows"]
    assert {row["view"] for row in rows} == {"seen", "unseen"}
    verdicts = pq.read_table(folder_of(overrides) / "miner" / "verdicts").to_pylist()
    seen = [row["reason"] for row in verdicts if row["view"] == "seen" and row["kind"] == "original"]
    assert set(seen) <= {"passed", "compile_error"}, "what held on the calls that it saw holds on them"
    assert "passed" in seen


def test_ctrl_c_keeps_what_was_finished(overrides: list[str], first: Path) -> None:
    process = subprocess.Popen(
        demo.command(*overrides, "name=stopped", "cluster=none"),
        cwd=demo.ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ},
    )
    folder = folder_of(overrides) / "stopped"
    deadline = time.monotonic() + 60
    while not (folder / "manifest.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.wait(60) == 130, said
    assert "goes on from here" in said
    assert "Traceback" not in said
    done = demo.run(*overrides, "name=stopped", "cluster=none")
    assert done.returncode == 0
    assert demo.rows(folder) == demo.rows(first)


def test_asked_to_end_before_it_listens_it_ends_in_order(overrides: list[str]) -> None:
    """As `slurm.allocation` starts it: the signal is blocked until then."""
    blocked = (
        "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1}); os.execv(*eval(sys.argv[1]))"
    )
    job = demo.command(*overrides, "name=early", "cluster=none")
    process = subprocess.Popen(
        [sys.executable, "-c", blocked, repr((job[0], job))], cwd=demo.ROOT, stderr=subprocess.PIPE, text=True
    )
    time.sleep(0.5)
    process.send_signal(signal.SIGUSR1)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 75, said


def test_help_names_every_key() -> None:
    done = demo.run("--help")
    assert done.returncode == 0
    assert "evaluation.workers" in done.stdout
    assert "llama-4-maverick|llama-4-maverick-fp8|openai-compatible|qwen3-32b|" in done.stdout


def test_a_multirun_does_one_after_the_other_each_under_its_own_name(overrides: list[str], tmp_path: Path) -> None:
    done = demo.run(
        *(o for o in overrides if not o.startswith("settings=")), "settings=[c2p],[f2p]", "--multirun", "cluster=none"
    )
    assert done.returncode == 0, done.stderr
    heads = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(heads) == 2 and heads[0].startswith("[1/2] ") and "settings=[f2p]" in heads[1]
    made = {line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("run folder: ")}
    assert {Path(path).name.rpartition("settings-")[2] for path in made} == {"c2p", "f2p"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("sweep=papr", "sweep=papr is not known; choose one of paper"),
        ("modle=a,b", "modle is not a known key"),
        ("k=0,1", "k=0: "),
    ],
)
def test_a_multirun_that_can_not_be_read_begins_nothing(overrides: list[str], change: str, said: str) -> None:
    done = demo.run(*overrides, change, "--multirun")
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count("\n") == 1 and not done.stdout
