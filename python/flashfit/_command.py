"""Where the command `flashfit` is: it comes with the package, whose record names it."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
from pathlib import Path

from ._errors import FlashfitError

_NAME = "flashfit"


def _recorded() -> list[Path]:
    """The command as installers recorded it, wherever they put scripts."""
    try:
        files = importlib.metadata.files("flashfit") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [Path(str(f.locate())) for f in files if f.name == _NAME and f.parent.name in ("bin", "Scripts")]


def _is_program(path: Path) -> bool:
    """A program, or a shell's script that starts one. A script that runs Python would lead back here, as installers
    write them, also by a shell where the path of Python is long."""
    with path.open("rb") as file:
        first, second = file.readline(256), file.readline(256)
    if first.startswith(b"#!"):
        return b"python" not in first and not second.startswith(b"'''exec'")
    return first.startswith(b"\x7fELF")


def command() -> Path:
    """FLASHFIT_COMMAND, where set, is the only candidate."""
    override = os.environ.get("FLASHFIT_COMMAND")
    here = Path(__file__).resolve()
    beside = here.parents[1] / "bin" / _NAME  # as pip install --target leaves it, though its record says otherwise
    in_tree = here.parents[2] / "build" / "bin" / _NAME
    scripts = Path(sysconfig.get_path("scripts"), _NAME)
    tried = [Path(override)] if override else [*_recorded(), scripts, beside, in_tree]
    for path in tried:
        if path.is_file() and _is_program(path):
            return path
    raise FlashfitError(
        f"the command flashfit is not at {' nor '.join(map(str, tried))}; "
        "build it (./dev build) or set FLASHFIT_COMMAND to its path"
    )


def this_python() -> str:
    """This interpreter as --python takes it: "3.11.4", "3.13.1t", "pypy310_pp73"."""
    if sys.implementation.name == "pypy":
        return str(sysconfig.get_config_var("SOABI")).replace("-", "_").split("_x86")[0]
    version = ".".join(map(str, sys.version_info[:3]))
    return version + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else "")
