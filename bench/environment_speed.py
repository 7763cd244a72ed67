"""How fast the doctor judges a whole environment: PyTorch for CUDA and 300 packages beside it.

usage: environment_speed.py [--json RESULT] [--command FLASHFIT] [--rounds N] [--env FOLDER]

Unpacks the wheels of environment_packages.txt, what `uv pip compile` made of a dozen names, into a folder of its own
(4.3 GB fetched the first time, 8 GB unpacked each time; --env keeps the folder, or takes the one that is there). All
is read once before anything is measured, so that the file cache is warm. Cold: the doctor's own cache is empty, and is
filled; cached: by that cache; from disk: cold, after the kernel was asked to forget the files' content (not their
names). Rounds are interleaved. Reported are medians and the best: wall seconds, CPU seconds (user and system), and the
peak of memory by wait4, which is never less than this script's own 30 MB. The load before and after stands in the file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from bench.doctor_speed import Samples, measure  # noqa: E402
from tests.doctor.environment.unpacked import make_environment, wheels  # noqa: E402
from tests.doctor.fetched import fetch_all  # noqa: E402

PACKAGES = Path(__file__).with_name("environment_packages.txt")
#: docs/environment.md, "Speed".
ASKED = {
    name: {"wall_s": wall_s, "peak_mb": 300.0} for name, wall_s in (("cold", 6.0), ("cached", 1.0), ("from disk", 6.0))
}
MOST_FROM_DISK = 3


@contextlib.contextmanager
def environment(kept: Path | None) -> Iterator[Path]:
    if kept and (kept / "pyvenv.cfg").exists():
        yield kept
        return
    packages = fetch_all(wheels(PACKAGES.read_text(encoding="utf-8").split()))
    if kept:
        yield make_environment(kept, packages)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield make_environment(Path(folder, "venv"), packages)


def read_files(folder: Path) -> tuple[int, int]:
    """Their number and bytes."""
    count = size = 0
    for path in folder.rglob("*"):
        if path.is_file():
            count += 1
            with path.open("rb", buffering=0) as file:
                while got := len(file.read(1 << 20)):
                    size += got
    return count, size


def forget(folder: Path) -> None:
    """Leaves the folder's files to be read from the disk again."""
    os.sync()  # what is not written yet stays
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Round:
    """One measurement of each kind."""

    def __init__(self, command: str, folder: Path, samples: dict[str, Samples]) -> None:
        self.words = [command, "doctor", "--env", str(folder), "--json", "--gpu", "L40", "--driver", "570"]
        self.folder, self.samples = folder, samples

    def run(self, cold_disk: bool) -> None:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache
            measure(self.words, self.samples["cold"])
            measure(self.words, self.samples["cached"])
        if cold_disk:
            forget(self.folder)
            measure([*self.words, "--no-cache"], self.samples["from disk"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=str(ROOT / "build/bin/flashfit"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--env", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    samples = {name: Samples() for name in ASKED}
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(environment(given.env))
        except pytest.skip.Exception as unavailable:
            raise SystemExit(f"environment_speed.py: {unavailable}") from None
        files, size = read_files(folder)
        before = os.getloadavg()[0]
        for number in range(given.rounds):
            Round(given.command, folder, samples).run(cold_disk=number < MOST_FROM_DISK)
    after = os.getloadavg()[0]
    print(f"load {before:.1f} before, {after:.1f} after, on {os.cpu_count()} CPUs; seconds of wall and CPU time, MB")
    print(f"{len(PACKAGES.read_text().split())} packages, {files} files, {size / 1e9:.2f} GB")
    print(f"{'':12} {'median':>8} {'best':>8} {'CPU med':>8} {'best':>8} {'peak':>8}")
    for name, taken in samples.items():
        print(f"  {name:<10} {taken.summary()}   asked: {ASKED[name]['wall_s']} s, {ASKED[name]['peak_mb']:.0f} MB")
    if given.json:
        content = {
            "load_before": round(before, 2),
            "load_after": round(after, 2),
            "cpus": os.cpu_count(),
            "rounds": given.rounds,
            "packages": len(PACKAGES.read_text().split()),
            "files": files,
            "gb": round(size / 1e9, 2),
            "asked": ASKED,
        }
        content |= {name: asdict(taken) for name, taken in samples.items()}
        given.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    kept = all(
        statistics.median(taken.wall_s) <= ASKED[name]["wall_s"] and taken.peak_mb <= ASKED[name]["peak_mb"]
        for name, taken in samples.items()
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
