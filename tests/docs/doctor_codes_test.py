"""docs/doctor.md says of each code of the doctor which file gives it; pasted errors have their tables together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCTOR = ROOT / "src/doctor"


def listed(page: str) -> dict[str, str]:
    """The file of each code, by the page's table: "FF201 to FF208" is each code from the first to the last."""
    section = page.partition("## Which file gives which code\n")[2].partition("\n## ")[0]
    files: dict[str, str] = {}
    for codes, file in re.findall(r"^\| (FF[^|]*) \| `([^`]+)` \|", section, re.MULTILINE):
        for first, last in re.findall(r"FF(\d{3})(?: to FF(\d{3}))?", codes):
            files |= {f"FF{code}": file for code in range(int(first), int(last or first) + 1)}
    return files


def wrong_lines(page: str, sources: Mapping[str, str], codes: set[str]) -> list[str]:
    """Codes without a line, lines without a code, and files that do not give theirs."""
    files = listed(page)
    wrong = [f"{code}: not in the table" for code in sorted(codes - set(files))]
    wrong += [f"{code}: has no page" for code in sorted(set(files) - codes)]
    return wrong + [f"{code}: {file} does not give it" for code, file in files.items() if code not in sources[file]]


def test_the_table_names_the_file_of_each_code() -> None:
    page = (ROOT / "docs/doctor.md").read_text(encoding="utf-8")
    sources = {file: (DOCTOR / file).read_text(encoding="utf-8") for file in set(listed(page).values())}
    quoted = {file: " ".join(re.findall(r'"(FF\d{3})"', text)) for file, text in sources.items()}
    codes = {path.stem for path in (ROOT / "docs/doctor").glob("FF*.md") if not path.stem.startswith("FF8")}
    assert wrong_lines(page, quoted, codes) == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("| FF101 | `a.cpp` | x |", "FF102: not in the table"),
        ("| FF101 to FF103 | `a.cpp` | x |", "FF103: has no page"),
        ("| FF101, FF102 | `b.cpp` | x |", "FF102: b.cpp does not give it"),
    ],
)
def test_a_wrong_line_is_found(row: str, said: str) -> None:
    page = f"# D\n\n## Which file gives which code\n\n{row}\n\n## Rest\n"
    assert said in wrong_lines(page, {"a.cpp": "FF101 FF102", "b.cpp": "FF101"}, {"FF101", "FF102"})
