"""The adapter to Weights & Biases. A tracker that fails never fails the run: it is said, and the run goes on."""

import contextlib
import netrc
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

TABLE_ROWS = 5000  # candidates in the W&B table; the Parquet shards hold all


@dataclass
class WandbConfig:
    kind: str = "wandb"
    project: str = "ensures"
    entity: str | None = None
    mode: str = "auto"  # auto: online when logged in, otherwise offline; or online, offline


@dataclass
class NoTrackerConfig:
    kind: str = "none"


class Tracker(Protocol):
    def result(self, rows: Sequence[dict[str, Any]], candidates: Iterable[dict[str, Any]]) -> None: ...

    def finish(self) -> str:
        """Where it went, in one line; empty if nowhere."""
        ...


class NoTracker:
    def result(self, rows: Sequence[dict[str, Any]], candidates: Iterable[dict[str, Any]]) -> None: ...

    def finish(self) -> str:
        return ""


class WandbTracker:
    def __init__(
        self, config: WandbConfig, name: str, folder: Path, settings: dict[str, Any], warn: Callable[[str], None]
    ) -> None:
        self._warn = warn
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
