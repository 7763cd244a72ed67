"""tests/mutants/run.py in a small repository: what it keeps of what it judged, and when it compiles and runs again."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.mutants import run
from tools.dev import kept_verdicts

LIST = """# name, file, pattern, replacement
minus | kernel.hpp | a \\+ b | a - b
not_zero | deep.hpp | return 0 | return 1
not_one | arch/angle.hpp | return 1 | return 2
product | kernel.hpp | a \\+ b | a * b
"""
#: Beside those of the list, the sources as they are.
MUTANTS = 5
FILES = {
    "src/kernel.hpp": '#pragma once\n#include "deep.hpp"\n// Adds.\n'
    "inline int sum(int a, int b) { return a + b + zero(); }\n",
    "src/deep.hpp": "#pragma once\ninline int zero() { return 0; }\n",
    "src/arch/angle.hpp": "#pragma once\ninline int one() { return 1; }\n",
    "src/unused.hpp": "#pragma once\n",
    "tests/main.cpp": '#include <cstdio>\n#include <angle.hpp>\n#include "kernel.hpp"\nextern "C" int three();\n'
    "int main() {\n  if (sum(one(), 2) == three()) return 0;\n"
    '  std::puts("wrong sum");\n  return 1;\n}\n',
    "tests/list.txt": LIST,
    "lib/three.c": "int three(void) { return 3; }\n",
    "detector.py": "",
    "bin/version": "1.0",
    # Notes what it is called with.
    "bin/c++": '#!/bin/sh\ncase $1 in --version) cat "$0/../version"; exit ;; esac\n'
    'echo "$@" >>"$0.log"\nexec c++ "$@"\n'.replace("$0/../version", "${0%c++}version"),
}


class Repository:
    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.cache = root.parent / "cache"
        self.monkeypatch = monkeypatch
        self.options = "-O0"
        for name, text in FILES.items():
            self.write(name, text)
        (root / "bin/c++").chmod(0o755)
        self.make_library()

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def make_library(self) -> None:
        library = self.root / "lib"
        subprocess.run(["cc", "-c", "three.c"], cwd=library, check=True)
        subprocess.run(["ar", "rcs", "libthree.a", "three.o"], cwd=library, check=True)

    def judge(self, *more: str) -> tuple[int, str]:
        """Exit status and output."""
        folders = " ".join(f"-I{self.root / folder}" for folder in ("src", "src/arch"))
        given = ["--list", str(self.root / "tests/list.txt"), "--program", str(self.root / "tests/main.cpp")]
        given += ["--compiler", f"{self.root}/bin/c++ {self.options} {folders}", "--jobs", "1"]
        given += ["--libraries", f"{self.root}/lib/libthree.a -lpthread", *more]
        self.monkeypatch.setenv("FLASHFIT_CACHE", str(self.cache))
        self.monkeypatch.setattr(run, "ROOT", self.root)
        self.monkeypatch.setattr(run, "__file__", str(self.root / "detector.py"))
        self.monkeypatch.setattr("sys.argv", ["run.py", *given])
        (self.root / "bin/c++.log").unlink(missing_ok=True)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = run.main()
        return status, said.getvalue()

    @property
    def linked(self) -> list[str]:
        """The commands that made programs."""
        return [line for line in (self.root / "bin/c++.log").read_text().splitlines() if "libthree.a" in line]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Nothing is in its cache."""
    return Repository(tmp_path / "clone", monkeypatch)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds those of all mutants: they are the same for each clone."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        repository = Repository(tmp_path_factory.mktemp("judged") / "clone", monkeypatch)
        status, said = repository.judge()
    assert status == 0, said
    return repository.cache


@pytest.fixture
def known(repository: Repository, verdicts: Path) -> Repository:
    """All was judged before."""
    shutil.copytree(verdicts, repository.cache)
    return repository


def test_what_was_judged_rightly_is_not_compiled_again(repository: Repository) -> None:
    status, said = repository.judge()
    assert (status, len(repository.linked)) == (0, MUTANTS), said
    assert f"from the cache: 0 of {MUTANTS} verdicts\n" in said
    assert "found by: fp64 reference 4\n" in said
    status, again = repository.judge()
    assert (status, repository.linked) == (0, [])
    assert f"from the cache: {MUTANTS} of {MUTANTS} verdicts\n" in again
    assert "found by: fp64 reference 4\n" in again
    assert again.count(" kept  fp64 reference wrong sum\n") == 4


@pytest.mark.parametrize(
    ("name", "old", "new", "judged"),
    [
        ("src/deep.hpp", "return 0", "const int x = 0; return 0", MUTANTS),
        ("src/arch/angle.hpp", "return 1", "const int x = 0; return 1", MUTANTS),
        ("tests/main.cpp", "return 1", "return 2", MUTANTS),
        ("detector.py", "", "# changed", MUTANTS),
        ("bin/version", "1.0", "1.1", MUTANTS),
        ("lib/three.c", "return 3", "int x = 3; return x", MUTANTS),
        ("src/kernel.hpp", "// Adds.\n", "// Two and nothing\n\n// are added.\n", 0),
        ("src/unused.hpp", "once", "once\nint unused;", 0),
        ("tests/list.txt", "minus", "subtraction", 0),
        ("tests/list.txt", "a - b", "a - b + 0", 1),
    ],
)
def test_a_change_of_what_a_verdict_depends_on_has_it_judged_again(
    known: Repository, name: str, old: str, new: str, judged: int
) -> None:
    known.change(name, old, new)
    if name.startswith("lib/"):
        known.make_library()
    status, said = known.judge()
    assert (status, len(known.linked)) == (0, judged), said


@pytest.mark.parametrize("more", [["--wrapper", "env"], ["--arguments", "9"], ["--detectors", "fp64 reference"]])
def test_so_has_another_way_to_run(known: Repository, more: list[str]) -> None:
    status, said = known.judge(*more)
    assert (status, len(known.linked)) == (0, MUTANTS), said


def test_so_has_another_way_to_compile(known: Repository) -> None:
    known.options += " -fno-inline"  # which the text that is compiled does not tell
    status, said = known.judge()
    assert (status, len(known.linked)) == (0, MUTANTS), said


def test_another_clone_has_the_same_verdicts(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for clone, linked in ((repository, MUTANTS), (Repository(repository.root.parent / "other", monkeypatch), 0)):
        # The name of the file is in the text that is compiled.
        clone.change("src/kernel.hpp", "// Adds.", "inline const char* where() { return __FILE__; }")
        status, said = clone.judge()
        assert (status, len(clone.linked)) == (0, linked), said


def test_a_wrong_verdict_is_not_kept(known: Repository) -> None:
    with (known.root / "tests/list.txt").open("a") as defects:
        # A comment is none of the text: what is compiled is what passes undamaged.
        defects.write("harmless | kernel.hpp | a \\+ b | b + a\ncomment | kernel.hpp | Adds | Sums\n")
    for _ in range(2):
        status, said = known.judge()
        assert status == 1
        assert said.count("NOT CAUGHT") == 2
        assert f"{MUTANTS + 1} mutants, 2 judged wrongly" in said
        assert len(known.linked) == 2
    known.change("src/deep.hpp", "return 0", "return 1")
    for _ in range(2):
        status, said = known.judge("--only", "none")
        assert status == 1
        assert said.startswith("BROKEN     none ")
        assert len(known.linked) == 1


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"7", b"\xff", b"{}", b"another key", b"cut", b"no words"])
def test_a_damaged_entry_is_as_none(known: Repository, text: bytes) -> None:
    damaged, other, *_ = sorted((known.cache / "mutants").iterdir())
    good = damaged.read_bytes()
    texts = {
        b"another key": other.read_bytes(),
        b"cut": good[:-5],
        b"no words": b'{"key": "%s", "said": ""}' % os.fsencode(damaged.name),
    }
    damaged.write_bytes(texts.get(text, text))
    for linked in (1, 0):
        status, _ = known.judge()
        assert (status, len(known.linked)) == (0, linked)
    assert damaged.read_bytes() == good


def test_no_cache_runs_all(known: Repository) -> None:
    status, said = known.judge("--no-cache")
    assert (status, len(known.linked)) == (0, MUTANTS)
    assert f"from the cache: 0 of {MUTANTS} verdicts\n" in said


def test_past_its_time_only_what_is_kept_is_told_and_the_rest_is_counted(
    known: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASHFIT_MUTANT_SECONDS", "0")
    status, said = known.judge()
    assert (status, known.linked) == (0, []), said
    # Of those that are not kept, the sources without a defect are tried all the same.
    status, said = known.judge("--no-cache")
    assert (status, len(known.linked)) == (run.EXIT_LEFT_OUT, 1), said
    assert f"\nleft out for time: {MUTANTS - 1} of {MUTANTS - 1} defects of list\n" in said
    known.change("lib/three.c", "return 3", "return 4")
    known.make_library()
    status, said = known.judge()
    assert status == 1, "one that was tried is judged wrongly"


def test_a_cache_that_cannot_be_written_is_none(repository: Repository) -> None:
    repository.cache.write_text("a file")
    for _ in range(2):
        status, said = repository.judge("--only", "none")
        assert (status, len(repository.linked)) == (0, 1), said


def test_one_that_ran_for_too_long_is_not_kept(known: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SECONDS_A_RUN", 5)
    known.write("tests/list.txt", "hangs | deep.hpp | return 0; | for (volatile int i = 0;; i = i + 1) {}\n")
    kept = set((known.cache / "mutants").iterdir())
    status, said = known.judge()
    assert status == 0, said
    assert "time           ran for more than 5 s" in said
    assert set((known.cache / "mutants").iterdir()) == kept


def test_headers_in_brackets_are_precompiled_but_for_defects_of_theirs(repository: Repository) -> None:
    status, said = repository.judge()
    assert status == 0, said
    assert ["-include" in command for command in repository.linked] == [False, False, True, False, True]
    # One that does not compile alone is said to be so, and all are compiled as they are.
    repository.write("src/arch/angle.hpp", "#pragma once\ninline int one() { return BUFSIZ > 0 ? 1 : 0; }\n")
    repository.change("tests/list.txt", "return 1 | return 2", "1 : 0 | 2 : 0")
    status, said = repository.judge()
    assert status == 0, said
    assert "headers do not compile alone: " in said
    assert not any("-include" in command for command in repository.linked)


def test_a_defect_in_a_file_that_is_not_included_is_refused(repository: Repository) -> None:
    repository.write("tests/list.txt", "unread | unused.hpp | once | twice\n")
    with pytest.raises(SystemExit, match=r"unread: main\.cpp does not include unused\.hpp"):
        repository.judge()


def test_old_verdicts_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_verdicts.KeptVerdicts(tmp_path)
    keys = [f"{i:064x}" for i in range(5)]
    for age, key in enumerate(keys):
        kept.keep(key, {"said": key})
        os.utime(tmp_path / key, (time.time() - 3600 * age,) * 2)
    assert sorted(file.name for file in tmp_path.iterdir()) == keys, "nothing is left aside"
    kept.drop_old()
    assert len(list(tmp_path.iterdir())) == 5
    # Used just now, after all.
    assert kept.find(keys[4]) == {"said": keys[4]}
    aside, foreign = tmp_path / f"{keys[0]}.77", tmp_path / "notes.txt"
    for name in (tmp_path / keys[0], aside, foreign):
        name.touch()
        os.utime(name, (time.time() - kept_verdicts.MOST_SECONDS_UNUSED - 60,) * 2)
    kept.drop_old()
    assert {file.name for file in tmp_path.iterdir()} == {*keys[1:], foreign.name}
    monkeypatch.setattr(kept_verdicts, "MOST_FILES", 2)
    kept.drop_old()
    assert {file.name for file in tmp_path.iterdir()} == {keys[1], keys[4], foreign.name}
    shutil.rmtree(tmp_path)
    kept.drop_old()


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"FLASHFIT_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"FLASHFIT_CACHE": "", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/flashfit"),
        ({"HOME": "/c"}, "/c/.cache/flashfit"),
        ({}, f"{kept_verdicts.ROOT}/build/.cache/flashfit"),
    ],
)
def test_the_cache_lies_where_the_command_dev_has_it(
    environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FLASHFIT_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(kept_verdicts.cache_folder()) == folder
    (line,) = [line for line in (kept_verdicts.ROOT / "dev").read_text().splitlines() if line.startswith("cache() { ")]
    said = subprocess.run(
        ["bash", "-c", f"{line}; cache"],
        cwd=kept_verdicts.ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == f"{folder}\n"
