"""The committed statements of wgmma are those of their generator, and each names its own operands in order."""

from __future__ import annotations

import re

import pytest

from tools.dev.wgmma_sizes import HEADER, SIZES, header, statement


def test_the_header_is_the_generators() -> None:
    assert HEADER.read_text(encoding="utf-8") == header(), "run python3 tools/dev/wgmma_sizes.py"


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("a_in_registers", [False, True])
def test_operands(n: int, a_in_registers: bool) -> None:
    text = statement(n, a_in_registers)
    named = [int(i) for i in re.findall(r"%(\d+)", text)]
    outputs = [int(i) for i in re.findall(r'"\+f"\(d\[(\d+)\]\)', text)]
    inputs = re.findall(r'"([lrnC])"\(', text)
    assert outputs == list(range(n // 2))
    assert "".join(inputs) == ("rrrrlrCn" if a_in_registers else "llrCnn")
    scale, kind = (n // 2 + i for i in ((5, 6) if a_in_registers else (2, 3)))
    operands = [i for i in range(n // 2 + len(inputs)) if i not in (scale, kind)]
    assert named == [scale, kind, kind, *operands]
    assert f"m64n{n}k16" in text
