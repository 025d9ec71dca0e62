"""dataset=postcondbench: a folder in the published format, one JSON file a task (a clone's `data/step/8.benchmark`).

Header and comment are derived from the method's text where a file leaves them out. Mutants that the reference does not
kill (status other than icontract_fail or jml_fail) are marked excluded. Published samples (`results`) are read apart, for
the replay engine.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from benchmark.schema import records
from benchmark.source import Selection, Tasks, read
from ensures.errors import InputError
from ensures.task import Language, Mutant, Repository, Setting, Task

KILLED = ("icontract_fail", "jml_fail")
SETTINGS = {"v2-code": Setting.C2P, "v2-nl": Setting.N2P, "v2-all": Setting.F2P}
_COMMIT = re.compile(r"github\.com/([^/]+/[^/]+)/blob/([0-9a-f]{7,40})/")


@dataclass
class PostcondBenchConfig(Selection):
    kind: str = "postcondbench"
    path: str = ""
    language: str = ""  # python | java; empty: all


def load(config: PostcondBenchConfig) -> Tasks:
    files = _files(config.path)
    found = read((item for file in files for item in records(file)), _task, config.skip_invalid)
    if config.language:
        if config.language not in list(Language):
            raise InputError(f"dataset.language={config.language} is not known; choose one of {', '.join(Language)}")
        kept = tuple(task for task in found.tasks if task.language.value == config.language)
        return Tasks(kept, found.skipped)
    return found


def _files(path: str) -> list[Path]:
    if not path:
        raise InputError("dataset=postcondbench needs dataset.path: the folder with the published JSON files")
    folder = Path(path)
    files = sorted(folder.glob("*.json")) if folder.is_dir() else [folder] if folder.is_file() else []
    if not files:
        raise InputError(f"dataset.path={path} holds no .json file")
    return files


def _need(record: Any, where: str, name: str, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(record, dict) or name not in record:
        raise InputError(f"{where}: the field {name!r} is missing")
    value = record[name]
    if not isinstance(value, kind):
        raise InputError(f"{where}: the field {name!r} holds a {type(value).__name__}")
    return value


def _task(record: Any, where: str) -> Task:
    content = _need(record, where, "content", str)
    repo = _need(record, where, "repo", dict)
    language = Language(_need(repo, where + ", repo", "language", str))
    texts = _need(record, where, "mutants", list)
    tags = record.get("mutant_tags") or [["rule"]] * len(texts)
    kills = record.get("ref_mutant_kill") or [None] * len(texts)
    if not len(texts) == len(tags) == len(kills):
        raise InputError(f"{where}: 'mutants', 'mutant_tags' and 'ref_mutant_kill' differ in length")
    mutants = []
    for text, families, killed in zip(texts, tags, kills, strict=True):
        families = tuple(families) if isinstance(families, list) else (str(families),)
        excluded = None if killed is None or killed in KILLED else f"the reference does not kill it ({killed})"
        mutants.append(Mutant(text, families, None, excluded))
    file = str(PurePosixPath(_need(record, where, "file", str)))
    name = _need(record, where, "name", str)
    github = _need(repo, where + ", repo", "github_path", str)
    qualname, signature, comment = _describe(content, name, language)
    return Task(
        id=record.get("task") or f"{github.replace('/', '--')}--{record.get('rlid', name)}",
        language=language,
        source=Repository(
            name=github,
            commit=_need(repo, where + ", repo", "commit", str),
            url=f"https://github.com/{github}",
            environment=repo.get("env_config") or "",
        ),
        file=file,
        qualname=qualname,
        start_line=_need(record, where, "start_line", int),
        end_line=_need(record, where, "end_line", int),
        signature=signature,
        comment=record.get("comment") or comment,
        implementation=content,
        tests=tuple(_need(record, where, "cover_tests", list)),
        excluded_tests=tuple(repo.get("failed_tests") or ()),
        mutants=tuple(mutants),
        reference=record.get("ref_postcond"),
        complexity=int(record.get("cc") or 0),
        line_coverage=float(record.get("line_cov") or 0.0),
        test_seconds=float(record.get("test_time") or 0.0),
    )


def _describe(content: str, name: str, language: Language) -> tuple[str, str, str]:
    """Qualified name (as far as the text tells), signature and comment."""
    if language is Language.JAVA:
        start = content.find("*/")
        head = content[start + 2 :] if content.lstrip().startswith("/*") and start >= 0 else content
        comment = content[: start + 2].strip() if head is not content else ""
        return name, head.split("{", 1)[0].strip(), comment
    try:
        tree = ast.parse(textwrap.dedent(content))
    except SyntaxError:
        return name, content.split("\n", 1)[0], ""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = textwrap.dedent(content).split("\n")
            body = node.body[0].lineno
            return node.name, "\n".join(lines[: max(body - 1, node.lineno)]), ast.get_docstring(node) or ""
    return name, content.split("\n", 1)[0], ""


def published_samples(path: str) -> Iterator[dict[str, Any]]:
    """The published candidates of a folder: task_id, model, setting, sample, text, published (status on the original)
    and kills (status on each mutant id)."""
    for file in _files(path):
        for record, where in records(file):
            task = _task(record, where)
            results = record.get("results") or ([record] if "postconds" in record else [])
            for result in results:
                setting = SETTINGS.get(str(result.get("prompting")))
                for sample, text in enumerate(result.get("postconds") or ()):
                    kills = (result.get("mutant_kill") or [[]] * (sample + 1))[sample]
                    yield {
                        "task_id": task.id,
                        "model": result.get("model_name"),
                        "setting": setting.value if setting else None,
                        "sample": sample,
                        "text": text,
                        "published": (result.get("postcond_corr") or [None] * (sample + 1))[sample],
                        "kills": dict(zip((mutant.id for mutant in task.mutants), kills, strict=False)),
                    }


def result_folders(path: Path) -> list[Path]:
    """A clone's `9.<model>--<prompting>` folders; the path itself where there are none."""
    return sorted(folder for folder in path.glob("9.*") if folder.is_dir()) or [path]


def traversal_ranks(path: str) -> dict[str, int]:
    """Task -> its place in the farthest-first traversal, where the files have it."""
    found = {}
    for file in _files(path):
        for record, where in records(file):
            if isinstance(rank := record.get("traversal_rank"), int):
                found[_task(record, where).id] = rank
    return found
