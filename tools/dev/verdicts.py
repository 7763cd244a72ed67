"""Which tests a change touches: one whose verdict can be no other than when it last passed need not run again.

What passed is kept in the build folder by a key of all that the verdict depends on:
- A C++ test: its program, the libraries that this loads, its command and environment, and the data that these name: a
  path of this repository in the command, in the environment or in a definition that its sources are compiled with. A
  folder stands for all that is in it.
- A file of Python tests, and a C++ test that is a Python script: the script; what it imports of tests/ and tools/ and
  the files of these that it names, and so on; python/; what tests/ holds beside sources; the libraries and programs
  that were built; and what one of those scripts names in quotes, from the top of the repository: a file, or a folder
  with all that is in it ("docs", "src/core/gpu"); of a name that is put together ("docs/kind_{n}.md") the folder.
- A C++ test that is a Python script which is given a C++ source to compile (tests/mutants): the command as above, the
  script, what it imports and names, the source, and what this includes from the folders of the command's -I.
- Any that is given or walks through the whole repository or build folder always runs.
- All: this processor, its GPUs, and what is installed in .venv.
Of programs and libraries the commit that they name does not count: else each commit would change all that hold it.
The clock and other files of the system are not seen; `./dev test` without --changed runs everything.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tools.dev.own_files import own_files_of
from tools.dev.reach import digest_below, digest_of_program, key_of, reach_of

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Test:
    """One of ctest, by its number there, or one file of Python tests."""

    name: str
    key: str
    number: int = 0


@cache
def machine() -> str:
    """What this machine is, as far as tests see it."""
    processor = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    flags = sorted(set(re.findall(r"^(?:flags|Features)\s*:.*", processor, re.MULTILINE)))
    gpus = sorted(p.name for p in Path("/dev").glob("nvidia*"))
    installed = sorted(p.name for p in (ROOT / ".venv").glob(".*-*"))
    return key_of([platform.machine(), platform.version(), *flags, *gpus, *installed])


def paths_in(text: str) -> set[Path]:
    """What stands in a text as a path of the repository and is there."""
    found = re.findall(rf"""{re.escape(str(ROOT))}(?![\w.-])(?:/[^\s"';:|,\\]*)?""", text)
    return {Path(p) for p in found if Path(p).exists()}


def included_by_sources_of(command: str) -> set[Path]:
    """What a command compiles: the C++ sources that it names, and what these include of its folders."""
    folders = [Path(p) for p in re.findall(r"-I(\S+)", command) if Path(p).is_relative_to(ROOT)]
    sources = [p for p in paths_in(command) if p.suffix == ".cpp"]
    return {file for source in sources for file in own_files_of(source, folders)}


@cache
def loaded_by(program: Path, environment: tuple[str, ...]) -> list[Path]:
    """The shared libraries of a program, by the loader itself; none of what it cannot read."""
    own = {**os.environ, **dict(e.split("=", 1) for e in environment if "=" in e)}
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False, env=own).stdout
    return sorted({Path(p) for p in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", listed, re.MULTILINE)})


@dataclass
class Build:
    """A build folder."""

    folder: Path
    #: What the sources of a test program, by its name, are told of by definitions; "": those of libraries.
    told: dict[str, set[Path]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for entry in json.loads((self.folder / "compile_commands.json").read_text(encoding="utf-8")):
            # Only definitions: the folders of headers and the source are in the program.
            paths = paths_in(" ".join(re.findall(r"-D\S*?=\S+", entry["command"])))
            target = re.search(r" -o \S*?CMakeFiles/([^/]+)\.dir/", entry["command"])
            of_a_test = target and (self.folder / "tests" / target[1]).exists()
            self.told[target[1] if target and of_a_test else ""] |= paths

    def listed(self) -> list[dict[str, Any]]:
        command = ["ctest", "--test-dir", str(self.folder), "--show-only=json-v1"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        tests: list[dict[str, Any]] = json.loads(shown)["tests"]
        return tests

    def tests(self) -> list[Test]:
        """All of ctest, in its order."""
        return [Test(t["name"].split("  # ")[0], self.key(t), number) for number, t in enumerate(self.listed(), 1)]

    def key(self, test: dict[str, Any]) -> str:
        """ "" of one that must run."""
        if "command" not in test:  # not built
            return ""
        command = test["command"]
        properties = json.dumps(test.get("properties", []), sort_keys=True)
        program = Path(command[0])
        environment = [v for p in test.get("properties", []) if p["name"] == "ENVIRONMENT" for v in p["value"]]
        words = " ".join([*command, *environment])
        included = included_by_sources_of(words)
        # The folders that a source is compiled with count by what it includes of them.
        words = re.sub(r"-I\S+", "", words) if included else words
        data = paths_in(words) | self.told[program.name] | self.told[""] | included
        scripts = sorted(script for script in data if script.suffix == ".py")
        reach = [reach_of(script, self.folder, tests_package=not included) for script in scripts]
        if {ROOT, self.folder} & data or "" in reach:
            return ""
        parts = [f"{p} {digest_below(p)}" for p in sorted(data)]
        programs = (program, *loaded_by(program, tuple(environment)))
        parts += [f"{p} {digest_of_program(p)}" for p in programs if p.exists()]
        return key_of([machine(), *command, properties, *reach, *parts])


def python_tests(build: Build) -> list[Test]:
    files = sorted((ROOT / "tests").rglob("*_test.py"))
    reach = {f: reach_of(f, build.folder) for f in files}
    return [Test(str(f.relative_to(ROOT)), key_of([machine(), reach[f]]) if reach[f] else "") for f in files]


@dataclass
class Passed:
    """The keys of what passed, a line each, in a file of the build folder."""

    file: Path

    def keys(self) -> set[str]:
        return set(self.file.read_text().split()) if self.file.exists() else set()

    def left_to_run(self, tests: Iterable[Test]) -> list[Test]:
        keys = self.keys()
        return [t for t in tests if not t.key or t.key not in keys]

    def remember(self, tests: list[Test], ran: set[str], passed: set[str]) -> None:
        """Of these tests, by name, those that passed now, and those that did earlier and did not run."""
        earlier = self.keys()
        kept = {t.key for t in tests if t.key and (t.name in passed or (t.name not in ran and t.key in earlier))}
        self.file.write_text("".join(f"{key}\n" for key in sorted(kept)))
