"""Toolchain and workspaces: what is found, how a project is built, and one line where something is missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from construction.java import build, release, toolchain
from ensures.errors import InputError, PreparationFailed
from ensures.task import Release
from tests import java_projects

SOURCES = {
    "src/main/java/demo/One.java": """
package demo;
public class One {
    public static int one(int given) { return given + 1; }
}
""",
    "src/test/java/demo/OneTest.java": """
package demo;
import static org.junit.Assert.assertEquals;
import org.junit.Test;
public class OneTest { @Test public void one() { assertEquals(2, One.one(1)); } }
""",
    "src/test/java/demo/AbsentTest.java": "package demo;\npublic class AbsentTest { com.absent.Library library; }\n",
}
POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>demo</groupId><artifactId>{name}</artifactId><version>1</version><packaging>{packaging}</packaging>
  <properties>
    <maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding><maven.compiler.parameters>true</maven.compiler.parameters>
  </properties>
  {more}
</project>
"""
JUNIT = (
    "<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version>"
    "<scope>test</scope></dependency></dependencies>"
)


def test_a_plain_tree_is_built_by_javac(tmp_path: Path) -> None:
    folder = java_projects.write(tmp_path, SOURCES)
    task = java_projects.task(folder, "src/main/java/demo/One.java", "One.one", ("demo.OneTest#one",))
    workspace = java_projects.workspace(folder, task)
    built = {path.name for place in workspace.classes for path in place.rglob("*.class")}
    assert built == {"One.class", "OneTest.class"}  # what needs a library that is not there is left out
    assert not list(folder.rglob("*.class"))


def test_a_tree_that_does_not_compile_is_one_line(tmp_path: Path) -> None:
    folder = java_projects.write(
        tmp_path, {**SOURCES, "src/main/java/demo/Two.java": "package demo;\nclass Two { int x = y; }"}
    )
    task = java_projects.task(folder, "src/main/java/demo/One.java", "One.one", ("demo.OneTest#one",))
    with pytest.raises(PreparationFailed, match=r"does not compile here: .*Two.java:2: error: cannot find symbol"):
        java_projects.workspace(folder, task)


def test_maven_builds_the_module_that_holds_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Path("/etc/maven/settings-debian.xml")
    ready = shutil.which("mvn") and settings.is_file() and Path("/usr/share/maven-repo/junit/junit/4.13.2").exists()
    plugins = Path("/usr/share/maven-repo/org/apache/maven/plugins/maven-dependency-plugin")
    if not ready or not plugins.exists():
        pytest.skip("no Maven with a local repository (Debian: maven-debian-helper libmaven-dependency-plugin-java)")
    monkeypatch.setenv("ENSURES_MAVEN_ARGUMENTS", f"-o -s {settings}")
    files = {
        "pom.xml": POM.format(
            name="whole", packaging="pom", more="<modules><module>base</module><module>top</module></modules>"
        ),
        "base/pom.xml": POM.format(name="base", packaging="jar", more=""),
        "base/src/main/java/base/Base.java": "package base;\npublic class Base { public static int two() { return 2; } }\n",
        "top/pom.xml": POM.format(name="top", packaging="jar", more=JUNIT),
        **{f"top/{name}": text for name, text in SOURCES.items() if "Absent" not in name},
    }
    folder = java_projects.write(tmp_path, files)
    task = java_projects.task(folder, "top/src/main/java/demo/One.java", "One.one", ("demo.OneTest#one",))
    workspace = java_projects.workspace(folder, task)
    assert workspace.arguments == ("-parameters",)
    assert workspace.folder.name == "top"
    assert {path.parent.name for path in workspace.classes} == {"target"}
    session = java_projects.checker(20.0).prepare(task, workspace)
    session.close()
    assert session.baseline.original.calls == 1


def test_the_commands_of_maven_and_gradle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENSURES_MAVEN_ARGUMENTS", "-o -s 'my settings.xml'")
    monkeypatch.setenv("ENSURES_GRADLE_ARGUMENTS", "--offline")
    command = build.maven_command(tmp_path, Path("core/api"), tmp_path / "path")
    assert command[:4] == ["mvn", "-o", "-s", "my settings.xml"]
    assert command[command.index("-pl") + 1 :][:2] == ["core/api", "-am"]
    assert command[-4:-2] == ["test-compile", "dependency:build-classpath"]
    assert not any("maven.repo.local" in part for part in command)
    monkeypatch.setenv("ENSURES_MAVEN_ARGUMENTS", "-o")
    assert any(part.startswith("-Dmaven.repo.local=") for part in build.maven_command(tmp_path, Path("."), tmp_path / "path"))
    (tmp_path / "mvnw").touch()
    (tmp_path / "gradlew").touch()
    assert build.maven_command(tmp_path, Path("."), tmp_path / "path")[:2] == ["sh", str(tmp_path / "mvnw")]
    command = build.gradle_command(tmp_path, Path("core/api"), tmp_path / "path.gradle")
    assert command[:4] == ["sh", str(tmp_path / "gradlew"), "--offline", "-g"]
    assert command[-2:] == [":core:api:testClasses", ":core:api:ensuresClassPath"]


def test_no_jdk_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "old" / "bin").mkdir(parents=True)
    (tmp_path / "old" / "bin" / "javac").touch()
    (tmp_path / "old" / "release").write_text('JAVA_VERSION="1.8.0_392"\n')
    monkeypatch.setattr(toolchain, "_USUAL", (str(tmp_path),))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(
        PreparationFailed, match=r"need a JDK of release 17 or newer, and none was found .*/old is of release 8.*"
    ):
        toolchain.jdk()


def test_a_folder_without_junit_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ENSURES_JUNIT", str(tmp_path))
    with pytest.raises(InputError, match=f"ENSURES_JUNIT={tmp_path} lacks junit-jupiter-api"):
        toolchain.junit()


def test_junit_that_nobody_has_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ENSURES_JUNIT", raising=False)
    monkeypatch.setenv("ENSURES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "_DISTRIBUTION", tmp_path)
    with pytest.raises(
        PreparationFailed, match=r"can't get org.junit.jupiter:junit-jupiter-api:.* \(Maven is not installed\)"
    ):
        toolchain.junit()


def test_sources_other_than_the_manifests_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "demo-1"
    tree.mkdir()
    java_projects.write(tree, SOURCES)
    archive = tmp_path / "demo-1.tar.gz"
    subprocess.run(["tar", "-C", tmp_path, "-czf", archive, "demo-1"], check=True)
    monkeypatch.setenv("ENSURES_CACHE", str(tmp_path / "cache"))
    digest = release.digest(tree, ("src/main/java", "src/test/java"))
    found = release.tree(Release("demo", "1", digest, archive=archive.as_uri()))
    assert (found / "src/main/java/demo/One.java").is_file()
    with pytest.raises(
        PreparationFailed, match=r"the sources of demo 1 can't be had: .* holds other sources than the manifest"
    ):
        release.tree(Release("demo", "1", "0" * 64, archive=archive.as_uri()))
    with pytest.raises(PreparationFailed, match=r"can't be had: .* can't be fetched"):
        release.tree(Release("demo", "1", "1" * 64, archive=(tmp_path / "absent.tar.gz").as_uri()))
    assert os.listdir(tmp_path / "cache")
