"""Builds the images for container engines, and says how large they are. `python -m jobs.images [--engine docker]`"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from containers.images.definitions import FILES, HERE, NAMES, packages, tag
from ensures.errors import EnsuresError, InputError

ENGINES = ("docker", "podman", "apptainer")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m jobs.images", description="Builds the images for container engines.")
    parser.add_argument("--engine", choices=ENGINES, default="docker", help="apptainer: files in containers/images")
    parser.add_argument("--image", choices=NAMES, help="default: both")
    parser.add_argument("--base", default=packages()["base"], help="another Debian to build on")
    parser.add_argument("--without-downloads", action="store_true", help="without what Debian has not: interpreters, JDK 21")
    parser.add_argument(
        "--write", action="store_true", help="only write the definitions anew from containers/images/packages.toml"
    )
    chosen = parser.parse_args(arguments)
    if chosen.write:
        for name, (make, of) in FILES.items():
            (HERE / name).write_text(make(of), encoding="utf-8")
        return 0
    try:
        for name in [chosen.image] if chosen.image else NAMES:
            print(_build(name, chosen.engine, chosen.base, not chosen.without_downloads), flush=True)
    except EnsuresError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _build(name: str, engine: str, base: str, downloads: bool) -> str:
    """Builds one; its name and size."""
    program = shutil.which(engine)
    if program is None:
        raise InputError(f"engine={engine}: the program {engine} is not installed")
    if engine == "apptainer":
        image = HERE / f"{tag(name).replace(':', '-')}.sif"
        definition = HERE / f"{name}.def"
        _run([program, "build", "--force", str(image), str(definition)], name)
        return f"{image}: {image.stat().st_size >> 20} MiB"
    arguments = ["--build-arg", f"BASE={base}"] + ([] if downloads else ["--build-arg", "WITHOUT_DOWNLOADS=1"])
    _run([program, "build", "--tag", tag(name), *arguments, "--file", str(HERE / f"{name}.Dockerfile"), str(HERE)], name)
    said = subprocess.run([program, "image", "inspect", "--format", "{{.Size}}", tag(name)], capture_output=True, text=True)
    return f"{tag(name)}: {int(said.stdout or 0) >> 20} MiB"


def _run(command: list[str], name: str) -> None:
    result = subprocess.run(command, stdin=subprocess.DEVNULL)
    if result.returncode != 0:
        engine = Path(command[0]).name
        raise InputError(f"the image {name} could not be built; see the lines above ({engine} ended with {result.returncode})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
