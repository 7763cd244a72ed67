"""Which file `python -m flashfit` and flashfit.doctor() start."""

from __future__ import annotations

from pathlib import Path

import flashfit
import pytest
from flashfit._command import command


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
