"""Sections and tables for people."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence


def section(title: str) -> None:
    print(f"\n== {title}\n", flush=True)


def paragraph(text: str, first: str = "", rest: str = "") -> None:
    """Filled to the terminal's width; `first` begins the first line, `rest` the others."""
    width = max(60, min(140, shutil.get_terminal_size((120, 24)).columns))
    print(textwrap.fill(text, width, initial_indent=first, subsequent_indent=rest), flush=True)


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their widest cell: nothing is cut. Columns that hold only numbers stand right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(headers), *cells]) for i in range(len(headers))]
    right = [bool(cells) and all(_is_number(row[i]) for row in cells) for i in range(len(headers))]
    for line in [list(headers), ["-" * width for width in widths], *cells]:
        padded = (
            cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(line, widths, right)
        )
        print("  ".join(padded).rstrip(), flush=True)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell == "-"
    return True
