"""A user's way with the machine's own compiler, loader and Python.

An import fails, its text is pasted, the command that is printed is run, and the import works.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.doctor_command import COMMAND

COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux" or sysconfig.get_config_var("EXT_SUFFIX") is None,
    reason="no C compiler here",
)
# As PyTorch does it: the module opens what it was linked with.
IMPORT = "import ctypes, glob, os\nctypes.CDLL(glob.glob(os.path.dirname(__file__) + '/_C.*')[0])\n"


@dataclass
class Library:
    """A library whose one function has a version, which a wrong copy lacks."""

    soname: str
    symbol: str
    version: str
    old_symbol: str
    old_version: str
    says: str
    code: str


NVJITLINK = Library(
    "libnvJitLink.so.12",
    "__nvJitLinkComplete_12_4",
    "libnvJitLink.so.12",
    "__nvJitLinkComplete_12_1",
    "libnvJitLink.so.12",
    "undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
    "FF604",
)
LIBSTDCXX = Library(
    "libstdc++.so.6", "grown", "GLIBCXX_3.4.99", "old", "GLIBCXX_3.4.29", "version `GLIBCXX_3.4.99' not found", "FF603"
)


def compile_library(path: Path, source: str, *options: str | Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert COMPILER is not None
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-nostdlib", "-x", "c", "-", "-x", "none", "-o", path, *options],
        input=source,
        text=True,
        check=True,
    )


def compile_versioned(path: Path, soname: str, symbol: str, version: str) -> None:
    script = path.parent / "versions"
    path.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f"{version} {{ global: {symbol}; }};\n")
    compile_library(path, f"void {symbol}(void) {{}}\n", f"-Wl,-soname,{soname}", f"-Wl,--version-script,{script}")


@pytest.fixture(params=[NVJITLINK, LIBSTDCXX], ids=["nvjitlink", "libstdcxx"])
def case(request: Any) -> Library:
    found: Library = request.param
    return found


@pytest.fixture
def venv(tmp_path: Path, case: Library) -> Path:
    """torch's module needs libneeds.so, that needs the library, and its own RUNPATH leads to the copy that fits."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    site = tmp_path / f"venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    own, needs = site / "nvidia/own/lib" / case.soname, site / "nvidia/needs/lib/libneeds.so"
    compile_versioned(own, case.soname, case.symbol, case.version)
    compile_library(
        needs,
        f"void {case.symbol}(void);\nvoid needs(void) {{ {case.symbol}(); }}\n",
        own,
        "-Wl,-soname,libneeds.so",
        "-Wl,-rpath,$ORIGIN/../../own/lib",
        "-Wl,--enable-new-dtags",
    )
    module = site / f"torch/_C{sysconfig.get_config_var('EXT_SUFFIX')}"
    compile_library(
        module,
        "void needs(void);\nvoid init(void) { needs(); }\n",
        needs,
        "-Wl,-rpath,$ORIGIN/../nvidia/needs/lib",
        f"-Wl,-rpath-link,{own.parent}",
    )
    (site / "torch/__init__.py").write_text(IMPORT)
    info = site / "torch-2.5.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1\n")
    (info / "RECORD").write_text(f"torch/__init__.py,,\ntorch/{module.name},,\n")
    compile_versioned(tmp_path / "toolkit" / case.soname, case.soname, case.old_symbol, case.old_version)
    return tmp_path / "venv"


def shell(commands: str, venv: Path, **more: str) -> Any:
    own = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "CONDA_"))}
    env = {**own, "VIRTUAL_ENV": str(venv), "PATH": f"{venv}/bin:{own['PATH']}", **more}
    return subprocess.run(["/bin/sh", "-c", commands], capture_output=True, text=True, env=env, check=False)


def test_paste_read_run_the_command(venv: Path, case: Library) -> None:
    toolkit = str(venv.parent / "toolkit")
    failed = shell("python3 -c 'import torch'", venv, LD_LIBRARY_PATH=toolkit)
    assert failed.returncode == 1
    assert case.says in failed.stderr, failed.stderr
    (venv.parent / "error.txt").write_text(failed.stderr)
    answer = shell(f"{COMMAND} doctor --no-cache --error {venv.parent}/error.txt", venv, LD_LIBRARY_PATH=toolkit)
    assert (answer.returncode, answer.stderr) == (1, "")
    lines = answer.stdout.splitlines()
    (culprit,) = [x for x in lines if x.startswith("culprit: ")]
    assert culprit.startswith("culprit: torch==2.5.1: nvidia/needs/lib/libneeds.so: " + case.code)
    assert f"{toolkit}/{case.soname} (found by LD_LIBRARY_PATH) lacks" in culprit
    (command,) = [x.removeprefix("try: ") for x in lines if x.startswith("try: ")]
    mended = shell(f"{command} && python3 -c 'import torch'", venv, LD_LIBRARY_PATH=toolkit)
    assert (mended.returncode, mended.stderr) == (0, "")
    fits = shell(f"{command}; {COMMAND} doctor --no-cache --env {venv}", venv, LD_LIBRARY_PATH=toolkit)
    assert fits.returncode == 0, fits.stdout
