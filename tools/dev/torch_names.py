"""Remakes `cxx_functions` in data/knowledge.json: C++ names that some releases of PyTorch have and others lack.

Reads the symbols of each release's wheel for Linux: 13 GB, one wheel at a time, and none twice where FOLDER is kept.
usage: python tools/dev/torch_names.py FOLDER
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "data/knowledge.json"
SOURCE = "the dynamic symbols of libc10, libc10_cuda and libtorch_* in the wheels of the package index"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")
#: Every extension asks for some of these, and all that they have counts; of the others what wanted() says.
SMALL = ("libc10.so", "libc10_cuda.so")
LARGE = ("libtorch_cpu.so", "libtorch_cuda.so", "libtorch_python.so")
TORCH = re.compile(r"_Z(T[VISTWH]|GV)?N?[KVrRO]*(2at|3c10|5torch|6caffe2)")
#: Every binding that returns a tensor asks for it, and its argument has changed twice.
WRAP = re.compile(r"_Z\d+THPVariable_Wrap")
#: With a std::string in it, it changes with the C++ ABI, which is judged by itself.
STRING = re.compile(r"cxx11|Ss")
#: What holds a line of the file within 120 columns.
LONGEST = 105
CLASSES = {
    *("Context", "SavedTensorDefaultHooks", "Tensor", "TensorBase"),
    *("TensorIterator", "TensorIteratorBase", "TensorIteratorConfig", "autocast", "cuda", "detail"),
}
OF_AUTOGRAD = {
    "AutogradContext",
    "InputMetadata",
    "Node",
    "SavedVariable",
    "VariableInfo",
    "_wrap_outputs",
    "deleteNode",
}


def symbols(library: Path) -> set[str]:
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[2].split("@")[0] for line in done.stdout.splitlines() if len(line.split()) == 3}


def names_of(version: str, kept: Path) -> dict[str, set[str]]:
    """What each library of that release has, by the library."""
    folder = kept / version
    if not all((folder / name).exists() for name in (*SMALL, *LARGE)):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as place:
            python = "3.12" if int(version.split(".")[1]) > 2 else "3.10"
            how = ["--no-deps", "--quiet", "--only-binary=:all:", f"--python-version={python}", f"--dest={place}"]
            how += [f"--platform={p}" for p in PLATFORMS]
            subprocess.run([sys.executable, "-m", "pip", "download", *how, f"torch=={version}"], check=True)
            with zipfile.ZipFile(next(Path(place).glob("*.whl"))) as wheel:
                for name in (*SMALL, *LARGE):
                    found = sorted(symbols(Path(wheel.extract(f"torch/lib/{name}", place))))
                    (folder / name).write_text("\n".join(found) + "\n")
    return {name: set((folder / name).read_text().split()) for name in (*SMALL, *LARGE)}


def parts_of(name: str) -> list[str]:
    """["at", "TensorBase", "data_ptr"]."""
    begin = re.match(r"_ZN[KRO]*", name)
    at, parts = begin.end() if begin else len(name), []
    while length := re.match(r"\d+", name[at:]):
        at += length.end()
        parts.append(name[at : at + int(length[0])])
        at += int(length[0])
    return parts


def wanted(name: str) -> bool:
    """What extensions ask for: no kernels of PyTorch's own, and no operators, which std::optional tells apart."""
    if WRAP.match(name):
        return True
    if STRING.search(name) or len(name) > LONGEST or not TORCH.match(name):
        return False
    parts = parts_of(name)
    if parts[:2] == ["at", "cuda"] and re.search(r"6Tensor|10TensorBase|10ITensorList", name):
        return False
    if parts[:1] == ["at"]:
        return (len(parts) == 3 and parts[1] in CLASSES) or (len(parts) == 2 and parts[1][0].islower())
    if parts[:2] == ["torch", "autograd"]:
        return len(parts) in (3, 4) and parts[2] in OF_AUTOGRAD
    return parts[:2] == ["torch", "Library"] or parts[:3] == ["torch", "dynamo", "autograd"]


def rows(releases: list[tuple[str, dict[str, set[str]]]]) -> list[dict[str, object]]:
    """Names by the first and the last release that has them; none where releases between lack it."""
    small = {n for _, has in releases for library in SMALL for n in has[library]}
    large = {n for _, has in releases for library in LARGE for n in has[library]}
    short = {n for n in small if TORCH.match(n) and not STRING.search(n) and len(n) <= LONGEST}
    every = [set().union(*has.values()) for _, has in releases]
    minors = [version.rsplit(".", 1)[0] for version, _ in releases]
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in short | {n for n in large if wanted(n)}:
        there = [name in names for names in every]
        first, last = there.index(True), len(there) - 1 - there[::-1].index(True)
        # 2.7 changed the C++ ABI, which takes names away that builds of 2.6 for CUDA 12.6 lack already.
        if not all(there) and all(there[first : last + 1]) and minors[last] != "2.6":
            found[first, last].append(name)
    return [
        {
            **({"since": minors[first]} if first > 0 else {}),
            **({"until": minors[last]} if last < len(minors) - 1 else {}),
            "names": sorted(names),
        }
        for (first, last), names in sorted(found.items())
    ]


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    kept = Path(sys.argv[1])
    data = json.loads(FILE.read_text())
    # Of older ones no wheel is read.
    versions = [r["version"] for r in data["torch"]["releases"] if "cuda" in r]
    data["cxx_functions"] = rows([(version, names_of(version, kept)) for version in versions])
    data["cxx_functions_source"] = SOURCE
    FILE.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
