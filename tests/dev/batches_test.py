"""Which sources are compiled together, and what clang-tidy makes of them: here they are a few lines each."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.dev import batches, tidy

ROOT = Path(__file__).resolve().parents[2]


def source(own: str = "", rest: str = "") -> str:
    unnamed = f"namespace {{\n\n{own}\n\n}}  // namespace\n"
    return f'#include "a/a.hpp"\n\nnamespace f {{\n{unnamed}\n{rest}\n\n}}  // namespace f\n'


@pytest.mark.parametrize(
    ("own", "names"),
    [
        ("constexpr int kMost = 3, kLeast = 1;", {"kMost", "kLeast"}),
        ("constexpr std::uint64_t kMost =\n    16;", {"kMost"}),
        ("const ErrorClass kClasses[] = {\n    {1},\n};", {"kClasses"}),
        ("struct Walk {\n  int at;\n};", {"Walk"}),
        ("enum class Kind { kOne, kTwo };", {"Kind"}),
        ("using Words = std::vector<int>;", {"Words"}),
        ("std::optional<int> number(std::string_view text) {\n  return 1;\n}", {"number"}),
        ("template <class T>\nT* found(T* x) {\n  return x;\n}", {"found"}),
        ("std::map<int, int> cache;", {"cache"}),
    ],
)
def test_names_that_a_source_has_for_itself(own: str, names: set[str]) -> None:
    assert names <= (batches.own_names(source(own)) or set())


def test_a_source_with_macros_or_main_stays_alone() -> None:
    assert batches.own_names("#define A 1\n" + source()) is None
    assert batches.own_names(source(rest="int main(int, char**) { return 0; }")) is None


def folder_of(tmp_path: Path, **sources: str) -> list[Path]:
    (tmp_path / "src/a").mkdir(parents=True)
    (tmp_path / "src/a/a.hpp").write_text("#pragma once\ninline constexpr int kShared = 1;\n")
    (tmp_path / "src/a/b.hpp").write_text("#pragma once\ninline constexpr int kLanes = 32;\n")
    for name, text in sources.items():
        (tmp_path / f"src/a/{name}.cpp").write_text(text)
    return [tmp_path / f"src/a/{name}.cpp" for name in sources]


def names_together(tmp_path: Path, **sources: str) -> list[list[str]]:
    files = folder_of(tmp_path, **sources)
    made = batches.batches(files, batches.Sources([tmp_path / "src"]))
    return [[f.stem for f in batch] for batch in made]


def test_neighbours_come_together_and_those_with_the_same_names_do_not(tmp_path: Path) -> None:
    made = names_together(
        tmp_path,
        one=source("constexpr int kMost = 1;"),
        two=source("constexpr int kMost = 2;"),
        three=source("constexpr int kLeast = 1;"),
        four=source("int number() { return 1; }"),
        five=source("int number(int x) { return x; }"),
    )
    assert made == [["one", "three", "four"], ["two", "five"]]


def test_a_name_that_another_source_or_its_headers_say_keeps_them_apart(tmp_path: Path) -> None:
    uses = source(rest="int twice() { return 2 * number(); }")
    assert names_together(tmp_path / "1", one=source("int number() { return 1; }"), two=uses) == []
    commented = source(rest='int twice() { return 2; }  // the number\nauto text = "number";')
    assert names_together(tmp_path / "2", one=source("int number() { return 1; }"), two=commented) == [["one", "two"]]
    lanes = source("constexpr int kLanes = 4;")
    assert names_together(tmp_path / "3", one=lanes, two='#include "a/b.hpp"\n' + source()) == []


def test_cmake_compiles_them_so_and_clang_tidy_sees_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(
        tmp_path,
        one=source("int number() { return 1; }", "int one() { return number(); }"),
        two=source("int digit() { return 2; }", "int two() { return digit(); }"),
        three=source("int number() { return 3; }", "int three() { return number(); }"),
        own=source(rest="int own() { return OWN; }"),
        main="",
    )
    with (tmp_path / "src/a/main.cpp").open("w") as file:
        file.write("namespace f {\nint one();\nint two();\nint three();\nint own();\n}\n")
        file.write("int main() { return 1000 * f::own() + 100 * f::one() + 10 * f::two() + f::three() != 7123; }\n")
    for name in ("cmake", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(small CXX)\nset(CMAKE_EXPORT_COMPILE_COMMANDS ON)\n"
        "include(cmake/batches.cmake)\nadd_subdirectory(src/a)\nflashfit_compile_in_batches(small)\n"
    )
    (tmp_path / "src/a/CMakeLists.txt").write_text(
        "add_executable(small main.cpp one.cpp two.cpp three.cpp own.cpp)\n"
        "target_include_directories(small PRIVATE ${PROJECT_SOURCE_DIR}/src)\n"
        "set_source_files_properties(own.cpp PROPERTIES COMPILE_OPTIONS -DOWN=7)\n"
    )
    build = tmp_path / "build"
    subprocess.run(["cmake", "-S", tmp_path, "-B", build, "-G", "Ninja"], check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run(["ninja", "-C", build, "-j1"], capture_output=True, text=True, check=True).stdout
    assert said.count("Building CXX") == 4  # one with two; three, own and main alone
    subprocess.run([build / "src/a/small"], check=True)

    monkeypatch.setattr(tidy, "ROOT", tmp_path)
    entries = tidy.read_commands(build / "compile_commands.json")
    assert sorted(Path(e["file"]).name for e in entries) == ["main.cpp", "one.cpp", "own.cpp", "three.cpp", "two.cpp"]
    (one,) = (e["command"] for e in entries if e["file"].endswith("one.cpp"))
    assert one.endswith(f" -o src/a/CMakeFiles/small.dir/one.cpp.o -c {tmp_path}/src/a/one.cpp")
