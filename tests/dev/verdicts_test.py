"""Which tests ./dev test --changed runs, in a small repository with a build folder of its own."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tools.dev import reach, verdicts

ROOT = Path(__file__).resolve().parents[2]
PYTHON_TEST = "tests/plan/cases_test.py"


class Repository:
    """C++ tests: `plain`, `golden` (data by a definition), `script` (Python), `mutants` (Python that compiles), and
    `walks` (is given everything).
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.build = root / "build"
        self.write("tests/conftest.py", "")
        self.write(PYTHON_TEST, "from tests import shared\nimport flashfit\nDOC = ROOT / 'docs/cases.md'\n")
        self.write("tests/plan/other_test.py", "")
        self.write("tests/shared.py", "from tools import lister\nNAME = 'maker.py'\n")
        self.write("tools/lister.py", "import inner\n")
        self.write("tools/inner.py", "")
        self.write("tools/maker.py", "PATTERN = f'examples/kind_{n}.txt'\n")
        self.write("tools/unused.py", "")
        for name in ("docs/cases.md", "docs/other.md", "examples/kind_1.txt", "src/plan.cpp", "tests/plan/data.txt"):
            self.write(name, "")
        self.write("python/flashfit/__init__.py", "")
        self.write("build/lib/libflashfit.so", "")
        self.write("build/bin/flashfit", "")
        self.write("tests/abi/exports.py", "PARTS = ('src', 'tests/emu')\n")
        self.write("tests/mutants/run.py", "from tools import judge\n")
        self.write("tests/mutants/list.txt", "")
        self.write("tools/judge.py", "")
        self.write("build/lib/libemu.a", "")
        self.write("tests/emu/kernel.cpp", '#include <tile.hpp>\n#include "mma.hpp"\n')
        self.write("tests/emu/mma.hpp", "")
        self.write("src/tile/tile.hpp", '#include "copy.hpp"\n')
        self.write("src/copy.hpp", "#include <vector>\n")
        self.write("tests/plan/golden/one.txt", "")
        for program in ("plain", "golden", "walks"):
            self.write(f"build/tests/{program}", "")
        golden = f'c++ -DGOLDEN=\\"{root}/tests/plan/golden\\" -o tests/CMakeFiles/golden.dir/a.o -c a.cpp'
        self.write("build/compile_commands.json", json.dumps([{"command": golden, "file": "a.cpp"}]))
        tests = {
            "plain": [f"{root}/build/tests/plain"],
            "golden": [f"{root}/build/tests/golden"],
            "script": ["/usr/bin/env", f"{root}/tests/abi/exports.py"],
            "mutants": [
                *("/usr/bin/env", f"{root}/tests/mutants/run.py", f"{root}/tests/mutants/list.txt"),
                *(
                    f"{root}/tests/emu/kernel.cpp",
                    f'"c++ -I{root}/src -I{root}/src/tile"',
                    f"{root}/build/lib/libemu.a",
                ),
            ],
            "walks": [f"{root}/build/tests/walks", str(root)],
        }
        lines = [f"add_test({name} {' '.join(command)})" for name, command in tests.items()]
        lines.append(f"set_tests_properties(plain PROPERTIES ENVIRONMENT LD_LIBRARY_PATH={root}/build/fakes)")
        self.write("build/fakes/libcuda.so.1", "")
        self.write("build/CTestTestfile.cmake", "\n".join(lines))

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def tests(self) -> list[verdicts.Test]:
        for cached in (
            *(reach.digest_of, reach.digest_of_program, reach.digest_below, reach.common, reach.led_to),
            reach.scripts_by_name,
        ):
            cached.cache_clear()
        build = verdicts.Build(self.build)
        return [*build.tests(), *verdicts.python_tests(build)]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for module in (reach, verdicts):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    return Repository(tmp_path)


ALL = {"plain", "golden", "script", "mutants", "walks", PYTHON_TEST, "tests/plan/other_test.py"}


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        ("build/tests/plain", {"plain"}),
        ("build/fakes/libcuda.so.1", {"plain"}),
        ("build/tests/golden", {"golden"}),
        ("tests/plan/golden/one.txt", {"golden", PYTHON_TEST, "tests/plan/other_test.py", "script"}),
        ("src/plan.cpp", {"script"}),
        ("src/tile/tile.hpp", {"script", "mutants"}),
        ("src/copy.hpp", {"script", "mutants"}),
        ("tests/emu/kernel.cpp", {"script", "mutants"}),
        ("tests/emu/mma.hpp", {"script", "mutants"}),
        ("tests/mutants/list.txt", {"mutants", "script", PYTHON_TEST, "tests/plan/other_test.py"}),
        ("build/lib/libemu.a", {"mutants"}),
        ("tests/mutants/run.py", {"mutants"}),
        ("tools/judge.py", {"mutants"}),
        ("tests/abi/exports.py", {"script"}),
        ("tests/conftest.py", {"script", PYTHON_TEST, "tests/plan/other_test.py"}),
        (PYTHON_TEST, {PYTHON_TEST}),
        ("tests/shared.py", {PYTHON_TEST}),
        ("tools/lister.py", {PYTHON_TEST}),
        ("tools/inner.py", {PYTHON_TEST}),
        ("tools/maker.py", {PYTHON_TEST}),
        ("tools/unused.py", set()),
        ("docs/cases.md", {PYTHON_TEST}),
        ("docs/other.md", set()),
        ("examples/kind_1.txt", {PYTHON_TEST}),
        ("tests/plan/data.txt", {PYTHON_TEST, "tests/plan/other_test.py", "script"}),
        ("python/flashfit/__init__.py", {PYTHON_TEST, "tests/plan/other_test.py", "script"}),
        ("build/lib/libflashfit.so", {PYTHON_TEST, "tests/plan/other_test.py", "script"}),
        ("build/bin/flashfit", {PYTHON_TEST, "tests/plan/other_test.py", "script"}),
    ],
)
def test_a_change_touches(repository: Repository, changed: str, touched: set[str]) -> None:
    passed = verdicts.Passed(repository.build / "passed")
    tests = repository.tests()
    passed.remember(tests, ran=ALL, passed=ALL)
    assert {t.name for t in passed.left_to_run(tests)} == {"walks"}, "it is given the whole repository"
    repository.write(changed, (repository.root / changed).read_text() + "\n# changed\n")
    assert {t.name for t in passed.left_to_run(repository.tests())} == {"walks", *touched}


def test_a_commit_alone_touches_nothing(tmp_path: Path) -> None:
    """Of this build's command, as if it were of another commit, and as if one byte of its code were another."""
    command = ROOT / "build/bin/flashfit"
    revision = (ROOT / "build/lib/revision").read_bytes().strip()
    found = command.read_bytes()
    field = revision.ljust(64, b"\0")
    assert found.count(field) == 1
    (build_id,) = re.findall(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", found, re.DOTALL)
    other = found.replace(field, (b"f" * 40 + b"-dirty").ljust(64, b"\0")).replace(build_id, bytes(20))
    changed = bytearray(other)
    changed[found.index(field) - 1] ^= 1
    for name, content in (("other", other), ("changed", bytes(changed))):
        (tmp_path / name).write_bytes(content)
    digests = [reach.digest_of_program(f) for f in (command, tmp_path / "other", tmp_path / "changed")]
    assert digests[0] == digests[1] != digests[2]


def test_a_new_file_of_a_folder_counts(repository: Repository) -> None:
    before = {t.name: t.key for t in repository.tests()}
    repository.write("tests/plan/golden/two.txt", "")
    after = {t.name: t.key for t in repository.tests()}
    assert before["golden"] != after["golden"]
    assert before["plain"] == after["plain"]


def test_a_script_that_walks_through_the_repository_always_runs(repository: Repository) -> None:
    repository.write(PYTHON_TEST, "import os\nfor f in os.walk(ROOT): pass\n")
    for script in ("tests/abi/exports.py", "tests/mutants/run.py"):
        repository.write(script, "for f in ROOT.rglob('*'): pass\n")
    assert {t.name for t in repository.tests() if not t.key} == {"walks", "script", "mutants", PYTHON_TEST}


def test_the_mutants_of_this_repository_read_their_own_kernels_alone() -> None:
    include = f"-I{reach.ROOT}/src -I{reach.ROOT}/src/proof/emu -I{reach.ROOT}/tests"
    read = {
        program: {
            str(f.relative_to(reach.ROOT)) for f in verdicts.included_by_sources_of(f"{reach.ROOT}/{program} {include}")
        }
        for program in ("tests/mutants/kernels.cpp", "tests/mutants/routes.cpp", "tests/mutants/matrices.cpp")
    }
    attention, router, doctor = "src/kernels/attention/", "src/kernels/moe/", "src/doctor/"
    of = {
        program: {part for part in (attention, router, doctor) if any(f.startswith(part) for f in files)}
        for program, files in read.items()
    }
    assert of == {
        "tests/mutants/kernels.cpp": {attention},
        "tests/mutants/routes.cpp": {router},
        "tests/mutants/matrices.cpp": set(),
    }
    script = reach.ROOT / "tests/mutants/run.py"
    text = "".join(f.read_text(encoding="utf-8") for f in reach.reached(script, by_pytest=False))
    assert reach.named_in(text, set()) <= {reach.ROOT / "dev"}  # in words


def test_what_failed_or_was_taken_back_runs_again(repository: Repository) -> None:
    passed = verdicts.Passed(repository.build / "passed")
    tests = repository.tests()
    passed.remember(tests, ran=ALL, passed=ALL - {"plain"})
    assert {t.name for t in passed.left_to_run(tests)} == {"plain", "walks"}
    passed.remember(tests, ran={"plain", "golden"}, passed={"plain"})
    assert {t.name for t in passed.left_to_run(tests)} == {"golden", "walks"}, "golden passed once, and failed now"


def test_libraries_that_a_program_loads_are_known(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int one(void) { return 1; }")
    (tmp_path / "main.c").write_text("int one(void); int main(void) { return one() - 1; }")
    library, program = tmp_path / "liba.so", tmp_path / "main"
    compiler = ["cc", "-w"]
    subprocess.run([*compiler, "-shared", "-fPIC", "a.c", "-o", library], cwd=tmp_path, check=True)
    subprocess.run([*compiler, "main.c", "-L.", "-la", "-o", program], cwd=tmp_path, check=True)
    assert library not in verdicts.loaded_by(program, ())
    assert library in verdicts.loaded_by(program, (f"LD_LIBRARY_PATH={tmp_path}",))
