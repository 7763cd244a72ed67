"""The tiles, registers and shared memory of docs/moe-kernels.md are those of the experts' kernels."""

from __future__ import annotations

import re

from tests.layers_test import ROOT

EXPERTS = ROOT / "src" / "kernels" / "moe" / "experts"
PAGE = (ROOT / "docs" / "moe-kernels.md").read_text(encoding="utf-8")
ELEMENT = 2  # bytes of fp16 and bf16


def section(page: str, heading: str) -> str:
    return page.partition(f"{heading}\n")[2].partition("\n## ")[0]


def fields(name: str) -> dict[str, int]:
    """The numbers of a configuration in the table of variants; of small(), with the stages that it is called with."""
    table = (EXPERTS / "variants_table.hpp").read_text(encoding="utf-8")
    body = table.partition(f"constexpr ExpertsProductConfig {name}(")[2].partition("\n}")[0]
    read = {field: int(number) for field, number in re.findall(r"\.?(\w+) = (\d+)[,;]", body)}
    return {**fields(base[1]), **read} if (base := re.search(r"c = (\w+)\(t\);", body)) else read


def ring(c: dict[str, int]) -> str:
    """A row of the page's table of tiles over mma.sync, up to the ring and the threads."""
    stage = (c["tile_rows"] + c["tile_columns"]) * c["depth"] * ELEMENT // 1024
    threads = 32 * c["row_warps"] * c["column_warps"]
    shape = f"| {c['tile_rows']} x {c['tile_columns']} | {c['depth']} |"
    return f"{shape} {c['stages']} x {stage} KB = {c['stages'] * stage} KB | {threads} |"


def test_tiles_over_mma_are_those_of_the_table() -> None:
    shown = re.findall(r"^\| \d.*$", section(PAGE, "## The product"), re.MULTILINE)
    small = fields("small")
    expected = [ring(fields("large")), ring(fields("wide")), *(ring({**small, "stages": n}) for n in (4, 8))]
    assert len(shown) == len(expected)
    for row, begins in zip(shown, expected):
        assert row.startswith(begins)
    assert "small(DType::kBF16, 4)" in (EXPERTS / "variants_table.hpp").read_text(encoding="utf-8")
    assert "small(DType::kBF16, 8)" in (EXPERTS / "variants_table.hpp").read_text(encoding="utf-8")


def test_registers_over_wgmma_are_those_of_the_code() -> None:
    code = (EXPERTS / "wgmma" / "product.cuh").read_text(encoding="utf-8")
    (copies,) = re.findall(r"set_max_registers_dec<(\d+)>", code)
    ((two, three),) = re.findall(r"set_max_registers_inc<Shared::kGroups == 2 \? (\d+) : (\d+)>", code)
    roles = re.findall(r"^\| warps? [^|]*\|[^|]*\|[^|]*\| (\d+) \|$", section(PAGE, "## The product on Hopper"), re.M)
    assert roles == [copies, copies, two]
    detail = (ROOT / "docs" / "moe-products.md").read_text(encoding="utf-8")
    assert f"consumers have {three}, the producer's warpgroup {copies}" in " ".join(detail.split())


def test_shared_memory_over_wgmma_is_that_of_the_configuration() -> None:
    c = fields("hopper")
    config, limits = ((EXPERTS / name).read_text(encoding="utf-8") for name in ("config.hpp", "limits.hpp"))
    ((warps, stages),) = re.findall(r"kExpertsIdleWarps = (\d+), kSumStages = (\d+);", config)
    (columns,) = re.findall(r"kSumColumns = (\d+);", limits)
    rows_at_once = (c["tile_rows"] // 16 + 2) // 3 * 16  # experts_epilogue_rows() of two warpgroups
    ring_bytes = c["stages"] * (c["tile_rows"] + c["tile_columns"]) * c["depth"] * ELEMENT
    expected = [ring_bytes, 2 * rows_at_once * 64 * ELEMENT, int(warps) * int(stages) * int(columns) * ELEMENT, 1024]
    table = section(PAGE, "| shared memory | KB |").partition("\n\n")[0]
    shown = [int(kb) for kb in re.findall(r"^\| [^-].* \| (\d+) \|$", table, re.MULTILINE)]
    assert [1024 * kb for kb in shown] == expected
    assert sum(shown) == 225
