"""Where the tests of loading find what they run; FLASHFIT_BUILD names another build than build/."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FLASHFIT_BUILD", ROOT / "build")).resolve()
LIBRARY = Path(os.environ.get("FLASHFIT_LIBRARY", BUILD / "lib" / "libflashfit.so")).resolve()
PROGRAM = BUILD / "tests" / "odd_process"
FAKES = BUILD / "tests" / "fake_cuda"


def driver(kind: str, **settings: str) -> dict[str, str]:
    """The environment of a process whose libcuda.so.1 is the fake of this kind, with two GPUs whatever is carried."""
    return {"LD_LIBRARY_PATH": str(FAKES / kind), "FAKE_CUDA_KEEP": "16", **settings}


def run(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs with no driver found but the one that `environment` names; a call that hangs fails."""
    kept = {
        name: value for name, value in os.environ.items() if name not in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
    }
    return subprocess.run(
        command, env={**kept, **environment}, capture_output=True, text=True, check=False, timeout=300
    )


def odd_process(mode: str, *arguments: str, **environment: str) -> str:
    """What odd_process prints; its exit must be clean."""
    if not PROGRAM.exists():
        raise FileNotFoundError(f"{PROGRAM} is missing: ./dev build --tests makes it")
    done = run([str(PROGRAM), str(LIBRARY), mode, *arguments], environment)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def python(code: str, interpreter: str = sys.executable, **environment: str) -> str:
    """What a Python process prints that imports flashfit from this tree; its exit must be clean."""
    paths = {"PYTHONPATH": str(ROOT / "python"), "FLASHFIT_LIBRARY": str(LIBRARY)}
    done = run([interpreter, "-c", code], {**paths, **environment})
    assert done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout.strip()
