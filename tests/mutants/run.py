"""Builds each defect of a list into a copy of the kernels and expects a suite's driver to find it."""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS_A_RUN = 300

# Who found a defect, by what its line says: the first that fits.
DETECTORS = [
    ("race", r"race: |no synchronisation between|was not waited for"),
    ("proxy", r"fence\.proxy\.async"),
    ("poison", r"has yet to fill|nothing has written|was never written"),
    ("deadlock", r"deadlock"),
    ("mbarrier", r"mbarrier|expects|phase"),
    ("convergence", r" while lanes? |without lanes? |left while "),
    ("cluster", r"of the cluster"),
    ("bounds", r"past the end of|before \w+ \(|of no tensor|read-only|outside|not aligned|null pointer|memory of "),
    ("bank conflicts", r"bank conflicts"),
    ("finding", r"^finding: "),
    ("containment", r"^containment: "),
    ("neighbours", r"^neighbours: "),
    ("fp64 reference", r"^wrong "),
    ("time", r"^ran for more"),
]


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    pattern: str
    replacement: str


@dataclass(frozen=True)
class Suite:
    """What is compiled from each defective copy, what it is linked with, and how the program is run."""

    program: Path
    compiler: list[str]
    libraries: list[str]
    wrapper: list[str]
    arguments: list[str]
    detectors: list[str]


@dataclass(frozen=True)
class Judged:
    right: bool
    detector: str
    said: str
    seconds: float


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


def detector_of(said: str) -> str:
    return next((name for name, pattern in DETECTORS if re.search(pattern, said)), "unknown")


def judge(mutant: Mutant, suite: Suite) -> Judged:
    """Whether the driver judges the mutant rightly, who found it, and what it said."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="flashfit-mutant-") as folder:
        root = Path(folder)
        for part in ("src", "tests/proof/emu"):
            shutil.copytree(ROOT / part, root / part, copy_function=os.symlink)
        if mutant.file:
            file = root / (mutant.file if mutant.file.startswith("tests/") else f"src/{mutant.file}")
            text = defective(file.read_text(encoding="utf-8"), mutant)
            file.unlink()
            file.write_text(text, encoding="utf-8")
        includes = [f"-I{root}/src/proof/emu", f"-I{root}/src", f"-I{root}/tests", f"-I{ROOT}/tests"]
        program = str(root / "mutant")
        # A defect may leave names unused, and that is not how it is to be found.
        code, said = run([*suite.compiler, *includes, "-w", str(suite.program), *suite.libraries, "-o", program])
        if code != 0:
            return Judged(False, "-", "does not compile: " + said.split("error:")[-1].splitlines()[0], 0)
        code, said = run([*suite.wrapper, program, *suite.arguments])
    said = said.splitlines()[0] if said else f"exit {code}"
    detector = detector_of(said) if code != 0 else "-"
    right = (code == 0) == (mutant.name == "none") and detector in ("-", *(suite.detectors or [detector]))
    return Judged(right, detector, said, time.monotonic() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", type=Path, required=True, help="the defects")
    parser.add_argument("--program", type=Path, required=True, help="what is compiled with each defect")
    parser.add_argument("--compiler", required=True, help="the compiler and its options, without includes of src/")
    parser.add_argument("--libraries", required=True, help="the driver and what it needs, in link order")
    parser.add_argument("--wrapper", default="", help="what the programs are run by")
    parser.add_argument("--arguments", default="", help="what the programs are given")
    parser.add_argument(
        "--detectors", nargs="*", default=[], help="who must find the defects; anybody may if none is named"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of mutants")
    args = parser.parse_args()
    suite = Suite(
        program=args.program,
        compiler=shlex.split(args.compiler),
        libraries=shlex.split(args.libraries),
        wrapper=shlex.split(args.wrapper),
        arguments=shlex.split(args.arguments),
        detectors=args.detectors,
    )
    mutants = [m for m in read_mutants(args.list) if not args.only or m.name in args.only]
    start = time.monotonic()
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for mutant, v in zip(mutants, pool.map(lambda m: judge(m, suite), mutants)):
            word = "ok" if v.right else "NOT CAUGHT" if mutant.name != "none" else "BROKEN"
            print(f"{word:10} {mutant.name:28} {v.seconds:5.1f} s  {v.detector:14} {v.said}", flush=True)
            verdicts.append(v)
    wrong = sum(not v.right for v in verdicts)
    found = Counter(v.detector for v in verdicts if v.detector != "-")
    print("found by: " + ", ".join(f"{name} {count}" for name, count in found.most_common()))
    print(f"{sum(m.name != 'none' for m in mutants)} mutants, {wrong} judged wrongly, {time.monotonic() - start:.0f} s")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
