"""`flashfit doctor` for the tests of lists, policies and images: in bounded memory and without a cache."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.doctor_test import WITHIN

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit")))
MAKER = COMMAND.parents[1] / "tests/inspect_make"
PLACE = ["--python", "3.11", "--platform", "linux_x86_64", "--glibc", "2.36"]
L40 = ["--gpu", "L40", *PLACE]


def run(*words: str | Path, cwd: Path | None = None, megabytes: int = 512, env: dict[str, str] | None = None) -> Any:
    return subprocess.run(
        [*WITHIN, str(megabytes << 10), COMMAND, "doctor", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=120,
        env={**os.environ, "XDG_CACHE_HOME": "/dev/null/no-folder", **(env or {})},
    )


def doctor(*words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> tuple[int, list[str]]:
    """The status and the lines of the text."""
    ran = run(*words, cwd=cwd, env=env)
    assert ran.stderr == ""
    return ran.returncode, ran.stdout.splitlines()


def judged(*words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> tuple[int, Any]:
    """The status and the JSON."""
    ran = run(*words, "--json", cwd=cwd, env=env)
    assert ran.stderr == ""
    return ran.returncode, json.loads(ran.stdout)


def problems(target: Any) -> list[tuple[int, str, str, str]]:
    """Line, code, severity and message of each problem of a target, notes left out."""
    return [
        (p.get("line", 0), p["code"], p["severity"], p["message"])
        for p in target["problems"]
        if p["severity"] != "note"
    ]


def make(folder: Path) -> Path:
    """The wheels and libraries of tests/inspect/make.cpp."""
    subprocess.run([MAKER, folder], check=True)
    return folder
