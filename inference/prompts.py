"""Prompts for the three settings (PostcondBench D.2, Figure 7).

c2p: comments, docstrings and lone strings are removed from method and file. n2p: the method's signature and comment, the
file without any body. f2p: everything as it stands.

A prompt that is too long for the model is never cut: it is one of a ladder, each rung with less of the file around the
method than the one before, from the outside in. Functions far from the method lose their bodies first, then they go; last
the method stands alone. What is left out is named.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import overload

import jinja2

from ensures.errors import InputError
from ensures.task import Language, Program, Script, Setting, Task
from inference.engine import Prompt, prompt
from inference.source import Function, java, python

TEMPLATES = Path(__file__).parent / "templates"
TURNED = ("greedy", "exploratory")  # strategies with templates of their own
LADDER = "1"  # raised when the rungs change: part of every completion's key
ALONE = "the whole file around the method"
_SOURCES: dict[Language, ModuleType] = {Language.PYTHON: python, Language.JAVA: java}
_NAMES = {Language.PYTHON: ("Python", "icontract"), Language.JAVA: ("Java", "JML")}


@dataclass
class PromptConfig:
    """`path`: a folder with templates of the user's own, looked into before ours (DIALECT/TEMPLATE.jinja)."""

    template: str = "paper"
    guidance: bool = False  # a block on the specification language's grammar (PostcondBench, 5.2)
    path: str = ""


def check(config: PromptConfig) -> None:
    """Raises InputError where the template can't be had."""
    if config.path and not Path(config.path).is_dir():
        raise InputError(f"prompt.path={config.path} is not a folder")
    folders = [Path(config.path)] * bool(config.path) + [TEMPLATES]
    known = sorted({path.stem for folder in folders for path in folder.glob("*/*.jinja")} - {"guidance", *TURNED})
    if config.template not in known:
        raise InputError(f"prompt.template={config.template} is not known; choose one of {', '.join(known)}")


class Ladder(Sequence[Prompt]):
    """The prompts for one task in one setting, the whole one first. `module` is the text of the method's file."""

    def __init__(self, task: Task, setting: Setting, module: str, config: PromptConfig, dialect: str) -> None:
        self.task, self.setting, self.module = task, setting, module
        self.config, self.dialect = config, dialect
        self._source = _SOURCES[task.language]
        self._others: list[tuple[int, Function]] | None = None
        self._rungs: dict[int, Prompt] = {}

    def __len__(self) -> int:
        if isinstance(self.task.source, Program):
            return 1  # the program is the method
        return 2 * len(self._far_first()) + 2

    @overload
    def __getitem__(self, index: int) -> Prompt: ...

    @overload
    def __getitem__(self, index: slice) -> list[Prompt]: ...

    def __getitem__(self, index: int | slice) -> Prompt | list[Prompt]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if index and not -len(self) <= index < len(self):
            raise IndexError(index)
        at = index if index >= 0 else index + len(self)
        if at not in self._rungs:
            self._rungs[at] = self._build(at)
        return self._rungs[at]

    def _far_first(self) -> list[tuple[int, Function]]:
        """The file's other functions with their indices, the farthest from the method first."""
        if self._others is None:
            task = self.task

            def distance(function: Function) -> int:
                return max(function.first - task.end_line, task.start_line - function.last)

            found = enumerate(self._source.functions(self.module))
            others = [(index, function) for index, function in found if distance(function) > 0]
            self._others = sorted(others, key=lambda item: (-distance(item[1]), item[0]))
        return self._others

    def _build(self, rung: int) -> Prompt:
        context, left_out = self._context(), tuple[str, ...]()
        if rung:
            others = self._far_first()
            if rung == len(self) - 1:
                context, left_out = "", (ALONE,)
            else:
                gone = others[: max(0, rung - len(others))]
                bodiless = others[len(gone) : rung]
                context = self._source.reduced(context, {index for index, _ in bodiless}, {index for index, _ in gone})
                left_out = (*(f.name for _, f in gone), *(f"body of {f.name}" for _, f in bodiless))
        text = self._rendered(context, self._target())
        return prompt(text, left_out)

    def _context(self) -> str:
        shown = _shown(self.task.language, self.setting, self.module)
        if not isinstance(self.task.source, Script) or self.setting is Setting.C2P:
            return shown
        problem = "\n".join(f"# {line}".rstrip() for line in self.task.comment.strip().splitlines())
        return problem if self.setting is Setting.N2P else f"{problem}\n{self.module}"

    def _target(self) -> str:
        task = self.task
        if isinstance(task.source, Script):
            return self._context()
        if self.setting is Setting.C2P:
            return str(self._source.method_without_comments(task.implementation))
        if self.setting is Setting.N2P:
            return str(self._source.signature_and_comment(task.implementation, task.comment))
        return textwrap.dedent(task.implementation)

    def _rendered(self, context: str, target: str) -> str:
        language, specification = _NAMES[self.task.language]
        template = environment(self.config.path).get_template(f"{self.dialect}/{self.config.template}.jinja")
        return template.render(
            language=self.task.language.value,
            language_name=language,
            specification=specification,
            name=self.task.qualname,
            code_context=context.strip("\n"),
            target_method=target.strip("\n"),
            guidance=self.config.guidance,
            script=isinstance(self.task.source, Script),
        )


@lru_cache(maxsize=64)  # the tasks of one file come one after the other
def _shown(language: Language, setting: Setting, module: str) -> str:
    source = _SOURCES[language]
    if setting is Setting.C2P:
        return str(source.without_comments(module))
    return str(source.without_bodies(module)) if setting is Setting.N2P else module


@lru_cache(maxsize=4)
def environment(path: str) -> jinja2.Environment:
    loader = jinja2.FileSystemLoader([path, TEMPLATES] if path else [TEMPLATES])
    return jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
