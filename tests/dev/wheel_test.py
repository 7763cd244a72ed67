"""What ./dev wheel refuses to hand out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tools.dev import wheel


def a_wheel(folder: Path, *names: str) -> Path:
    path = folder / "flashfit-1.0-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, "")
    return path


def test_the_compiled_files_must_be_there(tmp_path: Path) -> None:
    wheel.check_contents(a_wheel(tmp_path, *wheel.COMPILED, "flashfit/__init__.py", "flashfit-1.0.dist-info/METADATA"))
    with pytest.raises(wheel.WheelError, match=r"lacks flashfit/_flashfit_native.abi3.so, .*_native.abi3t.so$"):
        wheel.check_contents(a_wheel(tmp_path, "flashfit/libflashfit.so"))


@pytest.mark.parametrize("name", ["tests/a_test.py", "libzstd.so.1", "flashfit/__pycache__/a.pyc"])
def test_nothing_else_is_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(wheel.WheelError, match=f"holds {name}"):
        wheel.check_contents(a_wheel(tmp_path, *wheel.COMPILED, name))


@pytest.mark.parametrize(
    ("tag", "libraries", "message"),
    [
        ("linux_x86_64", {}, "serves this system alone"),
        ("manylinux_2_28_x86_64", {"libzstd.so.1": "/usr/lib/libzstd.so.1"}, r"beside the C library: libzstd.so.1$"),
        ("manylinux_2_29_x86_64", {}, r"needs glibc 2.29, newer than 2.28$"),
    ],
)
def test_what_serves_few_systems_is_refused(
    monkeypatch: pytest.MonkeyPatch, tag: str, libraries: dict[str, str], message: str
) -> None:
    monkeypatch.setattr(wheel, "python", lambda *_: json.dumps({"overall_tag": tag, "external_libs": libraries}))
    with pytest.raises(wheel.WheelError, match=message):
        wheel.platform(Path("a.whl"))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("exit 0", ""),
        (
            "case $* in *3.12*) echo '"
            '{"targets": [{"problems": [{"code": "FF320", "message": "needs GLIBC_2.38"}]}]}'
            "'; exit 1 ;; esac",
            r"does not fit Python 3.12, says our own doctor: FF320 needs GLIBC_2.38$",
        ),
        ("echo broken >&2; exit 2", r"does not fit Python 3.10, says our own doctor: broken$"),
    ],
)
def test_our_own_doctor_is_asked_about_every_python(tmp_path: Path, body: str, message: str) -> None:
    command = tmp_path / "flashfit"
    command.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\n{body}\n')
    command.chmod(0o755)
    path = Path("flashfit-1.0-py3-none-manylinux_2_28_x86_64.whl")
    if message:
        with pytest.raises(wheel.WheelError, match=message):
            wheel.check_by_doctor(command, path)
    else:
        wheel.check_by_doctor(command, path)
        asked = (tmp_path / "asked").read_text().splitlines()
        assert len(asked) == len(wheel.PYTHONS)
        assert all("--platform linux_x86_64 --glibc 2.28 --gpu all" in line for line in asked)
    with pytest.raises(wheel.WheelError, match="does not name its oldest C library"):
        wheel.check_by_doctor(command, Path("flashfit-1.0-py3-none-linux_x86_64.whl"))


def test_a_build_is_kept_whatever_environment_packed_it_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / ".skbuild-info.json"
    left.write_text('{"skbuild_path": "/elsewhere"}')

    def build(*_: str | Path) -> str:
        assert not left.exists()
        a_wheel(tmp_path)
        return ""

    monkeypatch.setattr(wheel, "python", build)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: None)
    assert wheel.pack(tmp_path, tmp_path, tmp_path).suffix == ".whl"


def test_another_processors_module_is_made_with_its_own_headers(tmp_path: Path) -> None:
    (tmp_path / "CMakeCache.txt").write_text("FLASHFIT_SYSROOT:PATH=/tree\nPython3_INCLUDE_DIR:PATH=/tree/python3.11\n")
    assert wheel.headers_of_other(tmp_path) == "Python3_INCLUDE_DIR=/tree/python3.11"
    (tmp_path / "CMakeCache.txt").write_text("FLASHFIT_SYSROOT:PATH=/tree\n")
    with pytest.raises(wheel.WheelError, match=r"CMakeCache.txt has no Python3_INCLUDE_DIR"):
        wheel.headers_of_other(tmp_path)


@pytest.mark.parametrize("tag", ["manylinux_2_17_x86_64", "manylinux_2_28_aarch64"])
def test_the_name_promises_what_was_linked_for(monkeypatch: pytest.MonkeyPatch, tag: str) -> None:
    monkeypatch.setattr(wheel, "python", lambda *_: json.dumps({"overall_tag": tag, "external_libs": {}}))
    assert wheel.platform(Path("a.whl")) == f"manylinux_2_28_{tag.split('_', 3)[3]}"


def test_a_file_that_names_a_folder_of_this_machine_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("flashfit/__init__.py", "")
        file.writestr("flashfit/libflashfit.so", f"assertion in {wheel.ROOT}/src/a.cpp")
    with pytest.raises(wheel.WheelError, match=r"flashfit/libflashfit.so names /"):
        wheel.check_no_folders(path)
    wheel.check_no_folders(a_wheel(tmp_path, "flashfit/__init__.py"))


def test_one_variable_says_where_the_project_is() -> None:
    assert wheel.addresses("") == []
    lines = wheel.addresses("https://host/owner/flashfit")
    assert "Project-URL: Issues, https://host/owner/flashfit/issues" in lines
    assert "Project-URL: Changelog, https://host/owner/flashfit/blob/main/CHANGELOG.md" in lines
    assert all(re.fullmatch(r"Project-URL: \w+, https://host/owner/flashfit\S*", line) for line in lines)
    pages = [line.rpartition("/blob/main/")[2] for line in lines if "/blob/main/" in line]
    assert all((wheel.ROOT / page).is_file() for page in pages)


def test_times_are_the_commits_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    wheel.set_time()
    assert os.environ["SOURCE_DATE_EPOCH"] == "1000000000"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    wheel.set_time()
    assert int(os.environ.pop("SOURCE_DATE_EPOCH")) >= 315532800


def test_a_tool_that_fails_is_quoted() -> None:
    with pytest.raises(wheel.WheelError, match="no_such_module failed"):
        wheel.python("-m", "no_such_module")


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({}, ""),
        ({"non_abi3_symbols": ["PyModExport__flashfit_native"]}, ""),
        ({"non_abi3_symbols": ["PyModExport__flashfit_native", "_PyObject_New"]}, "asks for _PyObject_New, which"),
        ({"future_abi3_objects": {"Py_TYPE": "3.14"}}, "asks for Py_TYPE, which the stable ABI of 3.10 lacks"),
        ({"is_abi3_baseline_compatible": False}, "asks for something newer, which"),
    ],
)
def test_the_modules_keep_to_the_stable_abi(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, result: dict[str, object], message: str
) -> None:
    known = {"non_abi3_symbols": [], "future_abi3_objects": {}, "is_abi3_baseline_compatible": True, **result}
    monkeypatch.setattr(wheel, "audit", lambda *_: known)
    modules = a_wheel(tmp_path, *wheel.COMPILED)
    if not message:
        wheel.check_limited_api(modules)
        return
    with pytest.raises(wheel.WheelError, match=message):
        wheel.check_limited_api(modules)
