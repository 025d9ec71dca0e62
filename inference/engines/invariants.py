"""model=invariants: likely postconditions from executions, as Daikon inferred them. A baseline that needs no model.

It reads no prompt. For each sample, the seed puts half of the calls into sight and half of the grammar out of reach; what
held on every call in sight is kept, what another clause implies is dropped, and the rest is printed in the dialect of the
task's language. Its
scores count only the calls that it did not see (`ensures.view`), and it is never ranked among models.
"""

import zlib
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ensures.task import Language, Setting, Task
from ensures.view import Part, part_of_call
from inference.engine import Call, Completion, Observer, Request
from inference.engines import java_templates, templates
from inference.engines.java_templates import Template as JavaTemplate
from inference.engines.templates import Template as PythonTemplate

GRAMMAR = "2"  # raised when the templates or the selection change: part of every completion's key


@dataclass
class InvariantsConfig:
    engine: str = "invariants"
    name: str = "invariants"
    most_clauses: int = 12
    share_of_templates: float = 0.8
    least_calls: int = 1  # calls in sight on which a clause must have held

    @property
    def label(self) -> str:
        return self.name


Template = PythonTemplate | JavaTemplate
_GRAMMARS: dict[Language, Any] = {Language.PYTHON: templates, Language.JAVA: java_templates}


class Invariants:
    hostile = False
    setting: Setting | None = Setting.EXECUTIONS
    capacity = 64
    origin: dict[str, str] = {}

    def __init__(self, config: InvariantsConfig, observer: Observer) -> None:
        self.config, self.observer, self.name = config, observer, config.label
        self.identity: Any = ["invariants", GRAMMAR, config]

    def covers(self, task: Task, setting: Setting) -> bool:
        return True

    async def complete(self, request: Request) -> list[Completion]:
        calls = await self.observer.calls(request.task)
        if not calls:
            return []
        grammar = _GRAMMARS[request.task.language]
        seen = {sample: self._in_sight(calls, request.seed + sample) for sample in request.samples}
        pool: dict[str, Template] = {}
        splits: dict[str, Template] = {}
        for visible in seen.values():
            if visible:
                pool |= {template.text: template for template in grammar.templates(visible)}
                splits |= {guard.text: guard for guard in grammar.guards(visible)}
        tried = [*pool.values(), *splits.values()]
        rows = await self.observer.truths(request.task, [grammar.clauses([template]) for template in tried])
        truths: dict[tuple[str, int], str] = {(test, number): text for test, number, text in rows if text is not None}
        column = {template.text: index for index, template in enumerate(tried)}
        completions = []
        for sample, visible in seen.items():
            if not visible:
                completions.append(Completion(sample, "", finish_reason="no_calls", halved=True))
                continue
            table = [truths[call.test, call.number] for call in visible if (call.test, call.number) in truths]
            kept = self._kept(grammar, visible, table, column, request.seed + sample)
            text = grammar.clauses(kept).text if kept else ""
            completions.append(Completion(sample, text, completion_tokens=len(kept), halved=True))
        return completions

    def stop(self) -> None: ...

    async def close(self) -> None: ...

    def _in_sight(self, calls: list[Call], seed: int) -> list[Call]:
        return [call for call in calls if part_of_call(str(seed), call.test, call.number) is Part.SEEN]

    def _kept(self, grammar: Any, visible: list[Call], table: list[str], column: dict[str, int], seed: int) -> list[Template]:
        """Clauses that held on every call in sight, implications for those that held on one side of a guard."""
        usable = [template for template in grammar.templates(visible) if self._usable(template, seed)]

        def values(template: Template) -> str:
            return "".join(row[column[template.text]] for row in table)

        known = {template.text: values(template) for template in usable}
        always = [t for t in usable if set(known[t.text]) <= {"1"} and len(known[t.text]) >= self.config.least_calls]
        found = list(always)
        constant = {template.topic for template in always}
        for guard in grammar.guards(visible):
            on = values(guard)
            for wanted in ("1", "0"):
                side = [index for index, value in enumerate(on) if value == wanted]
                if len(side) < 2 or len(side) == len(on) or not set(on) <= {"0", "1"}:
                    continue
                for template in usable:
                    if template.topic in constant or template.topic == guard.topic.replace("guard", "value"):
                        continue
                    if all(known[template.text][index] == "1" for index in side):
                        found.append(grammar.implication(guard, wanted == "1", template))
        return self._strongest(found, seed)

    def _usable(self, template: Template, seed: int) -> bool:
        drawn = zlib.crc32(f"{seed}:{template.text}".encode()) / 2**32
        return drawn < self.config.share_of_templates

    def _strongest(self, found: list[Template], seed: int) -> list[Template]:
        """The strongest clause of every topic, then as many as may be printed: strength first, plain before guarded."""
        topics: dict[str, list[Template]] = defaultdict(list)
        for template in found:
            topics[template.topic].append(template)
        best: list[Template] = []
        for group in topics.values():
            top = max(template.strength for template in group)
            best += [template for template in group if template.strength == top]
        best.sort(key=lambda t: (" if " in t.topic, -t.strength, len(t.condition), t.text))
        return best[: self.config.most_clauses]
