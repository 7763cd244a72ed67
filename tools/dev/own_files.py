"""The files of this repository that a C++ source includes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.MULTILINE)


def includes_of(file: Path, folders: list[Path]) -> Iterator[tuple[str, Path | None]]:
    """As written, `<vector>` or `"a.hpp"`, each with the file of the folders that it names."""
    for bracket, name in INCLUDE.findall(file.read_bytes()):
        beside = [file.parent] if bracket == b'"' else []
        candidates = (folder / os.fsdecode(name) for folder in [*beside, *folders])
        written = f"<{os.fsdecode(name)}>" if bracket == b"<" else f'"{os.fsdecode(name)}"'
        yield written, next((c.resolve() for c in candidates if c.is_file()), None)


def own_files_of(source: Path, folders: list[Path]) -> set[Path]:
    """The source and every file of this repository that it includes, through any depth."""
    found: set[Path] = set()
    left = [source]
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            left += [own for _, own in includes_of(file, folders) if own]
    return found
