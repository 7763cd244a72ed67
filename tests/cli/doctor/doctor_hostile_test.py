"""What is made to make the doctor slow, large or dead: docs/doctor.md, "Limits". tests.doctor_command bounds memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
import struct
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doctor_command import APEX, COMMAND, L40, WITHIN, doctor, run

SECONDS = 5.0  # of the processor: other programs take nothing from it
TERABYTE = 1 << 40


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Of the processor, in programs that ended meanwhile; and what the call gave."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, answer


def asked(*words: str | Path, **how: Any) -> Any:
    """The finished command, which used no more than SECONDS and did not die."""
    seconds, ran = seconds_of(lambda: run("doctor", *words, "--no-cache", **how))
    assert ran.returncode in (0, 1, 2), ran.stderr
    assert seconds < SECONDS
    return ran


DEEP = "nesting of a text beyond the limit of 64 at "
LOCK = "lock-version = '1.0'\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{LOCK}[[{'a.' * 1_000_000}a]]\n",
        f"{LOCK}{'a.' * 30_000}a = 1\n",
        f"{LOCK}packages = {'[' * 1_000_000}",
        f"{LOCK}a = {'{b = ' * 1_000_000}",
        f"{LOCK}a = '''''' # ''' \nb = {{x = \"[\", {'y.' * 100_000}z = 1}}",
    ],
    ids=["header", "key", "arrays", "tables", "behind texts"],
)
def test_toml_that_nests_is_refused_before_it_is_parsed(text: str, tmp_path: Path) -> None:
    (tmp_path / "pylock.toml").write_text(text)
    ran = asked(tmp_path / "pylock.toml", *L40)
    assert ran.returncode == 2
    assert DEEP in ran.stdout
    (tmp_path / "fleet.toml").write_text(text)
    (tmp_path / "requirements.txt").write_text("numpy\n")
    ran = asked(tmp_path / "requirements.txt", "--policy", tmp_path / "fleet.toml")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert DEEP in ran.stderr or "policy beyond the limit of 1048576" in ran.stderr


def test_a_lock_of_very_many_values_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pylock.toml").write_text(LOCK + "a = [" + "{}," * 2_500_000 + "]\n")
    ran = asked(tmp_path / "pylock.toml", *L40)
    assert "values of a text beyond the limit of 500000 at " in ran.stdout


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"machine":' + "[" * 100_000 + "]" * 100_000 + "}", '{"a":' * 100_000]
)
def test_json_that_nests_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_text(text)
    (tmp_path / "requirements.txt").write_text("numpy\n")
    ran = asked(tmp_path / "requirements.txt", "--policy", tmp_path / "fleet.json")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert DEEP in ran.stderr


def members(wheel: Path) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as content:
        yield from (content.read(name) for name in content.namelist() if name.endswith(".so"))


def containers(file: Path) -> tuple[Any, ...]:
    report = json.loads(asked(file, "--json", *L40).stdout)
    (binary,) = report["targets"][0]["binaries"]
    return report["verdict"], binary["sass"], binary["toolkit"], binary["containers"]


def test_holes_of_a_file_are_not_read(made: Path, tmp_path: Path) -> None:
    (library,) = members(made / APEX)
    small, large = tmp_path / "small.so", tmp_path / "large.so"
    small.write_bytes(library)
    large.write_bytes(library)
    os.truncate(large, TERABYTE)
    assert containers(large) == containers(small)
    with large.open("r+b") as file:  # what lies behind the hole is found
        file.seek(TERABYTE // 2)
        file.write(library)
    twice = tmp_path / "twice.so"
    twice.write_bytes(library.ljust((len(library) + 4095) // 4096 * 4096, b"\0") + library)
    assert containers(large) == containers(twice)
    assert containers(twice)[3] == 2 * containers(small)[3]
    nothing = tmp_path / "nothing.fatbin"
    nothing.write_bytes(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0))
    os.truncate(nothing, TERABYTE)
    asked(nothing, *L40)


def test_a_text_that_does_not_end_is_read_in_part(tmp_path: Path) -> None:
    line = "did not end within 1073741824 bytes: the rest was not read"
    assert line in asked("--error", "/dev/zero", "--env", tmp_path, *L40).stdout
    log = tmp_path / "log.txt"
    log.write_bytes(b"")
    os.truncate(log, TERABYTE)
    with log.open("ab") as file:
        file.write(b"\nOSError: x.so: invalid ELF header\n")
    ran = asked("--error", log, *L40)
    assert "invalid ELF header" in ran.stdout
    assert " bytes were not read: the text is too long" in ran.stdout
    endless = subprocess.run(
        [*WITHIN, str(512 << 10), "sh", "-c", f"yes | {COMMAND} doctor --error - --gpu L40"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert line in endless.stdout


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "log.fifo"
    os.mkfifo(pipe)
    ran = asked("--error", pipe, *L40)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "is empty; the traceback or the log is needed" in ran.stderr
    both = os.open(pipe, os.O_RDWR)  # a writer that says something and falls silent
    try:
        os.write(both, b"OSError: x.so: invalid ELF header\n")
        ran = asked("--error", pipe, "--env", tmp_path, *L40)
    finally:
        os.close(both)
    assert "invalid ELF header" in ran.stdout
    assert f"nothing more came of {pipe} for 5 s: what came until then was read" in ran.stdout


def test_a_command_behind_a_nameless_pipe_may_think(tmp_path: Path) -> None:
    slow = f'exec "{COMMAND}" doctor --error <(sleep 6; echo "OSError: x.so: invalid ELF header") --env "{tmp_path}"'
    ran = subprocess.run(["bash", "-c", slow], capture_output=True, text=True, check=False, timeout=120)
    assert "invalid ELF header" in ran.stdout, ran.stderr


def test_folders_within_folders_are_followed_to_a_limit(made: Path, tmp_path: Path) -> None:
    (library,) = members(made / APEX)
    deep = tmp_path / "deep"
    deep.mkdir()
    here = os.open(deep, os.O_RDONLY)
    try:
        for depth in range(10_000):
            if depth in (60, 70):
                with os.fdopen(os.open("x.so", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=here), "wb") as file:
                    file.write(library + bytes(depth))
            os.mkdir("folder", dir_fd=here)
            below = os.open("folder", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        ran = asked(deep, "--json", *L40)
    finally:
        os.close(here)
        subprocess.run(["rm", "-rf", deep], check=True)
    (target,) = json.loads(ran.stdout)["targets"]
    assert len(target["binaries"]) == 1
    (why,) = [p["message"] for p in target["problems"] if p["code"].startswith("FF90")]
    assert why == "folders within one another beyond the limit of 64: the rest was not looked at"


def test_folders_that_links_lead_to_are_read_once(made: Path, tmp_path: Path) -> None:
    """An environment that is made of links, with some in circles."""
    (library,) = members(made / APEX)
    store, site = tmp_path / "store", tmp_path / "site"
    (store / "pkg").mkdir(parents=True)
    (store / "pkg/_C.so").write_bytes(library)
    (store / "pkg/up").symlink_to("..")
    (store / "pkg/back").symlink_to(site)
    site.mkdir()
    (site / "pkg").symlink_to(store / "pkg")
    (site / "again").symlink_to(store / "pkg")
    (site / "here").symlink_to(".")
    (site / "all").symlink_to("/")
    ran = asked(site, "--json", *L40)
    (target,) = json.loads(ran.stdout)["targets"]
    assert ran.returncode == 1
    (binary,) = target["binaries"]
    assert binary["path"] in ("pkg/_C.so", "again/_C.so")
    assert [p["code"] for p in target["problems"] if p["severity"] == "misfit"] == ["FF101"]


def test_a_folder_that_may_not_be_read_is_said(made: Path) -> None:
    """What it holds may be what does not fit. Root may read it all, and becomes somebody else."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("open", "closed"):
            (Path(folder) / name).mkdir()
        shutil.copy(made / "family.cubin", Path(folder) / "open")
        Path(folder).chmod(0o755)
        (Path(folder) / "closed").chmod(0)
        root = os.geteuid() == 0
        ran = subprocess.run(
            [COMMAND, "doctor", folder, "--no-cache", "--gpu", "all", *L40[2:]],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            user=65534 if root else None,
            group=65534 if root else None,
            extra_groups=[] if root else None,
        )
        (Path(folder) / "closed").chmod(0o755)
    assert "UNSURE FF903  cannot be read: closed: Permission denied" in ran.stdout, ran.stderr
    assert ran.returncode == 2


def bombs(path: Path, count: int, size: int) -> None:
    """A wheel of libraries of zeros, deflated once: each some 1,000 times its place."""
    plain = b"\x7fELF" + bytes(size - 4)
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed, crc = squeeze.compress(plain) + squeeze.flush(), zlib.crc32(plain)
    fields = struct.pack("<HHHHHIII", 20, 0, 8, 0, 0x21, crc, len(packed), len(plain))
    with path.open("wb") as file:
        directory = b""
        for i in range(count):
            name = b"bomb/%03d.so" % i
            directory += struct.pack("<IH", 0x02014B50, 20) + fields
            directory += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, file.tell()) + name
            file.write(struct.pack("<I", 0x04034B50) + fields + struct.pack("<HH", len(name), 0) + name + packed)
        at = file.tell()
        file.write(directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), at, 0))


def test_many_members_that_swell_come_to_a_limit(tmp_path: Path) -> None:
    wheel = tmp_path / "bombs-1.0-cp311-cp311-linux_x86_64.whl"
    bombs(wheel, 60, 300 << 20)
    ran = asked(wheel, *L40)
    assert ran.returncode == 2
    assert "content of an archive beyond the limit of 1" in ran.stdout


def test_compressed_streams_come_to_a_limit(tmp_path: Path) -> None:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    part = squeeze.compress(bytes(256 << 20)) + squeeze.flush()
    path = tmp_path / "bomb-1.0.tar.gz"
    path.write_bytes(part * 40)
    assert doctor(path, *L40)[0] == 2
    asked(path, *L40)


def elf(sections: list[tuple[bytes, int, int, bytes]], kind: int = 3, machine: int = 62, flags: int = 0) -> bytes:
    """A file of sections: name, type, link, content."""
    names, body, at = b"\0", b"", 64
    table = [bytes(64)]
    for name, type_, link, content in [*sections, (b".shstrtab", 3, 0, b"")]:
        begin = len(names)
        names += name + b"\0"
        content = content or names
        table.append(struct.pack("<IIQQQQIIQQ", begin, type_, 0, 0, at, len(content), link, 0, 1, 24))
        content = content.ljust((len(content) + 7) // 8 * 8, b"\0")
        body, at = body + content, at + len(content)
    cubin = machine == 190
    head = b"\x7fELF\x02\x01\x01" + bytes([0x33, 7] if cubin else [0, 0]) + bytes(7)
    head += struct.pack(
        "<HHIQQQIHHHHHH",
        kind,
        machine,
        0x80 if cubin else 1,
        0,
        0,
        at,
        flags,
        64,
        56,
        0,
        64,
        len(table),
        len(table) - 1,
    )
    return head + body + b"".join(table)


def test_sections_that_share_their_bytes_are_read_once(tmp_path: Path) -> None:
    entry = struct.pack("<HHIQIIHHIQQQQ", 2, 0x0101, 0x48, 0, 0, 0, 7, 1, 90, 0, 0x11, 0, 0).ljust(0x48, b"\0")
    code = (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry) * 1000
    names, count = b"\0.nv_fatbin\0", 200_000
    at = 160 + len(code)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, at, 0, 64, 56, 0, 64, 0, 0xFFFF) + names
    table = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, count + 2, count + 1, 0, 0, 0)
    table += struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, 160, len(code), 0, 0, 1, 0) * count
    table += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, 64, len(names), 0, 0, 1, 0)
    library = tmp_path / "x.so"
    library.write_bytes(head.ljust(160, b"\0") + code + table)
    assert "malformed: sections of GPU code that overlap at 160" in asked(library, *L40).stdout


def symbols(names: list[bytes], other: int) -> tuple[bytes, bytes]:
    """The table and its names."""
    table, texts = [bytes(24)], [b"\0"]
    at = 1
    for name in names:
        table.append(struct.pack("<IBBHQQ", at, 0x12, other, 1 if other else 0, 0, 0))
        texts.append(name + b"\0")
        at += len(name) + 1
    return b"".join(table), b"".join(texts)


def many_containers() -> bytes:
    entry = struct.pack("<HHIQIIHHIQQQQ", 2, 0x0101, 0x48, 0, 0, 0, 7, 1, 90, 0, 0x11, 0, 0).ljust(0x48, b"\0")
    return elf([(b".nv_fatbin", 1, 0, (struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry) * 200_000)])


def many_kernels() -> bytes:
    table, texts = symbols([b"k" * 100 + b"%06d" % i for i in range(60_000)], 0x10)
    return elf([(b".text", 1, 0, b"x"), (b".symtab", 2, 3, table), (b".strtab", 3, 0, texts)], 2, 190, 0x500550)


def many_names() -> bytes:
    table, texts = symbols([b"_ZN2at6nativeEv_" + b"x" * 300 + b"%06d" % i for i in range(45_000)], 0)
    return elf([(b".dynsym", 11, 2, table), (b".dynstr", 3, 0, texts)])


def wheel_of(path: Path, count: int, plain: bytes, ending: str = "so") -> Path:
    """A wheel of the same member many times, deflated once."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed, crc = squeeze.compress(plain) + squeeze.flush(), zlib.crc32(plain)
    fields = struct.pack("<HHHHHIII", 20, 0, 8, 0, 0x21, crc, len(packed), len(plain))
    with path.open("wb") as file:
        directory = []
        for i in range(count):
            name = f"a/{i:06}.{ending}".encode()
            directory.append(struct.pack("<IH", 0x02014B50, 20) + fields)
            directory.append(struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, file.tell()) + name)
            file.write(struct.pack("<I", 0x04034B50) + fields + struct.pack("<HH", len(name), 0) + name + packed)
        at, records = file.tell(), b"".join(directory)
        file.write(records)
        few = min(count, 0xFFFF)
        if count > few:
            end = file.tell()
            file.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, len(records), at))
            file.write(struct.pack("<IIQI", 0x07064B50, 0, end, 1))
        file.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, few, few, len(records), at, 0))
    return path


FOUND = "bytes of what was found in a target beyond the limit of 134217728 at "
FILES = "files with machine code of a target beyond the limit of 65536 at "


@pytest.mark.parametrize(
    ("count", "make", "ending", "said"),
    [
        (40, many_containers, "so", FOUND),
        (60, many_kernels, "cubin", FOUND),
        (60, many_names, "so", FOUND),
        (400_000, lambda: b"\x7fELF", "so", FILES),
    ],
    ids=["containers", "kernels", "names", "files"],
)
def test_what_is_found_in_all_members_together_comes_to_a_limit(
    tmp_path: Path, count: int, make: Callable[[], bytes], ending: str, said: str
) -> None:
    wheel = wheel_of(tmp_path / "many-1.0-cp311-cp311-linux_x86_64.whl", count, make(), ending)
    assert said in asked(wheel, *L40).stdout


def static_library(one: bytes, count: int) -> bytes:
    return b"!<arch>\n" + (f"{'x.o/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(one):<10}`\n".encode() + one) * count


def test_what_is_found_in_a_static_archive_comes_to_the_limit(tmp_path: Path) -> None:
    archive = tmp_path / "libmany.a"
    archive.write_bytes(static_library(many_containers(), 6))
    assert FOUND in asked(archive, *L40).stdout


def test_what_is_found_in_all_static_archives_of_a_wheel_comes_to_one_limit(tmp_path: Path) -> None:
    # Of each alone the limit is reached: 17 s, as long as none heard of the others.
    empty = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 0)
    wheel = wheel_of(tmp_path / "many-1.0-cp311-cp311-linux_x86_64.whl", 60, static_library(empty, 250_000), "a")
    ran = asked(wheel, *L40)
    assert FOUND in ran.stdout or FILES in ran.stdout


def long_names(record: bytes, count: int) -> tuple[bytes, bytes]:
    """Symbols that all name one long text."""
    return bytes(24) + b"".join(struct.pack("<I", 1 + i) + record for i in range(count)), b"\0" + b"n" * 40_000 + b"\0"


def many_long_symbols() -> bytes:
    table, text = long_names(struct.pack("<BBHQQ", 0x12, 0, 0, 0, 0), 1000)
    return elf([(b".dynsym", 11, 2, table), (b".dynstr", 3, 0, text)])


def many_long_kernels() -> bytes:
    table, text = long_names(struct.pack("<BBHQQ", 0x12, 0x10, 1, 0, 0), 1000)
    return elf([(b".text", 1, 0, b"x"), (b".symtab", 2, 3, table), (b".strtab", 3, 0, text)], 2, 190, 0x500550)


@pytest.mark.parametrize(("make", "ending"), [(many_long_symbols, "so"), (many_long_kernels, "cubin")])
def test_names_that_share_one_long_text_come_to_a_limit(make: Callable[[], bytes], ending: str, tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path / "names-1.0-cp311-cp311-linux_x86_64.whl", 8000, make(), ending)
    ran = asked(wheel, *L40)
    assert "length of all symbols' names beyond the limit of " in ran.stdout


def test_a_report_of_very_many_files_stays_small(tmp_path: Path) -> None:
    plain = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)
    wheel = wheel_of(tmp_path / "many-1.0-cp311-cp311-linux_x86_64.whl", 300_000, plain)
    for words in (["--json"], ["--format", "sarif"], ["-v"]):
        said = asked(wheel, *words, *L40).stdout
        assert "files with machine code of a target beyond the limit of 65536 at " in said
        assert "problems of a target beyond the limit of 10000: " in said


def member(name: str, content: bytes = b"", size: int | None = None) -> bytes:
    """A file of a tar archive; content that is said to be longer than given follows from elsewhere."""
    header = tarfile.TarInfo(name)
    header.size = len(content) if size is None else size
    return header.tobuf(tarfile.GNU_FORMAT) + content.ljust((len(content) + 511) // 512 * 512, b"\0")


def image(path: Path, layers: list[bytes], times: int = 1) -> Path:
    names = [f"{i:064}/layer.tar" for i in range(len(layers))]
    manifest = json.dumps([{"Config": "config.json", "RepoTags": ["x:y"], "Layers": names * times}]).encode()
    files = [*zip(names, layers, strict=True), ("config.json", b"{}"), ("manifest.json", manifest)]
    path.write_bytes(b"".join(member(name, content) for name, content in files) + bytes(1024))
    return path


def of_zeros(name: str, size: int) -> bytes:
    """A compressed layer of one library of zeros."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, 31)
    packed = squeeze.compress(member(name, b"\x7fELF".ljust(512, b"\0"), 512 + size))
    step = bytes(16 << 20)
    return packed + b"".join(squeeze.compress(step) for _ in range(size // len(step))) + squeeze.flush()


SITE = "usr/lib/python3.11/site-packages"
ALL_LAYERS = "malformed: content of an archive beyond the limit of 1"


def test_an_image_that_names_one_layer_many_times_comes_to_a_limit(tmp_path: Path) -> None:
    path = image(tmp_path / "image.tar", [of_zeros(f"{SITE}/x.so", 800 << 20)], times=1000)
    assert ALL_LAYERS in asked(path, *L40).stdout


def test_layers_that_swell_come_to_one_limit(tmp_path: Path) -> None:
    path = image(tmp_path / "image.tar", [of_zeros(f"{SITE}/x{i}.so", 800 << 20) for i in range(8)])
    assert ALL_LAYERS in asked(path, *L40).stdout


def test_what_installers_wrote_is_kept_while_a_layer_is_read(tmp_path: Path) -> None:
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    step = bytes(16 << 20)
    layer = squeeze.compress(member("zeros", size=48 * len(step)))
    layer += b"".join(squeeze.compress(step) for _ in range(48))
    for i in range(200):
        text = f"Metadata-Version: 2.1\nName: m{i}\nVersion: 1.0\n\n".encode() + b"x" * 70_000
        layer += squeeze.compress(member(f"{SITE}/m{i}-1.0.dist-info/METADATA", text))
    layer += squeeze.compress(bytes(1024)) + squeeze.flush()
    ran = asked(image(tmp_path / "image.tar", [layer]), *L40)
    assert ran.returncode == 0, ran.stdout


def test_deep_names_of_an_image_come_to_a_limit(tmp_path: Path) -> None:
    squeeze = zlib.compressobj(6, zlib.DEFLATED, 31)
    layer = b"".join(squeeze.compress(member(f"{i % 7}/{'a/' * 2000}{i}")) for i in range(20_000)) + squeeze.flush()
    path = image(tmp_path / "image.tar", [layer])
    assert "malformed: parts of the names of an image beyond the limit of 8000000 at " in asked(path, *L40).stdout


def test_an_archive_of_no_image_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "none.tar"
    path.write_bytes(member("manifest.json", b"[]") + bytes(1024))
    ran = asked(path, *L40)
    assert ran.returncode == 2
    assert "no image: the archive's manifest.json names none" in ran.stdout


def test_a_dockerfile_of_very_many_stages_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM python:3.11\nRUN pip install torch==2.9.1\n" * 90_000)
    assert "more than 1000 stages" in asked(tmp_path / "Dockerfile", *L40).stdout
