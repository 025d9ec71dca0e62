"""What killed runs left goes; what is in use stays."""

import subprocess
from pathlib import Path

import pytest

from jobs import clean


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(clean, "TEMPORARY", tmp_path)
    for name in ("ens-left", "ens-used", "ensures-scratch-left", "another"):
        (tmp_path / name).mkdir()
    with subprocess.Popen(["/bin/sleep", "100"], cwd=tmp_path / "ens-used") as user:
        assert clean.main([]) == 0
        user.kill()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "ens-used"]
    said = capsys.readouterr().out
    assert "docker: nothing to be done (sandbox=docker: nothing answers at unix:///nowhere" in said
    assert str(tmp_path / "ens-left") in said
