"""The command `flashfit` for the doctor's tests: in bounded memory, without a cache, on wheels made for the purpose.

It is build/bin/flashfit, or what FLASHFIT_COMMAND names; the maker lies in that build's tests/doctor_make.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMAND = Path(os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit")))
# Kilobytes and a command: its address space is bounded. By the shell, as a preexec_fn makes Python fork, which JAX
# warns of in a process that another test brought it into.
WITHIN = ("/bin/sh", "-c", 'ulimit -v "$0" && exec "$@"')
MAKER = COMMAND.parents[1] / "tests/doctor_make"
PLACE = ["--python", "3.11", "--platform", "linux_x86_64", "--glibc", "2.36"]
L40 = ["--gpu", "L40", *PLACE]
# Of the origin cases.
OLD_ABI_310 = "flash_attn-2.8.3+cu12torch2.7cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"
OLD_TORCH_310 = "flash_attn-2.8.3+cu124torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"
OLD_ABI = "flash_attn-2.8.3+cu12torch2.7cxx11abiFALSE-cp311-cp311-linux_x86_64.whl"
NEW_ABI = "flash_attn-2.8.3+cu12torch2.7cxx11abiTRUE-cp311-cp311-linux_x86_64.whl"
NEW_TORCH = "torch-2.7.1+cu126-cp311-cp311-manylinux_2_28_x86_64.whl"
APEX = "apex-0.1-cp311-cp311-linux_x86_64.whl"


def make(folder: Path) -> Path:
    """The wheels and libraries of tests/doctor/made/make.cpp."""
    subprocess.run([MAKER, folder], check=True)
    return folder


def run(
    *words: str | Path,
    text: str | None = None,
    cwd: Path | None = None,
    megabytes: int = 512,
    env: dict[str, str] | None = None,
) -> Any:
    """The finished command; `text` is its standard input, `env` is added to the environment."""
    return subprocess.run(
        [*WITHIN, str(megabytes << 10), COMMAND, *words],
        input=text,
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=120,
        env={**os.environ, "XDG_CACHE_HOME": "/dev/null/no-folder", **(env or {})},
    )


def doctor(*words: str | Path, cwd: Path | None = None) -> tuple[int, list[str]]:
    """The status and the lines of `flashfit doctor`."""
    ran = run("doctor", *words, cwd=cwd)
    assert ran.stderr == ""
    return ran.returncode, ran.stdout.splitlines()


def judged(*words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> tuple[int, Any]:
    """The status and the JSON."""
    ran = run("doctor", *words, "--json", cwd=cwd, env=env)
    assert ran.stderr == ""
    return ran.returncode, json.loads(ran.stdout)


def problems(target: Any) -> list[tuple[int, str, str, str]]:
    """Line, code, severity and message of each problem of a target, notes left out."""
    return [
        (p.get("line", 0), p["code"], p["severity"], p["message"])
        for p in target["problems"]
        if p["severity"] != "note"
    ]
