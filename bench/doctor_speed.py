"""How fast the doctor judges wheels, beside unzip and NVIDIA's cuobjdump in the same run.

usage: doctor_speed.py [--json RESULT] [--command FLASHFIT] [--rounds N] [--only WORD]

Fetches the wheels, and cuobjdump, into the cache of the tests (1.2 GB the first time). Each file is read once before
anything is measured, so that the file cache is warm. Rounds are interleaved: each measures every command on every wheel
once, so that a busy minute hits all alike. Of unzip and cuobjdump, which write gigabytes, there are at most three.
Reported are medians and the best: wall seconds, CPU seconds (user and system), and the peak of memory by wait4, which
is never less than this script's own 30 MB. The load before and after stands in the file: on a quiet machine the
first is below 0.5.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.doctor.fetched import CUOBJDUMP_13, Wheel, fetch, fetch_cuobjdump  # noqa: E402

X86 = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux_2_17_x86_64")


@dataclass(frozen=True)
class Case:
    """A wheel and what is asked of it: docs/doctor.md, "Speed"."""

    wheel: Wheel
    what: str
    seconds: float  #: of wall time that the doctor may take
    megabytes: float  #: of memory
    unpacked: bool = False  #: unzip and cuobjdump are measured beside it


CASES = [
    Case(Wheel("torch==2.9.1", X86, megabytes=900), "the default PyTorch for CUDA", 5, 120, unpacked=True),
    Case(Wheel("faiss-gpu-cu12==1.14.1.post1", X86, megabytes=48), "50 MB", 0.5, 120),
    Case(Wheel("flashinfer-cubin==0.6.4", ("any",), megabytes=246), "8,934 loose cubins", 1.5, 120),
]
MOST_UNPACKED = 3
CACHED_SECONDS = 0.1


@dataclass
class Samples:
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_mb: float = 0

    def add(self, wall: float, cpu: float, peak_mb: float) -> None:
        self.wall_s.append(round(wall, 4))
        self.cpu_s.append(round(cpu, 4))
        self.peak_mb = max(self.peak_mb, round(peak_mb, 1))

    def summary(self) -> str:
        wall, cpu = statistics.median(self.wall_s), statistics.median(self.cpu_s)
        return f"{wall:8.3f} {min(self.wall_s):8.3f} {cpu:8.3f} {min(self.cpu_s):8.3f} {self.peak_mb:8.0f}"


def measure(words: list[str], into: Samples) -> None:
    begin = time.monotonic()
    # Straight from this process: a shell's peak would be counted, too.
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)} ended with {child.returncode}")
    into.add(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def largest_library(wheel: Path) -> str:
    """The member that cuobjdump is asked about: the others would add to its time."""
    with zipfile.ZipFile(wheel) as archive:
        members = [m for m in archive.infolist() if m.filename.endswith((".so", ".cubin")) or ".so." in m.filename]
        return max(members, key=lambda m: m.file_size).filename


class Bench:
    """One wheel's commands and their samples."""

    def __init__(self, case: Case, command: str, cache: str, cuobjdump: Path | None) -> None:
        self.case, self.path = case, fetch(case.wheel)
        place = ["--gpu", "L40", "--platform", "linux_x86_64", "--python", "3.11"]
        self.doctor = [command, "doctor", str(self.path), "--json", *place]
        self.cache, self.cuobjdump = cache, cuobjdump
        self.samples = {name: Samples() for name in ("doctor", "cached")}
        if case.unpacked and cuobjdump:
            self.samples |= {name: Samples() for name in ("unzip", "cuobjdump")}
        os.environ["XDG_CACHE_HOME"] = cache
        measure(self.doctor, Samples())  # warms the file cache and fills the doctor's

    def round(self, number: int) -> None:
        measure([*self.doctor, "--no-cache"], self.samples["doctor"])
        measure(self.doctor, self.samples["cached"])
        if "unzip" not in self.samples or number >= MOST_UNPACKED:
            return
        with tempfile.TemporaryDirectory() as folder:
            measure(["unzip", "-q", "-o", str(self.path), "-d", folder], self.samples["unzip"])
            library = str(Path(folder, largest_library(self.path)))
            measure([str(self.cuobjdump), "-lelf", "-lptx", library], self.samples["cuobjdump"])

    def row(self) -> dict[str, object]:
        case = self.case
        row: dict[str, object] = {
            "wheel": self.path.name,
            "mb": round(self.path.stat().st_size / 1e6, 1),
            "what": case.what,
            "asked": {"wall_s": case.seconds, "peak_mb": case.megabytes, "cached_wall_s": CACHED_SECONDS},
        }
        return row | {name: asdict(samples) for name, samples in self.samples.items()}

    def times_faster(self) -> float:
        """Than unzip and cuobjdump after each other, by the medians of wall time; 0 if they were not measured."""
        if not self.samples.get("unzip", Samples()).wall_s:
            return 0
        slow = sum(statistics.median(self.samples[name].wall_s) for name in ("unzip", "cuobjdump"))
        return slow / statistics.median(self.samples["doctor"].wall_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=str(ROOT / "build/bin/flashfit"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="wheels whose name holds this word")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    before = os.getloadavg()[0]
    cases = [c for c in CASES if given.only in c.wheel.requirement]
    with tempfile.TemporaryDirectory() as cache:
        try:
            cuobjdump = fetch_cuobjdump(CUOBJDUMP_13) if any(c.unpacked for c in cases) else None
            benches = [Bench(case, given.command, cache, cuobjdump) for case in cases]
        except pytest.skip.Exception as unavailable:
            raise SystemExit(f"doctor_speed.py: {unavailable}") from None
        for number in range(given.rounds):
            for bench in benches:
                bench.round(number)
    after = os.getloadavg()[0]
    print(f"load {before:.1f} before, {after:.1f} after, on {os.cpu_count()} CPUs; seconds of wall and CPU time, MB")
    print(f"{'':12} {'median':>8} {'best':>8} {'CPU med':>8} {'best':>8} {'peak':>8}")
    for bench in benches:
        print(f"{bench.path.name}  ({bench.case.what}; asked: {bench.case.seconds} s, {bench.case.megabytes:.0f} MB)")
        for name, samples in bench.samples.items():
            print(f"  {name:<10} {samples.summary()}")
        if faster := bench.times_faster():
            print(f"  {faster:.1f} times as fast as unzip and cuobjdump")
    if given.json:
        content = {
            "load_before": round(before, 2),
            "load_after": round(after, 2),
            "cpus": os.cpu_count(),
            "rounds": given.rounds,
            "rows": [bench.row() for bench in benches],
        }
        given.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
