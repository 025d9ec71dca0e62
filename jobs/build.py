"""Searches packages for eligible methods and writes the sample's manifest.

usage: python -m jobs.build [--language java] [--packages FILE] [--manifest FILE] [--per-package N]
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmark.sample import JAVA_MANIFEST, MANIFEST, to_manifest
from construction import search
from construction.java import search as java_search
from construction.mine import Eligible
from containers.choose import AutoConfig, choose
from containers.sandbox import Sandbox
from ensures.errors import EnsuresError, InputError
from evaluation.java.session import JmlChecker
from evaluation.python.session import IcontractChecker

LIMIT = 20.0  # seconds of one execution, as in the published validation of mutants
PACKAGES = {
    "python": (Path(search.__file__).with_name("packages.json"), MANIFEST),
    "java": (Path(java_search.__file__).with_name("releases.json"), JAVA_MANIFEST),
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m jobs.build", description=__doc__)
    parser.add_argument("--language", choices=sorted(PACKAGES), default="python")
    parser.add_argument("--packages", type=Path, help="JSON list of what is searched, and how its tests are run")
    parser.add_argument("--manifest", type=Path, help="where the manifest is written")
    parser.add_argument("--per-package", type=int, default=5, help="at most so many methods of one package")
    parser.add_argument("--workers", type=int, default=2, help="packages searched side by side")
    chosen = parser.parse_args(arguments)
    packages, manifest = PACKAGES[chosen.language]
    manifest = chosen.manifest or manifest
    try:
        wanted = json.loads((chosen.packages or packages).read_text(encoding="utf-8"))
        sandbox, warnings = choose(AutoConfig(), hostile=False)
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        searched = _searcher(chosen.language, sandbox)

        def one(item: dict[str, Any]) -> list[Eligible]:
            try:
                return list(searched(item, lambda text: print(text, flush=True)))
            except InputError:
                raise
            except EnsuresError as error:
                print(f"{item.get('name')}: left out: {error}", file=sys.stderr, flush=True)
                return []

        with ThreadPoolExecutor(chosen.workers) as threads:
            found = [eligible for part in threads.map(one, wanted) for eligible in part]
        entries = search.choose(found, chosen.per_package)
        manifest.write_text(json.dumps(to_manifest(entries), indent=1) + "\n", encoding="utf-8")
    except (InputError, OSError, ValueError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(f"{len(found)} eligible methods, {len(entries)} chosen, written to {manifest}")
    return 0


Searcher = Callable[[dict[str, Any], Callable[[str], None]], Iterator[Eligible] | list[Eligible]]


def _searcher(language: str, sandbox: Sandbox) -> Searcher:
    if language == "java":
        jml = JmlChecker(sandbox, seconds=LIMIT)
        return lambda item, say: java_search.search(item, sandbox, jml, say)
    icontract = IcontractChecker(sandbox, seconds=LIMIT)
    return lambda item, say: search.search(item, sandbox, icontract, say)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
