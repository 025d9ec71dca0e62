"""Imports point one way, modules stay small, and nothing of ours can be imported where a subject's code runs."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Who may import whom. `inference` does not know `evaluation`, nor the other way round.
ALLOWED = {
    "ensures": set(),
    "containers": {"ensures"},
    "benchmark": {"ensures"},
    "evaluation": {"ensures", "containers"},
    "inference": {"ensures"},
    "construction": {"ensures", "containers", "benchmark", "evaluation", "inference"},
    "analysis": {"ensures", "evaluation"},
    "slurm": set(),
    "jobs": {"slurm", "ensures", "containers", "benchmark", "evaluation", "inference", "construction", "analysis"},
}
ADAPTERS = {
    "vllm": {"inference/engines/vllm_replica.py"},
    "ray": {"jobs/ray_cluster.py", "jobs/ray_joined.py", "jobs/ray_replicas.py"},
    "hydra": {"jobs/config.py"},
    "wandb": {"jobs/tracker.py"},
}


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package: str) -> None:
    for path in modules(package):
        strangers = imported(path) & set(ALLOWED) - {package} - ALLOWED[package]
        assert not strangers, f"{path.relative_to(ROOT)} imports {strangers}"


def test_adapters_are_alone() -> None:
    for package in ALLOWED:
        for path in modules(package):
            name = str(path.relative_to(ROOT))
            for library, where in ADAPTERS.items():
                assert library not in imported(path) or name in where, f"{name} imports {library}"


def test_the_harness_needs_nothing_of_ours() -> None:
    import sys

    allowed = set(sys.stdlib_module_names) | {"icontract", "pytest", "coverage"}
    for folder in ("evaluation/python/harness", "construction/probe"):
        for path in (ROOT / folder).rglob("*.py"):
            assert imported(path) <= allowed, path
    for path in (ROOT / "evaluation/java/supervisor").rglob("*.py"):
        assert imported(path) <= set(sys.stdlib_module_names) | {"ensures_harness"}, path
    assert {path.name for path in (ROOT / "evaluation/python/harness").iterdir() if path.suffix != ".py"} - {
        "__pycache__"
    } == {"ensures_harness"}


def test_modules_say_what_they_are_and_stay_small() -> None:
    for package in ALLOWED:
        for path in modules(package):
            text = path.read_text(encoding="utf-8")
            assert not text.strip() or ast.get_docstring(ast.parse(text)), f"{path} has no docstring"
            assert text.count("\n") <= 500, f"{path} is long"
            assert path.stem not in ("utils", "util", "helpers", "helper", "common", "misc", "manager", "base")
