"""Packs build/ into one wheel for every Python, linked for the oldest C library served; `./dev wheel` sets it up.

The same commit gives the same bytes in every folder: times are the commit's, and nothing in a file names a folder.

usage: python -m tools.dev.wheel BUILD OUTPUT GLIBC_TO_LINK_WITH COMMAND
tools/dev/glibc.sh makes the third; COMMAND is a flashfit that runs here, as that of a BUILD for another processor does
not.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from tools.dev import sbom

ROOT = Path(__file__).resolve().parents[2]
#: Not 3.9, for which the doctor rightly cannot vouch: ctypes stands in for the module there.
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t")
#: The oldest C library served: RHEL 8, Debian 10 and Ubuntu 18.10 have it, and PyTorch's own wheels ask for no older.
GLIBC = (2, 28)
#: The module's two files and the Python from whose stable ABI on each is; ctypes stands in elsewhere.
MODULES = {"flashfit/_flashfit_native.abi3.so": "3.10", "flashfit/_flashfit_native.abi3t.so": "3.15"}
COMPILED = {"flashfit/libflashfit.so", *MODULES}


class WheelError(Exception):
    """The wheel would not serve; says why in one line."""


#: The hook that pip calls; pip itself learnt to pass settings on only after the one of Ubuntu 22.04.
BUILD_WHEEL = """
import sys
from scikit_build_core.build import build_wheel
folder, build, *defined = sys.argv[1:]
defines = {f"cmake.define.{name}": value for name, _, value in (each.partition("=") for each in defined)}
build_wheel(folder, {"build-dir": build, **defines})
"""


def python(*arguments: str | Path) -> str:
    """Standard output of this Python; what it says of a failure is part of the exception."""
    result = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if result.returncode:
        name = "scikit-build-core" if arguments[0] == "-c" else arguments[1]
        raise WheelError(f"{name} failed:\n{result.stdout[-4000:]}{result.stderr[-4000:]}")
    return result.stdout


def set_time() -> None:
    """Files in the wheel have the commit's time, unless SOURCE_DATE_EPOCH says another (seconds since 1970)."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    committed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    # The earliest time that a zip can have, where there is no commit.
    os.environ.setdefault("SOURCE_DATE_EPOCH", committed or "315532800")


def headers_of_other(build: Path) -> str:
    """The headers of another processor's Python, as BUILD was configured with: scikit-build-core would put those of the
    Python that runs it in their place."""
    cache = (build / "CMakeCache.txt").read_text("utf-8")
    found = re.search(r"^(Python3_INCLUDE_DIR):\w+=(.+)$", cache, re.MULTILINE)
    if found is None:
        raise WheelError(f"{build}/CMakeCache.txt has no Python3_INCLUDE_DIR")
    return f"{found[1]}={found[2]}"


def pack(build: Path, folder: Path, glibc: Path) -> Path:
    """The wheel as scikit-build-core names it, for this system alone. BUILD ends as it was configured."""
    # Where this names another environment's scikit-build-core, CMake's cache would be thrown away and all built anew.
    (build / ".skbuild-info.json").unlink(missing_ok=True)
    defined = [f"FLASHFIT_GLIBC={glibc}"]
    if (build / "CMakeCache.txt").exists() and "FLASHFIT_SYSROOT" in (build / "CMakeCache.txt").read_text("utf-8"):
        os.environ["_PYTHON_HOST_PLATFORM"] = "linux-aarch64"  # what Python's builds for another processor are told by
        defined.append(headers_of_other(build))
    python("-c", BUILD_WHEEL, folder, build, *defined)
    forgotten = ["-U", "SKBUILD*", "-U", "CMAKE_INSTALL_PREFIX", "-U", "FLASHFIT_GLIBC"]
    subprocess.run(["cmake", "-S", ROOT, "-B", build, *forgotten], stdout=subprocess.DEVNULL, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> None:
    """The compiled files are there, and nothing that a user has no use for."""
    names = set(zipfile.ZipFile(wheel).namelist())
    if missing := COMPILED - names:
        raise WheelError(f"{wheel.name} lacks {', '.join(sorted(missing))}")
    if alien := [n for n in names if not n.startswith("flashfit") or "__pycache__" in n]:
        raise WheelError(f"{wheel.name} holds {', '.join(alien)}")


def audit(module: str, oldest: str) -> dict[str, Any]:
    """What abi3audit finds in the file, held to the stable ABI of OLDEST; its status is 1 where it finds anything."""
    command = [sys.executable, "-m", "abi3audit", "--report", "--assume-minimum-abi3", oldest, module]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise WheelError(f"abi3audit failed:\n{done.stderr[-4000:]}")
    (spec,) = json.loads(done.stdout)["specs"].values()
    found: dict[str, Any] = spec["object"]["result"]
    return found


def check_limited_api(wheel: Path) -> None:
    """Each file of the module keeps to the functions of the stable ABI that it is for."""
    with tempfile.TemporaryDirectory() as folder:
        for name, oldest in MODULES.items():
            module = zipfile.ZipFile(wheel).extract(name, folder)
            found = audit(module, oldest)
            # By this name Python asks for abi3t's slots; abi3audit knows PyInit_* alone.
            alien = {*found["non_abi3_symbols"], *found["future_abi3_objects"]} - {"PyModExport__flashfit_native"}
            if alien or not found["is_abi3_baseline_compatible"]:
                symbols = ", ".join(sorted(alien)) or "something newer"
                raise WheelError(f"{name} asks for {symbols}, which the stable ABI of {oldest} lacks")


def addresses(home: str) -> list[str]:
    """The lines of the metadata that say where the project is; none until it is somewhere."""
    if not home:
        return []
    places = {
        "Homepage": home,
        "Documentation": f"{home}/blob/main/docs/README.md",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
        "Issues": f"{home}/issues",
        "Source": home,
    }
    return [f"Project-URL: {label}, {address}" for label, address in places.items()]


def complete(wheel: Path, build: Path) -> None:
    """Adds to a wheel what scikit-build-core does not: where the project is, and the list of what is linked in, where
    PEP 770 wants it. All files get the same modes everywhere."""
    home = re.search(r'^home = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if home is None:
        raise WheelError('pyproject.toml has no line home = "..."')
    with tempfile.TemporaryDirectory() as folder:
        python("-m", "wheel", "unpack", wheel, "--dest", folder)
        (tree,) = Path(folder).iterdir()
        (info,) = tree.glob("*.dist-info")
        metadata = (info / "METADATA").read_text(encoding="utf-8")
        head, _, description = metadata.partition("\n\n")
        (info / "METADATA").write_text("\n".join([head, *addresses(home[1])]) + f"\n\n{description}", encoding="utf-8")
        (info / "sboms").mkdir()
        version = info.name[len("flashfit-") : -len(".dist-info")]
        (info / "sboms/flashfit.cdx.json").write_text(sbom.document(build, version), encoding="utf-8")
        for path in tree.rglob("*"):
            if path.is_file():
                path.chmod(0o755 if path.parent.name == "scripts" or ".so" in path.suffixes else 0o644)
        python("-m", "wheel", "pack", tree, "--dest-dir", wheel.parent)


def check_no_folders(wheel: Path) -> None:
    """No file names a folder of the machine that it was made on, which would also differ from machine to machine."""
    with zipfile.ZipFile(wheel) as file:
        for name in file.namelist():
            for folder in {str(ROOT), str(Path.home() / ".cache")}:
                if folder.encode() in file.read(name):
                    raise WheelError(f"{wheel.name}: {name} names {folder}")


def platform(wheel: Path) -> str:
    """The tag of the platform served; every symbol asked for is there."""
    found = json.loads(python("-m", "auditwheel", "show", "--json", wheel))
    if found["external_libs"]:
        raise WheelError(f"{wheel.name} needs libraries beside the C library: {', '.join(found['external_libs'])}")
    tag = re.fullmatch(r"manylinux_(\d+)_(\d+)_(\w+)", found["overall_tag"])
    if tag is None:
        raise WheelError(
            f"{wheel.name} serves this system alone ({found['overall_tag']}): a symbol or an instruction set is of no "
            "common platform"
        )
    if (int(tag[1]), int(tag[2])) > GLIBC:
        raise WheelError(f"{wheel.name} needs glibc {tag[1]}.{tag[2]}, newer than {GLIBC[0]}.{GLIBC[1]}")
    return f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{tag[3]}"


def check_by_doctor(command: Path, wheel: Path) -> None:
    """Our own doctor finds that the wheel fits every Python served, on the oldest C library that its name promises."""
    tag = re.search(r"-manylinux_(\d+)_(\d+)_(\w+)\.whl$", wheel.name)
    if tag is None:
        raise WheelError(f"{wheel.name} does not name its oldest C library")
    place = ["--platform", f"linux_{tag[3]}", "--glibc", f"{tag[1]}.{tag[2]}", "--gpu", "all", "--no-cache", "--json"]
    for python in PYTHONS:
        done = subprocess.run(
            [command, "doctor", wheel, "--python", python, *place], capture_output=True, text=True, check=False
        )
        if done.returncode:
            problems = json.loads(done.stdout)["targets"][0]["problems"] if done.stdout else []
            why = "; ".join(f"{p['code']} {p['message']}" for p in problems) or done.stderr.strip()
            raise WheelError(f"{wheel.name} does not fit Python {python}, says our own doctor: {why}")


def main(build: Path, output: Path, glibc: Path, command: Path) -> int:
    """Leaves the wheel in OUTPUT, in place of former ones of this version and processor; prints a line about it."""
    output.mkdir(parents=True, exist_ok=True)
    set_time()
    with tempfile.TemporaryDirectory(dir=output) as folder:
        try:
            wheel = pack(build, Path(folder), glibc)
            complete(wheel, build)
            check_contents(wheel)
            check_no_folders(wheel)
            check_limited_api(wheel)
            tag = platform(wheel)
            named = python("-m", "wheel", "tags", "--remove", "--platform-tag", tag, wheel).strip()
            check_by_doctor(command, Path(folder, named))
        except (WheelError, sbom.UnknownError) as refused:
            print(f"dev: wheel: {refused}", file=sys.stderr)
            return 1
        for former in output.glob(f"{named.split('-py3-')[0]}-*_{tag.split('_', 3)[3]}.whl"):
            former.unlink()
        made = Path(folder, named).rename(output / named)
    print(f"{os.path.relpath(made)}  {made.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(*(Path(a).resolve() for a in sys.argv[1:])))
