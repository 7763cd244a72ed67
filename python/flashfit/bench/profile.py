"""What Nsight Compute counts of a case, through the command `flashfit`, which does it for itself."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .._command import command
from .._errors import FlashfitError, InvalidArgument
from .cases import AnyCase, Case


def counted(case: Case) -> dict[str, Any]:
    """`profile` of docs/results.md. Raises FlashfitError where nothing can be counted here."""
    with tempfile.TemporaryDirectory(prefix="flashfit-profile-") as folder:
        file = Path(folder, "result.json")
        words = ["--case", case.name, "--warmup", "0", "--repeats", "1", "--seconds", "1", "--json", str(file)]
        argv = [str(command()), "bench", "--device", "gpu", "--profile", *words]
        ran = subprocess.run(argv, capture_output=True, text=True, check=False)
        if not file.exists():
            raise FlashfitError(ran.stderr.strip().removeprefix("flashfit: ") or f"status {ran.returncode}")
        cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    entry = cases[0] if cases else {}
    found: dict[str, Any] = entry.get("profile") or {"message": entry.get("message", "nothing was measured")}
    return found


class Profiler:
    """Counts the first case when it is made: where that is not possible nobody waits minutes to hear it."""

    def __init__(self, device: str, first: AnyCase) -> None:
        if device == "cpu":
            raise InvalidArgument("profile: counts what a GPU does; accepted with --device cuda")
        if not isinstance(first, Case):
            raise InvalidArgument("profile: counts cases of flashfit bench --list; accepted with those")
        self._known = {first.name: counted(first)}

    def __call__(self, case: Case) -> dict[str, Any]:
        if case.name not in self._known:
            try:
                self._known[case.name] = counted(case)
            except FlashfitError as error:
                return {"message": str(error)}
        return self._known[case.name]
