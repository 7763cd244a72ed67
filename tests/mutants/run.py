"""Builds each defect of mutants.txt into a copy of the kernels and expects the emulated tests to find it."""

from __future__ import annotations

import argparse
import concurrent.futures
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS_A_RUN = 120


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    pattern: str
    replacement: str


def read_mutants(path: Path) -> list[Mutant]:
    """The defects of the list, with one that changes nothing before them: the tests must pass it."""
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
    listed = [Mutant(*re.split(r"\s+\|(?:\s+|$)", line, maxsplit=3)) for line in lines if line and line[0] != "#"]
    return [Mutant("none", "", "", ""), *listed]


def defective(text: str, mutant: Mutant) -> str:
    changed, count = re.subn(mutant.pattern, mutant.replacement, text, count=1)
    if count == 0 or changed == text:
        raise SystemExit(f"{mutant.name}: {mutant.pattern!r} changes nothing in {mutant.file}")
    return changed


def run(command: list[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_A_RUN, check=False)
    except subprocess.TimeoutExpired:
        return 1, f"ran for more than {SECONDS_A_RUN} s"
    return done.returncode, (done.stdout + done.stderr).strip()


def verdict(mutant: Mutant, source: Path, compiler: list[str], libraries: list[str]) -> tuple[bool, str]:
    """Whether the tests judge the mutant rightly, and what they say."""
    with tempfile.TemporaryDirectory(prefix="flashfit-mutant-") as folder:
        root = Path(folder, "src")
        shutil.copytree(source, root)
        if mutant.file:
            file = root / mutant.file
            file.write_text(defective(file.read_text(encoding="utf-8"), mutant), encoding="utf-8")
        includes = [f"-I{root}/emu", f"-I{root}", f"-I{HERE.parent}", f"-I{HERE.parent}/attention"]
        program = str(Path(folder, "mutant"))
        # A defect may leave names unused, and that is not how it is to be found.
        code, said = run([*compiler, *includes, "-w", "-O2", str(HERE / "kernels.cpp"), *libraries, "-o", program])
        if code != 0:
            return False, "does not compile: " + said
        code, said = run([program])
        return (code == 0) == (mutant.name == "none"), said.splitlines()[0] if said else f"exit {code}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="src/ of the repository")
    parser.add_argument("--compiler", required=True, help="the compiler and its options, without includes of src/")
    parser.add_argument("--libraries", required=True, help="the driver and what it needs, in link order")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of mutants")
    args = parser.parse_args()
    compiler, libraries = shlex.split(args.compiler), shlex.split(args.libraries)
    mutants = [m for m in read_mutants(HERE / "mutants.txt") if not args.only or m.name in args.only]
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        verdicts = list(pool.map(lambda m: verdict(m, args.source, compiler, libraries), mutants))
    wrong = 0
    for mutant, (right, said) in zip(mutants, verdicts):
        wrong += not right
        print(f"{'ok' if right else 'NOT CAUGHT' if mutant.name != 'none' else 'BROKEN':10} {mutant.name:22} {said}")
    print(f"{len(mutants) - 1} mutants, {wrong} judged wrongly, {time.monotonic() - start:.0f} s")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
