"""The list of what is linked into the wheel's files (an SBOM, in CycloneDX's JSON), read from what was linked.

The linker's maps name the objects and libraries whose bytes are in a file; ninja knows which headers each object read;
dpkg knows whose these are and their version. Only licences are written here. What has none here stops the wheel, and so
does a licence of something that is no longer linked, and a work that NOTICE does not name.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Work:
    """What others wrote: its SPDX licence, and how its line in NOTICE begins; "" for what belongs to the system."""

    licence: str
    notice: str


#: By the name of Debian's source package, without a number at its end.
WORKS = {
    "boost": Work("BSL-1.0", "Boost.Context"),
    "cli11": Work("BSD-3-Clause", "CLI11"),
    "dlpack": Work("Apache-2.0", "DLPack"),
    "fmtlib": Work("MIT", "fmt"),
    "gcc": Work("GPL-3.0-or-later WITH GCC-exception-3.1", "libstdc++ and libgcc"),
    "glibc": Work("LGPL-2.1-or-later", ""),
    "highway": Work("Apache-2.0", "Highway"),
    "isal": Work("BSD-3-Clause", "ISA-L"),
    "libmd": Work("BSD-3-Clause", "libmd"),
    "libzstd": Work("BSD-3-Clause", "Zstandard"),
    "linux": Work("GPL-2.0-only WITH Linux-syscall-note", ""),
    "lz4": Work("BSD-2-Clause", "LZ4"),
    "nlohmann-json": Work("MIT", "JSON for Modern C++"),
    "node-chart.js": Work("MIT", "Chart.js"),
    "rapidjson": Work("MIT", "RapidJSON"),
    "re2": Work("BSD-3-Clause", "RE2"),
    "tl-expected": Work("CC0-1.0", "expected"),
    "tomlplusplus": Work("MIT", "toml++"),
    "xxhash": Work("BSD-2-Clause", "xxHash"),
}


class UnknownError(Exception):
    """Something is linked of which not all is known; says what in one line."""


@dataclass(frozen=True)
class Source:
    """Where a version of a work came from: a key of WORKS, the version, and the address of its package."""

    name: str
    version: str
    purl: str


def linked(text: str) -> set[str]:
    """The files, "libx.a(member.o)" for a library's, of which a linker's map says that bytes are in the result."""
    _, _, memory = text.partition("Linker script and memory map")
    if not memory:
        raise UnknownError("a linker's map has no memory map")
    # A long name of a section stands on a line of its own, before the address.
    return {m[2] for m in re.finditer(r"0x[0-9a-f]+ +0x([0-9a-f]+) (\S.*)$", memory, re.MULTILINE) if int(m[1], 16)}


def dependencies(text: str) -> dict[str, list[str]]:
    """By object, the files that it was compiled from, of what `ninja -t deps` prints."""
    blocks = (block.splitlines() for block in text.split("\n\n") if block)
    return {first.partition(":")[0]: [line.strip() for line in rest] for first, *rest in blocks}


def objects(file: str, known: Iterable[str]) -> Iterator[str]:
    """The objects of the build that a file of a map may be: a library's members are named without their folder."""
    library = re.fullmatch(r"(.*)/lib(\w+)\.a\((.*)\)", file)
    if library is None:
        yield from (name for name in known if name == file)
    else:
        folder, target, member = library.groups()
        start = f"{folder}/CMakeFiles/{target}"
        yield from (name for name in known if name.startswith(start) and name.rpartition("/")[2] == member)


def folders_of_python(paths: Iterable[Path]) -> set[Path]:
    """Where Python's headers are, which declare what is there when the module is loaded: they come with whatever Python
    made the build. Debian has pyconfig.h in a folder of the processor's."""
    return {p.parent for p in paths if p.name in ("Python.h", "pyconfig.h")}


def files_of(build: Path) -> set[Path]:
    """Every file outside of this repository whose bytes or text are in the wheel's files."""
    maps = sorted((build / "wheel").glob("*.map"))
    if not maps:
        raise UnknownError(f"{build}/wheel has no linker's maps")
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    read = dependencies(text)
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    found: set[str] = set()
    for file in set.union(*(linked(m.read_text(encoding="utf-8", errors="replace")) for m in maps)):
        found.add(file.partition("(")[0])
        for name in objects(file, read):
            found.update(read[name])
        if file.endswith("page.o)"):  # made of a copy
            found.update(re.findall(r"^CHART_JS:\w+=(.*)$", cache, re.MULTILINE))
    paths = {Path(os.path.normpath(build / name)) for name in found}
    # Headers compiled beforehand stand for those that every file reads; those of tests are in no file of the wheel.
    ahead = [files for n, files in read.items() if n.endswith(".gch") and not n.startswith("tests/")]
    paths |= {Path(f) for files in ahead for f in files if f.startswith("/")}
    own = {ROOT, build, *folders_of_python(paths)}
    return {p.resolve() for p in paths if own.isdisjoint(p.parents) and p.is_file()}


def of_debian(files: set[Path], root: Path) -> Iterator[Source]:
    """The source packages that the files come from; those below `root` by dpkg's records there."""
    folders = ["dpkg-query", "--admindir", str(root / "var/lib/dpkg")]
    asked = subprocess.run(
        [*folders, "--search", *(f"/{f.relative_to(root)}" for f in sorted(files))],
        capture_output=True,
        text=True,
        check=False,
    )
    owners = dict(line.rpartition(": ")[::2][::-1] for line in asked.stdout.splitlines())
    if strangers := sorted(str(f) for f in files if f"/{f.relative_to(root)}" not in owners):
        raise UnknownError(f"{strangers[0]} is linked and comes from no package")
    packages = sorted({owner.partition(",")[0] for owner in owners.values()})
    form = "${source:Package} ${Version} ${Architecture} ${Package}\n"
    shown = subprocess.run([*folders, "--show", "-f", form, *packages], capture_output=True, text=True, check=True)
    for line in shown.stdout.splitlines():
        source, version, machine, package = line.split()
        if source == "cross-toolchain-base":
            source = "linux" if package.startswith("linux-") else "glibc"
        name = source if source in WORKS else re.sub(r"-?[\d.]+(-cross)?$", "", source)
        upstream = re.split(r"[+~](?:ds|dfsg|~)", version.partition(":")[2] or version)[0].partition("-")[0]
        yield Source(name, upstream, f"pkg:deb/debian/{package}@{version}?arch={machine}")


def of_cache(file: Path) -> Source | None:
    """What tools/dev made of a package from PyPI, by the stamp beside it."""
    for folder in list(file.parents)[:3]:
        for stamp in folder.glob("*-*"):
            if made := re.fullmatch(r"isal-([\d.]+)", stamp.name):
                return Source("isal", made[1], f"pkg:pypi/isal@{made[1]}")
            if made := re.fullmatch(r"glibc-([\d.]+)-\w+-by-zig-([\d.]+)", stamp.name):
                return Source("glibc", made[1], f"pkg:pypi/ziglang@{made[2]}")
    return None


def check(sources: Iterable[Source], notice: str) -> None:
    """Raises UnknownError unless exactly the linked works are in WORKS, and NOTICE names them."""
    names = {s.name for s in sources}
    if unknown := sorted(names - WORKS.keys()):
        raise UnknownError(f"{', '.join(unknown)}: linked, but tools/dev/sbom.py knows no licence of it")
    if stale := sorted(WORKS.keys() - names):
        raise UnknownError(f"{', '.join(stale)}: in tools/dev/sbom.py, but not linked")
    missing = [n for n in sorted(names) if not re.search(rf"^{re.escape(WORKS[n].notice)}(?!\w)", notice, re.MULTILINE)]
    if missing := [n for n in missing if WORKS[n].notice]:
        raise UnknownError(f"{', '.join(missing)}: linked, but NOTICE does not name it")


def render(sources: Iterable[Source], version: str, seconds: int) -> str:
    """The document, the same for the same arguments."""
    from cyclonedx.factory.license import LicenseFactory
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    licences = LicenseFactory()

    def component(name: str, version: str, licence: str, purl: str) -> Component:
        return Component(
            name=name,
            version=version,
            type=ComponentType.LIBRARY,
            bom_ref=purl or name,
            purl=PackageURL.from_string(purl) if purl else None,
            licenses=[licences.make_from_string(licence)],
        )

    bom = Bom(components=[component(s.name, s.version, WORKS[s.name].licence, s.purl) for s in sources])
    bom.metadata.component = component("flashfit", version, "Apache-2.0", "")
    bom.metadata.timestamp = datetime.fromtimestamp(seconds, tz=timezone.utc)
    bom.register_dependency(bom.metadata.component, bom.components)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(sorted(s.purl for s in sources)) + version)
    written: str = JsonV1Dot6(bom).output_as_string(indent=2)
    json.loads(written)
    return written + "\n"


def sources_of(build: Path) -> list[Source]:
    """What is linked into the wheel's files of BUILD, sorted."""
    files = files_of(build)
    found = {source for f in files if (source := of_cache(f))}
    files = {f for f in files if not of_cache(f)}
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    # A build for another processor takes packages from a tree of their own.
    if other := re.search(r"^FLASHFIT_SYSROOT:\w+=(.+)$", cache, re.MULTILINE):
        root = Path(other[1]).resolve()
        theirs = {f for f in files if root in f.parents}
        found.update(of_debian(theirs, root))
        files -= theirs
    if files:
        found.update(of_debian(files, Path("/")))
    return sorted(found, key=lambda s: (s.name, s.purl))


def document(build: Path, version: str) -> str:
    """The SBOM of this version of the wheel."""
    sources = sources_of(build)
    check(sources, (ROOT / "NOTICE").read_text(encoding="utf-8"))
    return render(sources, version, int(os.environ["SOURCE_DATE_EPOCH"]))
