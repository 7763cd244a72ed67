"""Verdicts of earlier runs, each in a file by a key of all that it depends on, shared by the clones on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MOST_FILES = 20_000
MOST_SECONDS_UNUSED = 60 * 24 * 3600


def cache_folder() -> Path:
    """The one that the command `dev` gives to builds."""
    above = os.environ.get("XDG_CACHE_HOME") or f"{os.environ.get('HOME') or ROOT / 'build'}/.cache"
    return Path(os.environ.get("FLASHFIT_CACHE") or f"{above}/flashfit")


class KeptVerdicts:
    """A folder of them. One that cannot be read is as none, one that cannot be written is not kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, key: str) -> dict[str, Any] | None:
        file = self.folder / key
        try:
            verdict = json.loads(file.read_bytes())
            if verdict.pop("key") != key:
                return None
            os.utime(file)  # used just now
        except (OSError, ValueError, AttributeError, KeyError, TypeError):
            return None
        return dict(verdict)

    def keep(self, key: str, verdict: Mapping[str, Any]) -> None:
        # Written aside and renamed: another process sees all of it or nothing.
        aside = self.folder / f"{key}.{os.getpid()}"
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            aside.write_text(json.dumps({"key": key, **verdict}), encoding="utf-8")
            aside.replace(self.folder / key)

    def drop_old(self) -> None:
        """Those not used for long, and those not used for longest where there are too many."""
        # Files of this class alone; some were left aside by a process that was stopped.
        ours = re.compile(r"[0-9a-f]{64}(\.\d+)?")
        try:
            files = [(f.stat().st_mtime, f.path) for f in os.scandir(self.folder) if ours.fullmatch(f.name)]
        except OSError:  # another process drops them, too
            return
        used = sorted(files, reverse=True)
        oldest = time.time() - MOST_SECONDS_UNUSED
        for number, (when, path) in enumerate(used):
            if number >= MOST_FILES or when < oldest:
                with contextlib.suppress(OSError):
                    os.unlink(path)
