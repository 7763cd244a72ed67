"""docker/Dockerfile: what it copies is there, its commit is the one that docs/seedvr.md says was tried, its packages
are pinned, and the doctor has no objection to it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from flashfit._command import command
from flashfit._errors import FlashfitError

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "docker/Dockerfile"
REQUIREMENTS = ROOT / "docker/requirements.txt"
TEXT = DOCKERFILE.read_text(encoding="utf-8")


def test_what_is_copied_is_there() -> None:
    sources = re.findall(r"^COPY (\S+) /", TEXT, re.MULTILINE)
    assert len(sources) == 3
    assert [source for source in sources if not source.startswith("dist/") and not (ROOT / source).is_file()] == []
    entry = re.search(r'"(/opt/\w+\.py)"\]$', TEXT, re.MULTILINE)
    assert entry
    assert f" {entry.group(1)}\n" in TEXT


def test_the_commit_is_the_one_that_was_tried() -> None:
    (commit,) = re.findall(r"SeedVR\.git#([0-9a-f]{40}) ", TEXT)
    assert f"ByteDance-Seed/SeedVR {commit[:7]} " in (ROOT / "docs/seedvr.md").read_text(encoding="utf-8")


def test_packages_are_pinned_and_neither_of_the_two_is_among_them() -> None:
    lines = [line for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(lines) > 5
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert not {"flash-attn", "flash_attn", "apex"} & {line.split("==")[0] for line in lines}


def test_the_doctor_has_no_objection() -> None:
    try:
        doctor = str(command())
    except FlashfitError as error:
        pytest.skip(str(error))
    asked = ["--gpu", "L40", "--driver", "570", "--python", "3.11", "--platform", "linux_x86_64"]
    words = [doctor, "doctor", str(DOCKERFILE), str(REQUIREMENTS), *asked]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
