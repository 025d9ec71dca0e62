"""Tables and figures of run folders and of published results; one line for what can't be read."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmark import schema
from jobs import study
from tests.analysis import synthetic
from tests.performance import analysis as measured

TABLES = (
    "statistics overall intervals by-setting dependence dependence-by-setting false-discovery families perturbations budget "
    "operators reasons survivors guidance causes comparisons settings sizes mutants dominators variety by-date"
)
FIGURES = (
    "gaps-by-setting gaps-by-setting-all gaps-by-model gaps-by-model-all gaps-by-language gaps-by-language-all by-lines "
    "by-lines-and-setting budget kill-matrix reasons causes survivors"
)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jobs.analyze", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    measured.made(path, 6)
    return path


def test_a_run_folder(folder: Path) -> None:
    done = run(folder, "--trials", "3")
    assert done.returncode == 0, done.stderr
    for name in TABLES.split():
        for ending in ("md", "tex", "csv"):
            assert (folder / "tables" / f"{name}.{ending}").stat().st_size > 0
    rows = list(csv.DictReader((folder / "tables" / "overall.csv").open()))
    assert len(rows) == measured.MODELS * 3
    assert all(float(row["Corr@k"]) >= float(row["Comp@k"]) for row in rows)
    for name in FIGURES.split():
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / "figures" / f"{name}.svg").read_text().startswith("<?xml")
        assert (folder / "figures" / f"{name}.csv").stat().st_size > 0


def test_the_same_seed_gives_the_same_tables(folder: Path, tmp_path: Path) -> None:
    for out in ("a", "b"):
        assert run(folder, "--trials", "3", "--out", tmp_path / out).returncode == 0
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*") if path.suffix != ".png")
    assert len(files) > 30
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_published_results(shared_data: Path, tmp_path: Path) -> None:
    done = run("--published", shared_data / "postcondbench", "--out", tmp_path, "--trials", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("9 candidates of 2 models on 2 methods")
    rows = {(row["Model"], row["Language"]): row for row in csv.DictReader((tmp_path / "tables" / "by-setting.csv").open())}
    for model in ("gpt-5", "claude-sonnet-4-5"):
        assert (rows[model, "Java"]["Corr@1"], rows[model, "Java"]["Comp@1"]) == ("1.0", "1.0")
        assert (rows[model, "Python"]["Corr@1"], rows[model, "Python"]["Comp@1"]) == ("0.0", "0.0")
    assert "100.0% have the same text" in (tmp_path / "tables" / "operators.md").read_text()


def test_a_run_without_verdicts_is_one_line(tmp_path: Path) -> None:
    schema.write(synthetic.tasks(1, (2, 2)), tmp_path / study.TASKS)
    (tmp_path / "config.yaml").write_text("evaluation: {limit: paper}\n")
    done = run(tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip() == "error: there are no verdicts to be analyzed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name run folders, or --published FOLDER"),
        (["/nowhere/run"], "/nowhere/run holds no tasks.parquet; it is no run folder, or its run has not begun"),
        (["--published", "/nowhere"], "dataset.path=/nowhere holds no .json file"),
        (["/nowhere/run", "--trials", "0"], "--trials=0: at least one"),
    ],
)
def test_what_can_not_be_read_is_one_line(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.strip() == f"error: {said}"


def test_a_truncated_file_is_one_line(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    whole = (copy / study.TASKS).read_bytes()
    (copy / study.TASKS).write_bytes(whole[: len(whole) // 2])
    done = run(copy)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {copy / study.TASKS} is not a readable Parquet file")
    assert done.stderr.count("\n") == 1
    assert pq.read_table(folder / study.TASKS).num_rows == 6
