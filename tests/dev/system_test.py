"""tools/dev/system.sh on machines of every kind, each played by a folder with its commands, headers and os-release."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools/dev/system.sh"
HEADERS = {
    "libexpected-dev": "tl/expected.hpp",
    "libhwy-dev": "hwy/highway.h",
    "libxxhash-dev": "xxhash.h",
    "libdlpack-dev": "dlpack/dlpack.h",
    "libcli11-dev": "CLI/CLI.hpp",
    "rapidjson-dev": "rapidjson/writer.h",
    "nlohmann-json3-dev": "nlohmann/json.hpp",
    "libfmt-dev": "fmt/format.h",
    "libtomlplusplus-dev": "toml++/toml.h",
    "libzstd-dev": "zstd.h",
    "liblz4-dev": "lz4.h",
    "libre2-dev": "re2/re2.h",
    "libmd-dev": "sha2.h",
    "libboost-context-dev": "boost/context/fiber.hpp",
}
CHART = "usr/share/javascript/chart.js/chart.min.js"
TEST_HEADERS = {
    "zlib1g-dev": "zlib.h",
    "libgtest-dev": "gtest/gtest.h",
    "libgmock-dev": "gmock/gmock.h",
}


class Machine:
    """A folder that stands for a machine; its apt-get notes what it was asked for."""

    def __init__(self, root: Path, system: str) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        (root / "etc").mkdir()
        name, version = system.split()
        (root / "etc/os-release").write_text(f'ID={name}\nVERSION_ID="{version}"\n')
        for tool in ("bash", "env"):
            (self.bin / tool).symlink_to(shutil.which(tool) or "")
        for tool in (
            "c++",
            "cmake",
            "ninja",
            "make",
            "nasm",
            "pkg-config",
            "ccache",
            "python3",
            "chromium-headless-shell",
        ):
            self.command(tool, "exit 0")
        for header in [*HEADERS.values(), *TEST_HEADERS.values()]:
            self.header(header)
        (root / CHART).parent.mkdir(parents=True)
        (root / CHART).touch()
        self.user(0)

    def command(self, name: str, body: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.bin / name).chmod(0o755)

    def header(self, name: str) -> None:
        path = self.root / "usr/include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def lacks(self, *headers: str) -> None:
        for header in headers:
            (self.root / "usr/include" / header).unlink()

    def user(self, number: int) -> None:
        self.command("id", f"echo {number}")

    def apt(self, effect: str = "exit 0") -> None:
        self.command("apt-get", f'echo "$@" >>{self.root}/apt.log\ncase $1 in install) {effect} ;; esac')

    @property
    def apt_log(self) -> str:
        log = self.root / "apt.log"
        return log.read_text() if log.exists() else ""

    def run(self, needs: str = "run") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / "bash"), str(SCRIPT), needs, str(self.root)],
            env={"PATH": str(self.bin)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def debian(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "debian 12")


def test_is_silent_where_nothing_is_missing(debian: Machine) -> None:
    result = debian.run("test")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(("package", "header"), HEADERS.items())
def test_installs_what_is_missing_and_nothing_else(debian: Machine, package: str, header: str) -> None:
    debian.lacks(header)
    debian.apt(f"{shutil.which('touch')} {debian.root}/usr/include/{header}")
    result = debian.run()
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"dev: installs system packages: {package}\n"
    assert debian.apt_log.splitlines()[-1].endswith(f"--no-install-recommends {package}")


@pytest.mark.parametrize(("package", "header"), TEST_HEADERS.items())
def test_only_tests_need_the_test_libraries(debian: Machine, package: str, header: str) -> None:
    debian.lacks(header)
    assert debian.run("run").returncode == 0
    debian.apt()
    result = debian.run("test")
    assert result.returncode == 1
    assert result.stderr == f"dev: still missing after apt-get installed them: {package}\n"


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("c++", "g++"),
        ("cmake", "cmake"),
        ("ninja", "ninja-build"),
        ("python3", "python3"),
        ("nasm", "nasm"),
        ("make", "make"),
    ],
)
def test_commands_count_too(debian: Machine, command: str, package: str) -> None:
    (debian.bin / command).unlink()
    debian.user(1000)
    result = debian.run()
    assert result.returncode == 1
    assert f"missing system packages: {package}" in result.stderr


def test_users_programs_are_found_through_pkg_config_in_tests_alone(debian: Machine) -> None:
    (debian.bin / "pkg-config").unlink()
    debian.user(1000)
    assert debian.run("run").returncode == 0
    assert "missing system packages: pkg-config (" in debian.run("test").stderr


def test_charts_of_the_report_need_their_library(debian: Machine) -> None:
    (debian.root / CHART).unlink()
    debian.user(1000)
    assert "missing system packages: libjs-chart.js (" in debian.run().stderr


def test_a_browser_is_for_tests_and_where_it_is_a_package(tmp_path: Path) -> None:
    for folder, system, missing in (("a", "debian 12", True), ("b", "ubuntu 24.04", False)):
        (tmp_path / folder).mkdir()
        machine = Machine(tmp_path / folder, system)
        (machine.bin / "chromium-headless-shell").unlink()
        machine.user(1000)
        assert machine.run("run").returncode == 0
        assert ("missing system packages: chromium-headless-shell (" in machine.run("test").stderr) == missing


def test_the_headers_of_the_python_in_use_count(debian: Machine) -> None:
    debian.command("python3", 'case "$2" in *Python.h*) exit 1 ;; esac')
    debian.user(1000)
    result = debian.run()
    assert result.returncode == 1
    assert "missing system packages: python3-dev (" in result.stderr


def test_headers_of_an_architecture_folder_count(debian: Machine) -> None:
    debian.lacks("zstd.h")
    debian.header("x86_64-linux-gnu/zstd.h")
    assert debian.run().returncode == 0


def test_without_rights_it_names_the_packages_and_stops(debian: Machine) -> None:
    debian.lacks("zstd.h", "fmt/format.h")
    debian.apt()
    debian.user(1000)
    result = debian.run()
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "as root: apt-get install libfmt-dev libzstd-dev)" in result.stderr
    assert debian.apt_log == ""


def test_sudo_that_asks_for_a_password_is_no_right_where_nobody_can_answer(debian: Machine) -> None:
    debian.lacks("zstd.h")
    debian.user(1000)
    debian.command("sudo", "exit 1")
    result = debian.run()
    assert result.returncode == 1
    assert "neither root nor sudo" in result.stderr


def test_sudo_is_used(debian: Machine) -> None:
    debian.lacks("zstd.h")
    debian.user(1000)
    debian.command("sudo", f'case $1 in -n) exit 0 ;; esac; echo sudo >>{debian.root}/apt.log; exec "$@"')
    debian.apt(f"{shutil.which('touch')} {debian.root}/usr/include/zstd.h")
    assert debian.run().returncode == 0
    assert debian.apt_log.splitlines()[0::2] == ["sudo", "sudo"]


@pytest.mark.parametrize("system", ["fedora 41", "debian 11", "ubuntu 20.04"])
def test_other_systems_name_the_packages_and_stop(tmp_path: Path, system: str) -> None:
    machine = Machine(tmp_path, system)
    machine.apt()
    machine.lacks("zstd.h")
    result = machine.run()
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "libzstd-dev (" in result.stderr
    assert system in result.stderr
    assert machine.apt_log == ""


def test_other_systems_with_all_they_need_are_served(tmp_path: Path) -> None:
    assert Machine(tmp_path, "fedora 41").run("test").returncode == 0


@pytest.mark.parametrize("system", ["debian 12", "ubuntu 22.04", "ubuntu 24.04"])
def test_a_failing_apt_get_is_named(tmp_path: Path, system: str) -> None:
    machine = Machine(tmp_path, system)
    machine.lacks("zstd.h")
    machine.apt("echo 'E: no such package' >&2; exit 100")
    result = machine.run()
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("dev: apt-get could not install: libzstd-dev")


def test_a_compiler_that_the_user_chose_counts(debian: Machine) -> None:
    (debian.bin / "c++").unlink()
    debian.command("clang++", "exit 0")
    result = subprocess.run(
        [str(debian.bin / "bash"), str(SCRIPT), "run", str(debian.root)],
        env={"PATH": str(debian.bin), "CXX": os.fspath(debian.bin / "clang++")},
        check=False,
    )
    assert result.returncode == 0
