"""`flashfit doctor` and `flashfit choose` as people and scripts use them, on wheels of tests/doctor/made/make.cpp."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import struct
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flashfit
import pytest
from flashfit._command import command

from tests.doctor_command import (
    APEX,
    COMMAND,
    L40,
    NEW_ABI,
    NEW_TORCH,
    OLD_ABI,
    OLD_ABI_310,
    OLD_TORCH_310,
    PLACE,
    ROOT,
    doctor,
    run,
)

COMPILE = (
    "pip install setuptools wheel packaging ninja psutil && FLASH_ATTN_CUDA_ARCHS='80' pip install "
    "--no-build-isolation --no-cache-dir --no-binary flash-attn flash-attn==2.8.3"
)
KNOWLEDGE = json.loads((ROOT / "data/knowledge.json").read_text())
PARTLY = "partly-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"


def test_a_wheel_for_another_python_is_told_by_its_tag_and_mended(made: Path) -> None:
    status, lines = doctor(OLD_TORCH_310, *L40, cwd=made)
    assert status == 1
    assert lines[0] == f"{OLD_TORCH_310} does not fit on L40 (8.9)"
    assert "  FAIL   FF201  cp310 is not your cp311; the platform fits" in lines
    assert f"try: python3.10 -m venv venv3.10 && venv3.10/bin/pip install {OLD_TORCH_310}" in lines
    assert "       no PyTorch was given: what is needed of one is not judged (--torch)" in lines


def test_a_name_whose_pytorch_has_the_other_abi_is_told_although_none_was_given(made: Path) -> None:
    """Under Python 3.10 it would install, and fail at the import: that is no mend."""
    status, lines = doctor(OLD_ABI_310, *L40, cwd=made)
    assert status == 1
    assert "  FAIL   FF201  cp310 is not your cp311; the platform fits" in lines
    (abi,) = [line for line in lines if " FF401 " in line]
    assert abi.startswith("  UNSURE FF401  flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: needs the old C++ ABI")
    assert "the file name says PyTorch 2.7, and every release of that has the new one" in abi
    (command,) = [line for line in lines if line.startswith("try: ")]
    assert command == f"try: {COMPILE}"
    assert doctor(OLD_ABI, *L40, cwd=made)[0] == 2
    ran = run("choose", *PLACE, "--gpu", "L40", text=f"{OLD_ABI}\n{NEW_ABI}\n")
    assert ran.stdout.startswith(f"best: {NEW_ABI}\n")
    assert (
        f"not: {OLD_ABI}: FF210 named for torch 2.7 and the old C++ ABI; every release of torch 2.7 has the new one"
        in ran.stdout
    )


def test_a_folder_is_judged_for_the_pytorch_in_it(made: Path, tmp_path: Path) -> None:
    for wheel in (OLD_ABI, APEX, NEW_TORCH):
        with zipfile.ZipFile(made / wheel) as members:
            members.extractall(tmp_path)
    status, lines = doctor(tmp_path, *L40)
    assert status == 1
    (abi,) = [line for line in lines if " FF401 " in line]
    assert "flash_attn_2_cuda" in abi
    assert "torch 2.7.1+cu126 has the new one. Missing: " in abi
    assert f"       PyTorch is that of {tmp_path}" in lines
    (image,) = [line for line in lines if " FF101 " in line]
    assert "fused_layer_norm_cuda" in image


@pytest.mark.parametrize("named", ["", "lib/python3.11/site-packages", "lib/python3.11/site-packages/torch"])
def test_an_installed_torch_is_asked_however_it_is_named(made: Path, tmp_path: Path, named: str) -> None:
    with zipfile.ZipFile(made / NEW_TORCH) as members:
        members.extractall(tmp_path / "lib/python3.11/site-packages")
    status, lines = doctor(OLD_ABI, "--torch", tmp_path / named, *L40, cwd=made)
    assert status == 1
    (line,) = [x for x in lines if " FF401 " in x]
    assert "; torch 2.7.1+cu126 has the new one. Missing: " in line
    assert doctor(NEW_ABI, "--torch", tmp_path / named, *L40, cwd=made)[0] == 0


def test_the_old_abi_is_told_against_a_torch_of_the_new(made: Path) -> None:
    status, lines = doctor(OLD_ABI, "--torch", NEW_TORCH, *L40, cwd=made)
    assert status == 1
    (line,) = [x for x in lines if " FF401 " in x]
    assert "needs the old C++ ABI (pre-cxx11); torch 2.7.1+cu126 has the new one. Missing: " in line
    assert "c10::detail::torchCheckFail(" in line
    assert doctor(NEW_ABI, "--torch", NEW_TORCH, *L40, cwd=made)[0] == 0


def test_code_for_8_0_fits_an_l40_and_code_for_9_0a_does_not(made: Path) -> None:
    status, lines = doctor(NEW_ABI, *L40, cwd=made)
    assert (status, lines[0]) == (0, f"{NEW_ABI} fits on L40 (8.9)")
    status, lines = doctor(NEW_ABI, APEX, *L40, cwd=made)
    assert status == 1
    assert lines[0] == f"1 of 2 targets does not fit on L40 (8.9): {APEX}"
    (culprit,) = [x for x in lines if "FAIL" in x]
    assert culprit == (
        "  FAIL   FF101  fused_layer_norm_cuda.cpython-311-x86_64-linux-gnu.so: SASS 9.0a, no PTX. "
        "L40 is 8.9; 9.0a runs only on 9.0"
    )


def test_of_several_gpus_the_verdict_says_which(made: Path) -> None:
    gpus = ["--gpu", "L40", "--gpu", "H100", "--gpu", "A100", *PLACE]
    assert doctor(APEX, *gpus, cwd=made)[1][0] == (
        f"{APEX} does not fit on L40 (8.9), A100 (8.0); it fits on H100 (9.0)"
    )
    assert doctor(NEW_ABI, "--gpu", "RTX 5090", "--driver", "535", *gpus, cwd=made)[1][0] == (
        f"{NEW_ABI} cannot run on RTX 5090 (12.0): the driver is at fault, and no other file helps; "
        "it fits on L40 (8.9), H100 (9.0), A100 (8.0)"
    )
    assert doctor(OLD_TORCH_310, *gpus, cwd=made)[1][0] == (
        f"{OLD_TORCH_310} does not fit on L40 (8.9), H100 (9.0), A100 (8.0)"
    )


def test_a_library_that_is_partly_served_names_the_kernels_that_are_not(made: Path) -> None:
    status, lines = doctor(PARTLY, *L40, cwd=made)
    assert (status, lines[0]) == (1, f"{PARTLY} fits in part on L40 (8.9)")
    assert "2 of 3 containers have no image for L40 (8.9)" in lines[1]
    assert lines[1].endswith("; without one: hopper_a(int), hopper_b(int)")
    assert doctor(PARTLY, "--gpu", "H100", *PLACE, cwd=made)[0] == 1  # the 8.0 container, there


def test_cubins_beside_fat_binaries_serve_the_kernels_that_they_hold(made: Path) -> None:
    def judged(name: str) -> tuple[int, list[str]]:
        (wheel,) = made.glob(f"{name}-*.whl")
        status, lines = doctor(wheel, *L40)
        return status, [line for line in lines if line.startswith(("  FAIL", "  WARN"))]

    assert judged("samecubin") == (0, [])
    assert judged("filecubin") == (0, [])
    status, (line,) = judged("othercubin")
    assert status == 1
    assert line == (
        "  WARN   FF102  othercubin/_C.cpython-311-x86_64-linux-gnu.so: 1 of 1 containers have no image for L40 (8.9): "
        "SASS 9.0, no PTX. L40 is 8.9; 9.0 runs on 9.x from 9.0 on; without one: same(int); what runs is cubins of "
        "other kernels"
    )


def test_a_static_archive_is_one_library_and_its_kernels_are_named(made: Path, tmp_path: Path) -> None:
    wheel = "static-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libpartly.a").write_bytes((made / "libpartly.a").read_bytes())
    for target, where in (
        (made / "libpartly.a", ""),
        (made / wheel, "static/lib/libpartly.a: "),
        (folder, "libpartly.a: "),
    ):
        status, lines = doctor(target, *L40)
        assert status == 1
        assert lines[1] == (
            f"  WARN   FF102  {where}1 of 2 containers have no image for L40 (8.9): SASS 9.0a, no PTX. "
            "L40 is 8.9; 9.0a runs only on 9.0; without one: hopper(int)"
        )


def test_what_would_fit_is_not_said_twice(made: Path) -> None:
    old = ["--gpu", "H100", "--python", "3.11", "--platform", "linux_x86_64", "--glibc", "2.31"]
    (glibc,) = made.glob("newsystem-*.whl")
    lines = doctor(glibc, *old)[1]
    assert not [line for line in lines if line.startswith("would fit: ")]
    assert "look for: a system with glibc 2.34 or later (RHEL 9 or newer), or a container of one" in lines
    (runtime,) = made.glob("runtime-*.whl")
    lines = doctor(runtime, "--gpu", "H100", *PLACE, "--driver", "570")[1]
    assert [line for line in lines if "580.65.06 or later" in line] == [
        line for line in lines if " FF105 " in line or line.startswith("look for: ")
    ]


def test_what_no_command_mends_is_said_in_one_line_that_the_rules_confirm(made: Path) -> None:
    old = ["--python", "3.11", "--platform", "linux_x86_64", "--glibc", "2.31"]
    (newptx,) = made.glob("newptx-*.whl")
    status, lines = doctor(newptx, "--gpu", "H100", "--driver", "570", *PLACE)
    assert status == 1
    assert "look for: driver 580.65.06 or later (CUDA 13.0); a driver is the host's, and no package changes it" in lines
    assert doctor(newptx, "--gpu", "H100", "--driver", "580.65.06", *PLACE)[0] == 0
    (arm,) = made.glob("armwheel-*.whl")
    lines = doctor(arm, *old)[1]
    assert (
        "look for: a file whose name ends in manylinux_2_31_x86_64, or an older manylinux: "
        "armwheel-1.0-cp311-cp311-manylinux_2_31_x86_64.whl installs there" in lines
    )


def test_a_wheel_under_a_wrong_name_or_for_another_torch_is_mended_by_a_command(made: Path, tmp_path: Path) -> None:
    wheel = "newptx-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    copy = tmp_path / "newptx (1).whl"
    copy.write_bytes((made / wheel).read_bytes())
    lines = doctor(copy, "--gpu", "H100", *PLACE)[1]
    assert f"try: mv '{copy}' {tmp_path / wheel}" in lines
    lines = doctor(OLD_ABI, "--torch", NEW_TORCH, *L40, cwd=made)[1]
    assert f"try: {COMPILE}" in lines
    assert "     (compiled against your PyTorch it fits, if its source is published)" in lines


def test_a_wheel_wrong_in_both_python_and_torch_is_compiled_for_both(made: Path) -> None:
    # A build for its Python and its torch would take away the PyTorch that everything else was built against.
    for wheel in (OLD_TORCH_310, OLD_ABI_310):
        lines = doctor(wheel, "--torch", NEW_TORCH, *L40, cwd=made)[1]
        assert f"try: {COMPILE}" in lines
        assert "     (compiled for CPython 3.11 and against your PyTorch it fits, if its source is published)" in lines


@pytest.mark.parametrize(
    ("version", "why"),
    [
        (
            "99",
            f"no such release of PyTorch is known; 1.0 to 2.15 are (known on {KNOWLEDGE['date']}), and of another its "
            "wheel or folder tells",
        ),
        ("2.6.5+cu124", "PyTorch has no such release; the last 2.6 is 2.6.0"),
    ],
)
def test_a_torch_that_does_not_exist_is_refused(made: Path, version: str, why: str) -> None:
    ran = run("doctor", made / OLD_ABI, "--torch", version, *L40)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"flashfit: --torch {version}: {why}\n")


def test_verbose_shows_what_covers_each_gpu_in_each_binary(made: Path) -> None:
    lines = doctor(PARTLY, "--gpu", "L40", "--gpu", "H100", "-v", *PLACE, cwd=made)[1]
    (row,) = [line for line in lines if re.match(r"partly/_C\S+ +3 ", line)]
    assert row.split("  ")[-2:] == ["sass 1 of 3", "sass 2 of 3"]


def test_json_has_the_promised_keys(made: Path) -> None:
    ran = run("doctor", APEX, "--json", "--gpu", "l40", "--gpu", "sm_90", *PLACE, cwd=made)
    report = json.loads(ran.stdout)
    assert (ran.returncode, report["schema"], report["verdict"]) == (1, 1, "misfit")
    (target,) = report["targets"]
    assert {"target", "kind", "verdict", "problems", "tags", "glibc", "binaries"} <= target.keys()
    assert (target["target"], target["kind"], target["tags"]) == (APEX, "wheel", "cp311-cp311-linux_x86_64")
    assert {"code", "message", "member", "fix"} <= target["problems"][0].keys()
    binary = target["binaries"][0]
    assert binary["sass"] == ["9.0a"]
    assert binary["gpus"] == {"l40": {"best": "no", "covered": 0}, "sm_90": {"best": "sass", "covered": 1}}
    kinds = {"path": str, "ptx": list, "ptx_isa": str, "toolkit": str, "torch_abi": str, "glibc": str, "needed": list}
    for key, kind in {**kinds, "containers": int}.items():
        assert isinstance(binary[key], kind), key


def test_a_survey_shows_every_capability_and_fits_where_one_is_served(made: Path) -> None:
    status, lines = doctor(APEX, "--gpu", "all", *PLACE, cwd=made)
    assert status == 0
    rows = {line.split()[0]: line for line in lines if re.match(r"\d+\.\d ", line)}
    assert {"7.0", "7.5", "8.0", "8.9", "9.0", "12.0"} <= rows.keys()
    assert "sass" in rows["9.0"]
    assert "  no  " in rows["8.9"]


def test_a_target_may_follow_an_option(made: Path) -> None:
    status, lines = doctor("--gpu", "H100", APEX, *PLACE, cwd=made)
    assert (status, lines[0]) == (0, f"{APEX} fits on H100 (9.0)")
    ran = run("choose", *PLACE, "--gpu", "H100", "--gpu", "L40", APEX, NEW_ABI, cwd=made)
    assert ran.stdout.startswith(f"best: {NEW_ABI}\n")


def test_what_is_no_gpu_is_answered_by_names_that_are(made: Path) -> None:
    ran = run("doctor", APEX, "--gpu", "L40X", *PLACE, cwd=made)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert re.fullmatch(r"flashfit: --gpu 'L40X': not known; did you mean .*L40.*\?\n", ran.stderr)


def test_hostile_files_are_malformed_and_the_others_are_judged(made: Path, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb-1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as wheel:
        wheel.writestr("bomb/x.so", b"\x7fELF" + bytes(600 << 20))
    cut = tmp_path / "cut-1.0-cp311-cp311-linux_x86_64.whl"
    cut.write_bytes((made / APEX).read_bytes()[:-40])
    loud = tmp_path / "loud\x1b[31m.so"
    loud.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(20))
    begin = time.monotonic()
    status, lines = doctor(bomb, cut, loud, made / NEW_ABI, *L40)
    assert time.monotonic() - begin < 5
    assert status == 2
    assert lines[0].startswith(f"3 of 4 targets cannot be told on L40 (8.9): {bomb.name}, {cut.name}, loud")
    assert sum("malformed: " in line for line in lines) == 3
    assert "\x1b" not in "".join(lines)
    assert f"{NEW_ABI} fits on L40 (8.9)" in lines


@pytest.mark.parametrize("content", [b"", b"no archive\n" * 200])
def test_what_is_named_a_wheel_in_a_folder_is_judged_though_it_is_none(
    made: Path, tmp_path: Path, content: bytes
) -> None:
    """A download that was cut off, or is a page of an error."""
    (tmp_path / NEW_ABI).write_bytes((made / NEW_ABI).read_bytes())
    (tmp_path / "page-1.0-cp311-cp311-linux_x86_64.whl").write_bytes(content)
    status, lines = doctor(tmp_path, *L40)
    assert status == 2
    assert lines[0].startswith("1 of 2 targets cannot be told on L40 (8.9): page-1.0-cp311-cp311-linux_x86_64.whl")


def windows_program(machine: int, plus: bool) -> bytes:
    """An empty one: 64-bit (`plus`) or 32-bit."""
    optional = struct.pack("<H106xI128x", 0x20B, 16) if plus else struct.pack("<H90xI128x", 0x10B, 16)
    header = struct.pack("<4sHH12xHH", b"PE", machine, 0, len(optional), 0x22)
    return b"MZ" + bytes(58) + struct.pack("<I", 64) + header + optional


def test_launchers_and_32_bit_libraries_are_nobodys_fault(made: Path, tmp_path: Path) -> None:
    """As setuptools, distlib and debugpy have them, whose wheels are for any platform."""
    (windows,) = made.glob("windows-*.whl")
    with zipfile.ZipFile(windows) as content:
        module = content.read("windows/_C.cp311-win_amd64.pyd")
    wheel = tmp_path / "tools-1.0-py3-none-any.whl"
    alien = {
        "t32.exe": windows_program(0x14C, plus=False),
        "t64-arm.exe": windows_program(0xAA64, plus=True),
        "attach_x86.so": b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HH", 3, 3) + bytes(32),
        "attach_s390x.so": b"\x7fELF\x02\x02\x01" + bytes(9) + struct.pack(">HH", 3, 22) + bytes(44),
    }
    with zipfile.ZipFile(wheel, "w") as content:
        content.writestr("tools-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tools\nVersion: 1.0\n")
        content.writestr("tools-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        content.writestr("tools-1.0.dist-info/RECORD", "")
        for name in ("t32.exe", "t64-arm.exe", "attach_x86.so"):
            content.writestr(f"tools/{name}", alien[name])
    assert doctor(wheel, *L40) == (0, doctor(wheel, *L40)[1])
    with zipfile.ZipFile(wheel, "a") as content:
        content.writestr("tools/_speed.cp39-win_amd64.pyd", module)
    assert doctor(wheel, *L40) == (0, doctor(wheel, *L40)[1]), "of all Pythons it serves one: it is not needed"
    with zipfile.ZipFile(wheel, "a") as content:
        content.writestr("tools/_needed.dll", module)
    status, lines = doctor(wheel, *L40)
    assert status == 1, "a library that is for Windows alone"
    assert [line.split()[1] for line in lines if line.startswith("  FAIL")] == ["FF310"]
    for name, words in (
        ("t32.exe", "Windows x86"),
        ("attach_x86.so", "Linux i686"),
        ("attach_s390x.so", "Linux s390x"),
    ):
        (tmp_path / name).write_bytes(alien[name])
        status, lines = doctor(tmp_path / name, *L40)
        assert status == 1
        assert lines[1] == f"  FAIL   FF310  made for {words}, not your Linux x86_64 with glibc 2.36"


def library_of_many_symbols(count: int) -> Iterator[bytes]:
    """An ELF library with so many undefined symbols and eight bytes of names for each, behind some megabytes of
    nothing."""
    at, size = 12 << 20, 24 * count
    texts = b"\0.dynsym\0.dynstr\0.shstrtab\0".ljust(32, b"\0")
    end = at + size + 8 * count

    def section(name: int, kind: int, offset: int, length: int, link: int = 0) -> bytes:
        return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, offset, length, link, 1, 8, 24)

    header = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, end + len(texts), 0, 64, 56, 0, 64, 4, 3)
    yield (b"\x7fELF\x02\x01\x01" + bytes(9) + header).ljust(at, b"\0")
    yield struct.pack("<IBBHQQ", 1, 0x12, 0, 0, 0, 0) * count
    yield b"\0aaaaaa\0" * count
    yield texts + bytes(64) + section(1, 11, at, size, 2) + section(9, 3, at + size, 8 * count)
    yield section(17, 3, end, len(texts))


def test_libraries_of_large_tables_are_read_one_at_a_time(tmp_path: Path) -> None:
    """Each alone is like TensorFlow's; two at once would take more than half a gigabyte."""
    wheel = tmp_path / "large-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as content:
        content.writestr("large-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: large\nVersion: 1.0\n")
        content.writestr("large-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        content.writestr("large-1.0.dist-info/RECORD", "")
        for name in "ab":
            with content.open(f"large/{name}.so", "w") as member:
                for piece in library_of_many_symbols(2_500_000):
                    member.write(piece)
    status, lines = doctor(wheel, *L40)
    assert (status, lines[0]) == (0, f"{wheel.name} fits on L40 (8.9)")


@pytest.mark.parametrize("form", ["tar.gz", "zip"])
def test_a_source_distribution_says_that_it_will_be_compiled_and_what_it_needs(form: str, tmp_path: Path) -> None:
    texts = {
        "PKG-INFO": "Metadata-Version: 2.1\nName: flash-attn\nVersion: 2.8.3\nRequires-Python: >=3.9\n",
        "setup.py": "from torch.utils.cpp_extension import CUDAExtension\n",
        "pyproject.toml": '[build-system]\nrequires = ["setuptools", "ninja"]\n',
        "csrc/a.cu": "x",
        "csrc/b.cu": "x",
        "csrc/bind.cpp": "x",
    }
    path = tmp_path / f"flash_attn-2.8.3.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in texts.items():
                archive.writestr(f"flash_attn-2.8.3/{name}", text)
    else:
        with tarfile.open(path, "w:gz") as tar:
            for name, text in texts.items():
                member = tarfile.TarInfo(f"flash_attn-2.8.3/{name}")
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))
    status, lines = doctor(path, *L40)
    assert status == 2
    assert lines[:2] == [
        f"cannot tell whether {path.name} fits on L40 (8.9)",
        "  UNSURE FF208  source distribution: it will be compiled on your machine; needs nvcc (2 CUDA sources), "
        "torch while it builds, setuptools, ninja",
    ]
    assert doctor(path, "--gpu", "L40", "--python", "3.8", "--platform", "linux_x86_64")[1][1].endswith(
        "FF203  needs Python >=3.9; yours is 3.8"
    )


def test_a_source_distribution_that_lies_is_malformed_at_an_offset(tmp_path: Path) -> None:
    first, second = tarfile.TarInfo("a-1.0/setup.py"), tarfile.TarInfo("a-1.0/big.bin")
    first.size, second.size = 5, 5 << 30
    path = tmp_path / "a-1.0.tar.gz"
    path.write_bytes(gzip.compress(first.tobuf() + b"pass\n" + bytes(507) + second.tobuf() + bytes(512)))
    status, lines = doctor(path, *L40)
    assert (status, lines[1]) == (2, "  UNSURE FF901  malformed: size of a tar member at 1024")


def test_an_empty_name_is_no_target() -> None:
    for verb in ("doctor", "choose"):
        ran = run(verb, "", *L40)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr == "flashfit: TARGET '': accepted: the path of a file or a folder\n"


def test_trees_with_loops_pipes_and_nothing_in_them_are_walked(made: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    status, lines = doctor(empty, *L40)
    assert status == 2
    assert "nothing to judge: 0 files" in lines[1]
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "loop").symlink_to(tree)
    os.mkfifo(tree / "pipe")
    (tree / "again.cubin").symlink_to(made / "family.cubin")
    for i in range(2000):
        (tree / f"{i}.py").touch()
    (tree / "family.cubin").write_bytes((made / "family.cubin").read_bytes())
    os.link(tree / "family.cubin", tree / "twice.cubin")
    report = json.loads(run("doctor", tree, "--json", *L40).stdout)
    assert sorted(b["path"] for b in report["targets"][0]["binaries"]) == ["again.cubin", "family.cubin"]


def test_a_cubin_says_which_toolkit_made_it(made: Path) -> None:
    report = json.loads(run("doctor", made / "kernels.cubin", "--json", *L40).stdout)
    assert report["targets"][0]["binaries"][0]["toolkit"] == "12.8"


def test_a_missing_file_is_said_and_the_others_are_judged(made: Path) -> None:
    status, lines = doctor("absent.so", NEW_ABI, *L40, cwd=made)
    assert status == 2
    assert lines[0] == "1 of 2 targets cannot be told on L40 (8.9): absent.so"
    assert doctor("absent.so", PARTLY, APEX, *L40, cwd=made)[1][0] == (
        f"1 of 3 targets does not fit on L40 (8.9): {APEX}; 1 cannot be told: absent.so; 1 fits in part: {PARTLY}"
    )
    assert "  UNSURE FF903  cannot be opened: No such file or directory" in lines


def test_a_second_look_comes_from_the_cache_and_a_damaged_cache_is_none(made: Path, tmp_path: Path) -> None:
    wheel = tmp_path / OLD_ABI
    wheel.write_bytes((made / OLD_ABI).read_bytes())
    os.utime(wheel, (1, 1))
    time.sleep(3)  # what changed a moment ago is not kept
    words: list[str | Path] = ["doctor", wheel, "--json", *L40]
    cached = {"XDG_CACHE_HOME": str(tmp_path)}
    fresh = run(*words, env=cached)
    (entry,) = (tmp_path / "flashfit/doctor").iterdir()
    assert run(*words, env=cached).stdout == fresh.stdout
    for damage in (
        b"",
        entry.read_bytes()[:-1],
        entry.read_bytes().replace(b"fused", b"fuxed") + b"x",
        os.urandom(9999),
    ):
        entry.write_bytes(damage)
        assert run(*words, env=cached).stdout == fresh.stdout
    before = entry.read_bytes()
    run(*words, "--no-cache", env=cached)
    assert entry.read_bytes() == before
    wheel.write_bytes((made / APEX).read_bytes())
    assert run(*words, env=cached).stdout != fresh.stdout


def test_choose_takes_the_one_that_fits_and_says_why_not_the_others(made: Path) -> None:
    ran = run("choose", OLD_ABI_310, NEW_ABI, *L40, cwd=made)
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[0] == f"best: {NEW_ABI}"
    assert f"not: {OLD_ABI_310}: FF201 cp310 is not your cp311; the platform fits" in ran.stdout
    none = run("choose", OLD_ABI_310, APEX, *L40, cwd=made)
    assert none.returncode == 1
    assert none.stdout.startswith("none fits")
    assert "look for: " in none.stdout


def test_choose_covers_a_fleet_with_the_fewest(made: Path) -> None:
    names = [APEX, NEW_ABI, "family.cubin"]
    words: list[str | Path] = ["choose", *names, "--gpu", "L40", "--gpu", "H100", *PLACE, "--json"]
    assert json.loads(run(*words, cwd=made).stdout)["best"] == NEW_ABI
    family = json.loads(run("doctor", "family.cubin", "--gpu", "all", "--json", *PLACE, cwd=made).stdout)
    served = [n for n, g in family["targets"][0]["binaries"][0]["gpus"].items() if g["best"] != "no"]
    fleet = json.loads(run(*words, "--gpu", served[0], cwd=made).stdout)
    assert fleet["best"] is None
    assert {m["target"]: m["gpus"] for m in fleet["set"]} == {NEW_ABI: ["L40", "H100"], "family.cubin": [served[0]]}
    ran = run("choose", APEX, "--gpu", "L40", "--gpu", "H100", *PLACE, cwd=made)
    assert ran.returncode == 1
    assert "nothing here serves L40 (8.9)" in ran.stdout


def test_choose_reads_names_from_a_release_page() -> None:
    page = "\n".join(
        [
            "flash_attn-2.8.3+cu12torch2.6cxx11abiFALSE-cp311-cp311-linux_x86_64.whl",
            "https://example.org/v2.8.3/flash_attn-2.8.3%2Bcu12torch2.7cxx11abiTRUE-cp311-cp311-linux_x86_64.whl#sha256=1",
            "Source code (zip)",
        ]
    )
    ran = run("choose", *PLACE, "--gpu", "L40", "--torch", "2.7.1+cu126", text=page)
    assert ran.returncode == 0
    assert ran.stdout.startswith("best: flash_attn-2.8.3+cu12torch2.7cxx11abiTRUE-cp311-cp311-linux_x86_64.whl\n")
    assert "FF210 named for torch 2.6; yours is 2.7.1+cu126" in ran.stdout
    assert "2 judged by name alone" in ran.stdout
    assert run("choose", *PLACE, text="").returncode == 2


def test_the_page_is_whole_by_itself_and_escapes_names(made: Path, tmp_path: Path) -> None:
    odd = tmp_path / "<script>&.cubin"
    odd.write_bytes((made / "family.cubin").read_bytes())
    page = tmp_path / "page.html"
    doctor(odd, made / PARTLY, "--html", page, *L40)
    text = page.read_text()
    assert "&lt;script&gt;&amp;.cubin" in text
    assert "<script" not in text
    assert not re.search(r"src=|href=\"[^#]|@import|url\(", text)
    assert "sass 1 of 3" in text
    assert '<a href="#FF102">FF102</a>' in text
    assert '<section id="FF102"><pre># FF102: ' in text


def test_a_survey_swallows_no_gpu_that_was_named(made: Path) -> None:
    """In a survey one GPU that is served is enough."""
    for words in (["--gpu", "L40", "--gpu", "all"], ["--gpu", "all", "--gpu", "L40"]):
        ran = run("doctor", APEX, *words, *PLACE, cwd=made)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr == "flashfit: --gpu 'L40': does not go with all, which is every compute capability\n"


def test_a_page_is_written_over_pages_alone(made: Path, tmp_path: Path) -> None:
    """`--html` without its page takes the wheel's name for it."""
    wheel = tmp_path / PARTLY
    shutil.copy(made / PARTLY, wheel)
    calls: list[list[str | Path]] = [
        ["--html", wheel, *L40],
        [wheel, "--html", wheel],
        ["--error", "a", "--html", wheel],
    ]
    for words in calls:
        ran = run("doctor", *words)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert ran.stderr == (
            f"flashfit: --html '{wheel}': is a file, and no page that may be written over; accepted: a new file or a "
            "page\n"
        )
        assert wheel.read_bytes() == (made / PARTLY).read_bytes()
    page = tmp_path / "page.html"
    page.touch()
    for _ in range(2):
        assert run("doctor", wheel, "--html", page, *L40).returncode == 1
        assert page.read_text().startswith("<!doctype html>")


def test_a_page_holds_no_tokens_and_no_names_of_home_folders(tmp_path: Path) -> None:
    secrets = [
        "hf_AbCdEfGhIjKlMnOpQrStUvWx",
        "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        "hunter2",
        "s3cr3t",
        "ada",
        "eve",
    ]
    text = (
        f"OSError: /home/ada/venv/x.so: invalid ELF header; HF_TOKEN={secrets[0]} https://eve:{secrets[2]}@a.org/a "
        f"--password '{secrets[3]}' password: {secrets[3]} Authorization: Bearer {secrets[1]}\n"
    )
    page = tmp_path / "page.html"
    ran = run("doctor", "--error", text, "--html", page, *L40)
    assert ran.returncode in (1, 2), ran.stderr
    written = page.read_text()
    assert "invalid ELF header" in written
    assert "~/venv/x.so" in written
    assert [s for s in secrets if re.search(rf"\b{s}\b", written)] == []
    assert re.search(r'<a href="#(FF\d{3})">\1</a>', written)


def test_pages_of_codes_are_printed_offline() -> None:
    ran = run("doctor", "FF810", "FF101")
    pages = [(ROOT / f"docs/doctor/{code}.md").read_text() for code in ("FF810", "FF101")]
    assert (ran.returncode, ran.stdout) == (0, "\n".join(pages))
    assert run("doctor", "ff810", "Ff101").stdout == "\n".join(pages)
    ran = run("doctor", "FF999")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "flashfit: TARGET 'FF999': has no page; docs/doctor/README.md lists those that have\n"


def test_the_example_of_the_readme_works_without_the_file(tmp_path: Path) -> None:
    (example,) = re.findall(r"\$ flashfit (doctor \S+\.whl .*)\n((?:.+\n)+)```", (ROOT / "README.md").read_text())
    ran = run(*example[0].split(), "--platform", "linux_x86_64", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stdout.startswith(example[1])
    assert "is not here: it is judged by its name alone" in ran.stdout
    status, lines = doctor(NEW_ABI, *L40, cwd=tmp_path)
    assert (status, lines[0]) == (2, f"cannot tell whether {NEW_ABI} fits on L40 (8.9)")
    assert (
        "  UNSURE FF903  no such file; nothing in its name stands against it, and only the file tells the rest" in lines
    )


def test_the_command_that_mends_stands_below_the_verdict(made: Path) -> None:
    lines = doctor(OLD_TORCH_310, *L40, cwd=made)[1]
    assert lines[1].startswith("try: python3.10 -m venv ")
    assert [line for line in lines if line.startswith("holds: ")] == []
    assert [line for line in doctor(OLD_TORCH_310, "-v", *L40, cwd=made)[1] if line.startswith("holds: ")]


def test_equal_problems_are_one_line(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made / APEX) as wheel:
        (library,) = (wheel.read(name) for name in wheel.namelist() if name.endswith(".so"))
    for i in range(43):
        (tmp_path / f"lib{i:02}.so").write_bytes(library + bytes(i))
    lines = doctor(tmp_path, *L40)[1]
    (image,) = [line for line in lines if " FF101 " in line]
    assert "lib00.so, lib01.so, lib02.so and 40 more: SASS 9.0a, no PTX" in image
    assert sum(" FF101 " in line for line in doctor(tmp_path, "-v", *L40)[1]) == 43


def test_libraries_that_one_file_lacks_are_one_line(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    (tmp_path / "site").mkdir()
    names = ["libcublas.so.12", "libcufft.so.11", "libcusparse.so.12", "libcurand.so.10"]
    for name in names:
        empty = ["cc", "-shared", "-nostdlib", "-x", "c", os.devnull, "-o", str(tmp_path / name)]
        subprocess.run([*empty, f"-Wl,-soname,{name}"], check=True)
    needing = ["cc", "-shared", "-nostdlib", "-Wl,--no-as-needed", "-x", "c", os.devnull, "-x", "none"]
    needed = [str(tmp_path / n) for n in names]
    subprocess.run([*needing, *needed, "-o", str(tmp_path / "site/libneeds.so")], check=True)
    lines = doctor(tmp_path / "site", *L40)[1]
    (line,) = [line for line in lines if " FF330 " in line]
    needs = "libneeds.so: needs libcublas.so.12, libcufft.so.11, libcusparse.so.12 and 1 more, which "
    assert needs in line
    assert sum(" FF330 " in line for line in doctor(tmp_path / "site", "-v", *L40)[1]) == len(names)


def test_a_program_that_packs_images_in_its_own_way_is_judged_by_its_index() -> None:
    """The command carries the same images, in the same way, as the library."""
    gpus = [word for gpu in ("V100", "T4", "L40", "H100", "RTX 5090") for word in ("--gpu", gpu)]
    report = json.loads(run("doctor", COMMAND, "--json", *gpus, *PLACE[2:]).stdout)
    (target,) = report["targets"]
    (binary,) = target["binaries"]
    fits = {gpu: (fit["best"], fit["covered"] == binary["containers"]) for gpu, fit in binary["gpus"].items()}
    assert fits["V100"] == ("no", False)
    assert fits["T4"] == ("sass", False), "fp16 alone"
    assert [fits[gpu] for gpu in ("L40", "H100", "RTX 5090")] == [("sass", True)] * 3
    assert binary["toolkit"] == "12.9"
    (v100,) = [p for p in target["problems"] if p["code"] == "FF101"]
    assert "V100 is 7.0" in v100["message"]
    explained = json.loads(run("explain", "--gpu", "V100", "--json").stdout)
    assert explained[0]["fits"] is False


def test_python_gives_the_same_as_objects(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHFIT_COMMAND", str(COMMAND))
    assert command() == COMMAND
    report = flashfit.doctor(made / APEX, gpu="L40", python="3.11", platform="linux_x86_64", cache=False)
    assert not report
    assert report.targets[0].problems[0].code == "FF101"
    assert report.targets[0].binaries[0].gpus["L40"].best == "no"
    with pytest.raises(flashfit.InvalidArgument, match="gpu 'L40X'"):
        flashfit.doctor(made / APEX, gpu="L40X")
    module = subprocess.run(
        ["python3", "-m", "flashfit", "doctor", made / APEX, "--gpu", "H100", *PLACE],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert module.returncode == 0, module.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"driver": 550}, "driver: 550; accepted: a text"),
        ({"python": 3.11}, "python: 3.11; accepted: a text"),
        ({"gpu": 5}, "gpu: 5; accepted: a text, or a sequence of texts"),
        ({"gpu": ["L40", 8.9]}, "gpu: 8.9; accepted: a text"),
        ({"torch": 2}, "torch: 2; accepted: a text or a path"),
        ({"targets": 1}, "targets: 1; accepted: a text or a path"),
    ],
)
def test_a_wrong_type_names_the_argument_and_what_is_accepted(given: dict[str, Any], message: str) -> None:
    with pytest.raises(flashfit.InvalidType) as raised:
        flashfit.doctor(given.pop("targets", "x.whl"), **given)
    assert str(raised.value) == message


def test_what_no_command_can_be_given_is_an_invalid_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHFIT_COMMAND", str(COMMAND))
    with pytest.raises(flashfit.InvalidArgument, match=r"targets: 'a.*b'; accepted: a text without zero bytes"):
        flashfit.doctor("a\0b")
    with pytest.raises(flashfit.InvalidArgument, match="go with targets, not with the page of a code"):
        flashfit.doctor("FF101")


def test_the_page_of_a_code_takes_no_other_form(tmp_path: Path) -> None:
    for words in (["--json"], ["--html", str(tmp_path / "x.html")], ["--format", "sarif"]):
        ran = run("doctor", "FF101", *words)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert len(ran.stderr.splitlines()) == 1


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    sources = (ROOT / "src").rglob("*.[ch]pp")
    codes = {code for path in sources for code in re.findall(r'"(FF\d{3})"', path.read_text())}
    assert codes == {page.stem for page in (ROOT / "docs/doctor").glob("FF*.md")}


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"tools-1.0.dist-info": "1.0"}, ""),
        ({"Tools-1.0.dist-info": "1.9"}, ""),
        ({"tools-1.0.dist-info": "1.0", "tools/_vendor/six-1.0.dist-info": "2.0"}, ""),
        ({"tools-1.0.dist-info": "2.0"}, "Wheel-Version: 2.0; installers read 1.x"),
        ({"other-1.0.dist-info": "1.0"}, "its folder other-1.0.dist-info is not tools's"),
        (
            {"other-1.0.dist-info": "1.0", "tools-1.0.dist-info": "1.0"},
            "2 .dist-info folders, such as other-1.0.dist-info and tools-1.0.dist-info; installers take one",
        ),
    ],
)
def test_a_wheel_that_installers_refuse_for_its_dist_info_does_not_fit(
    files: dict[str, str], why: str, tmp_path: Path
) -> None:
    wheel = tmp_path / "tools-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as content:
        for folder, version in files.items():
            content.writestr(f"{folder}/METADATA", "Metadata-Version: 2.1\nName: tools\nVersion: 1.0\n")
            content.writestr(f"{folder}/WHEEL", f"Wheel-Version: {version}\nTag: py3-none-any\n")
            content.writestr(f"{folder}/RECORD", "")
    status, lines = doctor(wheel, *L40)
    assert status == (1 if why else 0)
    assert [line for line in lines if line.startswith("  FAIL")] == ([f"  FAIL   FF207  {why}"] if why else [])


@pytest.mark.parametrize(
    ("member", "why"),
    [
        ("tools-1.0.dist-info/RECORD", ""),
        ("tools-1.0.data/scripts/run", "no RECORD: installers refuse it"),
        ("tools-1.0.data/lib/x", "tools-1.0.data/lib/x has no place where Python's installers put files"),
        ("tools-1.0.data/x", "tools-1.0.data/x has no place where Python's installers put files"),
        ("tools/tools.data/lib/x", "no RECORD: installers refuse it"),
    ],
)
def test_a_wheel_whose_members_installers_refuse_does_not_fit(member: str, why: str, tmp_path: Path) -> None:
    wheel = tmp_path / "tools-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as content:
        content.writestr("tools-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tools\nVersion: 1.0\n")
        content.writestr("tools-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        content.writestr(member, "")
    status, lines = doctor(wheel, *L40)
    assert status == (1 if why else 0)
    assert (f"  FAIL   FF207  {why}" in lines) == bool(why)


@pytest.mark.parametrize(
    ("file", "added", "why"),
    [
        ("METADATA", b"Author: J\xfc\n", "METADATA is not UTF-8: pip refuses it"),
        ("METADATA", b"\nA description by J\xfc\n", "METADATA is not UTF-8: pip refuses it"),
        ("METADATA", "Author: Jü\n".encode(), ""),
        ("WHEEL", b"X: \xfc\n", "WHEEL is not UTF-8: installers refuse it"),
        ("RECORD", b"\xff.py,,\n", "RECORD is not UTF-8: installers refuse it"),
        ("RECORD", "ü.py,,\n".encode() * (1 << 20), ""),  # longer than what is read of it
    ],
)
def test_a_wheel_whose_texts_are_not_utf8_does_not_fit(file: str, added: bytes, why: str, tmp_path: Path) -> None:
    wheel = tmp_path / "tools-1.0-py3-none-any.whl"
    texts = {
        "METADATA": b"Metadata-Version: 2.1\nName: tools\nVersion: 1.0\n",
        "WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        "RECORD": b"tools.py,,\n",
    }
    with zipfile.ZipFile(wheel, "w") as content:
        for name, text in texts.items():
            content.writestr(f"tools-1.0.dist-info/{name}", text + added * (name == file))
    status, lines = doctor(wheel, *L40)
    assert status == (1 if why else 0)
    assert [line for line in lines if line.startswith("  FAIL")] == ([f"  FAIL   FF207  {why}"] if why else [])


@pytest.mark.parametrize("marked", ["METADATA", "WHEEL"])
def test_a_wheel_whose_texts_begin_with_a_byte_order_mark_does_not_fit(marked: str, tmp_path: Path) -> None:
    wheel = tmp_path / "tools-1.0-py3-none-any.whl"
    texts = {
        "METADATA": "Metadata-Version: 2.1\nName: tools\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(wheel, "w") as content:
        for name, text in texts.items():
            content.writestr(f"tools-1.0.dist-info/{name}", "\ufeff" * (name == marked) + text)
    status, lines = doctor(wheel, *L40)
    assert status == 1
    assert f"  FAIL   FF207  {marked} begins with a byte-order mark: installers refuse it" in lines


def test_what_an_egg_holds_is_judged(made: Path, tmp_path: Path) -> None:
    """Its PKG-INFO does not make it a source distribution."""
    library = next(zipfile.ZipFile(made / APEX).read(n) for n in zipfile.ZipFile(made / APEX).namelist() if ".so" in n)
    egg = tmp_path / "apex-0.1-py3.11-linux-x86_64.egg"
    with zipfile.ZipFile(egg, "w") as content:
        content.writestr("EGG-INFO/PKG-INFO", "Metadata-Version: 1.0\nName: apex\nVersion: 0.1\n")
        content.writestr("apex/_C.so", library)
    status, lines = doctor(egg, *L40)
    assert status == 1
    assert [line.split()[1] for line in lines if line.startswith("  FAIL")] == ["FF101"]


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz"])
def test_a_source_distribution_with_compiled_files_is_not_cleared(suffix: str, tmp_path: Path) -> None:
    sdist = tmp_path / f"pkg-1.0{suffix}"

    def write(names: list[str]) -> None:
        texts = {"pkg-1.0/PKG-INFO": b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n"}
        members = {**texts, **dict.fromkeys(names, b"content")}
        if suffix == ".zip":
            with zipfile.ZipFile(sdist, "w") as content:
                for name, text in members.items():
                    content.writestr(name, text)
            return
        with tarfile.open(sdist, "w:gz") as archive:
            for name, text in members.items():
                header = tarfile.TarInfo(name)
                header.size = len(text)
                archive.addfile(header, io.BytesIO(text))

    write(["pkg-1.0/pkg/a.c", "pkg-1.0/pkg/also.py", "pkg-1.0/tests/hello.so"])
    assert doctor(sdist, *L40)[0] == 0
    write(["pkg-1.0/pkg/a.c", "pkg-1.0/pkg/lib.so.2", "pkg-1.0/pkg/k.cubin"])
    status, lines = doctor(sdist, *L40)
    assert status == 2
    assert lines[1] == (
        "  UNSURE FF208  2 files in it are compiled already, such as pkg-1.0/pkg/lib.so.2, and are not read in a "
        "source distribution"
    )


@pytest.mark.parametrize("content", [b"", b"version https://git-lfs.github.com/spec/v1\n", bytes(5000)])
def test_a_wheel_whose_module_is_no_library_is_not_cleared(content: bytes, tmp_path: Path) -> None:
    wheel = tmp_path / "tools-1.0-cp311-cp311-linux_x86_64.whl"

    def write(module: str, text: bytes) -> None:
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("tools-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tools\nVersion: 1.0\n")
            archive.writestr("tools-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
            archive.writestr("tools-1.0.dist-info/RECORD", "")
            archive.writestr(module, text)

    name = "tools/_C.cpython-311-x86_64-linux-gnu.so"
    write(name, content)
    status, lines = doctor(wheel, *L40)
    assert status == 2
    assert lines[1] == f"  UNSURE FF901  malformed: no library, though named as a module of Python, at 0 in {name}", (
        "what Python would open"
    )
    for other, text in (("tools/words.so", content), ("tools/_C.cpython-311-darwin.so", b"\xcf\xfa\xed\xfe")):
        write(other, text)
        assert doctor(wheel, *L40)[0] == 0, other
