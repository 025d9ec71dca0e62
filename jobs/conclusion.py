"""The end of a run: metrics, tables, report, tracker, and what the user reads last."""

import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analysis import generation, report, tables
from analysis.candidates import Summary, emptiness, reasons, summaries
from construction import dependence
from construction import sample as construction
from ensures.candidate import Candidate
from ensures.errors import InputError, PreparationFailed
from ensures.subject import mutants
from ensures.task import Program, Task
from evaluation import audit, metrics
from evaluation.baseline import Baseline
from evaluation.judge import Unresolved
from evaluation.rows import VERDICTS, stored
from evaluation.workspace import module_text
from inference.dialects import icontract
from jobs import findings
from jobs.config import RunConfig, plain
from jobs.drawing import Row
from jobs.labels import leaky, shown
from jobs.pages import Slices
from jobs.pipeline import Pipeline
from jobs.study import NEEDS
from jobs.tracker import NoTracker, Tracker, WandbTracker

_COLUMNS = "task_id model setting candidate_id subject view outcome reason status message limit isolated".split()
_COLUMNS += ["pairs", "pairs_killed", "pairs_raised"]


class Conclusion:
    """Of one pipeline that has done its work."""

    def __init__(self, pipeline: Pipeline, config: RunConfig) -> None:
        self.pipeline, self.config = pipeline, config
        self.folder, self.tasks, self.engine = pipeline.folder, pipeline.scored, pipeline.engine
        self.warnings, self.unresolved = pipeline.warnings, pipeline.unresolved

    def generated(self, seconds: float) -> None:
        """Of a run that only drew."""
        names = ["task_id", "setting", "prompt_hash", "finish_reason", "left_out"]
        names += ["prompt_tokens", "completion_tokens", "thinking_tokens", "cost"]
        for line in generation.lines(generation.drawn(self._completions(names)), self._currency):
            print(line)
        self._say_last(seconds, "", "")

    def evaluated(self, seconds: float) -> None:
        """Metrics, tables, figures, report, tracker; and what the user reads last."""
        tracker = self._track()
        completions = list(self._completions())
        candidates = self._candidates(completions)
        known = {task.id: self.pipeline.parts.surveyor.known(task) for task in self.tasks}
        tasks = self.pipeline.published()
        verdicts, diagnosed = self._verdicts(), self._diagnosed()
        scored: list[metrics.Scored] = []
        missing: list[metrics.Expected] = []
        lines: list[Summary] = []
        changed: int | None = None
        for task in tasks:  # one at a time: memory does not grow with the number of verdicts
            rows, other = self._current(verdicts.of(task.id))
            changed = (changed or 0) + other if other is not None else changed
            of_task = metrics.score(rows, self._expected(task, candidates[task.id]))
            scored += of_task[0]
            missing += of_task[1]
            lines += summaries([task], candidates, rows, diagnosed)
        if not scored and not missing:
            raise InputError(f"model={self.engine.name} has nothing for any of the {len(self.tasks)} tasks of this dataset")
        audited = audit.agreement(self.folder.audits.rows())
        rows = metrics.summarize(scored, missing, self.config.reported, self.config.seed)
        settings = plain(self.config)
        rows = [{**row, "model": shown(row["model"], settings)} for row in rows]
        if leaky(settings):
            self.warnings.append(
                "what gave feedback also scores: figures are marked leaky; strategy.feedback_split=true keeps them apart"
            )
        drawn = generation.drawn(completions)
        said = [*reasons(lines), *tables.audit_lines(audited), *emptiness(lines), *generation.lines(drawn, self._currency)]
        made = [dataclasses.asdict(item) for item in drawn]
        self.folder.write("metrics.json", tables.metrics_json(rows, made, said))
        tables.write(rows, self.folder.path / "tables")
        page = self._study(rows, tracker)
        tracker.result(rows, (summary.row() for summary in lines))
        tables.show(rows, sys.stdout)
        self._warn_of(known)
        for line in said:
            print(line)
        if changed is not None:
            print(f"{changed} verdicts differ between evaluation.limit=paper and evaluation.limit=measured")
        self._rescued(candidates)
        few = max((row["clusters"] for row in rows), default=0)
        if 0 < few < metrics.FEW_CLUSTERS:
            self.warnings.append(
                f"intervals are clustered by repository and there are only {few}: take them as rough "
                "(the tables give those by task beside them)"
            )
        if len(missing) > len(self.unresolved):
            self.warnings.append(f"{len(missing)} (task, setting) pairs are unresolved; run again to complete them")
        if missing and not self.unresolved:
            self.unresolved += [Unresolved(m.task, m.model, m.setting, "verdicts are missing") for m in missing]
        if self.pipeline.drawing.drawn or self.pipeline.judge.added:
            tracker.artifacts(self.config.dataset.kind)
        self._say_last(seconds, f"report: {page}", tracker.finish())

    def _expected(self, task: Task, candidates: Sequence[Candidate]) -> list[metrics.Expected]:
        return [
            metrics.Expected(
                task.id,
                task.repository,
                task.language.value,
                self.engine.name,
                setting,
                self.config.k,
                frozenset(subject.id for subject in mutants(task)),
                isinstance(task.source, Program),
            )
            for setting in sorted({c.setting.value for c in candidates} | self._lost(task))
        ]

    def _study(self, rows: list[dict[str, Any]], tracker: Tracker) -> Path:
        """All tables and figures, and the report; nothing where nothing was added since they were made."""
        page = self.folder.path / report.PAGE
        added = self.pipeline.drawing.drawn or self.pipeline.judge.added or not page.is_file()
        if added and any(row["tasks"] for row in rows):
            self._needs()
            self.folder.flush()
            findings.write(findings.from_runs([self.folder.path], "strict"), self.folder.path, tracker=tracker)
        return page

    def _needs(self) -> None:
        """Which names each method needs from elsewhere, by the text of its file."""
        path = self.folder.path / NEEDS
        found: dict[str, list[str]] = {}
        if path.is_file():
            with contextlib.suppress(ValueError):
                found = json.loads(path.read_text(encoding="utf-8"))
        for task in self.tasks:
            if task.id not in found and not isinstance(task.source, Program):
                with contextlib.suppress(PreparationFailed):
                    text = module_text(construction.workspace(task, dict(self.config.dataset.repositories)), task)
                    found[task.id] = list(dependence.needs(task, text))
        self.folder.write(NEEDS, json.dumps(found | {t.id: [] for t in self.tasks if isinstance(t.source, Program)}) + "\n")

    @property
    def _currency(self) -> str:
        price = getattr(self.config.model, "price", None)
        return price.currency if price is not None else ""

    def _completions(self, columns: list[str] | None = None) -> Iterator[Row]:
        """This run's rows."""
        current = self.pipeline.drawing.current
        return (row for row in self.folder.completions.rows(columns) if row["key"] in current)

    def _candidates(self, completions: Iterable[Row]) -> dict[str, list[Candidate]]:
        """By task, in the order of settings and samples."""
        found: dict[str, list[Candidate]] = {task.id: [] for task in self.tasks}
        tasks = {task.id: task for task in self.tasks}
        for row in completions:
            found[row["task_id"]].append(self.pipeline.drawing.candidate(tasks[row["task_id"]], row))
        names = list(dict.fromkeys(self.config.settings))
        for candidates in found.values():
            candidates.sort(key=lambda c: (names.index(c.setting.value) if c.setting.value in names else 0, c.sample))
        return found

    def _verdicts(self) -> Slices:
        """The verdict rows of this run's candidates. Only those on the original keep their message."""
        table = stored(self.folder.path / "verdicts", VERDICTS, _COLUMNS)
        current = pa.array(sorted(self.pipeline.drawing.current), pa.string())
        table = table.filter(pc.is_in(table["candidate_id"], value_set=current))
        messages = pc.if_else(pc.equal(table["subject"], "original"), table["message"], None)
        return Slices(table.set_column(table.column_names.index("message"), "message", messages))

    def _diagnosed(self) -> dict[str, dict[str, Any]]:
        rows = self.folder.diagnoses.rows()
        return {row["candidate_id"]: row for row in rows if row["insensitive"] is not None}

    def _current(self, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int | None]:
        """The rows that count; and how many are otherwise under the other limit, where that was run, too."""
        verdicts, others = [], {}
        for row in {row["key"]: row for row in rows}.values():
            if self.pipeline.judge.current(row):
                verdicts.append(row)
            elif row["limit"] != self.config.evaluation.limit.value:
                others[row["candidate_id"], row["subject"], row["view"]] = row["outcome"]
        if not others:
            return verdicts, None
        both = ((others.get((v["candidate_id"], v["subject"], v["view"])), v["outcome"]) for v in verdicts)
        return verdicts, sum(other is not None and other != outcome for other, outcome in both)

    def _warn_of(self, baselines: dict[str, Baseline | None]) -> None:
        for task, baseline in sorted(baselines.items()):
            if baseline is not None and baseline.excluded:
                names = ", ".join(baseline.excluded)
                self.warnings.append(f"{task}: covering tests left out, they do not pass on the original here: {names}")
            for reason in sorted(set(baseline.left_out.values() if baseline else ())):
                count = sum(why == reason for why in baseline.left_out.values()) if baseline else 0
                self.warnings.append(f"{task}: mutants left out of Comp: {count} ({reason})")
        for task in sorted(self.pipeline.judge.isolated):
            self.warnings.append(f"{task}: the audit disagreed with a shared execution; it was judged again in isolation")

    def _lost(self, task: Task) -> set[str]:
        return {item.setting for item in self.unresolved if item.task == task.id}

    def _rescued(self, candidates: dict[str, list[Candidate]]) -> None:
        if self.config.parsing is icontract.Parsing.LENIENT:
            every = [candidate for found in candidates.values() for candidate in found]
            rescued = sum(icontract.RESCUED in getattr(candidate.artifact, "notes", ()) for candidate in every)
            print(f"lenient parsing rescued {rescued} of {len(every)} candidates")

    def _say_last(self, seconds: float, *where: str) -> None:
        drawn, added = self.pipeline.drawing.drawn, self.pipeline.judge.added
        did = f"{drawn:,} completions and {added:,} verdicts in {seconds:.0f} s"
        print(did if drawn or added else f"nothing was missing ({seconds:.0f} s)")
        report, *others = where
        for line in filter(None, [report, f"run folder: {self.folder.path}", *others]):
            print(line)
        for path in self.folder.broken:
            self.warnings.append(f"a damaged shard was set aside as {path}; its rows were made again")
        for item in self.unresolved:
            self.warnings.append(f"unresolved: {item.task} ({item.model}, {item.setting}): {item.reason}")
        for warning in dict.fromkeys(self.warnings):
            print(f"warning: {warning}", file=sys.stderr)

    def _track(self) -> Tracker:
        if self.config.tracker.kind == "none":
            return NoTracker()
        return WandbTracker(self.config.tracker, self.config.name, self.folder.path, plain(self.config), self.warnings.append)
