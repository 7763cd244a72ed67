"""Remakes data/knowledge.json from the package index: which releases of packages ask for which of others.

Asks pip for the metadata of each release that the file does not have yet, and of none twice; what no index tells (rows
with another source) stays as it is. The date becomes today's.
usage: python tools/dev/knowledge.py [--all, to ask anew for releases that are known] [PACKAGE...: these alone]
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

FILE = Path(__file__).resolve().parents[2] / "data/knowledge.json"
OF_INDEX = "Requires-Dist of the wheels in the package index"
NVIDIA = ("nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu13")
#: The oldest release that is of interest, and the packages whose releases Requires-Dist of the wheels names.
ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "torchvision": ("0.15", ("torch",)),
    "torchaudio": ("2.0", ("torch",)),
    "xformers": ("0.0.22", ("torch",)),
    "torch": ("2.0", ("triton", *NVIDIA)),
    "torch-tensorrt": ("2.2", ("torch", "tensorrt")),
    "vllm": (
        "0.4",
        ("torch", "torchvision", "torchaudio", "xformers", "flashinfer-python", "flashinfer-cubin", "vllm-flash-attn"),
    ),
    "sglang": (
        "0.5.3",
        (
            "torch",
            "torchaudio",
            "torchao",
            "torchcodec",
            "flashinfer-python",
            "flashinfer-cubin",
            "sgl-kernel",
            "sglang-kernel",
        ),
    ),
    "lmdeploy": ("0.6", ("torch", "torchvision", "triton")),
    "autoawq": ("0.2", ("torch",)),
    "bitsandbytes": ("0.43", ("torch",)),
    "tensordict": ("0.15", ("torch",)),
    "torchrl": ("0.4", ("tensordict",)),
    "jax": ("0.4.26", ("jaxlib",)),
    "jax-cuda12-plugin": ("0.4.30", ("jax-cuda12-pjrt",)),
    "jax-cuda13-plugin": ("0.7", ("jax-cuda13-pjrt",)),
}
#: Their wheels are for Linux alone.
ON_LINUX_ALONE = ("vllm",)
PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28, 27, 24, 17)),
    "manylinux2014_x86_64",
    "manylinux1_x86_64",
    "linux_x86_64",
)
#: Where the lists are for that name these packages; elsewhere they ask for others, or for none.
PLACE = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "platform_release": "6.1",
    "os_name": "posix",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "extra": "",
}


def pip(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    return done.stdout


def releases_of(package: str) -> list[str]:
    """Final releases, the newest first."""
    found = re.search(r"Available versions: (.*)", pip("index", "versions", package))
    if not found:
        raise SystemExit(f"{package}: pip finds no releases of it")
    versions = [v for v in found[1].split(", ") if re.fullmatch(r"[\d.]+(\.post\d+)?", v)]
    return sorted(versions, key=Version, reverse=True)


def requirements_of(package: str, version: str) -> list[str]:
    """Requires-Dist of the wheel for Linux on x86-64; [] if there is none. No more of the wheel is fetched."""
    platforms = [f"--platform={p}" for p in PLATFORMS]
    for python in ("3.12", "3.11", "3.10", "3.9"):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            how = ["--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--only-binary=:all:", *platforms]
            how += ["--use-feature=fast-deps", f"--report={report}", f"--target={folder}", f"--python-version={python}"]
            pip("install", *how, f"{package}=={version}")
            if report.exists():
                metadata = json.loads(report.read_text())["install"][0]["metadata"]
                return list(metadata.get("requires_dist", []))
    return []


def clauses_on(other: str, requirements: list[str]) -> str:
    """What they ask of the other package on Linux, without extras: "==2.9.1"; "" if nothing, or any release."""
    clauses: list[str] = []
    for text in requirements:
        try:
            one = Requirement(text)
        except InvalidRequirement:
            continue
        place = {**PLACE, "python_version": "3.12", "python_full_version": "3.12.0"}
        if canonicalize_name(one.name) != other or (one.marker and not one.marker.evaluate(place)):
            continue
        clauses += [clause.strip() for clause in str(one.specifier).split(",") if clause.strip()]
    return ",".join(sorted(set(clauses), key=lambda clause: (not clause.startswith(">"), clause)))


def rows_of(other: str, asked: list[tuple[str, str]]) -> list[dict[str, str]]:
    """A row for each run of releases that ask for the same, the newest first; `asked` are releases with clauses."""
    runs: list[tuple[str, list[str]]] = []
    for version, clauses in asked:
        if runs and runs[-1][0] == clauses:
            runs[-1][1].append(version)
        else:
            runs.append((clauses, [version]))
    return [
        {"release": versions[0], "versions": f">={versions[-1]},<={versions[0]}", other: clauses}
        for clauses, versions in runs
        if clauses
    ]


def is_of(row: dict[str, Any], package: str, other: str) -> bool:
    return bool(row["package"] == package and row.get("other", "torch") == other)


def known_of(row: dict[str, Any], other: str, releases: list[str]) -> dict[str, str]:
    """What each release that the file has asks for."""
    return {
        version: release[other]
        for release in row["releases"]
        for version in SpecifierSet(release["versions"]).filter(releases)
    }


def remake(companions: list[dict[str, Any]], package: str, everything: bool) -> None:
    oldest, others = ASKED[package]
    releases = [v for v in releases_of(package) if Version(v) >= Version(oldest)]
    rows = {other: next((row for row in companions if is_of(row, package, other)), None) for other in others}
    known = {other: known_of(row, other, releases) if row else {} for other, row in rows.items()}
    # A release that asks for one of them was read; newer ones than any such were not.
    read = {version for clauses in known.values() for version in clauses}
    newest = max((Version(version) for version in read), default=Version("0"))
    asked: dict[str, list[tuple[str, str]]] = {other: [] for other in others}
    for version in releases:
        requirements = requirements_of(package, version) if everything or Version(version) > newest else None
        for other in others:
            clauses = known[other].get(version, "")  # what no index tells stays as it is
            if requirements is not None:
                clauses = clauses_on(other, requirements) or clauses
            asked[other].append((version, clauses))
            if requirements is not None:
                print(f"{package} {version}: {other} {clauses or 'not said'}", file=sys.stderr)
    for other in others:
        found = rows_of(other, asked[other])
        row = rows[other]
        if row is None and found:
            row = {"package": package, "source": OF_INDEX}
            if other != "torch":
                row["other"] = other
            if package in ON_LINUX_ALONE:
                row["on_linux_alone"] = True
            companions.append(row)
        # Rows of another source say more than Requires-Dist does.
        if row is not None and row["source"].startswith(OF_INDEX):
            row["releases"] = found


def main() -> None:
    words = sys.argv[1:]
    everything = "--all" in words
    packages = [word for word in words if word != "--all"] or list(ASKED)
    data = json.loads(FILE.read_text())
    for package in packages:
        if package not in ASKED:
            raise SystemExit(f"{package}: not asked about; these are: {', '.join(ASKED)}")
        remake(data["companions"], package, everything)
    data["date"] = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    FILE.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
