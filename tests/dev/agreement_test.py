"""What `./dev gpu` takes from build/bin/flashfit_agreement, played by a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gpu import agreement


def program(folder: Path, body: str) -> Path:
    script = folder / "flashfit_agreement"
    script.write_text(f"#!/bin/sh\n# $2 is the file\n{body}\n")
    script.chmod(0o755)
    return script


def test_the_answer_is_what_was_written(tmp_path: Path) -> None:
    script = program(tmp_path, """printf '{"revision": "%s", "checks": [{"passed": false}]}' "$4" >"$2"; exit 1""")
    assert agreement.compare(script, "abc", 10) == {"revision": "abc", "checks": [{"passed": False}]}


def test_no_answer_is_an_error_in_the_programs_own_words(tmp_path: Path) -> None:
    script = program(tmp_path, "echo 'flashfit_agreement: no NVIDIA driver' >&2; exit 2")
    with pytest.raises(ValueError, match="status 2: flashfit_agreement: no NVIDIA driver"):
        agreement.compare(script, "abc", 10)
