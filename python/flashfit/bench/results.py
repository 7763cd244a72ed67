"""A result file while it is made: valid at any moment, replaced as a whole."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .. import __version__
from .._errors import FlashfitError
from .machine import revision, without_folders

SCHEMA = 1
_NUMBERS = re.compile(r"\[\s+([-+.\de,\s]+?)\s+\]")  # a list of numbers alone: one line, not hundreds


class ResultFile:
    """One run (docs/results.md). Written after each case, so that whatever ends it leaves what had been measured."""

    def __init__(
        self,
        path: Path | None,
        command: str,
        machine: dict[str, Any],
        versions: dict[str, str],
        schema: int | str = SCHEMA,
    ) -> None:
        self.path = path
        self._start = time.monotonic()
        self.cases: list[dict[str, Any]] = []
        self.content: dict[str, Any] = {
            "schema": schema,
            "made": {
                "at": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "command": without_folders(command),
                "flashfit": __version__,
                "revision": revision(),
                "seconds": 0.0,
                "complete": False,
            },
            "machine": machine,
            "versions": versions,
            "method": {},
            "ceilings": None,
            "cases": self.cases,
        }

    def write(self, complete: bool = False) -> None:
        """The file as it is now, as a whole. What stands in the way is a FlashfitError of one line."""
        made = self.content["made"]
        made.update(seconds=round(time.monotonic() - self._start, 1), complete=complete)
        if self.path is None:
            return
        text = json.dumps(self.content, indent=1, allow_nan=False) + "\n"
        text = _NUMBERS.sub(lambda numbers: "[" + " ".join(numbers[1].split()) + "]", text)
        target = self.path.resolve()  # a link stays one
        try:
            if target.exists() and not target.is_file():  # a pipe or a device is written to, not replaced
                target.write_text(text, encoding="utf-8")
            else:
                replace(target, text)
        except OSError as error:
            raise FlashfitError(f"{self.path}: {error.strerror}") from error


def replace(target: Path, text: str) -> None:
    """Readers see the old file or the new one, never a part; what fails leaves the old one alone."""
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False, encoding="utf-8", suffix=".part") as file:
        try:
            file.write(text)
            file.flush()
            os.chmod(file.name, 0o644)
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise
