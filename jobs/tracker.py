"""The adapter to Weights & Biases. A tracker that fails never fails the run: it is said, and the run goes on."""

import contextlib
import netrc
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from analysis.figures import Drawn
from analysis.sheets import Cell, Sheet

TABLE_ROWS = 5000  # candidates in the W&B table; the Parquet shards hold all


@dataclass
class WandbConfig:
    kind: str = "wandb"
    project: str = "ensures"
    entity: str | None = None
    mode: str = "auto"  # auto: online when logged in, otherwise offline; or online, offline
    group: str | None = None  # runs of one sweep stand together
    artifacts: bool = True  # the dataset and the run folder are kept as artifacts


@dataclass
class NoTrackerConfig:
    kind: str = "none"


class Tracker(Protocol):
    def study(self, sheets: Sequence[Sheet], drawn: Sequence[Drawn]) -> None: ...

    def result(self, rows: Sequence[dict[str, Any]], candidates: Iterable[dict[str, Any]]) -> None: ...

    def artifacts(self, dataset: str) -> None: ...

    def finish(self) -> str:
        """Where it went, in one line; empty if nowhere."""
        ...


class NoTracker:
    def study(self, sheets: Sequence[Sheet], drawn: Sequence[Drawn]) -> None: ...

    def result(self, rows: Sequence[dict[str, Any]], candidates: Iterable[dict[str, Any]]) -> None: ...

    def artifacts(self, dataset: str) -> None: ...

    def finish(self) -> str:
        return ""


class WandbTracker:
    def __init__(
        self, config: WandbConfig, name: str, folder: Path, settings: dict[str, Any], warn: Callable[[str], None]
    ) -> None:
        self._warn, self._folder, self._config = warn, folder, config
        self._run: Any = None
        self._where = ""
        with self._excused():
            os.environ.setdefault("WANDB_SILENT", "true")
            os.environ.setdefault("WANDB_CONSOLE", "off")
            import wandb

            mode = config.mode
            if mode == "auto":
                mode = os.environ.get("WANDB_MODE") or ("online" if _logged_in() else "offline")
            self._run = wandb.init(
                project=config.project,
                entity=config.entity,
                name=name,
                group=config.group,
                id=_identifier(folder),
                resume="allow",
                dir=str(folder),
                mode=mode,  # type: ignore[arg-type]
                config=settings,
                settings=wandb.Settings(disable_git=True, x_disable_stats=True),
            )
            self._where = self._run.url or f"offline; wandb sync {self._run.dir.removesuffix('/files')}"

    @contextlib.contextmanager
    def _excused(self) -> Any:
        try:
            yield
        except Exception as error:
            self._run = None
            self._warn(f"W&B failed ({type(error).__name__}: {' '.join(str(error).split())[:200]}); the run goes on")

    def study(self, sheets: Sequence[Sheet], drawn: Sequence[Drawn]) -> None:
        """Every table as a table, every figure as a picture, the budget sweep also as curves."""
        if self._run is None:
            return
        with self._excused():
            import wandb

            logged: dict[str, Any] = {}
            for sheet in sheets:
                rows = [[value.value if isinstance(value, Cell) else value for value in row] for row in sheet.rows]
                logged[f"tables/{sheet.name}"] = wandb.Table(columns=_apart(sheet.columns), data=rows, allow_mixed_types=True)
            for figure in drawn:
                logged[f"figures/{figure.name}"] = wandb.Image(str(self._folder / "figures" / f"{figure.name}.png"))
            sweep = next((sheet for sheet in sheets if sheet.name == "budget"), None)
            if sweep is not None and sweep.rows:
                logged["plots/budget"] = _curves(wandb, sweep)
            self._run.log(logged)

    def artifacts(self, dataset: str) -> None:
        """The tasks and the run folder, the second made from the first."""
        if self._run is None or not self._config.artifacts:
            return
        with self._excused():
            import wandb

            tasks = wandb.Artifact(f"dataset-{dataset}", type="dataset")
            tasks.add_file(str(self._folder / "tasks.parquet"))
            made = wandb.Artifact(f"run-{self._run.id}", type="run", metadata={"dataset": tasks.name, "digest": tasks.digest})
            for path in sorted(self._folder.rglob("*")):
                inside = path.relative_to(self._folder)
                if path.is_file() and inside.parts[0] != "wandb" and not inside.name.startswith("."):
                    shard = path.suffix == ".parquet"  # never changed again: no copy is needed
                    made.add_file(str(path), str(inside), policy="immutable" if shard else "mutable")
            if self._run.offline:  # what a run uses is known to the server alone: here its name and digest say it
                self._run.log_artifact(tasks)
            else:
                self._run.use_artifact(tasks)
            self._run.log_artifact(made)

    def result(self, rows: Sequence[dict[str, Any]], candidates: Iterable[dict[str, Any]]) -> None:
        if self._run is None:
            return
        with self._excused():
            import wandb

            figures: dict[str, Any] = {}
            for row in rows:
                head = f"{row['model']}/{row['setting']}/{row['language']}/{row['view']}/{row['rule']}"
                for name in ("corr", "comp"):
                    figures[f"{head}/{name}@{row['k']}"] = row[name]
                figures[f"{head}/comp_fraction"] = row["comp_fraction"]
            columns = [
                "task_id",
                "model",
                "setting",
                "sample",
                "view",
                "correct",
                "complete",
                "killed",
                "reason",
                "text",
            ]
            table = wandb.Table(columns=columns)
            for index, candidate in enumerate(candidates):
                if index == TABLE_ROWS:
                    break
                table.add_data(*(candidate[column] for column in columns))
            self._run.log({"candidates": table, **{k: v for k, v in figures.items() if v is not None}})

    def finish(self) -> str:
        where = self._where
        if self._run is None:
            return ""
        with self._excused():
            self._run.finish()
        return f"W&B: {where}" if self._run is not None else ""


def _apart(columns: Sequence[str]) -> list[str]:
    """No name twice: W&B's tables need that."""
    names: list[str] = []
    for column in columns:
        name = column.strip() or "of"
        while name in names:
            name += "'"
        names.append(name)
    return names


def _curves(wandb: Any, sweep: Sheet) -> Any:
    """Comp@1 over the share of mutants, one line a model."""
    models = list(dict.fromkeys(str(row[0]) for row in sweep.rows))
    points = {model: [row for row in sweep.rows if row[0] == model] for model in models}

    def column(model: str, at: int) -> list[float | None]:
        return [cell.value if isinstance(cell := row[at], Cell) else None for row in points[model]]

    xs, ys = [column(model, 1) for model in models], [column(model, 2) for model in models]
    return wandb.plot.line_series(xs=xs, ys=ys, keys=models, title=sweep.title, xname="share of mutants")


def _identifier(folder: Path) -> str:
    """One W&B run a run folder, also when it is resumed."""
    from ensures.keys import content_key

    return content_key(str(folder.resolve()))[:12]


def _logged_in() -> bool:
    """A key in the environment or in the netrc file that `wandb login` writes; nobody is asked."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    with contextlib.suppress(OSError, netrc.NetrcParseError):
        hosts = netrc.netrc().hosts
        return any("wandb" in host for host in hosts)
    return False
