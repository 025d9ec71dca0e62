"""Which tests reach which lines of a Java project: one run of all its tests on sources that say where they are.

A call that notes its statement is put before each statement of each method, the whole tree is compiled so, and the tests run
once, in the sandbox. A line is covered as JaCoCo covers it, but for those on which no statement begins.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter

from containers.sandbox import Sandbox, SandboxSpec
from ensures.errors import PreparationFailed
from evaluation.java import syntax, worker
from evaluation.java.workspace import JavaWorkspace

_HIT = "ensures.harness.Cover.at"
_STATEMENTS = frozenset(
    "expression_statement local_variable_declaration if_statement for_statement enhanced_for_statement while_statement "
    "do_statement return_statement throw_statement try_statement try_with_resources_statement switch_expression "
    "synchronized_statement assert_statement break_statement continue_statement yield_statement".split()
)
_BRANCHES = ("consequence", "alternative", "body")  # fields that may hold a statement without braces


@dataclass(frozen=True, slots=True)
class Coverage:
    """`outcomes`: test -> p, f or s. `files`: path in the tree -> line of a statement -> the tests that reach it."""

    outcomes: dict[str, str]
    seconds: dict[str, float]
    files: dict[str, dict[int, set[str]]]

    def of_lines(self, file: str, first: int, last: int) -> tuple[float, tuple[str, ...]]:
        """Coverage of the statements of lines first to last, and the passing tests that reach any of them."""
        lines = {line: tests for line, tests in self.files.get(file, {}).items() if first <= line <= last}
        passing = {line: {test for test in tests if self.outcomes.get(test) == "p"} for line, tests in lines.items()}
        covered = sum(bool(tests) for tests in passing.values())
        every = sorted(set().union(*passing.values())) if passing else []
        return (covered / len(lines) if lines else 0.0), tuple(every)


def instrumented(text: str, first: int) -> tuple[str, list[int]]:
    """The file's text with hits numbered from `first`, and the line of each."""
    code = text.encode()
    root = syntax.parse(code)
    cuts: list[tuple[int, str]] = []
    lines: list[int] = []
    for node, bare in _statements(root):
        number = first + len(lines)
        lines.append(node.start_point.row + 1)
        cuts.append((node.start_byte, f"{'{' if bare else ''}{_HIT}({number});"))
        if bare:
            cuts.append((node.end_byte, "}"))
    parts, at = [], 0
    for place, inserted in sorted(cuts, key=lambda cut: cut[0]):
        parts += [code[at:place], inserted.encode()]
        at = place
    return b"".join([*parts, code[at:]]).decode(), lines


def _statements(node: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, bool]]:
    """Statements in methods and constructors, and whether braces are needed around them."""
    for index, child in enumerate(node.children):
        if child.type in _STATEMENTS:
            field = node.field_name_for_child(index)
            if node.type in ("block", "constructor_body", "switch_block_statement_group"):
                yield child, False
            elif field in _BRANCHES and child.type != "local_variable_declaration" and node.type.endswith("statement"):
                yield child, True
        yield from _statements(child)


def measure(sandbox: Sandbox, workspace: JavaWorkspace, sources: tuple[str, ...], seconds: float = 1200) -> Coverage:
    """`sources`: folders of the tree with the project's own code. Raises PreparationFailed."""
    places: list[tuple[str, int]] = []
    with tempfile.TemporaryDirectory(prefix="ensures-cover-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        files = []
        for source in sources:
            for path in sorted((workspace.root / source).rglob("*.java")):
                if path.name == "module-info.java":
                    continue
                text, lines = instrumented(path.read_text(encoding="utf-8"), len(places))
                relative = path.relative_to(workspace.root)
                places += [(relative.as_posix(), line) for line in lines]
                target = place / "sources" / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
                files.append(str(target))
        (place / "files").write_text("\n".join(files), encoding="utf-8")
        path_ = os.pathsep.join(map(str, [*workspace.classes, *workspace.jars, *workspace.harness]))
        command = [str(workspace.java / "bin" / "javac"), "-proc:none", "-nowarn", "-encoding", "UTF-8", *workspace.arguments]
        command += ["-d", str(place / "classes"), "-cp", path_, f"@{place / 'files'}"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            said = next((line for line in result.stderr.splitlines() if "error" in line), "")
            raise PreparationFailed(f"{workspace.root.name}: its sources can't be instrumented: {said[:300]}")
        spec = SandboxSpec(
            argv=(str(workspace.java / "bin" / "java"), "-Xmx1g", "-ea", "-cp", f"{place / 'classes'}{os.pathsep}{path_}")
            + ("ensures.harness.CoverMain", *map(str, workspace.classes)),
            cwd=workspace.folder,
            readable=(*worker.readable(workspace, Path("/usr/bin/java")), place),
            environment={**worker.environment(workspace), "HOME": "/tmp", "TMPDIR": "/tmp"},
            image="java",
        )
        process = sandbox.start(spec)
        printed, errors = process.communicate(timeout=seconds)
    try:
        report = json.loads(printed)
    except ValueError as error:
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        raise PreparationFailed(f"{workspace.root.name}: its tests can't be run under coverage: {last}") from error
    found: dict[str, dict[int, set[str]]] = {}
    for file, line in places:
        found.setdefault(file, {}).setdefault(line, set())
    for test, hits in report["hits"].items():
        for hit in hits:
            file, line = places[hit]
            found[file][line].add(test)
    return Coverage(report["outcomes"], report["seconds"], found)
