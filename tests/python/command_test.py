"""Which file `python -m flashfit` and flashfit.doctor() start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import flashfit
import pytest
from flashfit._command import command

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("head", "starts"),
    [
        (b"\x7fELF\x02\x01", True),
        (b'#!/bin/sh\nexec qemu-aarch64-static /opt/flashfit/bin/flashfit "$@"\n', True),
        (b"#!/usr/bin/env bash\n", True),
        (b"#!/usr/bin/python3\nimport flashfit.__main__\n", False),
        (b'#!/bin/sh\n\'\'\'exec\' "/a long path/bin/python" "$0" "$@"\n', False),
        (b"flashfit", False),
        (b"", False),
    ],
)
def test_what_flashfit_command_may_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, head: bytes, starts: bool
) -> None:
    """A script that runs Python would start itself for ever."""
    file = tmp_path / "flashfit"
    file.write_bytes(head)
    monkeypatch.setenv("FLASHFIT_COMMAND", str(file))
    if starts:
        assert command() == file
        return
    with pytest.raises(flashfit.FlashfitError, match=r"^the command flashfit is not at .*/flashfit; build it"):
        command()


def test_a_command_that_cannot_be_started_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "flashfit"
    file.write_bytes(b"\x7fELF for another processor")
    file.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "FLASHFIT_COMMAND": str(file)}
    command_line = [sys.executable, "-m", "flashfit", "--version"]
    ran = subprocess.run(command_line, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (3, f"flashfit: {file} cannot be started: Exec format error\n")


def test_the_command_of_a_package_that_was_put_into_a_folder(tmp_path: Path) -> None:
    """pip install --target DIR puts scripts into DIR/bin, and leaves a record that says otherwise."""
    copied = tmp_path / "site"
    shutil.copytree(ROOT / "python" / "flashfit", copied / "flashfit", ignore=shutil.ignore_patterns("__pycache__"))
    (copied / "bin").mkdir()
    program = copied / "bin" / "flashfit"
    program.write_text('#!/bin/sh\necho "it runs $*"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(copied)}
    environment.pop("FLASHFIT_COMMAND", None)
    command_line = [sys.executable, "-S", "-m", "flashfit", "plan"]
    ran = subprocess.run(command_line, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.stdout == "it runs plan\n", ran.stderr
