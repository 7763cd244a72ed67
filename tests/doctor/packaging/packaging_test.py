"""Wheel names, tags, versions and specifiers: the doctor's rules against packaging, the library that pip uses."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from packaging import _manylinux, _musllinux
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, generic_tags, mac_platforms
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parents[3]


def ask(questions: Sequence[tuple[str, ...]]) -> list[str]:
    """The answers of the rules, one for each question."""
    library = os.environ.get("FLASHFIT_LIBRARY")
    build = Path(library).resolve().parents[1] if library else ROOT / "build"
    lines = "".join("\t".join(question) + "\n" for question in questions)
    tool = build / "tests" / "doctor_packaging_tool"
    answers = subprocess.run([tool], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(questions)
    return answers


def linux_platforms(arch: str, glibc: tuple[int, int] | None, musl: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What packaging would ask for on a Linux that is not this one."""
    version = _manylinux._GLibCVersion(*glibc) if glibc else _manylinux._GLibCVersion(-1, -1)
    monkeypatch.setattr(_manylinux, "_get_glibc_version", lambda: version)
    monkeypatch.setattr(_manylinux, "_have_compatible_abi", lambda *_: True)
    monkeypatch.setattr(_manylinux, "_get_manylinux_module", lambda: None)
    monkeypatch.setattr(_musllinux, "_get_musl_version", lambda _: None if glibc else _musllinux._MuslVersion(1, musl))
    names = list(_musllinux.platform_tags([arch]))
    return [f"linux_{arch}", *names, *(_manylinux.platform_tags([arch]) if glibc else [])]


def systems(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    for arch, glibc in itertools.product(["x86_64", "aarch64", "ppc64le"], [(2, 17), (2, 28), (2, 31), (2, 39)]):
        yield f"manylinux_{glibc[0]}_{glibc[1]}_{arch}", linux_platforms(arch, glibc, 0, monkeypatch)
    for arch, musl in itertools.product(["x86_64", "aarch64"], [1, 2]):
        yield f"musllinux_1_{musl}_{arch}", linux_platforms(arch, None, musl, monkeypatch)
    for mac_version, arch in itertools.product([(10, 15), (11, 0), (14, 0)], ["x86_64", "arm64"]):
        if (mac_version, arch) != ((10, 15), "arm64"):
            yield f"macosx_{mac_version[0]}_{mac_version[1]}_{arch}", list(mac_platforms(mac_version, arch))
    for windows in ["win_amd64", "win32", "win_arm64"]:
        yield windows, [windows]


def pythons(platforms: list[str]) -> Iterator[tuple[str, frozenset[Tag]]]:
    for minor in [7, 8, 9, 10, 11, 12, 13, 14, 15]:
        for flag in ["", "t"] if minor >= 13 else [""]:
            name = f"cp3{minor}"
            abi = name + (flag or ("m" if minor < 8 else ""))
            tags = [*cpython_tags((3, minor), [abi], platforms), *compatible_tags((3, minor), name, platforms)]
            yield f"3.{minor}{flag}", frozenset(tags)
    pypy = [*generic_tags("pp310", ["pypy310_pp73"], platforms), *compatible_tags((3, 10), "pp3", platforms)]
    yield "pypy310_pp73", frozenset(pypy)


PYTHON_TAGS = [
    "py3",
    "py2",
    "py2.py3",
    "py39",
    "py310",
    "py311",
    "py315",
    "cp3",
    "cp31",
    "cp32",
    "cp37",
    "cp39",
    "cp310",
]
PYTHON_TAGS += [
    "cp311",
    "cp313",
    "cp314",
    "cp315",
    "cp39.cp311",
    "pp310",
    "pp39",
    "pp3",
    "pp310.cp310",
    "jy27",
    "py300",
]
ABI_TAGS = [
    "none",
    "abi3",
    "abi3t",
    "cp37m",
    "cp39",
    "cp310",
    "cp311",
    "cp313",
    "cp313t",
    "cp314t",
    "cp315",
    "cp311.abi3",
]
ABI_TAGS += ["pypy310_pp73", "cp311d"]
PLATFORM_TAGS = [
    "any",
    "linux_x86_64",
    "linux_aarch64",
    "manylinux1_x86_64",
    "manylinux2010_x86_64",
    "manylinux2014_x86_64",
]
PLATFORM_TAGS += ["manylinux2014_aarch64", "manylinux1_aarch64", "manylinux_2_5_x86_64", "manylinux_2_4_x86_64"]
PLATFORM_TAGS += ["manylinux_2_16_aarch64", "manylinux_2_17_aarch64", "manylinux_2_17_x86_64.manylinux2014_x86_64"]
PLATFORM_TAGS += ["manylinux_2_24_x86_64", "manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "manylinux_2_31_x86_64"]
PLATFORM_TAGS += ["manylinux_2_34_x86_64", "manylinux_2_39_aarch64", "manylinux_2_028_x86_64", "manylinux_1_9_x86_64"]
PLATFORM_TAGS += ["musllinux_1_1_x86_64", "musllinux_1_2_x86_64", "musllinux_1_2_aarch64", "musllinux_2_0_x86_64"]
PLATFORM_TAGS += [
    "manylinux_2_28_ppc64le",
    "win_amd64",
    "win32",
    "win_arm64",
    "macosx_10_4_x86_64",
    "macosx_10_9_x86_64",
]
PLATFORM_TAGS += ["macosx_10_9_universal2", "macosx_10_3_x86_64", "macosx_10_16_universal2", "macosx_10_17_universal2"]
PLATFORM_TAGS += [
    "macosx_11_0_arm64",
    "macosx_11_1_arm64",
    "macosx_10_15_arm64",
    "macosx_14_0_arm64",
    "macosx_15_0_x86_64",
]
PLATFORM_TAGS += [
    "macosx_11_0_universal2",
    "macosx_10_10_intel",
    "macosx_10_9_fat64",
    "macosx_11_0_universal",
    "plan9_x86",
]


def test_tags_fit_where_packaging_says(monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = [f"a-1-{'-'.join(t)}.whl" for t in itertools.product(PYTHON_TAGS, ABI_TAGS, PLATFORM_TAGS)]
    tags = {wheel: parse_wheel_filename(wheel)[3] for wheel in wheels}
    random.seed(11)
    questions, expected = [], []
    for system, platforms in systems(monkeypatch):
        for python, supported in pythons(platforms):
            # All that fit, and as many again of those that do not.
            fitting = [wheel for wheel in wheels if tags[wheel] & supported]
            for wheel in fitting + random.sample(wheels, len(fitting)):
                questions.append(("fits", python, system, wheel))
                expected.append("yes" if tags[wheel] & supported else "no")
    assert expected.count("yes") > 10_000
    assert expected.count("no") > 10_000
    wrong = [(q, e) for q, e, a in zip(questions, expected, ask(questions)) if a != e]
    assert not wrong, f"{len(wrong)} of {len(questions)}: {wrong[:5]}"


NAMES = ["flash_attn", "Flash.Attn", "a__b", "", "a b", "ünicode", "x", "_a", "a.", "nvidia_cublas_cu12"]
VERSIONS = [
    "1",
    "1.0",
    "1.0.0",
    "v1.0",
    "1!2.0",
    "0.1.0",
    "2.8.3+cu12torch2.7cxx11abiFALSE",
    "1.0+local.1",
    "1.0+local.01",
]
VERSIONS += [
    "1.0a1",
    "1.0.a.1",
    "1.0_b2",
    "1.0rc",
    "1.0c1",
    "1.0pre2",
    "1.0preview3",
    "1.0alpha.4",
    "1.0.post1",
    "1.0_post2",
]
VERSIONS += [
    "1.0.dev0",
    "1.0.dev1",
    "1.0a1.dev2",
    "1.0.post1.dev3",
    "1.0rev4",
    "1.0r5",
    "1.0a.post1",
    "1.0a1.post2.dev4",
]
VERSIONS += [
    "1.0+abc",
    "1.0+1",
    "1.0+1.abc",
    "1.0+1.2",
    "1.0+10",
    "1.0+2",
    "1.1",
    "1.10",
    "1.2",
    "2",
    "10.0",
    "3.9",
    "3.11.4",
]
VERSIONS += [
    "1.",
    "1.0.",
    "1.0+",
    "1.0+a..b",
    "1.0+a.",
    "1.0a.",
    "1.0.post",
    "1.0.dev",
    "abc",
    "",
    "1..0",
    "1.0 a1",
    "1.*",
]
VERSIONS += [
    "1.0a1b2",
    "1.0dev1post1",
    "1.0post1a1",
    "1!",
    "!1",
    "1.0!2",
    "3.8.0rc1",
    "1.0+cu124_torch2",
    "01.02",
    "1.0.0.0",
]
DASHED = [
    "1.0-1",
    "1.0-post.2",
    "1.0-rc.1",
    "1.0-dev",
    "1.0-1-dev2",
    "1.0--1",
    "1.0a-1",
    "1.0+a-b",
    " 1.0 ",
    "1.0post-2",
]


def test_names_are_read_as_packaging_reads_them() -> None:
    builds, tags = (
        ["", "-1", "-1abc", "-a", "-"],
        ["py3-none-any", "cp39.cp310-abi3-linux_x86_64", "py3-none", "3-none-any"],
    )
    tags += ["py3--any", "py2..py3-none-any", "CP311-cp311-Win_AMD64"]
    wheels = [f"{n}-{v}{b}-{t}.whl" for n, v, b, t in itertools.product(NAMES, VERSIONS, builds, tags)] + [
        "a-1-py3-none-any"
    ]
    wrong = []
    for wheel, answer in zip(wheels, ask([("name", wheel) for wheel in wheels])):
        try:
            name, version, build, parsed = parse_wheel_filename(wheel)
        except InvalidWheelFilename:
            expected = None
        else:
            build_text = "".join(str(part) for part in build)
            expected = (name, version, build_text, {str(tag) for tag in parsed})
        words = answer.split("\t")
        got = None if answer == "refused" else (words[0], Version(words[1]), words[2], set(words[3:]))
        # Names in other alphabets are against the specification; packaging lets them pass.
        if got != expected and not (got is None and not wheel.isascii()):
            wrong.append((wheel, expected, answer))
    assert not wrong, f"{len(wrong)} of {len(wheels)}: {wrong[:5]}"


def test_versions_are_ordered_as_packaging_orders_them() -> None:
    def version(text: str) -> Version | None:
        try:
            return Version(text)
        except InvalidVersion:
            return None

    pairs = list(itertools.product(VERSIONS + DASHED, repeat=2))
    wrong = []
    for (a, b), answer in zip(pairs, ask([("compare", a, b) for a, b in pairs])):
        left, right = version(a), version(b)
        expected = "refused" if left is None or right is None else "<" if left < right else ">" if left > right else "="
        if answer != expected:
            wrong.append((a, b, expected, answer))
    assert not wrong, f"{len(wrong)} of {len(pairs)}: {wrong[:5]}"


def test_specifiers_take_what_packaging_takes() -> None:
    operators = ["==", "!=", "<=", ">=", "<", ">", "~=", "===", "=", "=>", ""]
    limits = [*VERSIONS, *DASHED, "1.0.*", "3.*", "1.0a1.*", "1.0+a.*", "1.0 .*", "v3.9", "1!2.*", "a b", "1.0;"]
    texts = [f"{o}{v}" for o, v in itertools.product(operators, limits)]
    texts += [">=3.9,<4", ">=3.9, !=3.9.0,", ",", "", " >= 3.8 , != 3.8.* ", ">=3.9 <4", "==1.0,==1.0.0", ">1,>2,<3"]
    versions = [v for v in VERSIONS + DASHED if ask([("compare", v, v)])[0] != "refused"]
    questions, expected = [], []
    for text in texts:
        try:
            specifiers = SpecifierSet(text)
        except InvalidSpecifier:
            specifiers = None
        for v in versions:
            questions.append(("accepts", text, v))
            # Space around a version is no part of it, although packaging compares it with ===.
            taken = specifiers is not None and specifiers.contains(v.strip(), prereleases=True)
            expected.append("refused" if specifiers is None else "yes" if taken else "no")
    assert expected.count("yes") > 5_000
    wrong = [(q, e, a) for q, e, a in zip(questions, expected, ask(questions)) if a != e]
    assert not wrong, f"{len(wrong)} of {len(questions)}: {wrong[:8]}"
