"""tools/dev/glibc.sh where nothing is to be done, and where it cannot do it; ./dev wheel runs it whole."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def made(prefix: Path, python: str, machine: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["tools/dev/glibc.sh", str(prefix), python, machine], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_what_that_very_zig_made_is_kept(tmp_path: Path, machine: str) -> None:
    version = re.search(r"^ziglang==(\S+)", (ROOT / "requirements/glibc.txt").read_text(), re.MULTILINE)
    assert version
    (tmp_path / f"glibc-2.28-{machine}-by-zig-{version[1]}").touch()
    assert made(tmp_path, "false", machine).returncode == 0
    other = "aarch64" if machine == "x86_64" else "x86_64"
    assert made(tmp_path, "false", other).returncode == 1


def test_a_failed_fetch_says_what_to_do_and_leaves_nothing(tmp_path: Path) -> None:
    result = made(tmp_path / "glibc", "false", "x86_64")
    assert result.returncode == 1
    assert re.fullmatch(
        r"dev: pip could not fetch .*requirements/glibc.txt .* bring .*/glibc along .*\n", result.stderr
    )
    assert not (tmp_path / "glibc").exists()
