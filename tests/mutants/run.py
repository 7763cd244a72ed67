"""Builds each defect of a list into a copy of the kernels and expects a suite's driver to find it.

What was judged rightly is kept in the cache by a key of all that the verdict depends on, and not run again. With
FLASHFIT_MUTANT_SECONDS in the environment, those that are not kept are left out when so many seconds are over.

Exit 0: all are judged rightly; 1: one is not; 77: all that were tried are, but some were left out.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import hashlib
import os
import platform
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.dev.junit import LEFT_OUT  # noqa: E402
from tools.dev.kept_verdicts import KeptVerdicts, cache_folder  # noqa: E402
from tools.dev.own_files import includes_of, own_files_of  # noqa: E402

#: Of a run: of the processor, and in all, as a busy machine makes no program wrong.
SECONDS_A_RUN, WAITS_A_RUN = 300, 1200
STRIDE = 7
EXIT_LEFT_OUT = 77  # ctest's SKIP_RETURN_CODE
# Whose build of them a program runs with, whatever is linked by name.
RUNTIMES = ("libstdc++.so", "libm.so.6", "libc.so.6", "libtsan.so")

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

    @property
    def damaged(self) -> bool:
        return self.name != "none"


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def digest_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@dataclass(frozen=True)
class Suite:
    """What is compiled from each defective copy, what it is linked with, and how the program is run."""

    program: Path
    compiler: list[str]
    libraries: list[str]
    wrapper: list[str]
    arguments: list[str]
    detectors: list[str]

    @cached_property
    def folders(self) -> list[Path]:
        """Of this repository, in which the program finds what it includes."""
        given = (Path(word[2:]) for word in self.compiler if word.startswith("-I"))
        return [folder for folder in given if folder.is_relative_to(ROOT)]

    @cached_property
    def files(self) -> list[Path]:
        """All that a defect may be in, from the top of the repository."""
        return sorted(f.relative_to(ROOT) for f in own_files_of(self.program, self.folders))

    def file_of(self, mutant: Mutant) -> Path:
        """From the top of the repository. The list has it from there, or from a folder that is looked in."""
        for folder in [ROOT, *self.folders]:
            file = (folder / mutant.file).relative_to(ROOT)
            if file in self.files:
                return file
        raise SystemExit(f"{mutant.name}: {self.program.name} does not include {mutant.file}")

    def compiler_in(self, root: Path) -> list[str]:
        """The compiler and its options for a copy."""
        ours = {f"-I{f}": f"-I{root / f.relative_to(ROOT)}" for f in self.folders}
        # A defect may leave names unused, and that is not how it is to be found.
        return [*(ours.get(word, word) for word in self.compiler), "-w"]

    @cached_property
    def identity(self) -> str:
        """What verdicts depend on beside the text that is compiled: two clones on one machine have the same."""
        ours = {f"-I{f}" for f in self.folders}
        compiler, *options = self.compiler
        runtimes = (Path(output_of(compiler, f"-print-file-name={name}")) for name in RUNTIMES)
        parts = [platform.machine(), digest_of(Path(__file__))]
        parts += [output_of(compiler, "--version"), digest_of(Path(shutil.which(compiler) or compiler))]
        parts += [word for word in options if word not in ours]
        parts += [digest_of(Path(word)) if Path(word).is_file() else word for word in self.libraries]
        parts += [digest_of(file) for file in runtimes if file.is_file()]
        for words in (self.wrapper, self.arguments, self.detectors):
            parts += ["", *words]
        return "\0".join(parts)


@dataclass(frozen=True)
class Judged:
    right: bool
    detector: str
    said: str
    compiled: float = 0
    ran: float = 0
    kept: bool = False
    left_out: bool = False

    @property
    def seconds(self) -> str:
        return f"{'kept':>13}" if self.kept else f"{self.compiled:4.1f} + {self.ran:4.1f} s"


class Headers:
    """What the sources include in angle brackets, precompiled when the third mutant is to be compiled.

    Those before it are compiled meanwhile. Mutants of a file that these headers include do without.
    """

    def __init__(self, suite: Suite, folder: Path) -> None:
        self.suite = suite
        self.file = folder / "headers.hpp"
        names = (name for file in suite.files for name, _ in includes_of(ROOT / file, suite.folders))
        self.file.write_text("".join(f"#include {n}\n" for n in sorted({n for n in names if n[0] == "<"})))
        self.own = {f.relative_to(ROOT) for f in own_files_of(self.file, suite.folders) - {self.file}}
        self.lock = threading.Lock()
        self.asked = 0
        self.ready = False

    def options_for(self, mutant: Mutant) -> list[str]:
        with self.lock:
            self.asked += 1
            third = self.asked == 3
        if third:
            command = [*self.suite.compiler_in(ROOT), "-x", "c++-header", str(self.file), "-o", f"{self.file}.gch"]
            code, said, _ = run(command)
            self.ready = code == 0
            if not self.ready:
                print("headers do not compile alone: " + said.split("error:")[-1].splitlines()[0], flush=True)
        if not self.ready or (mutant.damaged and self.suite.file_of(mutant) in self.own):
            return []
        return ["-include", str(self.file)]


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


def copy(suite: Suite, mutant: Mutant, root: Path) -> None:
    """What the program is compiled from, with the defect."""
    for name in suite.files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(ROOT / name)
    if mutant.damaged:
        file = root / suite.file_of(mutant)
        text = defective(file.read_text(encoding="utf-8"), mutant)
        file.unlink()
        file.write_text(text, encoding="utf-8")


def run(command: list[str]) -> tuple[int, str, float]:
    """Exit status, output, and seconds."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (SECONDS_A_RUN, SECONDS_A_RUN + 1))
        try:
            out, errors = process.communicate(timeout=WAITS_A_RUN)
        except subprocess.TimeoutExpired:
            process.kill()
            return 1, f"ran for more than {WAITS_A_RUN} s", WAITS_A_RUN
    seconds = time.monotonic() - start
    if process.returncode == -signal.SIGXCPU:
        return 1, f"ran for more than {SECONDS_A_RUN} s of the processor", seconds
    return process.returncode, (out + errors).strip(), seconds


def detector_of(said: str) -> str:
    return next((name for name, pattern in DETECTORS if re.search(pattern, said)), "unknown")


def judge(mutant: Mutant, suite: Suite, headers: Headers, cache: KeptVerdicts, look: bool, end: float) -> Judged:
    """Whether the driver judges the mutant rightly, who found it, and what it said. Past `end`, what is kept alone."""
    with tempfile.TemporaryDirectory(prefix="flashfit-mutant-") as folder:
        root = Path(folder)
        copy(suite, mutant, root)
        compiler = suite.compiler_in(root)
        source, text, program = (str(root / name) for name in (suite.program.relative_to(ROOT), "text", "mutant"))
        # Without numbers of lines and comments, which change no verdict.
        code, said, read = run([*compiler, f"-ffile-prefix-map={root}=", "-E", "-P", source, "-o", text])
        if code == 0:
            expected = "to be found" if mutant.damaged else "to pass"
            key = hashlib.sha256("\0".join([suite.identity, expected, digest_of(Path(text))]).encode()).hexdigest()
            kept = cache.find(key) if look else None
            if kept and kept.keys() == {"detector", "said"}:
                return Judged(True, kept["detector"], kept["said"], kept=True)
            # The sources without a defect are always tried.
            if mutant.damaged and time.monotonic() > end:
                return Judged(True, "-", LEFT_OUT, left_out=True)
            options = headers.options_for(mutant)
            code, said, compiled = run([*compiler, *options, source, *suite.libraries, "-o", program])
        if code != 0:
            return Judged(False, "-", "does not compile: " + said.split("error:")[-1].splitlines()[0])
        code, said, ran = run([*suite.wrapper, program, *suite.arguments])
    said = said.splitlines()[0] if said else f"exit {code}"
    detector = detector_of(said) if code != 0 else "-"
    right = (code != 0) == mutant.damaged and detector in ("-", *(suite.detectors or [detector]))
    # A busy machine may be why a program ran for too long.
    if right and detector != "time":
        cache.keep(key, {"detector": detector, "said": said})
    return Judged(right, detector, said, read + compiled, ran)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", type=Path, required=True, help="the defects")
    parser.add_argument("--program", type=Path, required=True, help="what is compiled with each defect")
    parser.add_argument("--compiler", required=True, help="the compiler and its options, with -I of folders here")
    parser.add_argument("--libraries", required=True, help="the driver and what it needs, in link order")
    parser.add_argument("--wrapper", default="", help="what the programs are run by")
    parser.add_argument("--arguments", default="", help="what the programs are given")
    parser.add_argument(
        "--detectors", nargs="*", default=[], help="who must find the defects; anybody may if none is named"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of mutants")
    parser.add_argument("--no-cache", action="store_true", help="run those, too, whose verdict is known")
    args = parser.parse_args()
    suite = Suite(
        program=args.program.resolve(),
        compiler=shlex.split(args.compiler),
        libraries=shlex.split(args.libraries),
        wrapper=shlex.split(args.wrapper),
        arguments=shlex.split(args.arguments),
        detectors=args.detectors,
    )
    listed = [m for m in read_mutants(args.list) if not args.only or m.name in args.only]
    # Neighbours in the list are defects of one kind: however early time is up, some of each kind are tried.
    mutants = [m for first in range(STRIDE) for m in listed[first::STRIDE]]
    cache = KeptVerdicts(cache_folder() / "mutants")
    start = time.monotonic()
    end = start + float(os.environ.get("FLASHFIT_MUTANT_SECONDS") or "inf")
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="flashfit-headers-") as folder:
        headers = Headers(suite, Path(folder))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            judged = pool.map(lambda m: judge(m, suite, headers, cache, not args.no_cache, end), mutants)
            for mutant, v in zip(mutants, judged):
                word = "left out" if v.left_out else "ok" if v.right else "NOT CAUGHT" if mutant.damaged else "BROKEN"
                print(f"{word:10} {mutant.name:28} {v.seconds}  {v.detector:14} {v.said}", flush=True)
                verdicts.append(v)
    cache.drop_old()
    wrong = sum(not v.right for v in verdicts)
    found = Counter(v.detector for v in verdicts if v.detector != "-")
    compiled, ran = (sum(seconds) for seconds in zip(*((v.compiled, v.ran) for v in verdicts)))
    print("found by: " + ", ".join(f"{name} {count}" for name, count in found.most_common()))
    left_out = sum(v.left_out for v in verdicts)
    if left_out:
        print(f"{LEFT_OUT}: {left_out} of {sum(m.damaged for m in mutants)} defects of {args.list.stem}")
    print(f"from the cache: {sum(v.kept for v in verdicts)} of {len(verdicts)} verdicts")
    print(f"compiling took {compiled:.0f} s, running {ran:.0f} s, {args.jobs} at a time")
    print(f"{sum(m.damaged for m in mutants)} mutants, {wrong} judged wrongly, {time.monotonic() - start:.0f} s")
    return 1 if wrong else EXIT_LEFT_OUT if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
