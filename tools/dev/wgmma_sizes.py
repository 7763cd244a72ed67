"""Writes src/kernels/arch/cuda/wgmma_sizes.hpp: `python3 tools/dev/wgmma_sizes.py` after a change here.

An asm statement names each of its operands, and a template cannot expand a pack of them, so wgmma needs one statement
for each n. Written out they are dull and long, and a slip in one of 2,000 operands compiles; a macro ladder would hide
the same. Hence this generator, its committed result, and a test that the two agree.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "src" / "kernels" / "arch" / "cuda" / "wgmma_sizes.hpp"

# Head dims and key blocks of the kernels, and 8 for probes of the descriptor.
SIZES = [8, *range(16, 257, 16)]

INTRODUCTION = """\
#pragma once
// Written by tools/dev/wgmma_sizes.py: the asm statements of wgmma, one for each n. wgmma.hpp calls them.
#include "core/base/types.hpp"

namespace flashfit::arch {

/// m64n`N`k16 with fp32 accumulators; Type::kName is "f16" or "bf16", TransA and TransB are 1 for m- and n-major.
template <int N>
struct WgmmaStatement {
  static_assert(N < 0, "wgmma has no statement for this n: add it to SIZES of tools/dev/wgmma_sizes.py");
};
"""


def wrapped(words: list[str], indent: str, first: str = "", width: int = 120) -> str:
    return textwrap.fill(" ".join(words), width, initial_indent=indent + first, subsequent_indent=indent)


def quoted(words: list[str], indent: str) -> str:
    """The words as string literals of a line each."""
    lines = textwrap.wrap(" ".join(words), 120 - len(indent) - 3)
    return "\n".join(f'{indent}"{line} "' for line in lines)


def statement(n: int, a_in_registers: bool) -> str:
    count = n // 2
    number = iter(range(count, count + 20))
    a = "{" + ", ".join(f"%{next(number)}" for _ in range(4)) + "}" if a_in_registers else f"%{next(number)}"
    b, scale, kind = (f"%{next(number)}" for _ in range(3))
    transposed = ", ".join(f"%{next(number)}" for _ in range(1 if a_in_registers else 2))
    text = [f"{{%{i}," if i == 0 else f"%{i}}}," if i == count - 1 else f"%{i}," for i in range(count)]
    lines = [
        f'"{{ .reg .pred p; setp.ne.b32 p, {scale}, 0; "',
        f'"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{kind}.{kind} "',
    ]
    inputs = ['"r"(a[0]),', '"r"(a[1]),', '"r"(a[2]),', '"r"(a[3]),'] if a_in_registers else ['"l"(a),']
    inputs += ['"l"(b),', '"r"(scale_d),', '"C"(Type::kName),']
    inputs += ['"n"(TransB)'] if a_in_registers else ['"n"(TransA),', '"n"(TransB)']
    outputs = [f'"+f"(d[{i}])' + ("," if i < count - 1 else "") for i in range(count)]
    indent = " " * 8
    operand = "const uint32 (&a)[4]" if a_in_registers else "uint64 a"
    template = "class Type, int TransB" if a_in_registers else "class Type, int TransA, int TransB"
    return "\n".join(
        [
            f"  template <{template}>",
            f"  static void run(float (&d)[{count}], {operand}, uint64 b, int scale_d) {{",
            "    asm volatile(",
            *(indent + line for line in lines),
            quoted(text, indent),
            f'{indent}"{a}, {b}, p, 1, 1, {transposed}; }}"',
            wrapped(outputs, indent, ": "),
            wrapped(inputs, indent, ": ") + ");",
            "  }",
        ]
    )


def header() -> str:
    parts = [INTRODUCTION]
    for n in SIZES:
        both = "\n".join(statement(n, a_in_registers) for a_in_registers in (False, True))
        parts.append(f"template <>\nstruct WgmmaStatement<{n}> {{\n{both}\n}};\n")
    return "// clang-format off\n".join(["", "\n".join(parts)]) + "\n}  // namespace flashfit::arch\n"


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8")
