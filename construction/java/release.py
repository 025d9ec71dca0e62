"""A Java project's source release: from a Linux distribution's source package, or from where the project keeps it.

Both are packed in ways of their own, so that it is the Java files that are compared with the manifest's digest.
"""

import hashlib
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from construction.environment import cache_root, once, unpack
from ensures.errors import PreparationFailed
from ensures.task import Release


def tree(release: Release) -> Path:
    """The release's unpacked tree. Raises PreparationFailed where no way leads to these very sources."""
    place = cache_root() / "java" / "releases" / f"{release.name}-{release.version}-{release.digest[:12]}"
    with once(place) as fresh:
        if fresh is not None:
            _fetch(release, fresh)
    return _inside(place / "tree")


def _fetch(release: Release, place: Path) -> None:
    said = []
    ways: list[tuple[str, Callable[[], Path]]] = []
    if release.package and shutil.which("apt-get"):
        ways.append(("the distribution's source package", lambda: _from_distribution(release, place / "package")))
    if release.archive:
        ways.append((release.archive, lambda: _from_archive(release.archive, place / "archive")))
    for name, way in ways:
        shutil.rmtree(place / "tree", ignore_errors=True)
        try:
            unpack(way(), place / "tree")
        except PreparationFailed as error:
            said.append(f"{name}: {error}")
            continue
        found = digest(_inside(place / "tree"), (*release.sources, *release.tests))
        if not release.digest or found == release.digest:
            return
        said.append(f"{name} holds other sources than the manifest says (digest {found[:12]})")
    raise PreparationFailed(
        f"the sources of {release.name} {release.version} can't be had: {'; '.join(said) or 'no way known'}"
    )


def digest(folder: Path, within: tuple[str, ...]) -> str:
    """Of the Java files, with their places."""
    whole = hashlib.sha256()
    for part in within:
        for path in sorted((folder / part).rglob("*.java")):
            content = path.read_bytes().replace(b"\r\n", b"\n")
            whole.update(f"{path.relative_to(folder).as_posix()}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return whole.hexdigest()


def _inside(folder: Path) -> Path:
    """The one folder in it, or itself."""
    inner = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    return inner[0] if len(inner) == 1 else folder


def _from_archive(url: str, place: Path) -> Path:
    place.mkdir(exist_ok=True)
    target = place / url.rpartition("/")[2]
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, target.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        raise PreparationFailed(f"it can't be fetched ({error})") from error
    return target


def _from_distribution(release: Release, place: Path) -> Path:
    """By apt, with lists of its own: the machine's need not name source packages."""
    lists, cache = place / "lists", place / "cache"
    for folder in (lists / "partial", cache / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    sources = place / "sources.list"
    sources.write_text(_sources(), encoding="utf-8")
    options = [
        *("-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=/dev/null"),
        *("-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache}", "-o", "APT::Sandbox::User=root"),
    ]
    for command in (["update", "-qq"], ["source", "--download-only", "-qq", release.package]):
        result = subprocess.run(["apt-get", *options, *command], cwd=place, capture_output=True, text=True)
        if result.returncode != 0:
            lines = [line for line in result.stderr.splitlines() if line.startswith("E:")]
            raise PreparationFailed((lines or ["apt-get failed"])[-1])
    found = sorted(place.glob("*.orig.tar.*"))
    if not found:
        raise PreparationFailed(f"the source package {release.package} holds no original archive")
    if release.version not in found[0].name:
        raise PreparationFailed(f"the distribution has {found[0].name}, wanted is {release.version}")
    return found[0]


def _sources() -> str:
    """The machine's own repositories, as repositories of sources."""
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    # what comes is compared with the manifest's digest, whoever signed it
    found = {f"deb-src [trusted=yes] {line}": None for line in said.splitlines() if len(line.split(" ")) == 3}
    if not found:
        raise PreparationFailed("apt knows of no repository")
    return "\n".join(found) + "\n"
