"""Tasks survive their Parquet and JSON forms; broken records name the place and the field."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark import folder, sample
from benchmark.folder import FolderConfig
from benchmark.sample import SampleConfig
from benchmark.schema import from_record, to_record, write
from benchmark.source import Selection, select
from ensures.errors import InputError
from ensures.task import Language, Mutant, Package, Repository, Task

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = st.lists(texts, max_size=3).map(tuple)
sources = st.one_of(
    st.builds(Package, texts, texts, texts, texts, texts, names, names, names),
    st.builds(Repository, texts, texts, texts, texts, texts, texts),
)
tasks = st.builds(
    Task,
    id=texts,
    language=st.sampled_from(Language),
    source=sources,
    file=st.just("a/b.py"),
    qualname=texts,
    start_line=st.integers(1, 9999),
    end_line=st.integers(1, 9999),
    signature=texts,
    comment=texts,
    implementation=texts,
    tests=st.lists(texts, min_size=1, max_size=3).map(tuple),
    mutants=st.lists(st.builds(Mutant, texts, names, st.none() | texts, st.none() | texts), max_size=3).map(tuple),
    reference=st.none() | texts,
    excluded_tests=names,
    complexity=st.integers(0, 50),
    line_coverage=st.floats(0, 1),
    test_seconds=st.floats(0, 100),
    notes=names,
)


@given(tasks)
def test_json_round_trip(task: Task) -> None:
    assert from_record(json.loads(json.dumps(to_record(task))), "here") == task


@settings(deadline=None)
@given(st.lists(tasks, min_size=1, max_size=3, unique_by=lambda task: task.id))
def test_parquet_round_trip(tmp_path_factory: pytest.TempPathFactory, made: list[Task]) -> None:
    path = tmp_path_factory.mktemp("schema") / "tasks.parquet"
    write(made, path)
    assert list(folder.load(FolderConfig(path=str(path))).tasks) == made


def test_parquet_is_read_by_hugging_face_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    write([tasks_one()], tmp_path / "tasks.parquet")
    loaded = datasets.Dataset.from_parquet(str(tmp_path / "tasks.parquet"), cache_dir=str(tmp_path / "cache"))
    assert loaded[0]["mutants"][0]["families"] == ["rule"]


def tasks_one() -> Task:
    return Task(
        "t", Language.PYTHON, Package("p", "1", "0"), "p.py", "f", 1, 2, "s", "c", "i", ("t",), (Mutant("m", ("rule",)),)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"language": "cobol"}, "'language' is 'cobol'; known: python, java"),
        ({"start_line": 0}, "'start_line' is 0"),
        ({"start_line": "1"}, "'start_line' holds a str"),
        ({"tests": []}, "'tests' is empty"),
        ({"tests": [1]}, "'tests' must be a list of texts"),
        ({"file": "../../etc/passwd"}, "must stay inside the workspace"),
        ({"source": {"kind": "tape"}}, "source: the field 'kind' is 'tape'"),
        ({"mutants": [{"families": []}]}, r"mutants\[0\]: the field 'implementation' is missing"),
        ({"implementation": None}, "'implementation' is missing"),
    ],
)
def test_broken_records(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "tasks.jsonl"
    good = to_record(tasks_one())
    path.write_text(json.dumps(good) + "\n" + json.dumps({**good, "id": "u", **change}) + "\n")
    with pytest.raises(InputError, match=f"tasks.jsonl, line 2.*{message}"):
        folder.load(FolderConfig(path=str(path)))
    found = folder.load(FolderConfig(path=str(path), skip_invalid=True))
    assert [task.id for task in found.tasks] == ["t"]
    assert len(found.skipped) == 1


def test_truncated_parquet(tmp_path: Path) -> None:
    path = tmp_path / "tasks.parquet"
    write([tasks_one()], path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="not a readable Parquet file"):
        folder.load(FolderConfig(path=str(path)))


def test_selection() -> None:
    made = [tasks_one()]
    assert select(made, Selection(tasks="t*"), "x") == tuple(made)
    with pytest.raises(InputError, match="matches none"):
        select(made, Selection(tasks="z*"), "x")
    with pytest.raises(InputError, match="two tasks are called t"):
        select(made * 2, Selection(), "x")


def test_the_manifest_of_the_sample() -> None:
    """At least 24 methods of at least 6 packages, of several kinds, facts only."""
    entries = sample.entries(SampleConfig())
    assert len(entries) >= 24
    assert len({entry.source.name for entry in entries}) >= 6
    assert all(len(entry.source.sha256) == 64 and entry.tests and entry.line_coverage >= 0.9 for entry in entries)
    assert all(entry.source.licence and entry.source.date for entry in entries)
    assert "implementation" not in sample.MANIFEST.read_text()


def test_a_broken_manifest(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text('{"packages": [], "methods": [{"package": "p"}]}')
    with pytest.raises(InputError, match=r"methods\[0\]: 'p' is neither in 'packages' nor in 'releases'"):
        sample.entries(SampleConfig(manifest=str(path)))
    path.write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        sample.entries(SampleConfig(manifest=str(path)))
