"""What the report shows of each method is what the rows say of it."""

import random
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from jobs.pages import Slices, methods
from jobs.study import opened
from tests.analysis import synthetic
from tests.performance import analysis as measured


@given(st.lists(st.sampled_from(["java-5", "java-50", "java-15", "python-1", ""]), max_size=60), st.integers(1, 7))
def test_slices_are_the_rows_of_each_task(names: list[str], chunk: int) -> None:
    rows = [{"task_id": name, "n": number} for number, name in enumerate(names)]
    schema = pa.schema([("task_id", pa.string()), ("n", pa.int64())])
    parts = [pa.Table.from_pylist(rows[at : at + chunk], schema=schema) for at in range(0, len(rows), chunk)]
    slices = Slices(pa.concat_tables(parts) if parts else schema.empty_table())
    for name in {*names, "nowhere"}:
        assert sorted(row["n"] for row in slices.of(name)) == [n for n, other in enumerate(names) if other == name]


def test_every_candidate_of_a_run_in_many_shards(tmp_path: Path) -> None:
    tasks = measured.made(tmp_path, 130)
    expected = {
        row["key"]: row for shard in range(0, 130, 60) for row in synthetic.rows(tasks[shard : shard + 60], 5, 5, shard)
    }
    seen = 0
    for method in methods([opened(tmp_path)], "strict"):
        task = next(task for task in tasks if task.id == method.id)
        assert len(method.candidates) == 5 * 3 * 5
        for candidate in random.Random(0).sample(method.candidates, 5):
            key = f"{task.id}/{candidate.model[-1]}/{candidate.setting}/{candidate.sample}"
            assert candidate.correct == (expected[key]["outcome"] == 1)
            for mutant, letter in zip(task.mutants, candidate.verdicts, strict=True):
                row = expected.get(f"{key}/{mutant.id}")
                assert letter == ("n" if row is None else "k" if row["outcome"] == 0 else "h")
                seen += 1
    assert seen == 130 * 5 * measured.MUTANTS
