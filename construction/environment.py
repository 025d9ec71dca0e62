"""Workspaces for tasks: source distributions fetched, checked, unpacked; environments built. Cached by content."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from ensures.errors import InputError, PreparationFailed
from ensures.keys import content_key
from ensures.task import Package, Repository
from evaluation.workspace import Workspace

# What every environment holds beside the project's own requirements: the versions that verdicts depend on.
HARNESS_REQUIRES = ("icontract==2.7.3", "pytest==8.4.2")


def cache_root() -> Path:
    """`ENSURES_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("ENSURES_CACHE")
    if chosen:
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "ensures"


@contextlib.contextmanager
def once(place: Path) -> Iterator[Path | None]:
    """Yields a folder to fill, once for all processes; None where another has filled it already."""
    done = place.with_name(place.name + ".done")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(place) + ".lock"):
            if done.exists():
                yield None
                return
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            yield place
            done.touch()
    except PermissionError as error:
        raise InputError(f"the cache {place.parent} can't be written ({error.strerror}); set ENSURES_CACHE") from error


def package_workspace(package: Package, extra: tuple[str, ...] = ()) -> Workspace:
    """The package's unpacked tree and an environment with its requirements. `extra`: for construction only."""
    tree = unpacked(package)
    return _workspace(tree, environment(package.name, (*package.requires, *extra)), package.paths, package.pytest_args)


def repository_tree(repository: Repository, given: dict[str, str]) -> Path:
    """A given folder, or a checkout of the repository's commit."""
    folder = given.get(repository.name)
    if folder is None:
        return checkout(repository)
    tree = Path(folder).absolute()
    if not tree.is_dir():
        raise InputError(f"dataset.repositories: {repository.name}={folder} is not a folder")
    return tree


def repository_workspace(repository: Repository, given: dict[str, str]) -> Workspace:
    """The repository's tree, with an environment for it."""
    tree = repository_tree(repository, given)
    paths = [name for name in ("src",) if (tree / name).is_dir()]
    requires = requirements(repository.environment, tree)
    return _workspace(tree, environment(repository.name.replace("/", "--"), requires), (".", *paths), ())


def _workspace(tree: Path, home: Path, paths: tuple[str, ...], pytest_args: tuple[str, ...]) -> Workspace:
    return Workspace(
        root=tree,
        interpreter=home / "bin" / "python",
        paths=tuple((tree / path).resolve() for path in paths),
        readable=(home, Path(sys.base_prefix)),
        pytest_args=pytest_args,
    )


def unpacked(package: Package) -> Path:
    """The source distribution's folder. Stops with one line where the hash does not match the manifest's."""
    place = cache_root() / "packages" / f"{package.name}-{package.version}-{package.sha256[:12]}"
    with once(place) as fresh:
        if fresh is not None:
            archive = download(package, fresh)
            unpack(archive, fresh / "tree")
            archive.unlink()
    inside = [path for path in (place / "tree").iterdir() if path.is_dir()]
    return inside[0] if len(inside) == 1 else place / "tree"


def fetch(name: str, version: str, folder: Path) -> Path:
    """The source distribution from the package index, by pip."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    command += ["--disable-pip-version-check", "--dest", str(folder), f"{name}=={version}"]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    archives = [path for path in folder.iterdir() if path.is_file()]
    if result.returncode != 0 or len(archives) != 1:
        said = _last_line(result.stderr)
        raise PreparationFailed(f"{name} {version} can't be downloaded from the package index: {said}")
    return archives[0]


def download(package: Package, folder: Path) -> Path:
    """The source distribution, its SHA-256 compared with the manifest's."""
    archive = fetch(package.name, package.version, folder)
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        raise InputError(
            f"{archive.name}: SHA-256 is {found}, the manifest says {package.sha256}; "
            "the file on the index or the manifest was changed"
        )
    return archive


def unpack(archive: Path, target: Path) -> None:
    target.mkdir()
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as file:
                file.extractall(target)
        else:
            with tarfile.open(archive) as tar:
                if hasattr(tarfile, "data_filter"):
                    tar.extractall(target, filter="data")
                else:  # before 3.11.4
                    members = [m for m in tar.getmembers() if (m.isfile() or m.isdir()) and _inside(m.name)]
                    tar.extractall(target, members=members)
    except (tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise PreparationFailed(f"{archive.name} can't be unpacked: {error}") from error


def _inside(name: str) -> bool:
    path = Path(name)
    return not path.is_absolute() and ".." not in path.parts


def checkout(repository: Repository) -> Path:
    """A shallow clone of the commit."""
    place = cache_root() / "repositories" / f"{repository.name.replace('/', '--')}-{repository.commit[:12]}"
    url = repository.url or f"https://github.com/{repository.name}"
    with once(place) as fresh:
        if fresh is not None:
            for command in (
                ["git", "init", "--quiet"],
                ["git", "fetch", "--quiet", "--depth", "1", url, repository.commit],
                ["git", "checkout", "--quiet", "FETCH_HEAD"],
            ):
                result = subprocess.run(
                    command, cwd=fresh, capture_output=True, text=True, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"}
                )
                if result.returncode != 0:
                    raise PreparationFailed(
                        f"{repository.name} at {repository.commit[:8]} can't be checked out from {url} "
                        f"({_last_line(result.stderr)}); give a folder with dataset.repositories={{{repository.name}: PATH}}"
                    )
    return place


def program_workspace() -> Workspace:
    """Of programs that need nothing but the standard library and NumPy: an environment of its own, an empty tree."""
    home = environment("programs", ("numpy==2.4.6",))
    root = cache_root() / "programs"
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o755)
    return Workspace(root, home / "bin" / "python", (), (home, Path(sys.base_prefix)))


def environment(name: str, requires: tuple[str, ...]) -> Path:
    """A virtual environment of its own for a project, with icontract and pytest. Keyed by name, requirements, Python."""
    wanted = (*HARNESS_REQUIRES, *requires)
    place = cache_root() / "environments" / f"{name}-{content_key(wanted, sys.version)[:12]}"
    with once(place) as fresh:
        if fresh is not None:
            # no copy of pip: the one that runs this project installs into it
            for command in (
                [sys.executable, "-m", "venv", "--without-pip", str(fresh)],
                [sys.executable, "-m", "pip", "--python", str(fresh / "bin" / "python"), "install", "--quiet"]
                + ["--disable-pip-version-check", *wanted],
            ):
                result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
                if result.returncode != 0:
                    raise PreparationFailed(f"the environment of {name} can't be built: {_last_line(result.stderr)}")
    return place


def requirements(configuration: str, tree: Path) -> tuple[str, ...]:
    """Requirements of a repository, from the benchmark's pyproject.toml text or else the tree's own."""
    if not configuration and (tree / "pyproject.toml").is_file():
        configuration = (tree / "pyproject.toml").read_text(encoding="utf-8")
    if not configuration:
        listed = tree / "requirements.txt"
        lines = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
        return tuple(line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("#", "-")))
    try:
        data = tomllib.loads(configuration)
    except tomllib.TOMLDecodeError as error:
        raise PreparationFailed(f"the project's pyproject.toml can't be read: {error}") from error
    found = list(data.get("project", {}).get("dependencies", []))
    poetry = data.get("tool", {}).get("poetry", {})
    tables = [poetry.get("dependencies", {}), poetry.get("dev-dependencies", {})]
    tables += [group.get("dependencies", {}) for group in poetry.get("group", {}).values()]
    for table in tables:
        found += [_poetry_requirement(name, wanted) for name, wanted in table.items() if name.lower() != "python"]
    pinned = {requirement.split("==")[0] for requirement in HARNESS_REQUIRES}
    return tuple(requirement for requirement in found if requirement.split()[0].split("=")[0] not in pinned)


def _poetry_requirement(name: str, wanted: object) -> str:
    """Poetry's constraints in pip's words: ^1.2 is >=1.2,<2; ~1.2 is ~=1.2."""
    if isinstance(wanted, dict):
        if "git" in wanted:
            return f"{name} @ git+{wanted['git']}"
        extras = f"[{','.join(wanted['extras'])}]" if wanted.get("extras") else ""
        return _poetry_requirement(name + extras, wanted.get("version", "*"))
    version = str(wanted).strip()
    if version in ("*", ""):
        return name
    if version.startswith("^"):
        parts = version[1:].split(".")
        lead = next((i for i, part in enumerate(parts) if part != "0"), len(parts) - 1)
        upper = ".".join([*parts[:lead], str(int(parts[lead]) + 1)])
        return f"{name} >={version[1:]},<{upper}"
    if version.startswith("~") and not version.startswith("~="):
        bare = version[1:]
        return f"{name} ~={bare}" if "." in bare else f"{name} =={bare}.*"
    return f"{name} {version}" if version[0] in "<>=!~" else f"{name} =={version}"


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip() and not line.startswith("WARNING")]
    return lines[-1][:300] if lines else "no message"
