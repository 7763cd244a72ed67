"""What the list of linked works is read from, and what stops a wheel whose list would not be whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.dev import sbom

MAP = """Archive member included to satisfy reference by file (symbol)

/usr/lib/x86_64-linux-gnu/libfirst.a(asked.o)
                              main.o (first)

Discarded input sections

 .text.unused   0x0000000000000000       0x25 /usr/lib/x86_64-linux-gnu/libunused.a(a.o)

Linker script and memory map

LOAD /usr/lib/x86_64-linux-gnu/libopened.a
 .text          0x0000000000001000       0x10 src/cli/CMakeFiles/flashfit_cli.dir/main.cpp.o
 .text._ZN8flashfit9long_nameEv
                0x0000000000001010       0x2a src/doctor/libflashfit_doctor.a(zip.cpp.o)
 .text          0x0000000000001040        0x0 /usr/lib/x86_64-linux-gnu/libempty.a(a.o)
 *fill*         0x0000000000001040        0x8
 .text          0x0000000000001048       0x10 /usr/lib/x86_64-linux-gnu/libzstd.a(zstd.o)
"""
DEPENDENCIES = """src/doctor/CMakeFiles/flashfit_doctor.dir/bytes/zip.cpp.o: #deps 2, deps mtime 1 (VALID)
    ../src/doctor/bytes/zip.cpp
    /usr/include/zstd.h

src/other/CMakeFiles/flashfit_other.dir/zip.cpp.o: #deps 1, deps mtime 1 (VALID)
    /usr/include/other.h

"""
SOURCES = [sbom.Source(name, "1.0", f"pkg:deb/debian/{name}@1.0") for name in sbom.WORKS]
NOTICE = "\n".join(f"{work.notice} (in the command): a licence" for work in sbom.WORKS.values() if work.notice)


def test_a_map_names_what_has_bytes_in_the_result() -> None:
    assert sbom.linked(MAP) == {
        "src/cli/CMakeFiles/flashfit_cli.dir/main.cpp.o",
        "src/doctor/libflashfit_doctor.a(zip.cpp.o)",
        "/usr/lib/x86_64-linux-gnu/libzstd.a(zstd.o)",
    }
    with pytest.raises(sbom.UnknownError, match="no memory map"):
        sbom.linked("cut short")


def test_a_member_leads_to_the_headers_that_it_read() -> None:
    read = sbom.dependencies(DEPENDENCIES)
    (name,) = sbom.objects("src/doctor/libflashfit_doctor.a(zip.cpp.o)", read)
    assert read[name] == ["../src/doctor/bytes/zip.cpp", "/usr/include/zstd.h"]
    assert list(sbom.objects("/usr/lib/x86_64-linux-gnu/libzstd.a(zstd.o)", read)) == []


def test_pythons_headers_are_no_part_of_the_wheel() -> None:
    own = "/usr/include/python3.11/Python.h", "/usr/include/aarch64-linux-gnu/python3.11/pyconfig.h"
    found = sbom.folders_of_python(map(Path, (*own, "/usr/include/zstd.h")))
    assert found == {Path(each).parent for each in own}


def test_a_file_of_no_package_is_refused(tmp_path: Path) -> None:
    stranger = tmp_path / "libstranger.a"
    stranger.touch()
    with pytest.raises(sbom.UnknownError, match=r"libstranger.a is linked and comes from no package"):
        list(sbom.of_debian({stranger}, Path("/")))


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="dpkg is of Debian and Ubuntu")
def test_a_tree_of_another_processor_has_records_of_its_own(tmp_path: Path) -> None:
    records = tmp_path / "var/lib/dpkg"
    (records / "info").mkdir(parents=True)
    (records / "updates").mkdir()
    (records / "info/format").write_text("1\n")
    stanzas = []
    for name, source, version in (
        ("libx1.2-dev", "x1.2", "1:1.2.3+dfsg1-4"),
        ("libgcc", "gcc-12-cross (15)", "12.2-1"),
    ):
        (tmp_path / name).touch()
        (records / f"info/{name}:arm64.list").write_text(f"/.\n/{name}\n")
        stanzas.append(
            f"Package: {name}\nSource: {source}\nVersion: {version}\nArchitecture: arm64\nMulti-Arch: same\n"
            "Maintainer: nobody\nDescription: a test\nStatus: install ok installed\n"
        )
    (records / "status").write_text("\n".join(stanzas))
    found = set(sbom.of_debian({tmp_path / "libx1.2-dev", tmp_path / "libgcc"}, tmp_path))
    assert {(s.name, s.version) for s in found} == {("x", "1.2.3"), ("gcc", "12.2")}
    assert "pkg:deb/debian/libx1.2-dev@1:1.2.3+dfsg1-4?arch=arm64" in {s.purl for s in found}


def test_what_tools_made_is_known_by_its_stamp(tmp_path: Path) -> None:
    for folder, stamp in (("isal", "isal-1.9.1"), ("glibc", "glibc-2.28-x86_64-by-zig-0.17.1")):
        (tmp_path / folder / "lib").mkdir(parents=True)
        (tmp_path / folder / stamp).touch()
    isal = sbom.of_cache(tmp_path / "isal/lib/libisal.a")
    assert isal == sbom.Source("isal", "1.9.1", "pkg:pypi/isal@1.9.1")
    glibc = sbom.of_cache(tmp_path / "glibc/libc_nonshared.a")
    assert glibc == sbom.Source("glibc", "2.28", "pkg:pypi/ziglang@0.17.1")


def test_the_table_must_be_what_is_linked() -> None:
    sbom.check(SOURCES, NOTICE)
    with pytest.raises(sbom.UnknownError, match=r"^newcomer: linked, but tools/dev/sbom.py knows no licence of it$"):
        sbom.check([*SOURCES, sbom.Source("newcomer", "1", "pkg:deb/debian/newcomer@1")], NOTICE)
    with pytest.raises(sbom.UnknownError, match=r"^re2: in tools/dev/sbom.py, but not linked$"):
        sbom.check([s for s in SOURCES if s.name != "re2"], NOTICE)
    with pytest.raises(sbom.UnknownError, match=r"^re2: linked, but NOTICE does not name it$"):
        sbom.check(SOURCES, NOTICE.replace("RE2", "RE3"))


def test_notice_names_every_work() -> None:
    sbom.check(SOURCES, Path(sbom.ROOT, "NOTICE").read_text(encoding="utf-8"))
