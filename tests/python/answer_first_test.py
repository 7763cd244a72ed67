"""Plain calls of flashfit.attention are answered before Python runs it, from CPython 3.12 on: with each such Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from flashfit._library import library

from tools.dev.matrix import pythons

MODULE = Path(__file__).resolve().parents[2] / "build/lib/_flashfit_native.abi3.so"
NEW = {
    version: python
    for version, python in pythons().items()
    if not version.endswith("t") and tuple(map(int, version.split("."))) >= (3, 12)
}


def test_a_call_is_answered_first() -> None:
    """The function stays what it was for all that looks at it, and Python runs it for all other calls."""
    if not NEW:
        pytest.skip("no CPython here is 3.12 or newer")
    script = Path(__file__).with_name("answered_first.py")
    for version, python in NEW.items():
        command = [python, script, library().path, MODULE]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (ran.stdout, ran.returncode) == ("answered first\n", 0), (version, ran.stderr[-2000:])
