"""The emulator beside this GPU: build/bin/flashfit_agreement, which `./dev build --tests` makes (docs/emulator.md)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path
from typing import Any


def names_of(program: Path, seconds: float) -> list[str]:
    """The checks that the program knows."""
    listed = subprocess.run([str(program), "--list"], capture_output=True, text=True, timeout=seconds, check=False)
    if listed.returncode or not listed.stdout.strip():
        raise ValueError(f"flashfit_agreement --list ended with status {listed.returncode}: {listed.stderr.strip()}")
    return listed.stdout.split()


def compare_some(program: Path, revision: str, names: Sequence[str], seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="flashfit-agreement-") as folder:
        found = Path(folder, "found.json")
        only = [word for name in names for word in ("--only", name)]
        command = [str(program), "--json", str(found), "--revision", revision, *only]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        if not found.exists() or not found.stat().st_size:
            raise ValueError(f"flashfit_agreement ended with status {ran.returncode}: {ran.stderr.strip()}")
        answer = json.loads(found.read_text(encoding="utf-8"))
    if not isinstance(answer, dict):
        raise TypeError("flashfit_agreement wrote no object")
    return answer


def compare(program: Path, revision: str, seconds: float) -> dict[str, Any]:
    """What the program finds, in its order of checks. The emulator takes one core, so each core takes a share of the
    checks; they end within `seconds`. Raises what subprocess raises, and ValueError for no answer or a check without
    one."""
    names = names_of(program, seconds)
    shares = min(cpu_count() or 1, len(names))
    with ThreadPoolExecutor(shares) as pool:
        answers = list(
            pool.map(lambda share: compare_some(program, revision, names[share::shares], seconds), range(shares))
        )
    # --only takes part of a name, so that a share may run another's check, too.
    checks = {f"{check['part']}/{check['check']}": check for answer in answers for check in answer["checks"]}
    if missing := [name for name in names if name not in checks]:
        raise ValueError(f"flashfit_agreement ended without {missing[0]} and {len(missing) - 1} more checks")
    return {**answers[0], "checks": [checks[name] for name in names]}
