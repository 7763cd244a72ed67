"""Archives of container images as targets of `flashfit doctor`: layers, whiteouts, links, and what lies."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any, Callable, Union

import numpy as np
import pytest

from tests.doctor_command import doctor, judged, problems, run

SITE = "usr/local/lib/python3.11/site-packages"
ASKED = ["--gpu", "L40"]
# A member of a layer: content, None for a folder, ("sym", target) or ("hard", target).
Content = Union[bytes, None, tuple[str, str]]
Layer = list[tuple[str, Content]]


def tar(members: Layer, form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if content is None:
                info.type = tarfile.DIRTYPE
            elif isinstance(content, tuple):
                info.type = tarfile.SYMTYPE if content[0] == "sym" else tarfile.LNKTYPE
                info.linkname = content[1]
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return out.getvalue()


def docker_image(layers: list[bytes], tag: str = "app:1", variables: tuple[str, ...] = ()) -> bytes:
    """As `docker save` writes it; `variables` of the image's processes: "PATH=/bin"."""
    members: Layer = []
    names: list[str] = []
    for layer in layers:
        digest = hashlib.sha256(layer + bytes([len(names)])).hexdigest()
        names.append(f"{digest}/layer.tar")
        members += [(digest, None), (names[-1], layer)]
    config = {"os": "linux", "architecture": "amd64", "config": {"Env": list(variables)}}
    members.append((f"{'c' * 64}.json", json.dumps(config).encode()))
    manifest = [{"Config": f"{'c' * 64}.json", "RepoTags": [tag], "Layers": names}]
    members.append(("manifest.json", json.dumps(manifest).encode()))
    return tar(members)


def oci_image(layers: list[bytes], nested: bool = False) -> bytes:
    """An OCI layout; `nested`: an index in the index, and an attestation beside the image."""
    members: Layer = [("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'), ("blobs", None), ("blobs/sha256", None)]

    def blob(content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        members.append((f"blobs/sha256/{digest}", content))
        return {"digest": f"sha256:{digest}", "size": len(content)}

    config = blob(json.dumps({"os": "linux", "architecture": "amd64"}).encode())
    manifest = {"schemaVersion": 2, "config": config, "layers": [blob(layer) for layer in layers]}
    entry = blob(json.dumps(manifest).encode())
    entry["annotations"] = {"org.opencontainers.image.ref.name": "1"}
    if nested:
        attestation = {**entry, "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
        entry = blob(json.dumps({"manifests": [attestation, entry]}).encode())
        entry["annotations"] = {"io.containerd.image.name": "app:2"}
    members.append(("index.json", json.dumps({"manifests": [entry]}).encode()))
    return tar(members)


@pytest.fixture(scope="module")
def libraries(made: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a layer may hold: code for 8.0 and 9.0, and for 9.0a alone."""
    folder = tmp_path_factory.mktemp("libraries")
    out = {}
    for name, pattern in (("good", "flash_attn-*abiTRUE-cp311-*.whl"), ("bad", "apex-*.whl")):
        (wheel,) = made.glob(pattern)
        subprocess.run(["python3", "-m", "zipfile", "-e", wheel, folder / name], check=True)
        out[name] = sorted((folder / name).rglob("*.so"))[0].read_bytes()
    return out


def holds(path: Path, *options: str, megabytes: int = 512) -> dict[str, list[str]]:
    """The libraries that were found in the image's site-packages, by path, with their machine code."""
    ran = run("doctor", path, *ASKED, *options, "--json", megabytes=megabytes)
    assert ran.stderr == ""
    (target,) = json.loads(ran.stdout)["targets"]
    return {b["path"].removeprefix(SITE + "/"): b["sass"] for b in target["binaries"]}


@pytest.fixture
def image(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "image.tar"
        path.write_bytes(content)
        return path

    return write


def compressed(layer: bytes, how: str) -> bytes:
    if how == "gzip":
        return gzip.compress(layer)
    if how == "two gzips":
        half = len(layer) // 2
        return gzip.compress(layer[:half]) + gzip.compress(layer[half:])
    if how == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=layer, capture_output=True, check=True).stdout
    return layer


HOW = [
    "plain",
    "gzip",
    "two gzips",
    pytest.param("zstd", marks=pytest.mark.skipif(not shutil.which("zstd"), reason="no zstd here")),
]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", ["docker", "oci", "nested"])
def test_the_newest_layer_wins(image: Any, libraries: dict[str, bytes], how: str, kind: str) -> None:
    old = compressed(tar([(f"{SITE}/a/_C.so", libraries["good"]), (f"{SITE}/b/_C.so", libraries["good"])]), how)
    new = compressed(tar([(f"./{SITE}/a/_C.so", libraries["bad"])]), how)
    path = image(docker_image([old, new]) if kind == "docker" else oci_image([old, new], kind == "nested"))
    assert holds(path) == {"a/_C.so": ["9.0a"], "b/_C.so": ["8.0", "9.0"]}
    status, report = judged(path, *ASKED)
    assert status == 1
    name = {"docker": "app:1", "oci": "1", "nested": "app:2"}[kind]
    assert report["targets"][0]["target"] == f"{path} ({name})"
    assert [(p["code"], p["member"]) for p in report["targets"][0]["problems"] if p["code"] == "FF101"] == [
        ("FF101", f"{SITE}/a/_C.so")
    ]


@pytest.mark.parametrize(
    ("layers", "left"),
    [
        ([[("a.so", "good"), ("b.so", "bad")], [(".wh.b.so", b"")]], ["a.so"]),
        ([[("d/a.so", "good"), ("d/b.so", "bad")], [("d/.wh..wh..opq", b""), ("d/c.so", "good")]], ["d/c.so"]),
        ([[("d/a.so", "good")], [(".wh.d", b""), ("d/c.so", "good")]], ["d/c.so"]),
        ([[("d/a.so", "good")], [(".wh.d", b"")], [("d/c.so", "good")]], ["d/c.so"]),
        ([[("d/a.so", "good")], [("d", b"a file")]], []),
        ([[("d", b"a file")], [("d/a.so", "good")]], ["d/a.so"]),
        ([[("d/a.so", "good")], [("d", ("sym", "e")), ("e/b.so", "good")]], ["e/b.so"]),
        ([[("d", ("sym", "/etc")), ("d/a.so", "good"), ("e.so", "good")]], ["e.so"]),
        ([[("a.so", "good"), ("b.so", ("hard", f"{SITE}/a.so"))]], ["a.so"]),  # one file
        ([[("a.so", "good"), ("b.so", ("hard", f"{SITE}/a.so"))], [("a.so", b"text")]], ["b.so"]),
        ([[("b.so", ("hard", f"{SITE}/none.so")), ("c.so", ("hard", "../../etc/passwd"))]], []),
        ([[("../../../../../../out.so", "good"), ("x/../y.so", "good"), ("a.so", "good")]], ["a.so"]),
        ([[("a.so", "bad"), ("a.so", "good")]], ["a.so"]),
        ([[("x" * 200 + "/" + "y" * 200 + ".so", "good")]], ["x" * 200 + "/" + "y" * 200 + ".so"]),
        ([[(".wh..wh.plnk", b""), (".wh.", b""), (".wh...", b""), ("a.so", "good")]], ["a.so"]),
    ],
)
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("how", ["plain", "gzip"])
def test_whiteouts_links_and_names(
    image: Any, libraries: dict[str, bytes], layers: list[Any], left: list[str], form: int, how: str
) -> None:
    made = [
        compressed(tar([(f"{SITE}/{name}", libraries[c] if isinstance(c, str) else c) for name, c in layer], form), how)
        for layer in layers
    ]
    found = holds(image(docker_image(made)))
    assert sorted(found) == sorted(left)
    assert all(sass == ["8.0", "9.0"] for sass in found.values())


def test_python_and_torch_are_the_images_own(image: Any, libraries: dict[str, bytes]) -> None:
    layer = tar([(f"{SITE}/a/_C.cpython-310-x86_64-linux-gnu.so", libraries["good"])])
    codes = [p[1] for p in problems(judged(image(docker_image([layer])), *ASKED)[1]["targets"][0])]
    assert "FF222" in codes  # a module of CPython 3.10 under the 3.11 that the folder's name says


def installed(site: str, name: str, version: str, **files: bytes) -> Layer:
    """A package as pip leaves it; a file's name by its keyword, "__" for a slash."""
    info = f"{site}/{name}-{version}.dist-info"
    members: Layer = [(f"{site}/{path.replace('__', '/')}.so", content) for path, content in files.items()]
    record = "".join(f"{path[len(site) + 1 :]},,\n" for path, _ in members)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    return [*members, (f"{info}/METADATA", metadata.encode()), (f"{info}/RECORD", record.encode())]


def test_packages_are_judged_as_an_environment(image: Any, libraries: dict[str, bytes]) -> None:
    """By package, its versions, and the system around it; a virtual environment beside Python's own folder."""
    venv = "opt/venv/lib/python3.11/site-packages"
    layer = tar(
        [
            *installed(SITE, "apex", "0.1", _C=libraries["bad"]),
            *installed(venv, "flash_attn", "2.7.2", _C=libraries["good"]),
            ("opt/venv/pyvenv.cfg", b"home = /usr/local/bin\nversion = 3.11.7\n"),
            ("etc/os-release", b"ID=debian\n"),
        ]
    )
    path = image(docker_image([layer]))
    status, report = judged(path, "--gpu", "rtx 5090")
    assert status == 1
    (target,) = report["targets"]
    said = {(p["code"], p["member"], p["message"].split(": ")[0]) for p in target["problems"]}
    assert ("FF101", f"{SITE}/_C.so", "apex 0.1") in said
    assert ("FF710", "", "flash-attn 2.7.2") in said  # what only knowledge of the package tells
    assert {b["path"] for b in target["binaries"]} == {f"{SITE}/_C.so", f"{venv}/_C.so"}


@pytest.mark.parametrize(
    ("given", "fits"), [([], False), (["--glibc", "2.38"], True), (["--platform", "manylinux_2_38_x86_64"], True)]
)
def test_the_c_library_is_the_images_own(image: Any, libraries: dict[str, bytes], given: list[str], fits: bool) -> None:
    """By its banner, which an old one's texts have."""
    layer = tar(
        [
            *installed(SITE, "ext", "1.0", _C=libraries["good"]),
            ("lib/x86_64-linux-gnu/libc.so.6", b"GNU C Library (made) stable release version 2.1.\n"),
        ]
    )
    codes = [p["code"] for p in judged(image(docker_image([layer])), *ASKED, *given)[1]["targets"][0]["problems"]]
    assert ("FF320" not in codes) == fits, codes


def test_variables_are_the_images_own(image: Any, libraries: dict[str, bytes]) -> None:
    """A library that the image finds by LD_LIBRARY_PATH is not missing."""
    layer = tar([*installed(SITE, "ext", "1.0", _C=libraries["good"]), ("opt/cuda/libcudart.so.12", b"")])
    for variables, missing in (((), True), (("PATH=/bin", "LD_LIBRARY_PATH=/opt/cuda"), False)):
        report = judged(image(docker_image([layer], variables=variables)), *ASKED)[1]
        assert ("FF330" in [p["code"] for p in report["targets"][0]["problems"]]) == missing


@pytest.mark.parametrize("how", ["plain", "gzip"])
def test_an_archive_may_be_compressed_as_a_whole(tmp_path: Path, libraries: dict[str, bytes], how: str) -> None:
    path = tmp_path / "image.tar.gz"
    path.write_bytes(gzip.compress(docker_image([compressed(tar([(f"{SITE}/a.so", libraries["bad"])]), how)])))
    assert holds(path) == {"a.so": ["9.0a"]}


def lying_size(layer: bytes) -> bytes:
    """The first member says that it has 1 GB."""
    header = bytearray(layer[:512])
    header[124:136] = b"10000000000\0"  # octal
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + layer[512:]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda layer: layer[: len(layer) // 2 * 1 - 700], "layer 1 of 1: malformed: tar archive cut short"),
        (lying_size, "layer 1 of 1: malformed: tar archive cut short"),
        (lambda layer: b"x" + layer[1:], "layer 1 of 1: malformed: checksum of a tar header at 0"),
        (lambda layer: gzip.compress(layer)[:-20], "layer 1 of 1: malformed: gzip stream"),
        (lambda layer: gzip.compress(layer)[:-6] + b"\0" * 6, "layer 1 of 1: malformed: gzip stream"),
    ],
)
def test_a_layer_that_lies_is_told(image: Any, libraries: dict[str, bytes], spoil: Any, message: str) -> None:
    layer = tar([(f"{SITE}/a.so", libraries["good"]), (f"{SITE}/b.so", libraries["good"])], tarfile.USTAR_FORMAT)
    status, report = judged(image(docker_image([spoil(layer)])), *ASKED)
    assert status == 2
    assert next(p[3] for p in problems(report["targets"][0]) if p[1] == "FF901").startswith(message)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("manifest.json", b"{")], "malformed: manifest.json: no JSON"),
        ([("manifest.json", b"{}")], "malformed: manifest.json: no array"),
        ([("manifest.json", b'[{"Layers": ["gone/layer.tar"]}]')], "a layer is not in the archive: gone/layer.tar"),
        ([("manifest.json", ("sym", "manifest.json"))], "no image: neither manifest.json nor index.json"),
        ([("index.json", b'{"manifests": [{"digest": "sha256:../../x"}]}')], "not in the archive: "),
        ([("index.json", b"[" * 100_000)], "malformed: index.json: nesting of a text beyond the limit of 64 at 64"),
        ([("blobs/x", b"")], "no image: neither manifest.json nor index.json"),
    ],
)
def test_an_archive_without_an_image_is_told(image: Any, members: Layer, message: str) -> None:
    status, lines = doctor(image(tar(members)), *ASKED)
    assert status == 2
    assert any(message in line for line in lines), lines


def test_folders_of_packages_beyond_what_is_read_are_told(image: Any, libraries: dict[str, bytes]) -> None:
    layer = tar([(f"apps/{i}/site-packages/_C.so", libraries["good"]) for i in range(66)])
    _, report = judged(image(docker_image([layer])), *ASKED)
    said = [p["message"] for p in report["targets"][0]["problems"] if p["code"] == "FF901"]
    assert "66 folders of packages, of which 2 were not read" in said


def test_an_image_without_python_packages_has_nothing_to_judge(image: Any) -> None:
    status, lines = doctor(image(docker_image([tar([("etc/os-release", b"ID=debian\n")])])), *ASKED)
    assert status == 2
    assert any("FF902" in line for line in lines)


def million_members() -> bytes:
    """A layer of a million empty files in as many folders."""
    count = 1_000_000
    header = np.frombuffer(tar([("0000000/a", b"")], tarfile.USTAR_FORMAT)[:512], np.uint8)
    headers = np.tile(header, (count, 1))
    digits = np.arange(count)[:, None] // 10 ** np.arange(6, -1, -1) % 10
    headers[:, :7] = digits + ord("0")
    checksum = int(header.sum()) - int(header[148:156].sum()) + 8 * ord(" ") + digits.sum(axis=1)
    headers[:, 148:154] = checksum[:, None] // 8 ** np.arange(5, -1, -1) % 8 + ord("0")
    return headers.tobytes()


def test_a_million_members_and_a_bomb_are_bounded(tmp_path: Path) -> None:
    """In half a gigabyte of memory and in time: a million names, and 4 GB of zeros that take 4 MB."""
    zeros = lying_size(tar([("zeros", b"")], tarfile.USTAR_FORMAT))[:512]
    piece = gzip.compress(b"\0" * (64 << 20), 1)
    bomb = gzip.compress(zeros) + piece * 16 + gzip.compress(b"\0" * 1024)
    path = tmp_path / "image.tar"
    path.write_bytes(docker_image([gzip.compress(million_members(), 1), bomb]))
    start = time.monotonic()
    status, lines = doctor(path, *ASKED)
    assert status == 2
    assert any("layer 1 of 2: malformed: content of an archive beyond the limit of 1" in line for line in lines), lines
    assert time.monotonic() - start < 60
