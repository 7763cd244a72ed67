"""The emulator beside this GPU: build/bin/flashfit_agreement, which `./dev build --tests` makes (docs/emulator.md)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any


def compare(program: Path, revision: str, seconds: float) -> dict[str, Any]:
    """What the program finds; it ends within `seconds`. Raises what subprocess raises, and ValueError for no answer."""
    with tempfile.TemporaryDirectory(prefix="flashfit-agreement-") as folder:
        found = Path(folder, "found.json")
        command = [str(program), "--json", str(found), "--revision", revision]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        if not found.exists() or not found.stat().st_size:
            raise ValueError(f"flashfit_agreement ended with status {ran.returncode}: {ran.stderr.strip()}")
        answer = json.loads(found.read_text(encoding="utf-8"))
    if not isinstance(answer, dict):
        raise TypeError("flashfit_agreement wrote no object")
    return answer
