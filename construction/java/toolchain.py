"""The JDK, JUnit and our harness: found on the machine, or fetched once; the harness is compiled once for each JDK.

A JDK of release 17 or newer is looked for in JAVA_HOME, on PATH and in the usual folders. JUnit comes from ENSURES_JUNIT (a
folder of jars), from where Linux distributions put it, or by Maven.
"""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from construction.environment import cache_root, once
from ensures.errors import InputError, PreparationFailed
from ensures.keys import content_key
from evaluation.java.worker import HARNESS, harness_version

LEAST_RELEASE = 17
_USUAL = ("/usr/lib/jvm", "/usr/java", "/opt/java", "/opt", "/Library/Java/JavaVirtualMachines")
_DISTRIBUTION = Path("/usr/share/java")
# artifact -> (group, version): one JUnit for all projects, the newest that Java 8 test classes and JUnit 3 and 4 run under
JUNIT = {
    "junit-jupiter-api": ("org.junit.jupiter", "5.11.4"),
    "junit-jupiter-engine": ("org.junit.jupiter", "5.11.4"),
    "junit-jupiter-params": ("org.junit.jupiter", "5.11.4"),
    "junit-platform-commons": ("org.junit.platform", "1.11.4"),
    "junit-platform-engine": ("org.junit.platform", "1.11.4"),
    "junit-platform-launcher": ("org.junit.platform", "1.11.4"),
    "junit-vintage-engine": ("org.junit.vintage", "5.11.4"),
    "junit": ("junit", "4.13.2"),
    "hamcrest": ("org.hamcrest", "2.2"),
    "opentest4j": ("org.opentest4j", "1.3.0"),
    "apiguardian-api": ("org.apiguardian", "1.1.2"),
}
_OTHERWISE_CALLED = {"junit": ("junit4",)}  # in distributions
# what JUnit's parameterized tests hold inside, where a distribution packs it apart
_BESIDE = ("univocity-parsers",)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """`harness`: the class path with our classes and JUnit's."""

    home: Path
    release: int
    harness: tuple[Path, ...]


@cache
def toolchain() -> Toolchain:
    """Raises PreparationFailed where there is no JDK or no JUnit; one line says what to install."""
    home, release = jdk()
    jars = junit()
    place = (
        cache_root() / "java" / f"harness-{content_key(harness_version(), str(home), release, [str(j) for j in jars])[:16]}"
    )
    with once(place) as fresh:
        if fresh is not None:
            sources = sorted(str(path) for path in HARNESS.glob("*.java"))
            command = [str(home / "bin" / "javac"), "-nowarn", "-Xlint:none", "-d", str(fresh), "-cp", _path(jars), *sources]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode != 0:
                raise PreparationFailed(f"the harness does not compile with {home}: {result.stderr.strip()[-300:]}")
    return Toolchain(home, release, (place, *jars))


def _path(parts: tuple[Path, ...]) -> str:
    return os.pathsep.join(map(str, parts))


def jdk() -> tuple[Path, int]:
    """The first JDK that is new enough, and its release."""
    seen: list[str] = []
    for home in _homes():
        release = _release(home)
        if release is None:
            continue
        if release >= LEAST_RELEASE:
            return home, release
        seen.append(f"{home} is of release {release}")
    older = f" ({'; '.join(seen)})" if seen else ""
    raise PreparationFailed(
        f"Java tasks need a JDK of release {LEAST_RELEASE} or newer, and none was found{older}; install one "
        "(Debian: default-jdk-headless) or set JAVA_HOME"
    )


def _homes() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    found = shutil.which("javac")
    if found:
        yield Path(found).resolve().parent.parent
    for folder in map(Path, _USUAL):
        if folder.is_dir():
            for inside in sorted(folder.iterdir(), reverse=True):
                yield inside
                yield inside / "Contents" / "Home"


def _release(home: Path) -> int | None:
    """Of a JDK (not of a JRE: it must have a compiler)."""
    if not (home / "bin" / "javac").exists():
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8")
    except OSError:
        return None
    version = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', text)
    return int(version.group(1)) if version else None


def junit() -> tuple[Path, ...]:
    """JUnit's jars, all from one place."""
    given = os.environ.get("ENSURES_JUNIT")
    for folder in [Path(given)] if given else [_DISTRIBUTION, cache_root() / "java" / "junit"]:
        found = [_jar(folder, name) for name in JUNIT]
        if all(found):
            beside = [jar for name in _BESIDE if (jar := _jar(folder, name))]
            return tuple(jar for jar in [*found, *beside] if jar is not None)
    if given:
        missing = [name for name in JUNIT if _jar(Path(given), name) is None]
        raise InputError(f"ENSURES_JUNIT={given} lacks {', '.join(missing)}")
    return _fetched()


def _jar(folder: Path, name: str) -> Path | None:
    for called in (name, *_OTHERWISE_CALLED.get(name, ())):
        if (folder / f"{called}.jar").is_file():
            return (folder / f"{called}.jar").resolve()
        versioned = sorted(folder.glob(f"{called}-[0-9]*.jar"))
        if versioned:
            return versioned[-1].resolve()
    return None


def _fetched() -> tuple[Path, ...]:
    """By Maven, from wherever it gets what projects depend on."""
    place = cache_root() / "java" / "junit"
    with once(place) as fresh:
        if fresh is not None:
            for name, (group, version) in JUNIT.items():
                _copied(f"{group}:{name}:{version}", fresh)
    return tuple(jar for name in JUNIT if (jar := _jar(place, name)) is not None)


def _copied(artifact: str, folder: Path) -> None:
    own = shlex.split(os.environ.get("ENSURES_MAVEN_ARGUMENTS", ""))
    command = ["mvn", *own, "-B", "-q", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        said = "" if result.returncode == 0 else next((x for x in result.stdout.splitlines() if "ERROR" in x), "no message")
    except FileNotFoundError:
        said = "Maven is not installed"
    if said:
        raise PreparationFailed(
            f"JUnit is not on this machine and Maven can't get {artifact} ({said[:200]}); install it "
            "(Debian: junit4 junit5 libhamcrest-java) or name a folder with its jars in ENSURES_JUNIT"
        )
