"""Workspaces of Java projects: their classes and class path, built once for a tree, by Maven, Gradle or javac.

Maven and Gradle are the project's own (its wrapper where there is one). They run in the sandbox on a copy of the tree, with
the network, which nothing has afterwards; what they download is kept in the cache.
ENSURES_MAVEN_ARGUMENTS and ENSURES_GRADLE_ARGUMENTS are added to their command lines. A plain tree is compiled by javac:
`src/main/java` and `src/test/java`, or what the release names, against the jars in `lib`. Test classes that need what is not
there are left out.
"""

import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from construction.environment import cache_root, once
from construction.java.toolchain import Toolchain, toolchain
from containers.choose import AutoConfig, choose
from containers.sandbox import SandboxSpec
from ensures.errors import PreparationFailed
from ensures.keys import content_key
from ensures.task import Release
from evaluation.java.workspace import JavaWorkspace, jdk_folders

_SECONDS = 1800  # of a project's own build
_SETTINGS = (Path("/etc/maven"), Path("/etc/gradle"), Path("/etc/java"))
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_MOST_ROUNDS = 12
MAIN, TESTS = "src/main/java", "src/test/java"
_GRADLE_SCRIPT = """
allprojects {
  tasks.register("ensuresClassPath") {
    dependsOn(tasks.matching { it.name == "testClasses" })
    doLast {
      def sets = project.extensions.findByName("sourceSets")
      if (sets != null) {
        println "ensures:" + projectDir + "|" + sets.test.runtimeClasspath.asPath
      }
    }
  }
}
"""


def release_workspace(release: Release, tree: Path) -> JavaWorkspace:
    """Of a project's release, by javac and what it names."""
    tools = toolchain()
    jars = tuple(_distributed(name) for name in release.jars)
    return _by_javac(tools, tree, release.sources, release.tests, jars, release.arguments, release.digest)


def repository_workspace(tree: Path, file: str, commit: str) -> JavaWorkspace:
    """Of a repository's tree, by its own build; `file` says which module."""
    tools = toolchain()
    if (tree / "pom.xml").is_file():
        return _by_maven(tools, tree, file, commit)
    if any((tree / name).is_file() for name in ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")):
        return _by_gradle(tools, tree, file, commit)
    jars = tuple(sorted((tree / "lib").glob("*.jar")))
    return _by_javac(tools, tree, (MAIN,), (TESTS,), jars, (), commit)


def _workspace(
    tools: Toolchain,
    root: Path,
    module: Path,
    classes: Sequence[Path],
    jars: Sequence[Path],
    arguments: tuple[str, ...],
    built: Path,
) -> JavaWorkspace:
    own = [jar for jar in jars if not re.match(r"junit|hamcrest|opentest4j|apiguardian", jar.name)]
    return JavaWorkspace(root, root / module, tools.home, tools.harness, tuple(classes), tuple(own), (built,), arguments)


# javac


def _by_javac(
    tools: Toolchain,
    tree: Path,
    sources: Sequence[str],
    tests: Sequence[str],
    jars: tuple[Path, ...],
    arguments: tuple[str, ...],
    version: str,
) -> JavaWorkspace:
    place = cache_root() / "java" / "built" / content_key(str(tree), version, sources, tests, arguments, tools.release)[:20]
    with once(place) as fresh:
        if fresh is not None:
            path = [*jars, *tools.harness[1:]]
            _javac(tools, tree, sources, fresh / "classes", path, arguments, lenient=False)
            _javac(tools, tree, tests, fresh / "tests", [fresh / "classes", *path], arguments, lenient=True)
    resources = [folder for given in (*sources, *tests) if (folder := tree / given.replace("/java", "/resources")).is_dir()]
    return _workspace(tools, tree, Path("."), [place / "classes", place / "tests", *resources], jars, arguments, place)


def _javac(
    tools: Toolchain,
    tree: Path,
    folders: Sequence[str],
    target: Path,
    path: Sequence[Path],
    arguments: tuple[str, ...],
    lenient: bool,
) -> None:
    target.mkdir()
    files = sorted(
        str(file) for folder in folders for file in (tree / folder).rglob("*.java") if file.name != "module-info.java"
    )
    command = [str(tools.home / "bin" / "javac"), "-proc:none", "-nowarn", "-Xmaxerrs", "100000", "-encoding", "UTF-8"]
    command += [*arguments, "-d", str(target), "-cp", os.pathsep.join(map(str, path))]
    listed = target / "files"
    for _ in range(_MOST_ROUNDS):
        if not files:
            return
        listed.write_text("\n".join(f'"{file}"' for file in files), encoding="utf-8")
        result = subprocess.run([*command, f"@{listed}"], capture_output=True, text=True)
        listed.unlink()
        if result.returncode == 0:
            return
        guilty = set(re.findall(r"^(/.*?\.java):\d+: error", result.stderr, re.MULTILINE))
        if not lenient or not guilty & set(files):
            break
        files = [file for file in files if file not in guilty]
    said = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr[:300])
    raise PreparationFailed(f"{tree.name} does not compile here: {said}")


def _distributed(name: str) -> Path:
    """A jar that a release's tests need, from where Linux distributions put them, or a folder of ENSURES_JARS."""
    for folder in [*os.environ.get("ENSURES_JARS", "").split(os.pathsep), "/usr/share/java"]:
        if folder and (Path(folder) / f"{name}.jar").is_file():
            return (Path(folder) / f"{name}.jar").resolve()
    raise PreparationFailed(f"the jar {name} is not on this machine; put it into a folder and name that in ENSURES_JARS")


# Maven


def _by_maven(tools: Toolchain, tree: Path, file: str, commit: str) -> JavaWorkspace:
    module = _module(tree, file, "pom.xml")
    place = cache_root() / "java" / "built" / content_key(str(tree), commit, str(module), tools.release, "maven")[:20]
    with once(place) as fresh:
        if fresh is not None:
            # a copy, so that the given tree stays as it is
            shutil.copytree(tree, fresh / "tree", symlinks=True, ignore=shutil.ignore_patterns("target", ".git"))
            _run(maven_command(fresh / "tree", module, fresh / "path"), fresh / "tree", tools, "Maven", _maven_kept())
    inside = place / "tree" / module
    jars = [Path(part) for part in (place / "path").read_text(encoding="utf-8").strip().split(os.pathsep) if part]
    folders = [inside / "target" / "classes", inside / "target" / "test-classes"]
    # other modules of the same project come as folders or as jars of a local repository
    return _workspace(
        tools,
        place / "tree",
        module,
        [folder for folder in folders if folder.is_dir()],
        [jar for jar in jars if jar.suffix == ".jar"],
        _maven_arguments(inside / "pom.xml"),
        place,
    )


def maven_command(tree: Path, module: Path, path: Path) -> list[str]:
    """Compiles the module's classes and tests, with what it needs of the project, and writes its class path to a file."""
    wrapper = tree / "mvnw"
    program = ["sh", str(wrapper)] if wrapper.is_file() else ["mvn"]
    chosen = [] if module == Path(".") else ["-pl", module.as_posix(), "-am"]
    own = shlex.split(os.environ.get("ENSURES_MAVEN_ARGUMENTS", ""))
    return [
        *program,
        *own,
        # the user's own settings say where the local repository is; else it is one of ours
        *([] if _names_settings(own) else [f"-Dmaven.repo.local={_maven_kept()}"]),
        *("-B", "-q", "-DskipTests", "-Dmaven.javadoc.skip", "-Dcheckstyle.skip", "-Drat.skip", "-Denforcer.skip"),
        *chosen,
        "test-compile",
        "dependency:build-classpath",
        "-Dmdep.includeScope=test",
        f"-Dmdep.outputFile={path}",
    ]


def _names_settings(arguments: Sequence[str]) -> bool:
    return any(one in ("-s", "--settings") or one.startswith(("--settings=", "-Dmaven.repo.local=")) for one in arguments)


def _maven_kept() -> Path:
    return cache_root() / "java" / "maven"


def _maven_arguments(pom: Path) -> tuple[str, ...]:
    """What of the project's compiler matters to a class that is woven: names of parameters."""
    try:
        root = ElementTree.parse(pom).getroot()
    except (OSError, ElementTree.ParseError):
        return ()
    texts = [(element.tag.rpartition("}")[2], (element.text or "").strip()) for element in root.iter()]
    wanted = (
        ("parameters", "true") in texts or ("maven.compiler.parameters", "true") in texts or ("arg", "-parameters") in texts
    )
    return ("-parameters",) if wanted else ()


def _module(tree: Path, file: str, marker: str) -> Path:
    """The innermost folder above the file that has a build of its own, relative to the tree."""
    folder = (tree / file).parent
    while folder != tree and not (folder / marker).is_file():
        folder = folder.parent
    return folder.relative_to(tree)


# Gradle


def _by_gradle(tools: Toolchain, tree: Path, file: str, commit: str) -> JavaWorkspace:
    marker = "build.gradle.kts" if list(tree.rglob("build.gradle.kts")) else "build.gradle"
    module = _module(tree, file, marker)
    place = cache_root() / "java" / "built" / content_key(str(tree), commit, str(module), tools.release, "gradle")[:20]
    with once(place) as fresh:
        if fresh is not None:
            shutil.copytree(tree, fresh / "tree", symlinks=True, ignore=shutil.ignore_patterns("build", ".git", ".gradle"))
            script = fresh / "path.gradle"
            script.write_text(_GRADLE_SCRIPT, encoding="utf-8")
            said = _run(gradle_command(fresh / "tree", module, script), fresh / "tree", tools, "Gradle", _gradle_kept())
            found = re.findall(r"^ensures:(.*?)\|(.*)$", said, re.MULTILINE)
            own = [path for folder, path in found if Path(folder) == fresh / "tree" / module]
            if not own:
                raise PreparationFailed(f"{tree.name}: Gradle did not give the class path of {module}")
            (fresh / "path").write_text(own[0], encoding="utf-8")
    parts = [Path(part) for part in (place / "path").read_text(encoding="utf-8").strip().split(os.pathsep) if part]
    folders = [part for part in parts if part.is_dir()]
    return _workspace(tools, place / "tree", module, folders, [part for part in parts if part.suffix == ".jar"], (), place)


def gradle_command(tree: Path, module: Path, script: Path) -> list[str]:
    """Compiles the module's classes and tests, and prints its class path."""
    wrapper = tree / "gradlew"
    program = ["sh", str(wrapper)] if wrapper.is_file() else ["gradle"]
    name = "" if module == Path(".") else ":" + ":".join(module.parts)
    own = shlex.split(os.environ.get("ENSURES_GRADLE_ARGUMENTS", ""))
    kept = ["-g", str(_gradle_kept())]
    return [*program, *own, *kept, "--no-daemon", "-q", "-I", str(script), f"{name}:testClasses", f"{name}:ensuresClassPath"]


def _gradle_kept() -> Path:
    return cache_root() / "java" / "gradle"


def _run(command: list[str], tree: Path, tools: Toolchain, what: str, kept: Path) -> str:
    """In the sandbox, with the network. It may write into the copy of the project and into what the tool keeps."""
    program = shutil.which(command[0])
    if program is None:
        raise PreparationFailed(f"the project is built by {what}, and {command[0]} is not installed")
    kept.mkdir(parents=True, exist_ok=True)
    own = [Path(program).resolve().parent.parent, *(Path(part) for part in command if part.startswith("/"))]
    proxies = {name: value for name, value in os.environ.items() if name.lower() in _PROXIES}
    spec = SandboxSpec(
        argv=tuple(command),
        cwd=tree,
        readable=tuple(
            path
            for path in (*jdk_folders(tools.home), *tools.harness, *own, *_SETTINGS)
            if path.exists() and path not in tree.parents
        ),
        writable=(tree.parent, kept),
        network=True,
        environment={
            "PATH": f"{tools.home / 'bin'}:{Path(program).parent}:/usr/local/bin:/usr/bin:/bin",
            "JAVA_HOME": str(tools.home),
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            **proxies,
        },
        scratch_mb=2048,
        image="java",
    )
    process = choose(AutoConfig(), hostile=False)[0].start(spec)
    try:
        out, err = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise PreparationFailed(f"{what} did not end within {_SECONDS} s in {tree}") from error
    said = out.decode(errors="replace")
    if process.returncode != 0:
        lines = [line for line in (said + err.decode(errors="replace")).splitlines() if "ERROR" in line or "error" in line]
        raise PreparationFailed(f"{what} can't build the project: {(lines or ['no message'])[0][:300]}")
    return said
