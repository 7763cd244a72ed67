"""The revision that a build names: git's, the same in the command and beside the library."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Checkout:
    """A repository of one file, and the script of cmake/revision.cmake on it."""

    def __init__(self, folder: Path) -> None:
        self.source, self.written, self.output = folder / "source", folder / "revision", folder / "revision.cpp"
        self.source.mkdir()
        (folder / "template").write_text('"@FLASHFIT_REVISION@"')
        (self.source / "file").write_text("one\n")
        self.git("init", "-q")
        self.commit()

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=")
        command = ["git", "-C", str(self.source), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self) -> None:
        self.git("add", ".")
        self.git("commit", "-q", "-m", "a")

    def run(self) -> tuple[str, str]:
        """What stands in the source file and beside the library."""
        files = {"SOURCE": self.source, "TEMPLATE": self.source.parent / "template"}
        files |= {"OUTPUT": self.output, "FILE": self.written}
        defined = [f"-D{name}={path}" for name, path in files.items()]
        command = ["cmake", *defined, "-P", str(ROOT / "cmake/revision.cmake")]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        assert (ran.stdout, ran.stderr) == ("", ""), "it is heard at every build"
        return self.output.read_text().strip('"\n'), self.written.read_text().rstrip("\n")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_is_the_commit_whatever_its_tags(checkout: Checkout) -> None:
    checkout.git("tag", "v1", "-m", "one")
    head = checkout.git("rev-parse", "HEAD")
    assert checkout.run() == (head, head)


def test_says_that_files_were_changed(checkout: Checkout) -> None:
    (checkout.source / "file").write_text("two\n")
    head = checkout.git("rev-parse", "HEAD")
    assert checkout.run() == (f"{head}-dirty", f"{head}-dirty")


def test_follows_each_commit_and_is_written_then_alone(checkout: Checkout) -> None:
    first = checkout.run()
    times = [file.stat().st_mtime_ns for file in (checkout.output, checkout.written)]
    assert checkout.run() == first
    assert [file.stat().st_mtime_ns for file in (checkout.output, checkout.written)] == times
    (checkout.source / "file").write_text("two\n")
    checkout.commit()
    head = checkout.git("rev-parse", "HEAD")
    assert checkout.run() == (head, head) != first


def test_is_empty_outside_a_checkout(checkout: Checkout) -> None:
    (checkout.source / ".git").rename(checkout.source / "git")
    assert checkout.run() == ("", "")


def test_the_command_and_the_library_name_the_same(tmp_path: Path) -> None:
    written = (ROOT / "build/lib/revision").read_text().strip()
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", written)
    case = ["--device", "cpu", "--filter", "origin/B1 S128 H4 D64 fp16 full", "--repeats", "2"]
    command = [str(ROOT / "build/bin/flashfit"), "bench", *case, "--json", str(tmp_path / "r.json")]
    subprocess.run(command, check=True, capture_output=True)
    assert json.loads((tmp_path / "r.json").read_text())["made"]["revision"] == written


@pytest.mark.parametrize("target", ["lib/libflashfit.so", "bin/flashfit"])
def test_is_asked_anew_whichever_of_them_ninja_builds(target: str) -> None:
    """By ninja's own graph of what each needs."""
    command = ["ninja", "-C", str(ROOT / "build"), "-t", "graph", target]
    graph = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 'label="lib/revision"' in graph
