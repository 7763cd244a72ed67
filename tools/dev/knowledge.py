"""Remakes data/knowledge.json from the package index: releases of what is built against one PyTorch.

Asks pip for the metadata of each release that the file does not have yet, and of none twice; what no index tells (rows
with another source) stays as it is. The date becomes today's.
usage: python tools/dev/knowledge.py [--all, to ask anew for releases that are known]
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

from packaging.specifiers import SpecifierSet
from packaging.version import Version

FILE = Path(__file__).resolve().parents[2] / "data/knowledge.json"
#: What Requires-Dist of the wheels tells, and the PyTorch of the oldest release that is of interest.
PINNED = {"torchvision": "0.15", "torchaudio": "2.0", "xformers": "0.0.22"}
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64", "linux_x86_64")


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


def required_torch(package: str, version: str) -> str:
    """The clauses on torch in METADATA: "==2.9.1"; "" if there are none."""
    platforms = [f"--platform={p}" for p in PLATFORMS]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        how = ["--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--only-binary=:all:", *platforms]
        how += [f"--report={report}", f"--target={folder}", "--python-version=3.11"]
        pip("install", *how, f"{package}=={version}")
        if not report.exists():
            return ""
        metadata = json.loads(report.read_text())["install"][0]["metadata"]
    for requirement in metadata.get("requires_dist", []):
        found = re.fullmatch(r"torch\s*\(?([<>=!~][^;)]*)\)?\s*(;.*)?", requirement)
        if found and "extra" not in (found[2] or ""):
            return found[1].strip()
    return ""


def of_minor(clauses: str) -> str:
    """C++ names and the classes behind them are those of a minor version: "==2.9.1" stands for "==2.9.*"."""
    found = re.fullmatch(r"==(\d+)\.(\d+)(\.\d+)?", clauses)
    return f"=={found[1]}.{found[2]}.*" if found else clauses


def rows_of(package: str, known: dict[str, str], oldest: str) -> list[dict[str, str]]:
    """A row for each run of releases that ask for the same PyTorch, the newest first."""
    runs: list[tuple[str, list[str]]] = []
    for version in releases_of(package):
        if Version(version) < Version(oldest):
            break
        torch = known[version] if version in known else of_minor(required_torch(package, version))
        print(f"{package} {version}: torch {torch or 'not said'}", file=sys.stderr)
        if not torch:
            continue
        if runs and runs[-1][0] == torch:
            runs[-1][1].append(version)
        else:
            runs.append((torch, [version]))
    return [
        {"release": versions[0], "versions": f">={versions[-1]},<={versions[0]}", "torch": torch}
        for torch, versions in runs
    ]


def known_of(row: dict[str, Any], releases: list[str]) -> dict[str, str]:
    """The PyTorch of each release that the file has."""
    return {
        version: release["torch"]
        for release in row["releases"]
        for version in SpecifierSet(release["versions"]).filter(releases)
    }


def main() -> None:
    data = json.loads(FILE.read_text())
    for row in data["companions"]:
        package = row["package"]
        if package not in PINNED:
            continue
        known = {} if "--all" in sys.argv[1:] else known_of(row, releases_of(package))
        row["releases"] = rows_of(package, known, PINNED[package])
    data["date"] = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    FILE.write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
