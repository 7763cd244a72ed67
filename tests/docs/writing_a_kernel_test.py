"""docs/writing-a-kernel.md: its files are those of examples/kernel, and its commands print what it says.

The build is build/, or what FLASHFIT_BUILD names.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FLASHFIT_BUILD", ROOT / "build"))
PAGE = (ROOT / "docs/writing-a-kernel.md").read_text(encoding="utf-8")
# A command goes on after a backslash.
SESSIONS = [
    re.split(r"(?<!\\)\n", block, maxsplit=1) for block in re.findall(r"```console\n\$ (.*?)```", PAGE, re.DOTALL)
]


def test_files_are_shown_as_they_are() -> None:
    for name in ("gemm.cuh", "kernels.txt"):
        text = (ROOT / "examples/kernel" / name).read_text(encoding="utf-8")
        assert re.search(rf"```(cpp)?\n{re.escape(text)}```", PAGE), name


@pytest.mark.parametrize(("command", "said"), SESSIONS, ids=[command[:40] for command, _ in SESSIONS])
def test_commands_print_what_the_page_says(command: str, said: str, tmp_path: Path) -> None:
    run = re.sub(r"^ninja -C build \S+ && ", "", command)  # what tests run on is built
    run = run.replace("build/bin/", f"{BUILD}/bin/").replace("build/image_cache", str(tmp_path / "cache"))
    run = run.replace("build/gemm.cubin", str(tmp_path / "gemm.cubin"))
    done = subprocess.run(["bash", "-c", run], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    assert done.stdout == said
    assert (done.returncode == 0) == ("example_mistake" not in run)
    if "--output" in run:
        assert (tmp_path / "gemm.cubin").read_bytes()[:4] == b"\x7fELF"


def test_every_session_was_found() -> None:
    assert len(SESSIONS) == PAGE.count("```console")
    assert {re.findall(r"build/bin/(\w+)", command)[0] for command, _ in SESSIONS} == {
        "example_gemm",
        "example_mistake",
        "flashfit_kernel_images",
    }
