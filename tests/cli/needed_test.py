"""The command runs where it is carried to: it needs nothing that glibc does not bring."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit")))
OF_GLIBC = re.compile(r"(libc|libm|libpthread|libdl|librt|ld-linux-[a-z0-9_-]+)\.so\.\d+")


def test_the_command_needs_glibc_alone() -> None:
    dynamic = subprocess.run(["readelf", "-d", COMMAND], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert "libc.so.6" in needed
    assert [name for name in needed if not OF_GLIBC.fullmatch(name)] == []
    assert "RUNPATH" not in dynamic
    assert "RPATH" not in dynamic
