"""Environments of real packages: wheels of the package index, unpacked as pip does it. Nothing of them is run."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tests.doctor.fetched import Wheel

#: Newest first; a wheel for an older C library is one for all newer ones.
PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)),
    *(f"manylinux{name}_x86_64" for name in ("2014", "2010", "1")),
)


def wheels(requirements: Iterable[str], megabytes: int = 0, large: bool = False) -> list[Wheel]:
    """For CPython 3.11 on x86-64 Linux; `megabytes` that all of them download."""
    listed = [Wheel(r, PLATFORMS, large=large) for r in requirements]
    return [Wheel(listed[0].requirement, PLATFORMS, megabytes=megabytes, large=large), *listed[1:]]


def unpack(wheel: Path, site: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for data in site.glob("*.data"):
        for kind in ("purelib", "platlib"):
            for entry in sorted((data / kind).glob("*")):
                shutil.copytree(entry, site / entry.name, dirs_exist_ok=True) if entry.is_dir() else entry.replace(
                    site / entry.name
                )
        shutil.rmtree(data)


def make_environment(folder: Path, packages: Iterable[Path]) -> Path:
    """A virtual environment of Python 3.11 without an interpreter: nobody runs it."""
    site = folder / "lib/python3.11/site-packages"
    site.mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n", encoding="utf-8")
    for wheel in packages:
        unpack(wheel, site)
    return folder
