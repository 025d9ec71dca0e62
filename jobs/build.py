"""Searches packages for eligible methods and writes the sample's manifest.

usage: python -m jobs.build [--packages FILE] [--manifest FILE] [--per-package N]
"""

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmark.sample import MANIFEST, to_manifest
from construction import search
from containers.choose import choose
from ensures.errors import EnsuresError, InputError
from evaluation.python.session import IcontractChecker

PACKAGES = Path(search.__file__).with_name("packages.json")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m jobs.build", description=__doc__)
    parser.add_argument("--packages", type=Path, default=PACKAGES, help="JSON list of name, version, requires, paths")
    parser.add_argument("--manifest", type=Path, default=MANIFEST, help="where the manifest is written")
    parser.add_argument("--per-package", type=int, default=5, help="at most so many methods of one package")
    parser.add_argument("--workers", type=int, default=2, help="packages searched side by side")
    chosen = parser.parse_args(arguments)
    try:
        wanted = json.loads(chosen.packages.read_text(encoding="utf-8"))
        sandbox, warnings = choose("auto", hostile=False)
        for warning in warnings:
            print(f"warning: {warning}", file=sys.stderr)
        checker = IcontractChecker(sandbox, seconds=20.0)

        def one(item: dict[str, object]) -> list[search.mine.Eligible]:
            try:
                return search.search(item, sandbox, checker, lambda text: print(text, flush=True))
            except InputError:
                raise
            except EnsuresError as error:
                print(f"{item.get('name')}: left out: {error}", file=sys.stderr, flush=True)
                return []

        with ThreadPoolExecutor(chosen.workers) as threads:
            found = [eligible for part in threads.map(one, wanted) for eligible in part]
        entries = search.choose(found, chosen.per_package)
        chosen.manifest.write_text(json.dumps(to_manifest(entries), indent=1) + "\n", encoding="utf-8")
    except (InputError, OSError, ValueError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    print(f"{len(found)} eligible methods, {len(entries)} chosen, written to {chosen.manifest}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
