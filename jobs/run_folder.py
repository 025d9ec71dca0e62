"""The run folder: what a run produced, and the check that it belongs to one configuration."""

import json
import os
import platform
import subprocess
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from filelock import FileLock, Timeout

from ensures.errors import InputError
from evaluation.rows import AUDITS, BASELINES, COMPLETIONS, DIAGNOSES, PROMPTS, TURNS, VERDICTS, Shards

TASKS = "tasks.parquet"

# May change between invocations of one run; k and dataset.limit may only grow.
FREE = ["cluster", "tracker", "sandbox", "evaluation.workers", "evaluation.limit", "evaluation.audit_fraction"]
FREE += ["evaluation.clauses", "evaluation.sessions"]
FREE += ["report_k", "name", "out", "part"]
FREE += [f"model.{key}" for key in ("replicas", "tensor_parallel", "concurrent", "memory_fraction", "cpu_cache_gb", "price")]
FREE += [f"model.{key}" for key in ("request_seconds", "attempts", "pause_seconds")]
GROWING = ("k", "dataset.limit")


class RunFolder:
    """Opened by one process at a time, or by one for each part of the tasks. Raises InputError where the folder belongs to
    another configuration."""

    def __init__(self, path: Path, config: dict[str, Any]) -> None:
        self.path, self.part = path, str(config.get("part") or "")
        config = {**config, "part": ""}
        self._own = self.part.replace("/", "-of-") or "whole"
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / f".writable-{self._own}"
            probe.write_text("", encoding="utf-8")
            probe.unlink()
        except OSError as error:
            raise InputError(f"the run folder {path} can't be written ({error.strerror}); choose another with out=") from error
        self._lock = self._locked()
        try:
            self.resumed = self._check(config)
        except InputError:
            self._lock.release()
            raise
        _write(path / "config.yaml", yaml.safe_dump(config, sort_keys=False))
        self.completions = self._shards("completions", COMPLETIONS)
        self.prompts = self._shards("prompts", PROMPTS)
        self.baselines = self._shards("baselines", BASELINES)
        self.verdicts = self._shards("verdicts", VERDICTS)
        self.clauses = self._shards("clauses", VERDICTS)  # on every clause alone, where that is asked for
        self.turns = self._shards("turns", TURNS)
        self.feedback = self._shards("feedback", VERDICTS)  # what strategies were told; it scores nobody
        self.audits = self._shards("audits", AUDITS)
        self.diagnoses = self._shards("diagnoses", DIAGNOSES)

    def _shards(self, name: str, schema: pa.Schema) -> Shards:
        return Shards(self.path / name, schema, writer=self._own)

    def _locked(self) -> FileLock:
        """This part's lock, or the whole folder's, while nobody has the other."""
        busy = InputError(f"another process is at work in {self.path}; wait for it or choose another name=")
        own, whole = self.path / f".lock-{self._own}", self.path / ".lock-whole"
        with FileLock(str(self.path / ".locks")):
            others = [path for path in self.path.glob(".lock-*") if path != own] if own == whole else [whole]
            if any(_held(path) for path in others):
                raise busy
            try:
                return _acquired(own)
            except Timeout:
                raise busy from None

    def finished(self) -> bool:
        """This part is done. True for the one that makes the parts complete."""
        count = self.part.partition("/")[2]
        with FileLock(str(self.path / ".locks")):
            done = self.path / "parts"
            done.mkdir(exist_ok=True)
            (done / self._own).touch()
            return all((done / f"{one}-of-{count}").exists() for one in range(1, int(count) + 1))

    def begun(self) -> None:
        """This part is being worked on."""
        if self.part:
            (self.path / "parts" / self._own).unlink(missing_ok=True)

    def _check(self, config: dict[str, Any]) -> bool:
        stored = self.path / "config.yaml"
        if not stored.exists() or not any(self.path.glob("*/*.parquet")):
            return False  # nothing was made yet: a first try with a mistake in it binds nobody
        try:
            before = yaml.safe_load(stored.read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise InputError(f"{stored} can't be read; move the folder away or choose another name=") from error
        old, new = _flat(before or {}), _flat(config)
        for key in sorted(old.keys() | new.keys()):
            was, now = old.get(key), new.get(key)
            if was == now or any(key == free or key.startswith(free + ".") for free in FREE):
                continue
            if key in GROWING and isinstance(was, int) and isinstance(now, int) and (now > was != 0 or now == 0):
                continue
            group = next((name for name in ("dataset", "model", "strategy", "checker") if key.startswith(name + ".")), "")
            label = (
                f"{group}={_choice(new, group)}" if group and _choice(old, group) != _choice(new, group) else f"{key}={now}"
            )
            was = _choice(old, group) if label.startswith(f"{group}=") and group else was
            how = "may only grow" if key in GROWING else "can't change"
            raise InputError(f"{label}: the run in {self.path} was made with {was}, and it {how}; choose another name=")
        return True

    def manifest(self, **facts: Any) -> None:
        """Versions, commit, host and seed of the last invocation, beside what earlier ones said."""
        with FileLock(str(self.path / ".locks")):
            self._manifest({**({"part": self.part} if self.part else {}), **facts})

    def _manifest(self, facts: dict[str, Any]) -> None:
        path = self.path / "manifest.json"
        history = []
        if path.exists():
            try:
                history = json.loads(path.read_text(encoding="utf-8")).get("invocations", [])
            except ValueError:
                history = []
        names = ("icontract", "ray", "pyarrow", "hydra-core", "libcst", "numpy", "wandb", "transformers", "torch")
        versions = {name: metadata.version(name) for name in names if _installed(name)}
        invocation = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "host": platform.node(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "commit": _commit(),
            "versions": versions,
            **facts,
        }
        _write(path, json.dumps({"invocations": [*history, invocation]}, indent=2) + "\n")

    def write(self, name: str, text: str) -> Path:
        _write(self.path / name, text)
        return self.path / name

    def close(self) -> None:
        self.flush()
        self._lock.release()

    def flush(self) -> None:
        for shards in self._all:
            shards.flush()

    @property
    def broken(self) -> list[Path]:
        """Shards that could not be read and were set aside."""
        return [path for shards in self._all for path in shards.broken]

    @property
    def _all(self) -> tuple[Shards, ...]:
        judged = (self.verdicts, self.clauses, self.feedback, self.audits, self.diagnoses)
        return (self.completions, self.prompts, self.turns, self.baselines, *judged)


def _acquired(path: Path) -> FileLock:
    lock = FileLock(str(path))
    lock.acquire(timeout=0)
    return lock


def _held(path: Path) -> bool:
    try:
        _acquired(path).release()
    except Timeout:
        return True
    return False


def _choice(flat: dict[str, Any], group: str) -> Any:
    for key in ("kind", "engine", "name"):
        if f"{group}.{key}" in flat:
            return flat[f"{group}.{key}"]
    return None


def _flat(node: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(node, dict) and node:
        found: dict[str, Any] = {}
        for key, value in node.items():
            found |= _flat(value, f"{prefix}.{key}" if prefix else str(key))
        return found
    return {prefix: node}


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}; make room and run again") from error


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _commit() -> str | None:
    here = Path(__file__).resolve().parent
    result = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True)
    return result.stdout.strip() or None
