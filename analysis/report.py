"""The report: one page that opens from disk. The result first, then tables and figures, then every method with its prompts,
candidates, verdicts and the mutants that were missed, to be searched and filtered.

What can be filtered is in the page, a few numbers a candidate. Methods stand in shards, compressed: in the page itself where
all of them are small, otherwise as scripts beside it (a page from disk may load scripts, and nothing else), each loaded when
one of its methods is opened.
"""

import base64
import gzip
import html
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from analysis import figures
from analysis.figures import Drawn
from analysis.sheets import Sheet, Value

TEMPLATES = Path(__file__).parent / "templates"
PAGE, DATA = "report.html", "report-data"
SHARD = 2 << 20  # bytes of a shard's text
SINGLE = 3 << 20  # compressed bytes up to which everything stands in the page


@dataclass(frozen=True, slots=True)
class MutantShown:
    """`change`: the lines that differ, as a unified diff without its head."""

    id: str
    made_by: str
    change: str


@dataclass(frozen=True, slots=True)
class TurnShown:
    """One turn of a conversation. `caught`: places of mutants in the task's order; `score` None where it was no submission."""

    kind: str
    thought: str
    proposal: str
    observation: str
    score: float | None = None
    caught: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateShown:
    """`verdicts`: a letter for each mutant in the task's order: k killed, h held, r raised, f a test failed and no condition
    was violated, t timeout, e another error, n not run. `first`: for each mutant the clause that was violated first, -1:
    none. `alone`: for each clause, where it was judged alone: does it hold on the original, and which mutants it kills."""

    model: str
    setting: str
    sample: int
    text: str
    answer: str
    reason: str
    message: str
    correct: bool
    verdicts: str
    clauses: tuple[str, ...] = ()
    violated: int | None = None
    first: tuple[int, ...] = ()
    alone: tuple[tuple[bool, tuple[int, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    turns: tuple[TurnShown, ...] = ()

    @property
    def complete(self) -> bool:
        return self.correct and bool(self.verdicts) and set(self.verdicts) == {"k"}


@dataclass(frozen=True, slots=True)
class Method:
    """One task as it is shown. `prompts`: by setting."""

    id: str
    language: str
    repository: str
    file: str
    lines: int
    comment: str
    implementation: str
    reference: str
    mutants: tuple[MutantShown, ...]
    candidates: tuple[CandidateShown, ...]
    prompts: dict[str, str] = field(default_factory=dict)


def write(
    folder: Path,
    title: str,
    sheets: Sequence[Sheet],
    drawings: Sequence[Drawn],
    methods: Iterable[Method],
    said: Sequence[str],
    config: str,
) -> Path:
    """report.html into `folder`, with report-data/ beside it where it is large. `said`: lines that a reader has to know."""
    index = _Index()
    scratch = folder / f"{DATA}.tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        sizes = []
        for number, texts in enumerate(_shards(methods, index)):
            packed = _packed("[" + ",".join(texts) + "]")
            (scratch / f"{number:04}.js").write_text(f'shard({number},"{packed}");\n', encoding="ascii")
            sizes.append(len(packed))
        single = sum(sizes) <= SINGLE
        inside = [(scratch / f"{number:04}.js").read_text(encoding="ascii") for number in range(len(sizes))] if single else []
        shutil.rmtree(folder / DATA, ignore_errors=True)
        if not single:
            scratch.rename(folder / DATA)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    page = (
        _environment()
        .get_template("report.html.jinja")
        .render(
            title=title,
            overall=next((table(sheet) for sheet in sheets if sheet.name == "overall"), ""),
            tables=[(sheet.name, sheet.title, table(sheet)) for sheet in sheets if sheet.name != "overall"],
            figures=[(drawn.title, drawn.size[0] > figures.COLUMN, figures.svg(drawn)) for drawn in drawings],
            said=said,
            index=_packed(json.dumps(index.record(), separators=(",", ":"))),
            shards=inside,
            config=config,
        )
    )
    temporary = folder / f"{PAGE}.tmp"
    temporary.write_text(page, encoding="utf-8")
    return temporary.replace(folder / PAGE)


def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    return jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode("ascii")


class _Index:
    """What is filtered by: names once, and for each candidate their numbers."""

    def __init__(self) -> None:
        self.methods: list[dict[str, Any]] = []
        self.candidates: list[list[Any]] = []
        self._names: dict[str, dict[str, int]] = {name: {} for name in ("model", "setting", "repository", "reason", "made_by")}

    def add(self, method: Method, shard: int, place: int) -> None:
        entry = {"id": method.id, "language": method.language, "shard": shard, "place": place, "mutants": len(method.mutants)}
        entry["repository"] = self._number("repository", method.repository)
        entry["words"] = f"{method.file} {' '.join(method.comment.split())[:200]}"
        self.methods.append(entry)
        made_by = [self._number("made_by", mutant.made_by) for mutant in method.mutants]
        for number, candidate in enumerate(method.candidates):
            missed = sorted({made_by[at] for at, letter in enumerate(candidate.verdicts) if letter not in "kn"})
            self.candidates.append(
                [
                    len(self.methods) - 1,
                    number,
                    self._number("model", candidate.model),
                    self._number("setting", candidate.setting),
                    self._number("reason", candidate.reason),
                    int(candidate.correct) + int(candidate.complete),
                    candidate.verdicts.count("k"),
                    missed,
                ]
            )

    def _number(self, kind: str, name: str) -> int:
        return self._names[kind].setdefault(name, len(self._names[kind]))

    def record(self) -> dict[str, Any]:
        names = {kind: list(found) for kind, found in self._names.items()}
        return {"methods": self.methods, "candidates": self.candidates, **names}


def _shards(methods: Iterable[Method], index: _Index) -> Iterator[list[str]]:
    """The methods as JSON, in lists of about SHARD bytes."""
    texts: list[str] = []
    size = shard = 0
    for method in methods:
        index.add(method, shard, len(texts))
        texts.append(json.dumps(asdict(method), separators=(",", ":"), ensure_ascii=False))
        size += len(texts[-1])
        if size >= SHARD:
            yield texts
            texts, size, shard = [], 0, shard + 1
    if texts:
        yield texts


def table(sheet: Sheet) -> str:
    """A sheet as HTML."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in sheet.columns)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in sheet.rows)
    notes = "".join(f'<p class="soft">{html.escape(note)}</p>' for note in sheet.notes)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>{notes}'


def _cell(value: Value) -> str:
    if isinstance(value, str):
        return f'<td class="t">{html.escape(value)}</td>'
    if isinstance(value, int):
        return f"<td>{value:,}</td>"
    figure, _, interval = value.written().partition(" ")
    beside = f' <span class="soft">{interval}</span>' if interval else ""
    return f"<td>{figure}{beside}</td>"
