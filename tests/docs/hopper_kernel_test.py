"""The tile shapes of docs/hopper-kernel.md are those of the table of variants, and follow from its formulas."""

from __future__ import annotations

import re

from tests.layers_test import ROOT

FORWARD = ROOT / "src" / "kernels" / "attention" / "forward"
#: What setmaxnreg gives a consumer's thread, by the number of consumer warpgroups.
REGISTERS = {2: 240, 3: 160}


def shown(page: str) -> list[str]:
    """The rows of the page's table of tile shapes."""
    section = page.partition("## Tile shapes\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| \d.*$", section, re.MULTILINE)


def columns_in_memory(columns: int) -> int:
    """tile_columns() of wgmma/tile_columns.hpp."""
    return (columns + 63) // 64 * 64 if columns > 96 else columns


def row(d: int, d_v: int, warps: int, n: int, stages: int) -> str:
    """A variant's row, by the formulas of the page."""
    m, groups = 16 * warps, warps // 4
    wide, wide_v = columns_in_memory(d), columns_in_memory(d_v)
    q, ring = 2 * m * wide, stages * 2 * n * (wide + wide_v)
    buffers = 3 if ring + 3 * q + 1024 <= 227 * 1024 else 1
    shared = (ring + buffers * q + (1024 if wide % 64 == 0 else 512)) / 1024
    accumulators_and_weights = n // 2 + d_v // 2 + n // 4
    dims = f"{d}" if d == d_v else f"{d}, V {d_v}"
    registers = f"{accumulators_and_weights} of {REGISTERS[groups]}"
    return f"| {dims} | {m} x {n} | {groups} | {stages} | {buffers} | {registers} | {shared:g} KB |"


def variants(dtype: str) -> list[str]:
    """The rows of the plain variants of a table's dtype, without those of whole heads, which have four stages."""
    table = (FORWARD / "variants_table.hpp").read_text(encoding="utf-8")
    found = re.findall(rf"^    {{wgmma\({dtype}, (\d+), (\d+), (\d+), (\d+)(?:, (\d+))?\), kHopper}}", table, re.M)
    read = [(int(d), int(v), int(w), int(n), int(stages or 2)) for d, v, w, n, stages in found]
    return [row(*each) for each in read if each[4] < 4]


def test_tile_shapes_are_those_of_the_table() -> None:
    page = (ROOT / "docs" / "hopper-kernel.md").read_text(encoding="utf-8")
    assert shown(page) == variants("kBF16") == variants("kF16")
    assert len(shown(page)) > 10


def test_registers_and_shared_memory_are_those_of_the_code() -> None:
    code = (FORWARD / "wgmma" / "forward.cuh").read_text(encoding="utf-8")
    assert f"set_max_registers_inc<C.warps == 8 ? {REGISTERS[2]} : {REGISTERS[3]}>" in code
    config = (FORWARD / "config.hpp").read_text(encoding="utf-8")
    assert "kSharedBytesBlockHopper = 227 * 1024;" in config


def test_a_row_that_is_not_a_variants_is_found() -> None:
    assert row(128, 128, 8, 128, 2) == "| 128 | 128 x 128 | 2 | 2 | 3 | 160 of 240 | 225 KB |"
    assert row(160, 160, 8, 112, 2).endswith("| 217 KB |")
    assert shown("## Tile shapes\n\n| 64 | 1 |\n| x | 2 |\n\n## Next\n| 3 |\n") == ["| 64 | 1 |"]
