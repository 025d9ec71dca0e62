"""The report in a real browser: it loads without an error, from disk, in one piece or in shards, and its filters work."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from analysis import report
from analysis.report import CandidateShown, Method, MutantShown
from analysis.sheets import Cell, Sheet

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SHEETS = [Sheet("overall", "Overall", ("Model", "Corr@1"), (("<m>", Cell(0.5, 0.25, 0.75)),), ("a note",))]
CLAUSES = ("@icontract.ensure(lambda a, result: a < result)", "@icontract.ensure(lambda result: result != 7)")


def method(number: int) -> Method:
    text = f"```python\n{CLAUSES[0]}\n{CLAUSES[1]}\n```\nthis is <b>number {number}</b> of all"
    right = CandidateShown(
        "one", "f2p", 0, text, "\n".join(CLAUSES), "passed", "", True, "kf", CLAUSES, None, (1, -1), ((True, ()), (True, (0,)))
    )
    whole = CandidateShown("two", "c2p", 0, text, "\n".join(CLAUSES), "passed", "", True, "kk", CLAUSES, None, (0, 0))
    wrong = CandidateShown(
        "one",
        "f2p",
        1,
        text,
        "\n".join(CLAUSES),
        "postcondition_violated",
        "ViolationError: <i>a</i>",
        False,
        "nn",
        CLAUSES,
        0,
    )
    mutants = (MutantShown("m-1", "math", "-    return a\n+    return -a"), MutantShown("m-2", "llm", "-a\n+b"))
    return Method(
        f"method-{number}", "python", f"repository-{number % 3}", f"f{number}.py", 9, "Says </script> and more.",
        f"def f{number}(a):\n    return a", "", mutants, (right, wrong, whole), {"f2p": "Write <postconditions>."},
    )  # fmt: skip


def seen(page: Path, script: str) -> dict[str, object]:
    """What a script returns that runs when the page is ready."""
    if BROWSER is None:
        pytest.skip("no Chromium on this machine (Debian: chromium)")
    text = page.read_text(encoding="utf-8")
    driver = """<script>
      window.faults = []; addEventListener("error", (e) => faults.push(String(e.message || e.target.src)), true);
      addEventListener("unhandledrejection", (e) => faults.push(String(e.reason)));
      const until = async (what) => { while (!what()) await new Promise((r) => setTimeout(r, 20)); };
      (async () => { await until(() => document.body && document.body.dataset.ready); let found;
        try { found = await (async () => {%s})(); } catch (e) { faults.push(String(e)); }
        const out = document.createElement("output"); out.id = "seen";
        out.textContent = btoa(unescape(encodeURIComponent(JSON.stringify({found, faults})))); document.body.append(out); })();
    </script>"""
    driven = page.with_name("driven.html")
    driven.write_text(text.replace("<head>", "<head>" + driver % script), encoding="utf-8")
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=30000",
        "--dump-dom",
        driven.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    out = re.search(r'<output id="seen">([^<]*)</output>', done.stdout)
    assert out, done.stderr[-2000:]
    import base64

    result: dict[str, object] = json.loads(base64.b64decode(out[1]))
    assert result["faults"] == []
    return result["found"]  # type: ignore[return-value]


FILTERS = """
  const count = () => document.getElementById("count").textContent;
  const choose = async (id, text) => { const s = document.getElementById(id);
    s.value = [...s.options].find((o) => o.text === text).value; await filter(); };
  const found = {all: count(), more: document.getElementById("more").hidden};
  await choose("model", "two"); found.model = count();
  await choose("verdict", "correct, not complete"); found.none = count();
  await choose("model", "one"); found.incomplete = count();
  await choose("verdict", "on the original: postcondition violated"); found.violated = count();
  await choose("verdict", "all verdicts"); await choose("setting", "F2P"); found.setting = count();
  await choose("made_by", "misses llm"); found.misses = count();
  await choose("repository", "repository-1"); found.repository = count();
  document.getElementById("search").value = "method-1 f1.py"; await filter(); found.search = count();
  document.getElementById("search").value = "7</b>"; await filter(); found.shallow = count();
  document.getElementById("texts").checked = true; await filter(); found.deep = count();
  const details = document.querySelector(".method"); details.open = true;
  await until(() => details.querySelector(".candidate"));
  details.querySelector(".cells i").click();
  found.name = details.querySelector("b").textContent;
  found.marks = [...details.querySelectorAll("mark")].map((m) => m.className);
  found.shown = details.textContent;
  found.elements = details.querySelectorAll("b, i:not(.k):not(.f)").length;
  return found;
"""


@pytest.mark.parametrize("single", [True, False])
def test_filters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, single: bool) -> None:
    if not single:
        monkeypatch.setattr(report, "SINGLE", 0)
        monkeypatch.setattr(report, "SHARD", 5000)
    page = report.write(tmp_path, "a run", SHEETS, [], (method(n) for n in range(60)), ["said & done"], "k: 1")
    shards = list((tmp_path / report.DATA).glob("*.js"))
    assert not shards if single else len(shards) > 5
    found = seen(page, FILTERS)
    assert found["all"] == "180 candidates of 60 methods"
    assert found["more"] is False  # forty at a time
    assert found["model"] == "60 candidates of 60 methods"
    assert found["none"] == "0 candidates of 0 methods"
    assert found["incomplete"] == "60 candidates of 60 methods"
    assert found["violated"] == "60 candidates of 60 methods"
    assert found["setting"] == "120 candidates of 60 methods"
    assert found["misses"] == "60 candidates of 60 methods"
    assert found["repository"] == "20 candidates of 20 methods"
    assert found["search"] == "1 candidate of 1 method"
    assert found["shallow"] == "0 candidates of 0 methods"
    assert found["deep"] == "2 candidates of 2 methods"
    assert found["name"] == "method-7"
    assert found["marks"] == ["idle", "good"]
    for text in ("Write <postconditions>.", "correct: kills 1 of 2", "1 mutant missed", "+    return -a", "<b>number 7</b>"):
        assert text in str(found["shown"]), text
    assert found["elements"] == 1  # the method's name: what a model wrote is text


def test_a_model_can_not_write_into_the_page(tmp_path: Path) -> None:
    page = report.write(tmp_path, "<run>", SHEETS, [], [method(1)], ["<i>said</i>"], "k: </pre><script>")
    text = page.read_text()
    for foreign in ("<run>", "<m>", "<i>said</i>", "</pre><script>", "<i>a</i>"):
        assert foreign not in text
    assert "src=" not in text.replace("script.src", "") and "://" not in text


def test_nothing_to_show(tmp_path: Path) -> None:
    page = report.write(tmp_path, "nothing", [], [], [], [], "")
    assert seen(page, 'return {count: document.getElementById("count").textContent};') == {
        "count": "0 candidates of 0 methods"
    }


def test_a_shard_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "SINGLE", 0)
    page = report.write(tmp_path, "a run", SHEETS, [], [method(1)], [], "")
    shutil.rmtree(tmp_path / report.DATA)
    script = """const details = document.querySelector(".method"); details.open = true;
      await until(() => details.textContent.includes("missing")); faults.length = 0; return {said: details.textContent};"""
    assert "0000.js is missing: it belongs beside this page" in str(seen(page, script)["said"])


def test_a_shorter_report_leaves_no_shards_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "SINGLE", 0)
    report.write(tmp_path, "a run", SHEETS, [], [method(1)], [], "")
    assert (tmp_path / report.DATA).is_dir()
    monkeypatch.undo()
    report.write(tmp_path, "a run", SHEETS, [], [method(1)], [], "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html"]
