"""Packs build/ into one wheel for every Python, named after the oldest C library that serves; `./dev wheel` sets it up.

usage: wheel.py BUILD OUTPUT
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Not 3.9, for which the doctor rightly cannot vouch: ctypes stands in for the module there.
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15")
COMPILED = {"flashfit/libflashfit.so", "flashfit/_flashfit_native.abi3.so"}


class WheelError(Exception):
    """The wheel would not serve; says why in one line."""


#: The hook that pip calls; pip itself learnt to pass settings on only after the one of Ubuntu 22.04.
BUILD_WHEEL = """
import sys
from scikit_build_core.build import build_wheel
build_wheel(sys.argv[1], {"build-dir": sys.argv[2]})
"""


def python(*arguments: str | Path) -> str:
    """Standard output of this Python; what it says of a failure is part of the exception."""
    result = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode:
        name = "scikit-build-core" if arguments[0] == "-c" else arguments[1]
        raise WheelError(f"{name} failed:\n{result.stdout[-4000:]}{result.stderr[-4000:]}")
    return result.stdout


def pack(build: Path, folder: Path) -> Path:
    """The wheel as scikit-build-core names it, for this system alone. BUILD ends as it was configured."""
    # Where this names another environment's scikit-build-core, CMake's cache would be thrown away and all built anew.
    (build / ".skbuild-info.json").unlink(missing_ok=True)
    python("-c", BUILD_WHEEL, folder, build)
    forgotten = ["-U", "SKBUILD*", "-U", "CMAKE_INSTALL_PREFIX"]
    subprocess.run(["cmake", "-S", ROOT, "-B", build, *forgotten], stdout=subprocess.DEVNULL, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """The compiled files are there, and nothing that a user has no use for."""
    names = set(zipfile.ZipFile(wheel).namelist())
    if missing := COMPILED - names:
        raise WheelError(f"{wheel.name} lacks {', '.join(sorted(missing))}")
    if alien := [n for n in names if not n.startswith("flashfit") or "__pycache__" in n]:
        raise WheelError(f"{wheel.name} holds {', '.join(alien)}")


def check_limited_api(wheel: Path) -> None:
    """The module keeps to the limited API of Python 3.10."""
    with tempfile.TemporaryDirectory() as folder:
        module = zipfile.ZipFile(wheel).extract("flashfit/_flashfit_native.abi3.so", folder)
        python("-m", "abi3audit", "--strict", "--assume-minimum-abi3", "3.10", module)


def platform(wheel: Path) -> str:
    """The platform tag of the oldest C library that has every symbol asked for."""
    found = json.loads(python("-m", "auditwheel", "show", "--json", wheel))
    if found["external_libs"]:
        raise WheelError(f"{wheel.name} needs libraries beside the C library: {', '.join(found['external_libs'])}")
    tag: str = found["overall_tag"]
    if not tag.startswith("manylinux"):
        raise WheelError(
            f"{wheel.name} serves this system alone ({tag}): a symbol or an instruction set is of no common platform"
        )
    return tag


def check_by_doctor(command: Path, wheel: Path) -> None:
    """Our own doctor finds that the wheel fits every Python served, on the oldest C library that its name promises."""
    tag = re.search(r"-manylinux_(\d+)_(\d+)_(\w+)\.whl$", wheel.name)
    if tag is None:
        raise WheelError(f"{wheel.name} does not name its oldest C library")
    place = ["--platform", f"linux_{tag[3]}", "--glibc", f"{tag[1]}.{tag[2]}", "--gpu", "all", "--no-cache", "--json"]
    for python in PYTHONS:
        done = subprocess.run(
            [command, "doctor", wheel, "--python", python, *place], capture_output=True, text=True, check=False
        )
        if done.returncode:
            problems = json.loads(done.stdout)["targets"][0]["problems"] if done.stdout else []
            why = "; ".join(f"{p['code']} {p['message']}" for p in problems) or done.stderr.strip()
            raise WheelError(f"{wheel.name} does not fit Python {python}, says our own doctor: {why}")


def main(build: Path, output: Path) -> int:
    """Leaves the wheel in OUTPUT, in place of former ones of this version, and prints a line about it."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output) as folder:
        try:
            wheel = pack(build, Path(folder))
            check_contents(wheel)
            check_limited_api(wheel)
            named = python("-m", "wheel", "tags", "--remove", "--platform-tag", platform(wheel), wheel).strip()
            check_by_doctor(build / "bin/flashfit", Path(folder, named))
        except WheelError as refused:
            print(f"dev: wheel: {refused}", file=sys.stderr)
            return 1
        for former in output.glob(f"{named.split('-py3-')[0]}-*.whl"):
            former.unlink()
        made = Path(folder, named).rename(output / named)
    print(f"{os.path.relpath(made)}  {made.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(Path(a).resolve() for a in sys.argv[1:])))
