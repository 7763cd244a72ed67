"""A build with -DFLASHFIT_DOCTOR=OFF: it needs none of the doctor's libraries, and the two verbs say why they fail.

Such a build is configured and its commands are read; compiling it takes minutes. The command that is run was linked
from the ordinary build's objects (tests/cli/CMakeLists.txt).
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FLASHFIT_LIBRARY", ROOT / "build/lib/libflashfit.so")).resolve().parents[1]
COMMAND = BUILD / "tests/flashfit_without_doctor"
#: What the doctor alone needs, as it stands in commands; toml++ has headers alone.
LIBRARIES = re.compile(r"isal|isa-l|libre2|liblz4|libmd\b|tomlplusplus|toml\+\+|src/(cli/)?doctor/")


def commands_of(folder: Path, doctor: str) -> str:
    """Every command that a build of library, package and command would run."""
    options = ["-G", "Ninja", f"-DFLASHFIT_DOCTOR={doctor}", "-DFLASHFIT_TESTS=OFF", "-DFLASHFIT_TARGETS=none"]
    if isal := re.search(r"^FLASHFIT_ISAL:PATH=(.+)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE):
        options.append(f"-DFLASHFIT_ISAL={isal[1]}")
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, *options], check=True, capture_output=True)
    done = subprocess.run(["ninja", "-C", folder, "-t", "commands"], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize(("doctor", "needs"), [("OFF", False), ("ON", True)])
def test_only_the_doctor_needs_its_libraries(tmp_path: Path, doctor: str, needs: bool) -> None:
    commands = commands_of(tmp_path, doctor)
    assert "libflashfit.so" in commands
    found = sorted({match[0] for match in LIBRARIES.finditer(commands.replace(f"{ROOT}/src/", "src/"))})
    assert bool(found) == needs, found


@pytest.mark.parametrize("verb", ["doctor", "choose"])
def test_the_verbs_say_that_they_are_not_in_this_build(verb: str) -> None:
    for arguments in ([], ["a.whl", "--gpu", "L4"]):
        ran = subprocess.run([COMMAND, verb, *arguments], check=False, capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (3, "")
        assert ran.stderr == f"flashfit: {verb}: not in this build, which was made with FLASHFIT_DOCTOR=OFF\n"


def test_the_other_verbs_work() -> None:
    ran = subprocess.run([COMMAND, "explain", "--gpu", "sm_89"], check=False, capture_output=True, text=True)
    assert ran.stdout.startswith("problem ")
    assert ran.stderr == ""
