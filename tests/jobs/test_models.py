"""The whole job on models: real vLLM with random checkpoints, vLLM's own server, and an endpoint that keeps us waiting."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from construction import environment
from inference import tiny
from tests.inference import endpoint
from tests.inference.endpoint import Endpoint
from tests.jobs import demo

pytestmark = pytest.mark.timeout(900)
SMALL = ("model.context=2048", "model.max_tokens=64", "settings=[c2p,n2p,f2p]", "evaluation.workers=1")
SAME = "key task_id model setting sample seed prompt_hash rendered_hash left_out text thinking finish_reason".split()


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The overrides of the demo, but for those that choose a model."""
    chosen = ("model", "settings=", "k=")
    return [o for o in demo.write(tmp_path_factory.mktemp("models") / "d") if not o.startswith(chosen)]


def out_of(overrides: list[str]) -> Path:
    return Path(next(o.removeprefix("out=") for o in overrides if o.startswith("out=")))


def completions(folder: Path) -> list[dict[str, Any]]:
    rows = pq.read_table(folder / "completions").to_pylist()
    return sorted(({name: row[name] for name in SAME} for row in rows), key=lambda row: str(row["key"]))


def module(name: str, *overrides: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"jobs.{name}", *overrides], cwd=demo.ROOT, capture_output=True, text=True, timeout=600
    )


# vLLM


@pytest.fixture(scope="module")
def first(dataset: list[str]) -> Path:
    pytest.importorskip("vllm", reason="vLLM is not installed (tests/run.sh installs it)")
    done = demo.run(*dataset, *SMALL, "model=tiny-gemma3", "k=2", "name=first")
    assert done.returncode == 0, done.stderr
    assert "cut off by the limit of output tokens: " in done.stdout
    assert "18 completions and" in done.stdout
    assert "candidates on the original: " in done.stdout
    return out_of(dataset) / "first"


def test_random_weights_are_never_right_and_the_table_says_so(first: Path) -> None:
    rows = json.loads((first / "metrics.json").read_text())
    assert {row["corr"] for row in rows["rows"]} == {0.0}
    assert {row["tasks"] for row in rows["rows"] if row["setting"] != "all"} == {3}
    drawn = {item["setting"]: item for item in rows["generation"]}
    assert set(drawn) == {"c2p", "n2p", "f2p"}
    assert all(item["completions"] == 6 and item["cut_off"] > 0 for item in drawn.values())
    page = (first / "report.html").read_text()
    assert "What was drawn" in page
    verdicts = pq.read_table(first / "verdicts").to_pylist()
    assert len(verdicts) == 18
    assert all(row["outcome"] == -1 for row in verdicts)


def test_what_made_it_is_stored(first: Path) -> None:
    (origin,) = {row["origin"] for row in pq.read_table(first / "completions").to_pylist()}
    said = json.loads(origin)
    assert said["engine"] == "vllm" and said["vllm"] and said["revision"] and said["chat_template"]
    assert json.loads(said["sampling"])["top_k"] == 64  # its own generation config
    hashes = {row["hash"] for row in pq.read_table(first / "prompts").to_pylist()}
    assert {row["prompt_hash"] for row in completions(first)} <= hashes


def test_again_nothing_is_drawn(dataset: list[str], first: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in first.rglob("*.parquet")}
    done = demo.run(*dataset, *SMALL, "model=tiny-gemma3", "k=2", "name=first")
    assert done.returncode == 0, done.stderr
    assert "nothing was missing" in done.stdout
    assert "starting" not in done.stderr
    assert {path: path.stat().st_mtime_ns for path in first.rglob("*.parquet")} == before


def test_in_halves_with_more_samples_the_rows_are_the_same(dataset: list[str], first: Path) -> None:
    """generate draws, evaluate judges; k grows from 2 to 5; in another folder all five at once: the same rows."""
    out = out_of(dataset)
    two = completions(first)
    grown = module("generate", *dataset, *SMALL, "model=tiny-gemma3", "k=5", "name=first")
    assert grown.returncode == 0, grown.stderr
    assert "27 completions and 0 verdicts" in grown.stdout
    five = completions(first)
    assert len(five) == 45
    assert [row for row in five if row["sample"] < 2] == two
    other = module("generate", *dataset, *SMALL, "model=tiny-gemma3", "k=5", "name=other", "model.replicas=2")
    assert other.returncode == 0, other.stderr
    assert completions(out / "other") == five
    done = module("evaluate", *dataset, *SMALL, "model=tiny-gemma3", "k=5", "name=other")
    assert done.returncode == 0, done.stderr
    assert "0 completions and 45 verdicts" in done.stdout


@pytest.mark.parametrize(("model", "cluster"), [("tiny-llama", "local"), ("tiny-qwen3", "none")])
def test_the_others(dataset: list[str], first: Path, model: str, cluster: str) -> None:
    given = (*dataset, *SMALL, f"model={model}", f"cluster={cluster}", "k=2", f"name={model}", "settings=[f2p]")
    done = demo.run(*given)
    assert done.returncode == 0, done.stderr
    assert "6 completions and 6 verdicts" in done.stdout


def test_what_is_not_drawn_can_not_be_judged(dataset: list[str], first: Path) -> None:
    done = module("evaluate", *dataset, *SMALL, "model=tiny-gemma3", "k=2", "name=nothing")
    assert done.returncode == 3
    assert "completions are missing; python -m jobs.generate draws them" in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("model=tiny-qwen3", "model.path=/no/such/checkpoint"), "model.path=/no/such/checkpoint is not a folder"),
        (("model=qwen3-32b",), "Qwen/Qwen3-32B is not in the hub's cache and HF_HUB_OFFLINE is set; fetch it first"),
        (("model=tiny-qwen3", "model.context=100000"), "tiny-qwen3 has 8192 positions; set model.context=8192 or less"),
        (("model=tiny-qwen3", "model.max_tokens=9000"), "model.max_tokens=9000 leaves no room for a prompt in 8192 tokens"),
        (("model=tiny-qwen3", "model.replicas=many"), "model.replicas=many: auto or a number above 0"),
        (("model=openai-compatible",), "model.served is empty"),
        (("model=gpt-5",), "model=gpt-5 needs a key: set OPENAI_API_KEY in the environment"),
        (
            ("model=openai-compatible", "model.served=m", "model.base_url=http://127.0.0.1:9/v1"),
            "model.base_url=http://127.0.0.1:9/v1 can't be reached",
        ),
    ],
)
def test_bad_input_is_one_line(dataset: list[str], change: tuple[str, ...], message: str) -> None:
    if change[0] in ("model=tiny-qwen3", "model=qwen3-32b"):
        pytest.importorskip("vllm", reason="vLLM is not installed (tests/run.sh installs it)")
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-m", "jobs.run", *dataset, *change, "name=bad", "k=1"],
        cwd=demo.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env={**clean, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().split("\n")[-1]
    assert last.startswith("error: ")
    assert message in last
    assert "Traceback" not in done.stderr


# Endpoints


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """vLLM's own server with a tiny model."""
    pytest.importorskip("vllm", reason="vLLM is not installed (tests/run.sh installs it)")
    path = tiny.checkpoint(tiny.Architecture.QWEN3, environment.cache_root())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "OMP_NUM_THREADS": "1",
        "TORCH_COMPILE_DISABLE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(path), "--served-model-name", "tiny"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--enforce-eager", "--max-model-len", "2048", "--block-size", "32"]
    command += ["--max-num-batched-tokens", "8192", "--no-enable-chunked-prefill"]  # see vllm_replica
    log = (tmp_path_factory.mktemp("server") / "log").open("wb")
    process = subprocess.Popen(
        command, stdout=log, stderr=log, env={**os.environ, **variables, "HF_HUB_OFFLINE": "1"}, start_new_session=True
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, Path(log.name).read_text()[-2000:]
            try:
                urllib.request.urlopen(f"{url}/health", timeout=2)
                break
            except OSError:
                time.sleep(0.5)
        yield f"{url}/v1"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def test_vllms_own_server(dataset: list[str], server: str, first: Path) -> None:
    given = (*dataset, "settings=[c2p,n2p,f2p]", "evaluation.workers=1", "k=3", "name=server", "model=openai-compatible")
    given = (*given, f"model.base_url={server}", "model.served=tiny", "model.max_tokens=64")
    done = demo.run(*given)
    assert done.returncode == 0, done.stderr
    mine = pq.read_table(out_of(dataset) / "server" / "completions")
    assert mine.schema == pq.read_table(first / "completions").schema
    rows = mine.to_pylist()
    assert len(rows) == 27
    assert all(row["completion_tokens"] > 0 and row["prompt_tokens"] > 0 for row in rows)
    assert {row["finish_reason"] for row in rows} <= {"stop", "length"}
    again = demo.run(*given)
    assert "nothing was missing" in again.stdout


def test_judging_begins_before_drawing_ends(dataset: list[str]) -> None:
    """The last answer is held back until verdicts are on disk."""
    out = out_of(dataset) / "overlap"
    seen: list[bool] = []

    def last(handler: Any, body: Any) -> None:
        for _ in range(600):
            if any((out / "verdicts").glob("*.parquet")):
                break
            time.sleep(0.1)
        seen.append(any((out / "verdicts").glob("*.parquet")))
        endpoint.answers(handler, body)

    stub = Endpoint(*[endpoint.answers] * 2, last)
    done = demo.run(
        *dataset,
        "settings=[f2p]",
        "k=2",
        "name=overlap",
        "model=openai-compatible",
        f"model.base_url={stub.url}",
        "model.served=m",
    )
    assert done.returncode == 0, done.stderr
    assert seen == [True]


def test_one_interrupt_finishes_what_is_in_flight(dataset: list[str]) -> None:
    """Two requests are in flight, the third waits: two are answered and written, the third is never asked."""
    begun, release = threading.Semaphore(0), threading.Event()

    def slow(handler: Any, body: Any) -> None:
        begun.release()
        release.wait(60)
        endpoint.answers(handler, body)

    stub = Endpoint(*[slow] * 3)
    given = [*dataset, "settings=[f2p]", "k=2", "name=interrupted", "model=openai-compatible", f"model.base_url={stub.url}"]
    given += ["model.served=m", "model.concurrent=2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "jobs.run", *given], cwd=demo.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert begun.acquire(timeout=120) and begun.acquire(timeout=120)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    release.set()
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "finishing what is in flight" in said
    assert "Traceback" not in said
    assert len(stub.heard) == 2
    folder = out_of(dataset) / "interrupted"
    assert len(completions(folder)) == 4
    done = demo.run(*given)
    assert done.returncode == 0, done.stderr
    assert "2 completions and" in done.stdout
    assert len(stub.heard) == 3
    assert stub.keys == [None] * 3


def test_a_second_interrupt_ends_at_once(dataset: list[str]) -> None:
    begun = threading.Semaphore(0)

    def never(handler: Any, body: Any) -> None:
        begun.release()
        time.sleep(30)

    stub = Endpoint(*[never] * 9)
    given = [*dataset, "settings=[f2p]", "k=2", "name=twice", "model=openai-compatible", f"model.base_url={stub.url}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "jobs.run", *given, "model.served=m"],
        cwd=demo.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert begun.acquire(timeout=120)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130


# Conversations


def conversation(folder: Path) -> list[dict[str, Any]]:
    """The turns' rows, without what depends on time or on what an engine's cache held."""
    rows = pq.read_table(folder / "turns").to_pylist()
    free = ("seconds", "cached_tokens")
    return sorted(({name: row[name] for name in row if name not in free} for row in rows), key=lambda row: str(row["key"]))


def test_a_conversation_with_vllm_goes_on_where_it_was_killed(dataset: list[str]) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed (tests/run.sh installs it)")
    chosen = [*dataset, "model=tiny-qwen3", "model.context=4096", "settings=[f2p]", "k=1", "cluster=none"]
    chosen += ["strategy=exploratory", "strategy.mu=4", "strategy.max_tokens=48"]
    assert demo.run(*chosen, "name=talk", seconds=600).returncode == 0
    killed = out_of(dataset) / "killed"
    process = subprocess.Popen(
        demo.command(*chosen, "name=killed"), cwd=demo.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline and process.poll() is None and not any((killed / "turns").glob("*.parquet")):
        time.sleep(0.02)
    process.kill()
    process.wait(timeout=60)
    assert pq.read_table(killed / "turns").num_rows > 0
    assert demo.run(*chosen, "name=killed", seconds=600).returncode == 0
    assert conversation(killed) == conversation(out_of(dataset) / "talk")
    assert completions(killed) == completions(out_of(dataset) / "talk")
